//lint:file-ignore SA1019 hosts of the handshake revisions still offer sampling

package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/gates"
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
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
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

// host is a client's model: it answers with what comes next, and keeps what it was
// asked.
type host struct {
	mu      sync.Mutex
	answers []string
	asked   []string
	refuse  bool
	silent  bool
}

func (h *host) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{CreateMessageHandler: func(ctx context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult,
		error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.asked = append(h.asked, r.Params.Messages[0].Content.(*mcp.TextContent).Text)
		switch {
		case h.refuse:
			return nil, errors.New("the user said no")
		case h.silent:
			<-ctx.Done()
			return nil, ctx.Err()
		}
		answer := h.answers[min(len(h.asked), len(h.answers))-1]
		return &mcp.CreateMessageResult{Content: &mcp.TextContent{Text: answer}, Model: "host-1", Role: "assistant",
			StopReason: "endTurn"}, nil
	}}
}

func (h *host) times() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.asked)
}

const approves = `{"is_approved": true, "feedback": "well cut"}`

// draftOf is an answer to the request for a draft, as models write it.
func draftOf(t testing.TB) string {
	t.Helper()
	_, payload := resources.GuideExample()
	var draft map[string]json.RawMessage
	if err := json.Unmarshal(payload, &draft); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(map[string]json.RawMessage{"add_tasks": draft["add_tasks"]})
	if err != nil {
		t.Fatal(err)
	}
	return "Here is the plan:\n```json\n" + string(data) + "\n```\n"
}

func eras(t *testing.T, do func(t *testing.T, era string)) {
	for _, era := range []string{handshake, stateless} {
		t.Run(era, func(t *testing.T) { do(t, era) })
	}
}

func (w world) plain(t testing.TB) plan.State {
	t.Helper()
	state, err := w.service.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return state
}

var decompose = map[string]any{"goal": "Write the tool that spec.md describes", "decompose": true}

// TestHostModelDrafts has the host's model draft a plan, whose first draft is refused
// by the gates and whose second is not approved by the judge.
func TestHostModelDrafts(t *testing.T) {
	files, _ := resources.GuideExample()
	eras(t, func(t *testing.T, era string) {
		h := &host{answers: []string{
			`{"add_tasks":[{"title":"Stuff"}]}`,
			draftOf(t), `{"is_approved": false, "feedback": "Say how the trash is emptied."}`,
			draftOf(t), approves,
		}}
		w := newWorldWith(t, verbs.Options{Tree: newFolder(t, files)}, mcpserver.Options{})
		result := call(t, w.connect(t, era, h.options()), "planloop_start", decompose)
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
		if got := text(t, result); !strings.Contains(got, "5 tasks drafted by host-1 in 3 rounds") {
			t.Error(got)
		}
		if h.times() != 5 {
			t.Fatalf("asked %d times, want 5", h.times())
		}
		for i, words := range [][]string{{"spec.md", "SHA-256"}, {"Stuff"}, {"is_approved", "trash"}, {"Say how the trash is emptied."},
			{"is_approved"}} {
			for _, word := range words {
				if !strings.Contains(h.asked[i], word) {
					t.Errorf("question %d does not tell %q", i+1, word)
				}
			}
		}
	})
}

// TestHostModelSuggests has the host's model refine what was found.
func TestHostModelSuggests(t *testing.T) {
	eras(t, func(t *testing.T, era string) {
		h := &host{answers: []string{`Sure! {"suggestions":[
			{"title":"Test the exit codes of main","type":"test","context_hints":["Read main.go"],
				"relevant_file_paths":["main.go"],"reason":"untested"},
			{"title":"Repair what is not there","type":"bugfix","context_hints":["See it"],"relevant_file_paths":["no/such.go"]}]}`}}
		w := newWorldWith(t, verbs.Options{Tree: newFolder(t, map[string]string{"main.go": "package main\n"})}, mcpserver.Options{})
		got := text(t, call(t, w.connect(t, era, h.options()), "planloop_suggest", nil))
		if !strings.Contains(got, "1 suggestion by host-1") || !strings.Contains(got, "Test the exit codes") || strings.Contains(got,
			"not there") {
			t.Error(got)
		}
	})
}

