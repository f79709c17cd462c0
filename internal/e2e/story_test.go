package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestStoryOnEveryTransport has the official client use all features for agents, over every transport and in every protocol revision. A
// model sees the same everywhere, and the plan is on disk afterwards.
func TestStoryOnEveryTransport(t *testing.T) {
	t.Parallel()
	want := ""
	for _, c := range []struct{ transport, version string }{
		{"stdio", stateless}, {"stdio", handshake}, {"stdio", older}, {"stdio", oldest},
		{"http", stateless}, {"http", handshake}, {"http", older}, {"http", oldest},
		{"sse", handshake}, {"sse", older}, {"sse", oldest},
	} {
		t.Run(c.transport+" "+c.version, func(t *testing.T) {
			p := newPlace(t)
			story := tellStory(t, connect(t, p.transport(c.transport, "--agent", "teller"), c.version, nil))
			if want == "" {
				want = story
			}
			sameStory(t, want, story)
			if got := p.must("log", "-n", "0"); strings.Count(got, "\n") != storyChanges {
				t.Errorf("the log of the story:\n%s", got)
			}
			if got := p.must("show"); !strings.Contains(got, "Second thoughts") {
				t.Errorf("the plan that is shown:\n%s", got)
			}
			p.sound()
		})
	}
}

// TestEphemeralLeavesNothing repeats the story with --ephemeral: a model sees the same, and the disk stays empty.
func TestEphemeralLeavesNothing(t *testing.T) {
	t.Parallel()
	want := tellStory(t, connect(t, newPlace(t).transport("stdio", "--agent", "teller"), handshake, nil))
	for _, transport := range []string{"stdio", "http", "sse"} {
		t.Run(transport, func(t *testing.T) {
			p := newPlace(t)
			client := connect(t, p.transport(transport, "--ephemeral", "--agent", "teller"), handshake, nil)
			sameStory(t, want, tellStory(t, client))
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			if found := files(t, p.home); found != "" {
				t.Errorf("left on disk:\n%s", found)
			}
			if got := p.must("show", "--json"); strings.Contains(got, "Second thoughts") {
				t.Errorf("another process sees the plan: %s", got)
			}
		})
	}
}

func sameStory(t *testing.T, want, got string) {
	t.Helper()
	wanted, lines := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(wanted), len(lines)) {
		if wanted[i] != lines[i] {
			t.Fatalf("line %d of the story is\n%s\nand elsewhere\n%s", i+1, lines[i], wanted[i])
		}
	}
	if len(wanted) != len(lines) {
		t.Errorf("the story has %d lines, elsewhere %d", len(lines), len(wanted))
	}
}

// storyChanges is the number of records that the story leaves.
const storyChanges = 8

// story records the texts that a model sees.
type story struct {
	strings.Builder
	t      *testing.T
	client *sdk
}

func tellStory(t *testing.T, client *sdk) string {
	t.Helper()
	s := &story{t: t, client: client}
	s.surface()
	s.refused("planning_read_plan", arguments{}, "no plan exists yet")
	s.accepted("planning_setup_plan", arguments{"objective": "Fix the login bug",
		"initial_steps": []arguments{{"title": "Write a failing test"}}}, "S001")
	s.accepted("planning_add_step", arguments{"steps": []arguments{{"title": "Fix the session check", "details": "only the >= is wrong"},
		{"title": "Update the docs"}}}, "S002-S003")
	s.accepted("planning_update_step", arguments{"step_id": "S002", "title": "Fix the session expiry check"}, "expiry")
	s.accepted("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress"}, "0/3 done")
	s.accepted("planning_mark_step", arguments{"step_id": "S001", "status": "done", "note": "fails as expected"}, "1/3 done", "S002")
	s.accepted("planning_read_plan", arguments{}, "Fix the login bug", "S002", "S003")
	s.accepted("planning_read_plan", arguments{"status": "done"}, "S001")
	s.refused("planning_mark_step", arguments{"step_id": "S009", "status": "done"}, "S009")
	s.refused("planning_mark_step", arguments{"step_id": "S002", "status": "halfway"}, "in_progress")
	s.resources()
	s.accepted("planning_clear_plan", arguments{}, "abandoned")
	s.refused("planning_add_step", arguments{"steps": []arguments{{"title": "Too late"}}}, "planning_setup_plan")
	s.accepted("planning_setup_plan", arguments{"objective": "Second thoughts", "initial_steps": []arguments{{"title": "Begin again"}}},
		"Begin again")
	s.accepted("planning_mark_step", arguments{"step_id": "S001", "status": "in_progress"}, "S001")
	s.prompts()
	return places.ReplaceAllString(withoutTimes(s.String()), "${1}HERE")
}

var (
	planTimes  = regexp.MustCompile(`-1[0-9]{9}\b`)
	places     = regexp.MustCompile(`(workspace\\*": ?\\*"|Workspace: )[^"\\\n]*`)
	timestamps = regexp.MustCompile(`20[0-9]{2}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+(Z| UTC)?`)
)

