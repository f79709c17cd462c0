package verbs_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// TestEveryOpenCommentIsInReach: an agent with a status can read every open comment word for word, by the calls that
// the replies name.
func TestEveryOpenCommentIsInReach(t *testing.T) {
	count := counted(t)
	rapidtest.Check(t, func(t *rapid.T) {
		s, ctx := ungated(), context.Background()
		steps := rapid.IntRange(1, 15).Draw(t, "steps")
		submit := func() {
			in := verbs.SubmitPlan{Summary: "Move the sessions."}
			for i := range steps {
				title := fmt.Sprintf("Step number %d", i+1)
				in.Steps = append(in.Steps, verbs.SubmittedStep{TaskFields: verbs.TaskFields{Title: &title}})
			}
			must[verbs.SubmitPlanReply](t)(s.SubmitPlan(ctx, ann, in))
		}
		submit()
		wanted := map[string]string{} // each word, with its comment
		for i := range rapid.IntRange(0, 50).Draw(t, "comments") {
			var text strings.Builder
			for j := range rapid.SampledFrom([]int{1, 5, 5, 30, 30, 30, 700}).Draw(t, "words") {
				text.WriteString(fmt.Sprintf("w%dx%d", i, j) + rapid.SampledFrom([]string{" ", " ", "\n"}).Draw(t, "between"))
			}
			a := plan.AddComment{Text: text.String(), IsQuestion: rapid.Bool().Draw(t, "question"),
				Step: plan.StepID(rapid.IntRange(0, steps).Draw(t, "step"))}
			made := must[verbs.CommentReply](t)(s.Comment(ctx, person, a))
			if rapid.IntRange(0, 5).Draw(t, "met") == 0 {
				must[verbs.CommentReply](t)(s.ResolveComment(ctx, person, made.ID, true))
				continue
			}
			for _, word := range strings.Fields(a.Text) {
				wanted[word] = made.ID
			}
		}
		way := rapid.SampledFrom([]plan.Outcome{"", plan.Returned, plan.Approved, plan.Rejected, "again"}).Draw(t, "decided")
		if way == "again" || way != "" {
			outcome := way
			if way == "again" {
				outcome = plan.Returned
			}
			must[verbs.DecisionReply](t)(s.Decide(ctx, person, plan.DecideDraft{Outcome: outcome, Digest: digest(t, s),
				Comment: "see the comments"}))
		}
		if way == "again" {
			submit()
		}
		heard := followed(t, s, count)
		for word, id := range wanted {
			if !heard[word] {
				t.Fatalf("after %q, %q of %s is out of reach", way, word, id)
			}
		}
	})
}

// followed reads a status and everything that the calls in it and in further replies show. It returns the words.
func followed(t fatal, s *verbs.Service, count func(fatal, verbs.Reply) (text, structured int)) map[string]bool {
	t.Helper()
	words, read := map[string]bool{}, []string{}
	named := regexp.MustCompile(`(planning_read_plan|planloop_status) (\{[^}]*\})`)
	for calls := []string{"planloop_status {}"}; len(calls) > 0; calls = calls[1:] {
		tool, arguments, _ := strings.Cut(calls[0], " ")
		if slices.Contains(read, calls[0]) || strings.Contains(arguments, `"wait"`) {
			continue
		}
		read = append(read, calls[0])
		reply := called[verbs.Reply](t, s, tool, arguments)
		text, structured := count(t, reply)
		most := 4_200
		if status, is := reply.(verbs.StatusReply); is && status.Approved != "" {
			most = 9_000 // after an approval, with the plan
		}
		if max(text, structured) > most {
			t.Fatalf("%s costs %d tokens of text and %d of structured content", calls[0], text, structured)
		}
		for _, word := range regexp.MustCompile(`w\d+x\d+`).FindAllString(reply.Text(), -1) {
			words[word] = true
		}
		calls = append(calls, named.FindAllString(reply.Text(), -1)...)
	}
	return words
}