// TestHostModelThatDoesNotHelp says plainly what came of it, and changes nothing.
func TestHostModelThatDoesNotHelp(t *testing.T) {
	const prose = "Looks fine to me, approved!"
	eras(t, func(t *testing.T, era string) {
		for name, c := range map[string]struct {
			host *host
			want string // of planloop_start
			note string // of planloop_suggest
		}{
			"prose":        {&host{answers: []string{"I would rather not."}}, "no JSON object", "no JSON object"},
			"nothing":      {&host{answers: []string{""}}, "no JSON object", "no JSON object"},
			"cut off":      {&host{answers: []string{`{"add_tasks":[{"title":"Half`}}, "cut short", "cut short"},
			"a megabyte":   {&host{answers: []string{strings.Repeat("word ", 200_000)}}, "more than 128 KiB", "more than 128 KiB"},
			"no approval":  {&host{answers: []string{draftOf(t), prose, draftOf(t), prose, draftOf(t), prose}}, "could not be asked", ""},
			"wrong fields": {&host{answers: []string{`{"tasks":[]}`}}, "tasks", "unknown field"},
		} {
			t.Run(name, func(t *testing.T) {
				files, _ := resources.GuideExample()
				w := newWorldWith(t, verbs.Options{Tree: newFolder(t, files)}, mcpserver.Options{})
				client := w.connect(t, era, c.host.options())
				result := call(t, client, "planloop_start", decompose)
				if got := text(t, result); !result.IsError || !strings.Contains(got, c.want) || !strings.HasPrefix(got,
					"Nothing was changed") {
					t.Errorf("planloop_start: %s", got)
				}
				if revision := w.plain(t).Revision; revision != 0 {
					t.Errorf("%d changes were made", revision)
				}
				if c.note == "" {
					return
				}
				result = call(t, client, "planloop_suggest", nil)
				if got := text(t, result); !strings.Contains(got, c.note) {
					t.Errorf("planloop_suggest: %s", got)
				}
			})
		}
	})
}

// TestHostThatRefuses is told apart from a fault of ours. In the stateless revision
// the client that refuses ends the call itself.
func TestHostThatRefuses(t *testing.T) {
	h := &host{refuse: true}
	w := newWorld(t)
	client := w.connect(t, handshake, h.options())
	result := call(t, client, "planloop_start", decompose)
	if got := text(t, result); !result.IsError || !strings.Contains(got, "did not answer: ") || !strings.Contains(got, "the user said no") {
		t.Error(got)
	}
	if result := call(t, client, "planloop_suggest", nil); result.IsError || !strings.Contains(text(t, result), "the user said no") {
		t.Error(text(t, result))
	}
	modern := w.connect(t, stateless, h.options())
	if _, err := modern.CallTool(t.Context(), &mcp.CallToolParams{Name: "planloop_start", Arguments: decompose}); err == nil ||
		!strings.Contains(err.Error(), "the user said no") {
		t.Errorf("stateless: %v", err)
	}
	if revision := w.plain(t).Revision; revision != 0 {
		t.Errorf("%d changes were made", revision)
	}
}

// TestHostThatNeverAnswers does not hold the call, nor others on the connection. In
// the stateless revision nothing waits in the first place.
func TestHostThatNeverAnswers(t *testing.T) {
	h := &host{silent: true}
	w := newWorldWith(t, verbs.Options{}, mcpserver.Options{SamplingTimeout: 50 * time.Millisecond})
	result := call(t, w.connect(t, handshake, h.options()), "planloop_start", decompose)
	if got := text(t, result); !result.IsError || !strings.Contains(got, "has not answered in 50ms") {
		t.Error(got)
	}
}

// TestClientWithoutSampling is refused with the way to do without, and never asked.
func TestClientWithoutSampling(t *testing.T) {
	eras(t, func(t *testing.T, era string) {
		client := newWorld(t).connect(t, era, nil)
		result := call(t, client, "planloop_start", decompose)
		if got := text(t, result); !result.IsError || !strings.Contains(got, "there is no model") || !strings.Contains(got,
			"decompose_goal") {
			t.Error(got)
		}
		if result := call(t, client, "planloop_suggest", nil); result.IsError || !strings.Contains(text(t, result),
			"Nothing new was found") {
			t.Error(text(t, result))
		}
	})
}

