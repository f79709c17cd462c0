package mcpserver_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
)

// TestStrictGatesLeaveAWay has a client follow each refusal to the letter while every step is judged: it gets its
// steps into the plan.
func TestStrictGatesLeaveAWay(t *testing.T) {
	const plain = `{"objective":"Release it"}`
	for name, call := range map[string]struct{ before, tool, arguments, want string }{
		"set up": {"", "planning_setup_plan", `{"objective":"Fix the login","initial_steps":[{"title":"Write a failing test"},` +
			`{"title":"Improve the API","details":"in api.go"}]}`, "Improve the API"},
		"set up with faults of form": {"", "planning_setup_plan", `{"objective":"Grüße","initial_steps":[{"title":""},` +
			`{"title":"Fix the cookie","details":"` + strings.Repeat("x", 600) + `"}]}`, "Fix the cookie"},
		"set up, unknown fields": {"", "planning_setup_plan", `{"objective":"Fix it all","initial_steps":[{"title":"Stuff","prio":1}]}`,
			"verbose"},
		"add": {plain, "planning_add_step", `{"steps":[{"title":"Stuff"},{"title":"Update the docs","details":"README only"}]}`,
			"Update the docs"},
		"add, with a type": {plain, "planning_add_step", `{"steps":[{"title":"Update the docs","type":"docs"}]}`, "Update the docs"},
		"add many": {plain, "planning_add_step", `{"steps":[` + strings.TrimSuffix(strings.Repeat(`{"title":"Fix handler NN of the API"},`,
			30), ",") + `]}`, "Fix handler"},
		"edit": {`{"objective":"Release it"}+`, "planning_update_step", `{"step_id":"S001","title":"Stuff"}`, "verbose"},
		"edit, vague": {`{"objective":"Release it"}+`, "planning_update_step", `{"step_id":"S001","title":"Improve the performance"}`,
			"Improve the performance"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldWith(t, verbs.Options{GateAll: true, Gates: func(gate string) gates.Level {
				return gates.ByProfile(gates.Strict, gate)
			}}, mcpserver.Options{})
			client := w.connect(t, handshake, nil)
			tell := func(tool, arguments string) string {
				t.Logf("> %s %.300s", tool, arguments)
				result := callOrRefusal(t, client, tool, json.RawMessage(arguments))
				t.Logf("%.1500s", text(t, result))
				if !result.IsError {
					return ""
				}
				return text(t, result)
			}
			if before, withStep := strings.CutSuffix(call.before, "+"); before != "" {
				tell("planning_setup_plan", before)
				if withStep {
					tell("planloop_update", `{"add_tasks":[`+goodTask+`]}`)
				}
			}
			numbered := 0
			arguments := regexp.MustCompile("NN").ReplaceAllStringFunc(call.arguments, func(string) string {
				numbered++
				return string(rune('a'+numbered/26)) + string(rune('a'+numbered%26))
			})
			refusal := tell(call.tool, arguments)
			for rounds := 0; refusal != "" && rounds < 3; rounds++ {
				_, shown, _ := strings.Cut(refusal, "\nA correct call: ")
				calls := oneCall.FindAllStringSubmatch(strings.ReplaceAll(shown, ", and the other", ", then the other"), -1)
				if refusal = "no call is shown"; calls == nil {
					t.Fatal(refusal)
				}
				for _, c := range calls {
					refusal = tell(c[1], placeholder.ReplaceAllStringFunc(c[2], fillWell))
				}
			}
			if got := strings.Join(described(t, w), "\n"); refusal != "" || !strings.Contains(got, call.want) {
				t.Errorf("what the refusals say leads to: %s\n%s", refusal, got)
			}
		})
	}
}

const goodTask = `{"title":"Add the flag","type":"feature","context_hints":["Read ` + "`main.go`" + `"],` +
	`"relevant_file_paths":["main.go"],` +
	`"acceptance_criteria":["the help shows it"]}`

// fillWell returns a careful model's text for a placeholder.
func fillWell(hole string) string {
	for asks, answer := range map[string]string{"title": "Add the flag `--verbose` to list", "details": "as the issue says",
		"where to look": "Read `main.go`", "file": "main.go", "true": "the help shows it", "objective": "Fix the login",
		"ASCII": "Greet all"} {
		if strings.Contains(hole, asks) {
			return `"` + answer + `"`
		}
	}
	return fill(hole)
}
