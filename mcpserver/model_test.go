package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// folder is a tree on the disk, reached through an os.Root.
type folder struct{ root *os.Root }

func newFolder(t testing.TB, files map[string]string) folder {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		testenv.Check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	root, err := os.OpenRoot(dir)
	testenv.Check(t, err)
	t.Cleanup(func() { root.Close() })
	return folder{root}
}

func (f folder) Files() (fs.FS, error) { return f.root.FS(), nil }

func (f folder) Summary(context.Context) (string, error) {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return strings.Join(names, "\n"), err
}

func (f folder) Document(path string, most int) (string, bool) {
	data, err := fs.ReadFile(f.root.FS(), path)
	return string(data[:min(len(data), most)]), err == nil
}

func (folder) Survey(context.Context, func(int)) ([]verbs.Suggestion, string, error) {
	return nil, "", nil
}

// scripted is a configured model that gives one answer after the other, and keeps the prompts.
type scripted struct{ answers, asked []string }

func (*scripted) Name() string { return "scripted-1" }

func (m *scripted) Ask(_ context.Context, prompt string) ([]byte, error) {
	m.asked = append(m.asked, prompt)
	answer := m.answers[min(len(m.asked), len(m.answers))-1]
	if answer == "" {
		return nil, errors.New("the model fell over")
	}
	return []byte(answer), nil
}

const approves = `{"is_approved": true, "feedback": "well cut"}`

// draftOf returns the guide's example as an answer to the request for a draft.
func draftOf(t testing.TB) string {
	t.Helper()
	_, payload := resources.GuideExample()
	var draft map[string]json.RawMessage
	testenv.Check(t, json.Unmarshal(payload, &draft))
	data, err := json.Marshal(map[string]json.RawMessage{"add_tasks": draft["add_tasks"]})
	testenv.Check(t, err)
	return string(data)
}

func eras(t *testing.T, do func(t *testing.T, era string)) {
	for _, era := range []string{handshake, stateless} {
		t.Run(era, func(t *testing.T) { do(t, era) })
	}
}

func (w world) plain(t testing.TB) plan.State {
	t.Helper()
	state, err := w.service.State(t.Context())
	testenv.Check(t, err)
	return state
}

var decompose = map[string]any{"goal": "Write the tool that spec.md describes", "decompose": true}

// TestModelDrafts has the model draft a plan: the gates refuse its first draft, and the judge its second.
func TestModelDrafts(t *testing.T) {
	files, _ := resources.GuideExample()
	eras(t, func(t *testing.T, era string) {
		m := &scripted{answers: []string{
			`{"add_tasks":[{"title":"Stuff"}]}`,
			draftOf(t), `{"is_approved": false, "feedback": "Say how the trash is emptied."}`,
			draftOf(t), approves,
		}}
		w := newWorldWith(t, verbs.Options{Tree: newFolder(t, files), Model: m}, mcpserver.Options{})
		result := call(t, w.connect(t, era, nil), "planloop_start", decompose)
		if result.IsError {
			t.Fatal(text(t, result))
		}
		state := w.plain(t)
		if state.Plan != nil || state.Draft == nil || state.Draft.Steps.Len() != 5 || state.Draft.Status != plan.StatusDraft {
			t.Fatalf("plan %v, draft %v", state.Plan, state.Draft)
		}
		if state.Revision != 1 {
			t.Errorf("%d records were written, want one", state.Revision)
		}
		if got := text(t, result); !strings.Contains(got, "5 tasks drafted by scripted-1 in 3 rounds") {
			t.Error(got)
		}
		if len(m.asked) != 5 {
			t.Fatalf("asked %d times, want 5", len(m.asked))
		}
		for i, words := range [][]string{{"spec.md", "SHA-256"}, {"Stuff"}, {"is_approved", "trash"}, {"Say how the trash is emptied."},
			{"is_approved"}} {
			for _, word := range words {
				if !strings.Contains(m.asked[i], word) {
					t.Errorf("prompt %d does not contain %q", i+1, word)
				}
			}
		}
	})
}

// suggestions returns the answer of planloop suggest.
func suggestions(t *testing.T, w world) string {
	t.Helper()
	reply, err := w.service.Suggest(t.Context(), verbs.Caller{Actor: plan.Actor{Kind: plan.Agent, Name: "ann"}}, verbs.Suggest{})
	testenv.Check(t, err)
	return reply.Text()
}