// configured is a model of the configuration.
type configured struct{ answers []string }

func (*configured) Name() string { return "configured-1" }

func (m *configured) Ask(context.Context, string) ([]byte, error) {
	answer := m.answers[0]
	m.answers = m.answers[1:]
	return []byte(answer), nil
}

// TestConfiguredModelComesFirst never bothers the host when the user has configured a
// model.
func TestConfiguredModelComesFirst(t *testing.T) {
	files, payload := resources.GuideExample()
	draft := strings.Replace(string(payload), `"update_tasks": [{"id": 1, "status": "DONE"}]`, `"reasoning": "by section"`, 1)
	eras(t, func(t *testing.T, era string) {
		h := &host{answers: []string{"{}"}}
		w := newWorldWith(t, verbs.Options{Tree: newFolder(t, files), Model: &configured{[]string{draft, approves}}}, mcpserver.Options{})
		result := call(t, w.connect(t, era, h.options()), "planloop_start", decompose)
		if got := text(t, result); result.IsError || !strings.Contains(got, "drafted by configured-1") || h.times() != 0 {
			t.Errorf("host asked %d times: %s", h.times(), got)
		}
	})
}

// TestAJudgeThatOnlyWarnsApprovesNothing keeps no verdict that no judge gave.
func TestAJudgeThatOnlyWarnsApprovesNothing(t *testing.T) {
	files, _ := resources.GuideExample()
	for level, answers := range map[gates.Level][]string{
		gates.Warning: {draftOf(t), `{"is_approved": false, "feedback": "too coarse"}`},
		gates.Off:     {draftOf(t)},
	} {
		eras(t, func(t *testing.T, era string) {
			levels := func(gate string) gates.Level {
				if gate == "judge" {
					return level
				}
				return gates.ByProfile(gates.Default, gate)
			}
			h := &host{answers: answers}
			w := newWorldWith(t, verbs.Options{Tree: newFolder(t, files), Gates: levels}, mcpserver.Options{})
			result := call(t, w.connect(t, era, h.options()), "planloop_start", decompose)
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
		})
	}
}

// TestForgedRounds refuses a state that was not given out for the call, and believes
// no answers in it.
func TestForgedRounds(t *testing.T) {
	w := newWorld(t)
	state := ""
	send := func(arguments, token string) string {
		t.Helper()
		answer := w.server.MCP.HandleMessage(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+
			strings.Replace(meta, `clientCapabilities":{}`, `clientCapabilities":{"sampling":{}}`,
				1)+`,"name":"planloop_start","arguments":`+arguments+
			`,"requestState":"`+token+`","inputResponses":{"model":{"role":"assistant","model":"m","content":{"type":"text",`+
			`"text":"{}"}}}}}`))
		data, err := json.Marshal(answer.(protocol.JSONRPCResponse).Result)
		if err != nil {
			t.Fatal(err)
		}
		var result struct {
			State string `json:"requestState"`
		}
		if err := json.Unmarshal(data, &result); err != nil {
			t.Fatal(err)
		}
		state = result.State
		return string(data)
	}
	const arguments = `{"goal":"One","decompose":true}`
	if send(arguments, ""); state == "" {
		t.Fatal("nothing was asked")
	}
	good := state
	for name, got := range map[string]string{
		"another goal": send(`{"goal":"Two","decompose":true}`, good),
		"changed":      send(arguments, "A"+good[1:]),
		"shortened":    send(arguments, good[:len(good)-8]),
		"nonsense":     send(arguments, "nonsense"),
		"long":         send(arguments, strings.Repeat("A", 3<<20)),
	} {
		if !strings.Contains(got, "Nothing was changed") || !strings.Contains(got, `"isError":true`) {
			t.Errorf("%s: %.300s", name, got)
		}
	}
	if got := send(arguments, good); state == "" || state == good {
		t.Errorf("the good one: %.300s", got)
	}
}
