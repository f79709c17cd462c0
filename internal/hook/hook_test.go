package hook

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/testenv"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		testenv.Check(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want := testenv.Must(os.ReadFile(path))(t)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (run with -update after reading this):\n%s", name, diff)
	}
}

// payload is a recorded or documented payload: testdata/HOST/VERSION-EVENT-WHAT.json.
type payload struct {
	name  string
	host  Host
	event string
	text  []byte
}

func payloads(t testing.TB) (all []payload) {
	t.Helper()
	for _, host := range Hosts() {
		paths := testenv.Must(filepath.Glob(filepath.Join("testdata", string(host), "*.json")))(t)
		for _, path := range paths {
			text := testenv.Must(os.ReadFile(path))(t)
			stem := strings.TrimSuffix(filepath.Base(path), ".json")
			all = append(all, payload{string(host) + "/" + stem, host, eventIn(host, stem), text})
		}
	}
	return all
}

// eventIn returns the longest event name that a file's name contains after the version, or all of that part.
func eventIn(host Host, stem string) string {
	_, event, _ := strings.Cut(stem, "-")
	found := ""
	for _, e := range Events(host) {
		if strings.HasPrefix(event+"-", e.Name+"-") && len(e.Name) > len(found) {
			found = e.Name
		}
	}
	if found == "" {
		return event
	}
	return found
}

// described returns a call in a few lines.
func described(c Call) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %s: %s\n", name, value)
		}
	}
	line("moment", string(c.Moment))
	line("session", c.Session)
	line("subagent", c.Subagent)
	line("version", c.Version)
	line("dir", c.Dir)
	line("roots", strings.Join(c.Roots, " "))
	if c.IsContinued {
		line("again", "true")
	}
	line("tool", c.Tool)
	if c.Tool != "" {
		line("does", strings.Join(strings.Fields(string(c.Effect) + " unknown")[:1], ""))
	}
	line("server", c.Server)
	line("name", c.Name)
	if c.IsOwn() {
		line("own", "true")
	}
	line("command", c.Command)
	for _, path := range c.Paths {
		line("path", path)
	}
	if c.Input != nil {
		line("input", fmt.Sprintf("%d bytes", len(c.Input)))
	}
	if c.Result != nil {
		line("result", fmt.Sprintf("%d bytes", len(c.Result)))
	}
	return b.String()
}

// TestEachPayload reads every recorded or documented payload.
func TestEachPayload(t *testing.T) {
	var b strings.Builder
	for _, p := range payloads(t) {
		call, err := Read(p.host, p.event, p.text)
		if err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
		fmt.Fprintf(&b, "%s\n%s", p.name, described(call))
	}
	golden(t, "calls.golden", b.String())
}

// TestEachAnswer shows the answers in each host's form.
func TestEachAnswer(t *testing.T) {
	var b strings.Builder
	for _, host := range Hosts() {
		for _, event := range Events(host) {
			call := Call{Host: host, Event: event.Name, Moment: event.Moment, Input: jsontext.Value(`{"plan":"1. A","new":null}`)}
			answers := []Answer{{}, {Refuse: `no "writes"`, Context: "a plan", Continue: "S001 is open"}}
			if event.Moment == AskUser || event.Moment == BeforeTool && host == Claude {
				answers = append(answers, Answer{Approval: &Approval{}}, Answer{Approval: &Approval{Edited: "1. B", AcceptsEdits: true}})
			}
			for _, answer := range answers {
				stdout, stderr, code := call.Write(answer)
				fmt.Fprintf(&b, "%s %s: code %d\n", host, event.Name, code)
				for i, text := range [][]byte{stdout, stderr} {
					if len(text) > 0 {
						fmt.Fprintf(&b, "  %s: %s\n", []string{"stdout", "stderr"}[i], bytes.TrimRight(text, "\n"))
					}
				}
			}
		}
	}
	golden(t, "answers.golden", b.String())
}

// TestEachTool shows the act of each known tool.
func TestEachTool(t *testing.T) {
	var b strings.Builder
	for _, host := range Hosts() {
		seen := []string{}
		for _, row := range toolGroups(host) {
			for _, name := range strings.Fields(row.names) {
				if slices.Contains(seen, name) {
					t.Errorf("%s: %s stands there twice", host, name)
				}
				seen = append(seen, name)
				fmt.Fprintf(&b, "%s %s %s %s\n", host, name, row.effect, row.members)
			}
		}
	}
	golden(t, "tools.golden", b.String())
}

// TestChangedCommand: a change keeps the rest of the tool's input, decides nothing about permissions, and is for hosts that were seen to
// carry it out, and commands that may run in the sandbox.
func TestChangedCommand(t *testing.T) {
	p := Policy{Confine: "/bin/planloop", IsShadowed: func(Call) bool { return false }}
	const form = "/bin/planloop confine -- go test ./..."
	for name, test := range map[string]struct {
		host                 Host
		event, tool, command string
		want                 string
	}{
		"a test":              {Claude, "pre-tool-use", "Bash", "go test ./...", form},
		"in the sandbox":      {Claude, "pre-tool-use", "Bash", form, form},
		"with a reader":       {Claude, "pre-tool-use", "Bash", form + " | tail -5", form + " | tail -5"},
		"with a change":       {Claude, "pre-tool-use", "Bash", form + " && rm x", ""},
		"a change":            {Claude, "pre-tool-use", "Bash", "rm x", ""},
		"a read":              {Claude, "pre-tool-use", "Bash", "ls", ""},
		"another shell":       {Claude, "pre-tool-use", "run_in_terminal", "go test ./...", ""},
		"Codex":               {Codex, "pre-tool-use", "Bash", "go test ./...", ""},
		"Gemini CLI":          {Gemini, "before-tool", "run_shell_command", "go test ./...", ""},
		"Copilot":             {VSCode, "pre-tool-use", "bash", "go test ./...", ""},
		"opencode's own hook": {Opencode, "tool-execute-before", "bash", "go test ./...", ""},
	} {
		payload := `{"session_id":"s","permission_mode":"plan","tool_name":"` + test.tool + `","tool_input":{"command":"` + test.command +
			`","description":"d","run_in_background":true}}`
		if test.host == Codex || test.host == Gemini {
			payload = strings.Replace(payload, `,"description":"d","run_in_background":true`, "", 1)
		}
		c := testenv.Must(Read(test.host, test.event, []byte(payload)))(t)
		if got := p.Confined(c); got != test.want {
			t.Errorf("%s: %q, not %q", name, got, test.want)
		}
		if test.want == "" {
			continue
		}
		out, _, code := c.Write(Answer{Command: test.want})
		want := `{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"` + test.want +
			`","description":"d","run_in_background":true}}}` + "\n"
		if string(out) != want || code != 0 || c.Mode != "plan" {
			t.Errorf("%s: %s, code %d, mode %q", name, out, code, c.Mode)
		}
	}
}