// withoutTimes replaces the parts that differ from run to run.
func withoutTimes(s string) string {
	return timestamps.ReplaceAllString(planTimes.ReplaceAllString(s, "-UNIX"), "TIME")
}

// surface lists the server's features.
func (s *story) surface() {
	s.t.Helper()
	info := s.client.InitializeResult()
	fmt.Fprintf(s, "%s %s\n%s\n", info.ServerInfo.Name, info.ServerInfo.Title, info.Instructions)
	list, err := s.client.ListTools(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, tool := range list.Tools {
		s.json(tool)
	}
	if len(list.Tools) < 6 {
		s.t.Errorf("%d tools are offered", len(list.Tools))
	}
	templates, err := s.client.ListResourceTemplates(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.json(templates.ResourceTemplates)
}

func (s *story) json(v any) {
	s.t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		s.t.Fatal(err)
	}
	fmt.Fprintf(s, "%s\n", data)
}

func (s *story) call(tool string, args arguments) reply {
	s.t.Helper()
	got, err := s.client.tool(tool, args)
	if err != nil {
		s.t.Fatalf("%s: %v", tool, err)
	}
	fmt.Fprintf(s, "%s %v\n%s\n%s\n", tool, got.refused, got.text, got.structured)
	return got
}

// accepted calls a tool; text and structured content must each contain the words.
func (s *story) accepted(tool string, args arguments, words ...string) {
	s.t.Helper()
	got := s.call(tool, args)
	if got.refused || !containsAll(got.text, words) || !containsAll(unescaped(got.structured), words) {
		s.t.Errorf("%s: refused %v, want %q in both\n%s\n%s", tool, got.refused, words, got.text, got.structured)
	}
}

func unescaped(data []byte) string {
	return strings.NewReplacer(`\u003e`, ">", `\u003c`, "<", `\u0026`, "&").Replace(string(data))
}

func (s *story) refused(tool string, args arguments, words ...string) {
	s.t.Helper()
	if got := s.call(tool, args); !got.refused || !containsAll(got.text, words) {
		s.t.Errorf("%s: refused %v, want %q\n%s", tool, got.refused, words, got.text)
	}
}

// resources reads all listed resources, a step, and some missing ones.
func (s *story) resources() {
	s.t.Helper()
	list, err := s.client.ListResources(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	uris := []string{"plan://steps/S002"}
	for _, r := range list.Resources {
		s.json(r)
		uris = append(uris, r.URI)
	}
	for _, uri := range uris {
		if uri == "plan://status" {
			s.sameAsTool(uri)
		}
		result, err := s.client.ReadResource(s.t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			s.t.Fatalf("%s: %v", uri, err)
		}
		fmt.Fprintf(s, "%s\n%s\n", uri, result.Contents[0].Text)
	}
	for _, uri := range []string{"plan://nowhere", "plan://steps/S099", "plan://plans/none", "file:///etc/passwd"} {
		if _, err := s.client.ReadResource(s.t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
			s.t.Errorf("%s was read", uri)
		}
	}
	result, err := s.client.Complete(s.t.Context(), &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: "plan://steps/{step_id}"},
		Argument: mcp.CompleteParamsArgument{Name: "step_id", Value: "S"},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.json(result.Completion.Values)
}

// sameAsTool checks that the status resource matches the tool of that name.
func (s *story) sameAsTool(uri string) {
	s.t.Helper()
	got, err := s.client.tool("planloop_status", arguments{})
	if err != nil {
		s.t.Fatal(err)
	}
	result, err := s.client.ReadResource(s.t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		s.t.Fatal(err)
	}
	var resource, tool any
	if err := errors.Join(json.Unmarshal([]byte(result.Contents[0].Text), &resource), json.Unmarshal(got.structured, &tool)); err != nil {
		s.t.Fatal(err)
	}
	if !reflect.DeepEqual(resource, tool) {
		s.t.Errorf("%s is %s, the tool tells %s", uri, result.Contents[0].Text, got.structured)
	}
}

func (s *story) prompts() {
	s.t.Helper()
	list, err := s.client.ListPrompts(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(list.Prompts) == 0 {
		s.t.Error("no prompts are offered")
	}
	for _, prompt := range list.Prompts {
		if strings.HasPrefix(prompt.Name, "plan_cancel") || prompt.Name == "plan" || prompt.Name == "execute_plan" {
			continue // they change the phase, or need an approved plan
		}
		goal := map[string]string{}
		for _, argument := range prompt.Arguments {
			if argument.Name == "goal" || argument.Required {
				goal[argument.Name] = "Ship it"
			}
		}
		got, err := s.client.GetPrompt(s.t.Context(), &mcp.GetPromptParams{Name: prompt.Name, Arguments: goal})
		if err != nil {
			s.t.Fatalf("%s: %v", prompt.Name, err)
		}
		s.json(got.Messages)
	}
}
