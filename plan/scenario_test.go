package plan_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata/*.txt")

// TestScenarios plays the stories in testdata. A story is a list of blocks:
// commands, a line ----, the answers, and an empty line. Lines that begin with #
// are for the reader.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data := testenv.Must(os.ReadFile(file))(t)
			got := play(t, string(data))
			if got == string(data) {
				return
			}
			if !*update {
				t.Fatalf("the story goes another way (rewrite it with -update):\n%s", got)
			}
			testenv.Check(t, os.WriteFile(file, []byte(got), 0o644))
		})
	}
}

// play returns the story with the current answers.
func play(t *testing.T, story string) string {
	teller := &teller{workspace: newWorkspace(t), actor: ann}
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimRight(story, "\n"), "\n\n") {
		commands, _, asks := strings.Cut(block, "\n----")
		if out.Len() > 0 {
			out.WriteString("\n")
		}
		out.WriteString(commands + "\n")
		var answers strings.Builder
		for line := range strings.Lines(commands) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				answers.WriteString(teller.obey(words(t, line)))
			}
		}
		if asks || answers.Len() > 0 {
			out.WriteString("----\n" + answers.String())
		}
	}
	return out.String()
}

// words splits a line at spaces, except "in quotes".
func words(t *testing.T, line string) []string {
	var list []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		end := strings.IndexByte(line+" ", ' ')
		if quote := strings.IndexByte(line, '"'); quote >= 0 && quote < end {
			text, err := strconv.QuotedPrefix(line[quote:])
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			value, _ := strconv.Unquote(text)
			list = append(list, line[:quote]+value)
			line = line[quote+len(text):]
			continue
		}
		list = append(list, line[:end])
		line = line[min(end, len(line)):]
	}
	return list
}

// teller executes the commands of a story.
type teller struct {
	*workspace
	actor plan.Actor
}

func (w *teller) obey(words []string) string {
	args := words[1:]
	switch words[0] {
	case "actor":
		w.actor = plan.Actor{Kind: plan.ActorKind(args[0]), Name: args[1]}
		if w.actor.Kind == plan.Person {
			w.actor.Channel = plan.ChannelTerminal
		}
	case "wait":
		d, err := time.ParseDuration(args[0])
		if err != nil {
			w.t.Fatalf("%v: %v", words, err)
		}
		w.now = w.now.Add(d)
	case "gone":
		w.seen[args[0]] = plan.Sighting{IsGone: true}
	case "seen":
		w.seen[args[0]] = plan.Sighting{At: w.now}
	case "setup":
		return w.ask(plan.SetUp{Outline: plan.Outline{Objective: args[0]}, Steps: w.steps(args[1:])})
	case "add":
		return w.ask(plan.AddSteps{Steps: w.steps(args)})
	case "update":
		return w.ask(plan.UpdateStep{Step: w.id(args[0]), Patch: w.patch(args[1:])})
	case "mark":
		return w.ask(w.markAction(args))
	case "claim":
		return w.ask(plan.ClaimStep{Step: w.id(args[0]), Force: len(args) > 1 && args[1] == "force"})
	case "clear":
		return w.ask(plan.Clear{})
	case "restore":
		agent := w.actor // only a person's restore makes a plan current
		w.actor = person
		defer func() { w.actor = agent }()
		return w.ask(plan.Restore{PlanID: args[0]})
	case "show":
		return w.show()
	case "past":
		return w.showPast()
	default:
		w.t.Fatalf("there is no command %v", words)
	}
	return ""
}

func (w *teller) ask(a plan.Action) string {
	events, err := w.try(w.actor, a)
	switch {
	case err != nil:
		return "refused: " + err.Error() + "\n"
	case len(events) == 0:
		return "as it is\n"
	}
	return strings.Join(kinds(events), ", ") + "\n"
}

func (w *teller) id(text string) plan.StepID {
	id, err := plan.ParseStepID(text)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	return id
}

func (w *teller) ids(list string) []plan.StepID {
	ids := []plan.StepID{}
	for text := range strings.SplitSeq(list, ",") {
		if text != "" {
			ids = append(ids, w.id(text))
		}
	}
	return ids
}

// steps reads titles, each followed by attributes of the step.
func (w *teller) steps(args []string) []plan.NewStep {
	var steps []plan.NewStep
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch {
		case key == "after":
			steps[len(steps)-1].DependsOn = w.ids(value)
		case arg == "critical":
			steps[len(steps)-1].Critical = true
		default:
			steps = append(steps, titled(arg))
		}
	}
	return steps
}

func (w *teller) patch(args []string) plan.Patch {
	var p plan.Patch
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "title":
			p.Title = &value
		case "details":
			p.Details = &value
		case "after":
			deps := w.ids(value)
			p.DependsOn = &deps
		default:
			w.t.Fatalf("there is no field %s", arg)
		}
	}
	return p
}

func (w *teller) markAction(args []string) plan.MarkStep {
	a := plan.MarkStep{Step: w.id(args[0]), Status: plan.StepStatus(args[1])}
	for _, arg := range args[2:] {
		if arg == "force" {
			a.Force = true
		} else {
			a.Note = arg
		}
	}
	return a
}

func (w *teller) show() string {
	p := w.state.Plan
	if p == nil {
		return "no plan\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q is %s, revision %d\n", p.ID, p.Objective, p.Status, w.state.Revision)
	for step := range p.Steps.All() {
		fmt.Fprintf(&b, "%s %s: %s%s\n", step.ID, step.Title, step.Status, w.progress(step))
	}
	index, next := p.Steps.Len(), "nothing"
	if step := p.Steps.Next(); step != nil {
		index, next = p.Steps.Position(step.ID), step.ID.String()
	}
	fmt.Fprintf(&b, "next: %s, index %d of %d\n", next, index, p.Steps.Len())
	return b.String()
}

func (w *teller) progress(step *plan.Step) string {
	var b strings.Builder
	say := func(said bool, format string, args ...any) {
		if said {
			fmt.Fprintf(&b, ", "+format, args...)
		}
	}
	clock := func(at time.Time) string { return at.Format("15:04:05") }
	waiting := w.state.Plan.Steps.UnmetDependencies(step.ID)
	say(len(waiting) > 0, "waits for %s", plan.IDs(waiting))
	say(step.Details != "", "details %q", step.Details)
	say(step.Critical, "critical")
	say(step.ClaimedBy != "", "%s's until %s", step.ClaimedBy, clock(step.LeaseUntil))
	say(!step.StartedAt.IsZero(), "started %s", clock(step.StartedAt))
	say(!step.CompletedAt.IsZero(), "ended %s", clock(step.CompletedAt))
	say(step.ExecutedBy != "", "by %s", step.ExecutedBy)
	say(step.Attempts > 1, "attempt %d", step.Attempts)
	say(step.Error != "", "error %q", step.Error)
	say(len(step.Notes) > 0, "notes %q", step.Notes)
	return b.String()
}

func (w *teller) showPast() string {
	var b strings.Builder
	for _, head := range w.state.Past {
		fmt.Fprintf(&b, "%s %s, %d of %d done, %s at revision %d\n", head.ID, head.Status, head.Done, head.Steps, head.Reason,
			head.Revision)
	}
	if b.Len() == 0 {
		return "none\n"
	}
	return b.String()
}
