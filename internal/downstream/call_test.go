package downstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/downstream"
	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/toolbox"
)

// everywhere runs a test with our own server over both transports and in both eras.
func everywhere(t *testing.T, test func(t *testing.T, s *downstream.Servers, tools map[string]toolbox.RemoteTool)) {
	for _, way := range []string{"stdio", "http"} {
		for _, modern := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s modern=%v", way, modern), func(t *testing.T) {
				server := own(behaviour{Modern: modern})
				if way == "http" {
					t.Setenv("PASSWORD", "hunter22hunter22")
					web := httptest.NewServer(newPeer(behaviour{Modern: modern}, nil))
					t.Cleanup(web.Close)
					server = downstream.Server{URL: web.URL + "/mcp", Headers: map[string]outbound.Secret{"X-Key": "hunter22hunter22"}}
				}
				s := started(t, downstream.Config{"ours": server})
				test(t, s, refreshed(t, s))
			})
		}
	}
}

func unknown(tool string) string { return "; it is unknown whether " + tool + " was carried out" }

// TestCallsAndSteps checks the results of calls by clients and by steps.
func TestCallsAndSteps(t *testing.T) {
	everywhere(t, func(t *testing.T, s *downstream.Servers, tools map[string]toolbox.RemoteTool) {
		for _, test := range []struct {
			tool, args         string
			text, structured   string // of a client's result
			value, said, error string // of a step's outcome
			cut                bool
		}{
			{tool: "echo", args: `{"a":[1]}`, text: "echoed", structured: `{"given":{"a":[1]}}`, value: `{"given":{"a":[1]}}`},
			{tool: "echo", text: "echoed", structured: `{"given":{}}`, value: `{"given":{}}`, said: "echoed"},
			{tool: "echo", args: `{"n":9007199254740993}`, text: "echoed", structured: `{"given":{"n":9007199254740993}}`,
				value: `{"given":{"n":9007199254740993}}`}, // too large for a float64
			{tool: "fail", text: "it did not work", value: `"it did not work"`, said: "it did not work", error: "it did not work"},
			{tool: "refuse", error: `the server ours answered "no [1m such thing: [hidden]" (-32602)`},
			{tool: "text", text: `a\x1b[31mred` + "\nline" + `\u202e`, value: `"a\u001b[31mred\r\nline` + "\u202e" + `"`,
				said: `a\x1b[31mred` + "\nline" + `\u202e`},
			{tool: "garbled", error: "the server ours answered with text that is not a tool result"},
			{tool: "rubbish", error: "the server ours answered with text that is not JSON" + unknown("rubbish"), cut: true},
			{tool: "huge", error: "the server ours answered with more than 4 MB, the limit" + unknown("huge"), cut: true},
			{tool: "progress", text: "done", value: `"done"`, said: "done"},
			{tool: "exact", text: `x\x07`, value: `"x\u0007"`, said: `x\x07`},
		} {
			tool := tools["ours__"+test.tool]
			got, err := tool.Invoke(within(t), json.RawMessage(test.args), toolbox.RemoteClient{})
			switch {
			case err != nil:
				if err.Error() != test.error {
					t.Errorf("%s: %v", test.tool, err)
				}
			case got.Text() != test.text || string(got.Structured) != test.structured || got.IsError != (test.error != ""):
				t.Errorf("%s: %+v", test.tool, got)
			}
			out, err := tool.Call(within(t), json.RawMessage(test.args), toolbox.Watch{})
			if err != nil || out.OK != (test.error == "") || out.Error != test.error || out.Cut != test.cut || out.Transient ||
				string(out.Value) != test.value || test.said != "" && out.Text != test.said {
				t.Errorf("%s: %+v, %v", test.tool, out, err)
			}
		}
		st := s.Status()[0]
		known := slices.Contains([]string{"2025-06-18", "2026-07-28"}, st.Version)
		if st.State != downstream.Ready || !known || !st.Listed || st.Error != "" {
			t.Errorf("%+v", st)
		}
		if lines := strings.Join(st.Lines, "\n"); st.Transport == "stdio" && !strings.Contains(lines, "this is a log line") {
			t.Errorf("%q", lines)
		}
	})
}

// TestPartsOfAResultComeAsTheyAre: even parts of unknown types.
func TestPartsOfAResultComeAsTheyAre(t *testing.T) {
	s := started(t, downstream.Config{"ours": own(behaviour{})})
	got, err := refreshed(t, s)["ours__exact"].Invoke(within(t), nil, toolbox.RemoteClient{})
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, part := range got.Content {
		parts = append(parts, string(part))
	}
	want := []string{`{"type":"image","data":"AAAA","mimeType":"image/png"}`, `{"type":"text","text":"x\\x07"}`,
		`{"type":"odd","y":1.50}`}
	if !slices.Equal(parts, want) {
		t.Errorf("%q", parts)
	}
}

