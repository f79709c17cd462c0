//go:build unix

package e2e_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// TestSecretsAreMasked: what programs print and agents report is recorded and shown without secrets, except in the file of a step's value,
// which other steps get whole.
func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	all := testenv.Secrets(t, "../../")
	if len(all.Secrets) < 50 || len(all.LookAlikes) < 50 {
		t.Fatalf("%d secrets, %d look-alikes", len(all.Secrets), len(all.LookAlikes))
	}
	var texts, pieces []string
	for _, s := range all.Secrets {
		texts, pieces = append(texts, s.Before+s.Text), append(pieces, s.Pieces...)
	}
	printed := strings.Join(texts, "\n\n") + "\n\n" + strings.Join(all.LookAlikes, "\n") + "\n"
	file := filepath.Join(t.TempDir(), "printed.txt")
	put(t, file, printed)
	p.configure("step_approval: never\n")
	shown := &strings.Builder{}
	say := func(text ...string) { shown.WriteString(strings.Join(text, "\n")) }
	run := func(args ...string) {
		got := p.run(args...)
		say(got.out, got.err)
	}
	cat := func(title, end string) map[string]any {
		return map[string]any{"title": title, "tool": "bash_execute", "args": map[string]any{"command": "cat " + file + end}}
	}
	small := filepath.Join(t.TempDir(), "small.txt")
	put(t, small, "token="+pieces[0])
	steps, _ := json.Marshal(map[string]any{"objective": "Mask", "steps": []map[string]any{
		cat("Print and fail", "; exit 1"), cat("Print", ""), {"title": "By hand"},
		{"title": "Small", "tool": "bash_execute", "args": map[string]any{"command": "cat " + small}},
		{"title": "Use", "tool": "bash_execute", "args": map[string]any{
			"command": `printf %s "$VALUE" > value.txt; printf %s "$SMALL" > small.txt`,
			"env":     map[string]any{"VALUE": "$S002", "SMALL": "$S004"}}},
	}})
	if got := p.feed(string(steps), "import", "--format", "json", "-"); got.code != 0 {
		t.Fatal(got.out, got.err)
	}
	run("run")
	whole, err := os.ReadFile(filepath.Join(p.workspace, "value.txt"))
	if err != nil || strings.TrimSpace(string(whole)) != strings.TrimSpace(printed) {
		t.Errorf("S002's value did not reach S005 whole: %v, %d of %d bytes", err, len(whole), len(printed))
	}
	if part, err := os.ReadFile(filepath.Join(p.workspace, "small.txt")); err != nil || string(part) != "token="+pieces[0] {
		t.Errorf("S004's value did not reach S005 whole: %v, %s", err, part)
	}
	run("check", "--id", "leak", "--", "sh", "-c", "cat "+file+"; exit 1")
	run("step", "edit", "S003", "--verify", "cat "+file+"; exit 1")
	run("check", "--task", "3")
	h := p.open()
	half := len(texts) / 2
	for _, part := range [][]string{texts[:half], texts[half:]} {
		text := strings.Join(part, "\n\n")
		say(h.do("planloop_update", arguments{"update_tasks": []any{map[string]any{
			"id": 3, "note": text, "output": text, "status": "IN_PROGRESS", "evidence": []any{map[string]any{"note": text}}}}}).text)
	}
	for i, text := range texts {
		if len(text) < 500 {
			say(h.do("planning_mark_step", arguments{"step_id": "S003", "status": "blocked", "note": text}).text)
			say(h.do("planloop_alert", arguments{"id": string(rune('a'+i%26)) + "x", "level": "info", "message": text}).text)
		}
	}
	for _, uri := range []string{"plan://current", "plan://current.md", "plan://log", "plan://events", "plan://status", "plan://steps/S001",
		"plan://steps/S003"} {
		say(string(ask(h, "resources/read", arguments{"uri": uri})))
	}
	for _, prompt := range []string{"resume", "plan_status", "execute_plan"} {
		say(string(ask(h, "prompts/get", arguments{"name": prompt})))
	}
	say(string(ask(h, "prompts/get", arguments{"name": "recover_step", "arguments": arguments{"step_id": "S001"}})))
	say(h.errors.String())
	for _, args := range [][]string{{"status"}, {"status", "--json"}, {"show"}, {"show", "S001"}, {"show", "S002"}, {"show", "S003"},
		{"show", "--json"}, {"log"}, {"log", "--json"}, {"log", "--events"}, {"resume"}, {"doctor"}, {"step", "logs", "S001"},
		{"step", "logs", "S002"}, {"plan", "status"},
		{"export", "--format", "json"}, {"export", "--format", "yaml"}, {"export", "--format", "rawko-yaml"},
		{"export", "--format", "execution"}, {"export", "--format", "md"}} {
		run(args...)
	}
	values := 0
	err = filepath.WalkDir(p.home, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if strings.Contains(path, string(filepath.Separator)+"values"+string(filepath.Separator)) {
			values++
			return nil
		}
		data, err := os.ReadFile(path)
		say(path, string(data))
		return err
	})
	if err != nil || values != 2 {
		t.Errorf("%d values kept apart, %v", values, err)
	}
	if !strings.Contains(shown.String(), "[masked]") {
		t.Error("nothing is masked")
	}
	for _, piece := range pieces {
		if at := strings.Index(shown.String(), piece); at >= 0 {
			t.Errorf("%q is shown or stored: …%s", piece, shown.String()[max(0, at-300):at+len(piece)])
		}
	}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	testenv.Check(t, os.WriteFile(file, []byte(text), 0o600))
}

// ask returns the result of a request.
func ask(h *host, method string, params any) string {
	h.t.Helper()
	f, err := h.request(method, params)
	if err != nil || f.Error != nil {
		h.t.Fatalf("%s %v: %v, %v", method, params, err, f.Error)
	}
	return string(f.Result)
}
