package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
)

// TestEverythingWrongIsToldAtOnce sends calls with errors of several kinds: form, length, characters and gates. One
// answer reports each of them once.
func TestEverythingWrongIsToldAtOnce(t *testing.T) {
	long := strings.Repeat("x", 3_000)
	for name, test := range map[string]struct {
		tool, arguments string
		want            []string
		not             []string
	}{
		"form, blank title, type, hints": {"planloop_update", `{"add_tasks":[
			{"titel":"Add the login page","type":"epic","relevant_file_paths":["gone.go","../out.go"]},
			{"title":" ","type":"chore","context_hints":["Read ` + "`main.go`" + `"],"relevant_file_paths":["main.go"]},
			{"title":"Fix it","type":"bugfix","context_hints":7,"relevant_file_paths":["main.go"]},
			{"title":"` + long + `","type":"chore","context_hints":["Read it"],"dependencies":["nobody"]}],
			"update_tasks":[{"id":1,"dependencies":[77,88],"after":99},{"id":2,"after":"never"},{"id":1,"risk":"none"}]}`,
			[]string{`/add_tasks/0/titel: unknown field`, "Task 'Add the login page' has an unknown `type`: `epic`",
				"Task 'Add the login page' is missing the `context_hints` field", "`gone.go`", "/add_tasks/0/relevant_file_paths/1: ",
				"/add_tasks/1/title: is blank", "Task 'Fix it' has a title that names nothing",
				"/add_tasks/2/context_hints: found a number",
				"/add_tasks/3/title: is 3000 characters long", "Unknown dependency: nobody in S006",
				"Task 4 is missing the `relevant_file_paths` field", `/update_tasks/0/dependencies/0: "77"`,
				`/update_tasks/0/dependencies/1: "88"`, `/update_tasks/0/after: "99"`, `/update_tasks/1/after: "never"`,
				`/update_tasks/2/risk: found "none"`},
			[]string{"missing the `title`", "'Fix it' is missing"}},
		"dependencies alone": {"planloop_update", `{"update_tasks":[{"id":1,"dependencies":["x","y"]},{"id":2,"after":"z"}]}`,
			[]string{`/update_tasks/0/dependencies/0: "x"`, `/update_tasks/0/dependencies/1: "y"`, `/update_tasks/1/after: "z"`}, nil},
		"a submission": {"planning_submit_plan",
			`{"steps":[{"title":"Stuff","risk":"huge"},{"title":"Add the page","type":"story"}],"note":1}`,
			[]string{`missing required field "summary"`, `/note: unknown field`, `/steps/0/risk: found "huge"`,
				"Task 'Stuff' has a title that names nothing", "Task 'Stuff' is missing the `type`", "`story`",
				"Task 'Add the page' is missing the `context_hints`"}, nil},
		"the six": {"planning_setup_plan", `{"objective":"Größer","initial_steps":[{"title":7},{"title":"` + long + `"},
			{"title":"Füll it","details":"` + long + `","when":1}]}`,
			[]string{"/objective: has a non-ASCII", "/initial_steps/0/title: found a number", "/initial_steps/1/title: is 3000 characters",
				"/initial_steps/2/title: has a non-ASCII", "/initial_steps/2/details: is 3000 characters",
				`/initial_steps/2/when: unknown`},
			[]string{"is blank"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldWith(t, verbs.Options{Tree: newFolder(t, map[string]string{"main.go": "package main\n"})}, mcpserver.Options{})
			client := w.connect(t, handshake, nil)
			call(t, client, "planning_setup_plan",
				json.RawMessage(`{"objective":"Release it","initial_steps":[{"title":"A"},{"title":"B"}]}`))
			result := callOrRefusal(t, client, test.tool, json.RawMessage(test.arguments))
			if !result.IsError {
				t.Fatalf("it is accepted: %s", text(t, result))
			}
			told, _, _ := strings.Cut(text(t, result), "\nA correct call: ")
			for _, want := range test.want {
				if strings.Count(told, want) != 1 {
					t.Errorf("%q is told %d times", want, strings.Count(told, want))
				}
			}
			for _, not := range test.not {
				if strings.Contains(told, not) {
					t.Errorf("%q is told as well", not)
				}
			}
			if t.Failed() {
				t.Log(told)
			}
		})
	}
}

// TestLenientTakesAnyType adds a task with an unknown type where the gate only warns.
func TestLenientTakesAnyType(t *testing.T) {
	w := newWorldWith(t, verbs.Options{Gates: func(gate string) gates.Level { return gates.ByProfile(gates.Lenient, gate) }},
		mcpserver.Options{})
	client := w.connect(t, handshake, nil)
	call(t, client, "planloop_start", json.RawMessage(`{"goal":"Release it"}`))
	for _, task := range []string{`{"title":"Move the login page","type":"spike"}`, `{"title":"Add the logout page"}`} {
		result := call(t, client, "planloop_update", json.RawMessage(`{"add_tasks":[`+task+`]}`))
		if got := text(t, result); result.IsError || !strings.Contains(got, "`type`") || !strings.Contains(got, "its type is feature") {
			t.Errorf("%s: %s", task, got)
		}
	}
	if got := strings.Join(described(t, w), "\n"); strings.Count(got, "type: feature") != 2 {
		t.Errorf("the tasks are kept as %s", got)
	}
	result := call(t, client, "planloop_update", json.RawMessage(`{"add_tasks":[{"title":"Add the page","type":"<feature|bugfix>"}]}`))
	if !result.IsError {
		t.Errorf("a placeholder is a type: %s", text(t, result))
	}
}
