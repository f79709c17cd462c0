package downstream_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/downstream"
	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/toolbox"
)

// own is the configuration of a server of ours that is a command.
func own(b behaviour) downstream.Server {
	text, err := json.Marshal(b)
	if err != nil {
		panic(err)
	}
	program, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return downstream.Server{Command: program, Args: []string{asServer, string(text)},
		Env: map[string]outbound.Secret{"PASSWORD": "hunter22hunter22"}}
}

// started returns servers, which are ended with the test.
func started(t *testing.T, c downstream.Config, change ...func(*downstream.Options)) *downstream.Servers {
	t.Helper()
	o := downstream.Options{Launcher: &process.Launcher{}, Dir: t.TempDir(), CacheDir: filepath.Join(t.TempDir(), "lists"), Version: "1",
		Getenv: os.Getenv}
	for _, set := range change {
		set(&o)
	}
	s, err := downstream.New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// refreshed lists the tools of servers by their names.
func refreshed(t *testing.T, s *downstream.Servers) map[string]downstream.Tool {
	t.Helper()
	if err := s.Refresh(within(t)); err != nil {
		t.Fatal(err)
	}
	return byName(s.Tools())
}

func byName(tools []downstream.Tool) map[string]downstream.Tool {
	all := map[string]downstream.Tool{}
	for _, tool := range tools {
		all[tool.Name] = tool
	}
	return all
}

// TestCallsAndSteps: what comes of a call, for a client and for a step, over both ways and in both eras.
func TestCallsAndSteps(t *testing.T) {
	s := started(t, downstream.Config{"ours": own(behaviour{})})
	tools := refreshed(t, s)
	for _, test := range []struct {
		tool, args         string
		text, structured   string // of a client's result
		value, said, error string // of a step's outcome
		cut                bool
	}{
		{tool: "echo", args: `{"a":[1]}`, text: "echoed", structured: `{"given":{"a":[1]}}`, value: `{"given":{"a":[1]}}`, said: "echoed"},
		{tool: "echo", text: "echoed", structured: `{"given":{}}`, value: `{"given":{}}`, said: "echoed"},
		{tool: "fail", text: "it did not work", value: `"it did not work"`, said: "it did not work", error: "it did not work"},
		{tool: "refuse", error: `the server ours answered "no [1m such thing: [hidden]" (-32602)`},
		{tool: "text", text: `a\x1b[31mred` + "\nline" + `\u202e`, value: `"a\u001b[31mred\r\nline` + "\u202e" + `"`,
			said: `a\x1b[31mred` + "\nline" + `\u202e`},
		{tool: "garbled", error: "the server ours answered garbled with what is no result of a tool"},
		{tool: "rubbish", error: "the server ours answered with what is not JSON", cut: true},
		{tool: "huge", error: "the server ours answered with more than 4 MB, which is not read", cut: true},
		{tool: "progress", text: "done", value: `"done"`, said: "done"},
	} {
		tool := tools["ours__"+test.tool]
		got, err := tool.Invoke(within(t), json.RawMessage(test.args), downstream.Handlers{})
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
	for _, st := range s.Status() {
		if st.State != downstream.Ready || st.Version != "2025-06-18" || !st.Heard || st.Error != "" ||
			!strings.Contains(strings.Join(st.Lines, "\n"), "this is a log line") {
			t.Errorf("%+v", st)
		}
	}
}
