package toolbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// called makes a call with a context that is not cancelled.
func called(t *testing.T, box *toolbox.Box, name, args string) toolbox.Outcome {
	t.Helper()
	out, err := tool(t, box, name).Call(t.Context(), json.RawMessage(args), toolbox.Watch{})
	if err != nil {
		t.Fatalf("%s %s: %v", name, args, err)
	}
	return out
}

// TestOutcomes: the value of each tool for other steps, and the text of a refusal.
func TestOutcomes(t *testing.T) {
	box := open(t, map[string]string{"a.txt": "one <two> & three\n", "big.txt": strings.Repeat("x\n", 3<<19), "latin.txt": "caf\xe9"},
		toolbox.Options{Runner: &runner{}})
	for _, test := range []struct{ tool, args, value, says string }{
		{"read_file", `{"path":"a.txt"}`, `"one <two> & three\n"`, ""},
		{"write_file", `{"path":"b.txt","content":"$S001"}`, `{"path":"b.txt","bytes":5,"lines":1}`, ""},
		{"read_file", `{"path":"b.txt"}`, `"$S001"`, ""},
		{"create_file", `{"path":"b.txt","content":""}`, "", `"b.txt" exists`},
		{"str_replace", `{"path":"b.txt","old":"$S001","new":"x"}`, `{"path":"b.txt","replaced":1,"line":1}`, ""},
		{"glob", `{"pattern":"?.txt"}`, `{"paths":["a.txt","b.txt"]}`, ""},
		{"grep", `{"pattern":"two"}`, `{"matches":[{"path":"a.txt","line":1,"text":"one <two> & three"}],"files":4}`, ""},
		{"grep", `{"pattern":"nowhere","path":"a.txt"}`, `{"matches":[],"files":1}`, ""},
		{"view", `{"path":"b.txt"}`, `{"path":"b.txt","kind":"file","content":"1\tx","from":1,"to":1,"total":1,"bytes":1,` +
			`"note":"no newline at the end"}`, ""},
		{"bash_execute", `{"command":"x"}`, `""`, ""},
		{"read_file", `{"path":"big.txt"}`, "", "is larger than"},
		{"read_file", `{"path":"latin.txt"}`, "", "is not UTF-8"},
		{"read_file", `{"path":"gone.txt"}`, "", "does not exist"},
		{"read_file", `{"path":"../x"}`, "", "outside the workspace"},
		{"read_file", `{"path":7,"more":1}`, "", `/path: found a number; give a string; also /more: unknown field`},
	} {
		out := called(t, box, test.tool, test.args)
		if out.OK != (test.says == "") || string(out.Value) != test.value || !strings.Contains(out.Error, test.says) ||
			(out.Error == "") != out.OK || out.Text == "" || out.Transient || out.TimedOut || out.Cut {
			t.Errorf("%s %s\n got %+v\nvalue %s", test.tool, test.args, out, out.Value)
		}
	}
}

// TestCallsHonourTheGuard: no step writes, with any tool, while only reading is allowed.
func TestCallsHonourTheGuard(t *testing.T) {
	r := &runner{}
	box := open(t, map[string]string{"a.txt": "a"}, toolbox.Options{Runner: r, Guard: func(context.Context, string) (toolbox.Hold, error) {
		return toolbox.Hold{By: toolbox.PlanningMode}, nil
	}})
	for tool, args := range map[string]string{"write_file": `{"path":"a.txt","content":"b"}`, "create_file": `{"path":"b","content":"b"}`,
		"str_replace": `{"path":"a.txt","old":"a","new":"b"}`, "bash_execute": `{"command":"rm a.txt"}`} {
		if out := called(t, box, tool, args); out.OK || !strings.Contains(out.Error, plan.ReadOnly) {
			t.Errorf("%s: %+v", tool, out)
		}
	}
	out := called(t, box, "bash_execute", `{"command":"cat \"$FILE\"","env":{"FILE":"a.txt"}}`)
	if out.OK || !strings.Contains(out.Error, "/env: a command gets no variables") || r.Text != "" {
		t.Errorf("%+v, %q", out, r.Text)
	}
	if got := read(t, box, "a.txt"); got != "a" {
		t.Errorf("got %q", got)
	}
}

type passing struct{ passes bool }

func (passing) Error() string     { return "the service is busy" }
func (p passing) Transient() bool { return p.passes }

// TestWhatIsWorthTryingAgain: closed connections, and errors that are marked so.
func TestWhatIsWorthTryingAgain(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{passing{true}, true}, {passing{false}, false}, {errors.New("no"), false},
		{errors.Join(errors.New("read"), net.ErrClosed), true}, {io.ErrUnexpectedEOF, true}, {io.EOF, false},
		{&plan.ValidationError{Kind: plan.Conflict, Problem: "no"}, false},
	} {
		other := toolbox.Tool{Spec: toolbox.Spec{Name: "x"}, Schema: json.RawMessage(`{}`),
			Run: func(context.Context, json.RawMessage, toolbox.Watch) (toolbox.Outcome, error) {
				return toolbox.Outcome{}, test.err
			}}
		out, err := other.Call(t.Context(), nil, toolbox.Watch{})
		if err != nil || out.OK || out.Transient != test.want || out.Error != test.err.Error() {
			t.Errorf("%v: %+v, %v", test.err, out, err)
		}
	}
}

// TestCallsThatAreCutOff: of every tool, a deadline is an outcome and a cancellation an error.
func TestCallsThatAreCutOff(t *testing.T) {
	hangs := toolbox.Tool{Spec: toolbox.Spec{Name: "x"}, Schema: json.RawMessage(`{}`),
		Run: func(ctx context.Context, _ json.RawMessage, _ toolbox.Watch) (toolbox.Outcome, error) {
			<-ctx.Done()
			return toolbox.Outcome{OK: true, Text: "half"}, ctx.Err()
		}}
	late, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if out, err := hangs.Call(late, nil, toolbox.Watch{}); err != nil || out.OK || !out.TimedOut || !out.Cut || out.Text != "half" {
		t.Errorf("%+v, %v", out, err)
	}
	why := errors.New("the run is over")
	ended, end := context.WithCancelCause(t.Context())
	end(why)
	box := open(t, map[string]string{"a": ""}, toolbox.Options{})
	for _, tool := range []toolbox.Tool{hangs, tool(t, box, "bash_execute"), tool(t, box, "grep"), tool(t, box, "write_file")} {
		args := json.RawMessage(tool.Example)
		if out, err := tool.Call(ended, args, toolbox.Watch{}); !errors.Is(err, why) || out.OK || !out.Cut {
			t.Errorf("%s: %+v, %v", tool.Name, out, err)
		}
	}
}