// TestProgressPassesThrough: unchanged for a client, in percent for a step.
func TestProgressPassesThrough(t *testing.T) {
	everywhere(t, func(t *testing.T, _ *downstream.Servers, tools map[string]toolbox.RemoteTool) {
		var told []string
		_, err := tools["ours__progress"].Invoke(within(t), nil, toolbox.RemoteClient{Progress: func(done, total float64, message string) {
			told = append(told, fmt.Sprint(done, total, message))
		}})
		if want := []string{"1 4part 1", "2 4part 2", "3 4part 3"}; err != nil || !slices.Equal(told, want) {
			t.Errorf("%q, %v", told, err)
		}
		told = nil
		_, err = tools["ours__progress"].Call(within(t), nil, toolbox.Watch{Progress: func(percent int, what string) {
			told = append(told, fmt.Sprint(percent, what))
		}})
		if want := []string{"25part 1", "50part 2", "75part 3"}; err != nil || !slices.Equal(told, want) {
			t.Errorf("%q, %v", told, err)
		}
	})
}

// TestCancellationIsToldToTheServer: a call that was given up ends at the server, too.
func TestCancellationIsToldToTheServer(t *testing.T) {
	s := started(t, downstream.Config{"ours": own(behaviour{})})
	tools := refreshed(t, s)
	cause := errors.New("planning mode has begun")
	ctx, cancel := context.WithCancelCause(within(t))
	ended, begun := make(chan error, 1), make(chan bool, 1)
	go func() {
		h := toolbox.RemoteClient{Progress: func(float64, float64, string) { begun <- true }}
		_, err := tools["ours__wait"].Invoke(ctx, nil, h)
		ended <- err
	}()
	<-begun
	cancel(cause)
	var failed *downstream.Error
	if err := <-ended; !errors.Is(err, cause) || !errors.As(err, &failed) || !failed.Sent || failed.Transient() {
		t.Fatal(err)
	}
	got, err := tools["ours__cancelled"].Invoke(within(t), nil, toolbox.RemoteClient{})
	if err != nil || !strings.HasPrefix(got.Text(), "cancelled ") {
		t.Errorf("%+v, %v", got, err)
	}
	out, err := tools["ours__silent"].Call(ctx, nil, toolbox.Watch{})
	if !errors.Is(err, cause) {
		t.Errorf("a step that was cancelled: %+v, %v", out, err)
	}
}

// TestQuestionsReachAPerson: the question has the name of the server that asks, and the answer reaches that server.
func TestQuestionsReachAPerson(t *testing.T) {
	everywhere(t, func(t *testing.T, s *downstream.Servers, tools map[string]toolbox.RemoteTool) {
		prefix := ""
		if s.Status()[0].Version == "2026-07-28" {
			prefix = "opaque "
		}
		for action, want := range map[string]string{"accept": `{"action":"accept","content":{"colour":"red"}}`,
			"decline": `{"action":"decline"}`, "cancel": `{"action":"cancel"}`, "approve": `{"action":"cancel"}`,
			"fails": `{"action":"cancel"}`} {
			asked := ""
			h := toolbox.RemoteClient{Elicit: func(_ context.Context, message string, schema json.RawMessage) (
				string, json.RawMessage, error) {
				asked = message + " " + string(schema)
				if action == "fails" {
					return "accept", nil, errors.New("nobody is there")
				}
				return action, json.RawMessage(`{"colour":"red"}`), nil
			}}
			got, err := tools["ours__ask"].Invoke(within(t), nil, h)
			if err != nil || got.Text() != prefix+want {
				t.Errorf("%s: %+v, %v", action, got, err)
			}
			if asked != "Which \uFFFD colour? "+`{"properties":{"colour":{"type":"string"}},"type":"object"}` {
				t.Errorf("%s: %q", action, asked)
			}
		}
		got, err := tools["ours__ask"].Invoke(within(t), nil, toolbox.RemoteClient{})
		if err != nil || got.Text() != prefix+`{"action":"decline"}` {
			t.Errorf("without anybody to ask: %+v, %v", got, err)
		}
	})
}

// TestAQuestionOfNobodyKnowsWhomReachesNobody: over standard output a server does not say which call its question
// belongs to, and another client's user must not see it.
func TestAQuestionOfNobodyKnowsWhomReachesNobody(t *testing.T) {
	s := started(t, downstream.Config{"ours": own(behaviour{})})
	tools := refreshed(t, s)
	ctx, cancel := context.WithCancel(within(t))
	ended := make(chan error, 1)
	begun := make(chan bool, 1)
	go func() {
		h := toolbox.RemoteClient{Progress: func(float64, float64, string) { begun <- true }}
		_, err := tools["ours__wait"].Invoke(ctx, nil, h)
		ended <- err
	}()
	<-begun
	h := toolbox.RemoteClient{Elicit: func(context.Context, string, json.RawMessage) (string, json.RawMessage, error) {
		t.Error("it was asked")
		return "accept", nil, nil
	}}
	got, err := tools["ours__ask"].Invoke(within(t), nil, h)
	if err != nil || got.Text() != `{"action":"cancel"}` {
		t.Errorf("%+v, %v", got, err)
	}
	cancel()
	<-ended
}
