package mcpserver_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/agentsmd"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/resources"
)

// agentsFile is the rule book in a file of a folder on the disk.
type agentsFile struct{ dir string }

const agentsPath = "docs/rules.md"

func (f agentsFile) canonical() string {
	return resources.AgentsMD(agentsPath)
}

func (f agentsFile) Inspect() verbs.Rules {
	found, err := agentsmd.Inspect(f.dir, agentsPath, f.canonical())
	rules := verbs.Rules{File: agentsPath, Exists: found.State != agentsmd.Absent, Content: string(found.Content)}
	if found.State != agentsmd.InSync || err != nil {
		rules.State = string(found.State)
	}
	return rules
}

func (f agentsFile) Changed(ctx context.Context) <-chan struct{} {
	changed, err := agentsmd.Watch(ctx, f.dir, agentsPath, time.Millisecond)
	if err != nil {
		return nil
	}
	return changed
}

// write replaces the file atomically, so that readers never see half of it.
func (f agentsFile) write(t testing.TB, text string) {
	t.Helper()
	path, draft := filepath.Join(f.dir, agentsPath), filepath.Join(f.dir, "draft")
	testenv.Check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	testenv.Check(t, os.WriteFile(draft, []byte(text), 0o644))
	testenv.Check(t, os.Rename(draft, path))
}

func (f agentsFile) sync(t testing.TB) {
	t.Helper()
	if _, err := agentsmd.Write(f.dir, agentsPath, f.canonical(), false); err != nil {
		t.Fatal(err)
	}
}

// TestAgentsMDNamesItsFile serves the rule book with the configured file name.
func TestAgentsMDNamesItsFile(t *testing.T) {
	rules := agentsFile{t.TempDir()}
	client := newWorldWith(t, verbs.Options{RuleBook: rules}, mcpserver.Options{}).connect(t, handshake, nil)
	if got := read(t, client, "plan://agents.md"); got != rules.canonical() || !strings.Contains(got, agentsPath) {
		t.Errorf("got %s", got)
	}
}

// TestStatusResourceIsTheToolsAnswer reads the reply of planloop_status, which asks to sync an existing file.
func TestStatusResourceIsTheToolsAnswer(t *testing.T) {
	rules := agentsFile{t.TempDir()}
	rules.write(t, "# House rules\n")
	client := newWorldWith(t, verbs.Options{RuleBook: rules}, mcpserver.Options{}).connect(t, handshake, nil)
	call(t, client, "planning_setup_plan", map[string]any{"objective": "o", "initial_steps": []map[string]any{{"title": "One"}}})
	var resource any
	testenv.Check(t, json.Unmarshal([]byte(read(t, client, "plan://status")), &resource))
	want, err := json.Marshal(call(t, client, "planloop_status", nil).StructuredContent)
	testenv.Check(t, err)
	got, err := json.Marshal(resource)
	testenv.Check(t, err)
	if string(got) != string(want) || !strings.Contains(string(got), "sync_instructions") || !strings.Contains(string(got), "House rules") {
		t.Errorf("the resource is\n%s\nthe tool tells\n%s", got, want)
	}
}

// TestReadingStatusTellsTheAgentNothing has a panel of the host read the status: the agent that waits for a change
// still gets it.
func TestReadingStatusTellsTheAgentNothing(t *testing.T) {
	w := newWorld(t)
	client := w.connect(t, handshake, nil)
	call(t, client, "planning_setup_plan", map[string]any{"objective": "o", "initial_steps": []map[string]any{{"title": "One"}}})
	call(t, client, "planloop_status", nil)
	b := builder{t: t, service: w.service}
	b.alert(verbs.Alert{ID: "ci", Message: "red"}) // another agent
	read(t, client, "plan://status")
	began := time.Now()
	result := call(t, client, "planloop_status", map[string]any{"wait": 600})
	if !strings.Contains(text(t, result), "waiting_on_signal") || time.Since(began) > 5*time.Minute {
		t.Errorf("after %v: %s", time.Since(began), text(t, result))
	}
}

// TestDriftIsTold notifies both kinds of subscribers when the file on disk drifts from the rule book and when it is
// in order again. Clients that subscribed only to the rule book get no other changes.
func TestDriftIsTold(t *testing.T) {
	rules := agentsFile{t.TempDir()}
	rules.sync(t)
	w := newWorldWith(t, verbs.Options{RuleBook: rules}, mcpserver.Options{})
	updated := make(chan string, 100)
	client := w.connect(t, handshake, &mcp.ClientOptions{ResourceUpdatedHandler: func(_ context.Context,
		r *mcp.ResourceUpdatedNotificationRequest) {
		updated <- r.Params.URI
	}})
	for _, uri := range []string{"plan://status", "plan://agents.md", "plan://planning-guide.md"} {
		testenv.Check(t, client.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}))
	}
	hear := func(want ...string) {
		t.Helper()
		var got []string
		for range want {
			got = append(got, <-updated)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("told of %v, want %v", got, want)
		}
	}
	rules.write(t, "# Something else\n")
	hear("plan://agents.md", "plan://status")
	call(t, client, "planning_setup_plan", map[string]any{"objective": "o"})
	hear("plan://status")
	rules.sync(t)
	hear("plan://agents.md", "plan://status")
	testenv.Check(t, os.Remove(filepath.Join(rules.dir, agentsPath)))
	hear("plan://agents.md", "plan://status")
}

// TestGuideExamplePassesTheGates starts a session in the workspace that the planning guide assumes and sends its
// payload, which passes exactly as printed.
func TestGuideExamplePassesTheGates(t *testing.T) {
	files, payload := resources.GuideExample()
	eras(t, func(t *testing.T, era string) {
		w := newWorldWith(t, verbs.Options{Tree: newFolder(t, files)}, mcpserver.Options{})
		client := w.connect(t, era, nil)
		call(t, client, "planloop_start", map[string]any{"goal": "Write the tool that spec.md describes"})
		result := call(t, client, "planloop_update", json.RawMessage(payload))
		if got := text(t, result); result.IsError || strings.Contains(got, "Warning") || !strings.Contains(got,
			"added S002-S006, score 100") {
			t.Fatalf("%s\n%v", got, result.StructuredContent)
		}
		if guide := read(t, client, "plan://planning-guide.md"); !strings.Contains(guide, strings.TrimSpace(string(payload))) {
			t.Error("the guide prints another payload")
		}
		delete(files, "spec.md")
		w = newWorldWith(t, verbs.Options{Tree: newFolder(t, files)}, mcpserver.Options{})
		client = w.connect(t, era, nil)
		call(t, client, "planloop_start", map[string]any{"goal": "The same without its specification"})
		result = call(t, client, "planloop_update", json.RawMessage(payload))
		if got := text(t, result); !result.IsError || !strings.Contains(got, "plan_validation_failed") || !strings.Contains(got,
			"spec.md") {
			t.Errorf("without spec.md: %s", got)
		}
		files, payload = resources.GuideExample()
	})
}
