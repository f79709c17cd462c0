package hook

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// refused reads an answer as the host's documentation or source does, and returns whether the tool is refused, and why.
func refused(t *testing.T, host Host, stdout, stderr []byte, code int) (bool, string) {
	t.Helper()
	text := strings.TrimSpace(string(stdout))
	if code == 2 { // refuses everywhere
		return true, strings.TrimSpace(string(stderr))
	}
	if code != 0 {
		t.Fatalf("%s: exit code %d lets the tool run, whatever is printed", host, code)
	}
	var said map[string]any
	if text != "" {
		if err := json.Unmarshal([]byte(text), &said); err != nil {
			t.Fatalf("%s: %v in %s", host, err, text)
		}
	}
	inside, _ := said["hookSpecificOutput"].(map[string]any)
	named := func(members map[string]any, name string) string { text, _ := members[name].(string); return text }
	switch host {
	case Claude:
		return named(inside, "permissionDecision") == "deny", named(inside, "permissionDecisionReason")
	case Codex: // fails open on unknown members and on a blank reason
		for name := range said {
			if name != "hookSpecificOutput" {
				t.Fatalf("codex does not know %q", name)
			}
		}
		reason := named(inside, "permissionDecisionReason")
		return named(inside, "permissionDecision") == "deny" && strings.TrimSpace(reason) != "" &&
			named(inside, "hookEventName") == "PreToolUse" && len(inside) == 3, reason
	case Gemini:
		return named(said, "decision") == "deny" || named(said, "decision") == "block", named(said, "reason")
	case Antigravity: // fails closed
		return named(said, "decision") != "allow", named(said, "reason")
	case Cursor: // an answer without an object refuses
		return said == nil || named(said, "permission") == "deny", named(said, "agent_message")
	case VSCode: // two readers: VS Code's own agent, and Copilot's command line
		within, beside := named(inside, "permissionDecision") == "deny", named(said, "permissionDecision") == "deny"
		if within != beside || named(inside, "permissionDecisionReason") != named(said, "permissionDecisionReason") {
			t.Fatalf("vscode: two answers in %s", text)
		}
		return within, named(said, "permissionDecisionReason")
	case Goose: // output that is neither empty nor a decision is ignored
		if text != "" && (text[0] != '{' || named(said, "decision") != "block") {
			t.Fatalf("goose takes %s for no decision", text)
		}
		return text != "", named(said, "reason")
	case Opencode: // planloop's own plugin takes empty output as a killed hook
		return said == nil || named(said, "refuse") != "", named(said, "refuse")
	case Windsurf:
		return false, ""
	}
	t.Fatalf("no reader for %s", host)
	return false, ""
}

func FuzzReadAndWrite(f *testing.F) {
	for i, host := range Hosts() {
		for _, event := range Events(host) {
			f.Add(i, event.Name, []byte("{}"), "not now")
		}
	}
	for _, p := range payloads(f) {
		for i, host := range Hosts() {
			if host == p.host {
				f.Add(i, p.event, p.text, "no \"writes\"\n\x00\u2028")
			}
		}
	}
	f.Fuzz(func(t *testing.T, host int, event string, payload []byte, reason string) {
		hosts := Hosts()
		h := hosts[((host%len(hosts))+len(hosts))%len(hosts)]
		call, err := Read(h, event, payload)
		if call.Host != h || call.Event != event {
			t.Fatalf("%+v cannot be answered", call)
		}
		if err != nil && (call.Tool != "" || call.Effect != Unknown || call.Moment != eventOf(h, event).Moment) {
			t.Fatalf("half a call: %+v", call)
		}
		if call.Effect == Runs && call.Command == "" || strings.ContainsRune(call.Command, 0) || !utf8.ValidString(call.Command) {
			t.Fatalf("no command: %+v", call)
		}
		if stdout, stderr, code := call.Write(Answer{}); call.Moment == BeforeTool {
			if no, _ := refused(t, h, stdout, stderr, code); no {
				t.Fatalf("nothing to say refuses: %s %s", stdout, stderr)
			}
		}
		stdout, stderr, code := call.Write(Answer{Refuse: reason})
		if call.Moment != BeforeTool || reason == "" {
			return
		}
		no, why := refused(t, h, stdout, stderr, code)
		if !no {
			t.Fatalf("%s does not refuse: %q %q %d", h, stdout, stderr, code)
		}
		if said := strings.TrimSpace(reason); utf8.ValidString(reason) && said != "" && strings.TrimSpace(why) != said {
			t.Fatalf("%s is told %q, not %q", h, why, said)
		}
	})
}