// TestModelSuggests has the model refine the suggestions.
func TestModelSuggests(t *testing.T) {
	m := &scripted{answers: []string{`{"suggestions":[
		{"title":"Test the exit codes of main","type":"test","context_hints":["Read main.go"],
			"relevant_file_paths":["main.go"],"reason":"untested"},
		{"title":"Repair what is not there","type":"bugfix","context_hints":["See it"],"relevant_file_paths":["no/such.go"]}]}`}}
	files := newFolder(t, map[string]string{"main.go": "package main\n"})
	w := newWorldWith(t, verbs.Options{Tree: files, Model: m}, mcpserver.Options{})
	got := suggestions(t, w)
	if !strings.Contains(got, "1 suggestion by scripted-1") || !strings.Contains(got, "Test the exit codes") ||
		strings.Contains(got, "not there") {
		t.Error(got)
	}
}

// TestModelThatDoesNotHelp checks that a useless answer is reported and changes nothing.
func TestModelThatDoesNotHelp(t *testing.T) {
	const prose = "Looks fine to me, approved!"
	for name, c := range map[string]struct {
		answers []string
		want    string // of planloop_start
		note    string // of planloop suggest; "": it is not called
	}{
		"prose":        {[]string{"I would rather not."}, "draft cannot be read", "could not refine the list"},
		"a failure":    {[]string{""}, "the model fell over", "the model fell over"},
		"cut off":      {[]string{`{"add_tasks":[{"title":"Half`}, "draft cannot be read", "could not refine the list"},
		"no approval":  {[]string{draftOf(t), prose, prose}, "no verdict", ""},
		"no judge":     {[]string{draftOf(t), "", ""}, "the model fell over", ""},
		"wrong fields": {[]string{`{"tasks":[]}`}, "tasks", "unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			files, _ := resources.GuideExample()
			w := newWorldWith(t, verbs.Options{Tree: newFolder(t, files), Model: &scripted{answers: c.answers}}, mcpserver.Options{})
			client := w.connect(t, handshake, nil)
			result := call(t, client, "planloop_start", decompose)
			if got := text(t, result); !result.IsError || !strings.Contains(got, c.want) || !strings.HasPrefix(got, "Nothing was changed") {
				t.Errorf("planloop_start: %s", got)
			}
			if revision := w.plain(t).Revision; revision != 0 {
				t.Errorf("%d changes were made", revision)
			}
			if c.note == "" {
				return
			}
			if got := suggestions(t, w); !strings.Contains(got, c.note) {
				t.Errorf("planloop suggest: %s", got)
			}
		})
	}
}

// TestWithoutAModel checks that planloop says how to continue without a model.
func TestWithoutAModel(t *testing.T) {
	eras(t, func(t *testing.T, era string) {
		w := newWorld(t)
		result := call(t, w.connect(t, era, nil), "planloop_start", decompose)
		if got := text(t, result); !result.IsError || !strings.Contains(got, "no model is configured") ||
			!strings.Contains(got, "decompose_goal") {
			t.Error(got)
		}
		if got := suggestions(t, w); !strings.Contains(got, "No new suggestions") {
			t.Error(got)
		}
	})
}

// TestAJudgeThatOnlyWarnsApprovesNothing checks that no approval is recorded where no judge approved.
func TestAJudgeThatOnlyWarnsApprovesNothing(t *testing.T) {
	files, _ := resources.GuideExample()
	for level, answers := range map[gates.Level][]string{
		gates.Warning: {draftOf(t), `{"is_approved": false, "feedback": "too coarse"}`},
		gates.Off:     {draftOf(t)},
	} {
		levels := func(gate string) gates.Level {
			if gate == "judge" {
				return level
			}
			return gates.ByProfile(gates.Default, gate)
		}
		configured := verbs.Options{Tree: newFolder(t, files), Gates: levels, Model: &scripted{answers: answers}}
		w := newWorldWith(t, configured, mcpserver.Options{})
		result := call(t, w.connect(t, handshake, nil), "planloop_start", decompose)
		if result.IsError {
			t.Fatal(text(t, result))
		}
		state := w.plain(t)
		if state.Draft == nil || state.Revision != 1 {
			t.Fatalf("draft %v at revision %d", state.Draft, state.Revision)
		}
		if verdict := state.Draft.Verdict; verdict != nil && (verdict.Approved || verdict.Feedback != "too coarse") {
			t.Errorf("%s: recorded as %+v", level, verdict)
		}
	}
}
