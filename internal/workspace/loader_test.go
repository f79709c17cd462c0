package workspace_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// layers are the texts of the four sources.
type layers struct {
	user, own string
	account   string // of the user's account, if the environment points elsewhere
	env       map[string]string
	flags     map[string]string
	gates     []string
}

func (l layers) sources(t *testing.T) workspace.Sources {
	t.Helper()
	top := t.TempDir()
	config, dir := filepath.Join(top, "config"), filepath.Join(top, "project")
	if l.user != "" {
		write(t, filepath.Join(config, "planloop", "config.yaml"), l.user)
	}
	if l.own != "" {
		write(t, filepath.Join(dir, workspace.FileName), l.own)
	}
	account := filepath.Join(top, "account")
	if l.account != "" {
		file := testenv.Must(workspace.ConfigFile(getenv(nil), account))(t)
		write(t, file, l.account)
	}
	return workspace.Sources{
		Account: account, Flags: l.flags, Getenv: getenv(l.env, "XDG_CONFIG_HOME", config), Home: top,
		Workspace: workspace.Workspace{Path: dir}, Gates: l.gates,
	}
}

func (l layers) load(t *testing.T) (workspace.Config, []*workspace.ConfigError, error) {
	t.Helper()
	return workspace.Load(l.sources(t))
}

// requireParts checks that a message has all parts.
func requireParts(t *testing.T, message string, parts []string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(message, part) {
			t.Errorf("%q lacks %q", message, part)
		}
	}
}

var sections = cmpopts.IgnoreUnexported(workspace.Section{})

// changed is the defaults with a change.
func changed(change func(*workspace.Config)) workspace.Config {
	c := workspace.Defaults()
	change(&c)
	return c
}

func TestDefaults(t *testing.T) {
	got, warnings, err := layers{}.load(t)
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	want := workspace.Config{
		Toolsets: []workspace.Toolset{"planning", "loop", "mode"}, Strategy: "react",
		Gates:            workspace.Gates{Profile: "default"},
		GatheringTimeout: time.Hour, AsksForSteps: true,
		MaxReplans: 3, Parallel: 4, Lease: 30 * time.Minute, AgentsFile: "docs/agents.md",
	}
	if diff := cmp.Diff(want, got, sections); diff != "" {
		t.Error(diff)
	}
	if got.Limits() != (plan.Limits{Lease: 30 * time.Minute, MaxReplans: 3, ApprovalTimeout: -1,
		GatheringTimeout: time.Hour}) {
		t.Errorf("limits %+v", got.Limits())
	}
}

const everything = `
toolsets: [workspace, planning]
strategy: plan_act_reflect
gates: {paths: off, titles: error}
text: unicode
completion: evidence
approval: person
approval_timeout: 0
gathering_timeout: 2h
step_approval: never
hooks: required
read_only_tools: [mcp__docs__search_*, mcp__github__get_issue]
read_only_commands: [kubectl get *, docker ps]
reminders: off
max_replans: 7
parallel: 1
lease: 1h30m
agents_file: AGENTS.md
mirror: docs/PLAN.md
`

func TestEveryKeyFromTheUsersLayers(t *testing.T) {
	want := changed(func(c *workspace.Config) {
		*c = workspace.Config{
			Toolsets: []workspace.Toolset{"planning", "workspace"}, Strategy: "plan_act_reflect",
			Gates:   workspace.Gates{Asked: true, Profile: "default", Levels: map[string]gates.Level{"paths": "off", "titles": "error"}},
			Unicode: true, NeedsEvidence: true, NeedsPerson: true, GatheringTimeout: 2 * time.Hour,
			HooksRequired: true, ReadOnlyTools: []string{"mcp__docs__search_*", "mcp__github__get_issue"},
			ReadOnlyCommands: []string{"kubectl get *", "docker ps"},
			RemindersOff:     true, MaxReplans: 7, Parallel: 1, Lease: 90 * time.Minute, AgentsFile: "AGENTS.md",
			Mirror: "docs/PLAN.md",
		}
	})
	texts := map[string]string{
		"toolsets": "workspace, planning", "strategy": "plan_act_reflect", "gates": "paths=off, titles = error",
		"text": "unicode", "completion": " evidence ", "approval": "person", "approval_timeout": "0", "gathering_timeout": "2h",
		"hooks": "required", "reminders": "off", "max_replans": "7", "parallel": "1", "lease": "1h30m", "agents_file": "./AGENTS.md",
		"mirror": "docs/PLAN.md",
	}
	env := map[string]string{}
	for key, text := range texts {
		env[workspace.Variable(key)] = text
	}
	// Only the user's file can loosen these.
	const off = "gates: {paths: off}\nstep_approval: never\nread_only_tools: [mcp__docs__search_*, mcp__github__get_issue]\n" +
		"read_only_commands: [kubectl get *, docker ps]"
	texts["gates"], env["PLANLOOP_GATES"] = "titles = error", " titles=error "
	floor := map[string]gates.Level{"titles": "error"}
	for name, l := range map[string]layers{"file": {user: everything}, "environment": {user: off, env: env},
		"flags": {user: off, flags: texts}} {
		t.Run(name, func(t *testing.T) {
			got, warnings, err := l.load(t)
			if err != nil || len(warnings) > 0 {
				t.Fatal(warnings, err)
			}
			want := want
			if name != "file" {
				want.Gates.Levels, want.Gates.Floor = map[string]gates.Level{"paths": "off"}, floor
			}
			if diff := cmp.Diff(want, got, sections); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOrderOfLayers(t *testing.T) {
	l := layers{
		user:  "parallel: 2\nlease: 2m\ntext: unicode\nstrategy: plan_act_reflect",
		own:   "parallel: 3\nlease: 3m\ntext: ascii",
		env:   map[string]string{"PLANLOOP_PARALLEL": "4", "PLANLOOP_LEASE": "4m"},
		flags: map[string]string{"parallel": "5"},
	}
	got, warnings, err := l.load(t)
	want := changed(func(c *workspace.Config) {
		c.Parallel, c.Lease, c.Unicode, c.Strategy = 5, 4*time.Minute, false, "plan_act_reflect"
	})
	if diff := cmp.Diff(want, got, sections); diff != "" || err != nil || len(warnings) > 0 {
		t.Error(diff, warnings, err)
	}
}

func TestWhatAWorkspaceFileMayDo(t *testing.T) {
	tests := []struct {
		name, user, own string
		change          func(*workspace.Config)
	}{
		{name: "choose",
			own: "strategy: plan_act_reflect\ntext: unicode\nmax_replans: 9\nparallel: 9\nlease: 1m\nagents_file: sub/AGENTS.md\n" +
				"mirror: PLAN.md",
			change: func(c *workspace.Config) {
				c.Strategy, c.Unicode, c.MaxReplans, c.Parallel, c.Lease, c.AgentsFile = "plan_act_reflect", true, 9, 9, time.Minute,
					"sub/AGENTS.md"
				c.Mirror = "PLAN.md"
			}},
		{name: "choose none against the user", user: "mirror: PLAN.md", own: "mirror: none",
			change: func(*workspace.Config) {
			}},
		{name: "take toolsets away", own: "toolsets: [loop]",
			change: func(c *workspace.Config) { c.Toolsets = []workspace.Toolset{"loop"} }},
		{name: "take all away", own: "toolsets: []",
			change: func(c *workspace.Config) { c.Toolsets = []workspace.Toolset{} }},
		{name: "fewer than the user's more", user: "toolsets: [planning, execution]", own: "toolsets: [execution]",
			change: func(c *workspace.Config) { c.Toolsets = []workspace.Toolset{"execution"} }},
		{name: "tighten", own: "gates: strict\ncompletion: evidence\napproval: person\napproval_timeout: 0\ngathering_timeout: 0\n" +
			"hooks: required\nreminders: off",
			change: func(c *workspace.Config) {
				c.HooksRequired, c.RemindersOff = true, true
				c.Gates = workspace.Gates{Asked: true, Profile: "strict"}
				c.NeedsEvidence, c.NeedsPerson, c.GatheringTimeout = true, true, 0
			}},
		{name: "say what holds anyway", user: "approval: person",
			own:    "gates: default\ncompletion: trust\napproval: person\napproval_timeout: 0",
			change: func(c *workspace.Config) { c.NeedsPerson, c.Gates.Asked = true, true }},
		{name: "set floors", user: "gates: {paths: off}", own: "gates: {paths: warning, titles: error}",
			change: func(c *workspace.Config) {
				c.Gates = workspace.Gates{Asked: true, Profile: "default", Levels: map[string]gates.Level{"paths": "off"},
					Floor: map[string]gates.Level{"paths": "warning", "titles": "error"}}
			}},
		{name: "be stricter than what the user has loosened", user: "gates: {paths: off, titles: error}", own: "gates: strict",
			change: func(c *workspace.Config) {
				c.Gates = workspace.Gates{Asked: true, Profile: "strict", Floor: map[string]gates.Level{"paths": "off", "titles": "error"}}
			}},
		{name: "be less lenient", user: "gates: lenient", own: "gates: default",
			change: func(c *workspace.Config) { c.Gates.Asked = true }},
		{name: "say nothing", own: "# nothing\n", change: func(*workspace.Config) {}},
		{name: "leave values out", own: "toolsets:\nservers: ~\n", change: func(*workspace.Config) {}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, warnings, err := layers{user: test.user, own: test.own}.load(t)
			if err != nil || len(warnings) > 0 {
				t.Fatal(warnings, err)
			}
			if diff := cmp.Diff(changed(test.change), got, sections, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatAWorkspaceFileMayNotDo(t *testing.T) {
	tests := []struct{ name, user, own, key string }{
		{"add a toolset", "", "toolsets: [planning, workspace]", "toolsets"},
		{"bring back a toolset", "toolsets: [loop]", "toolsets: [planning, loop]", "toolsets"},
		{"loosen gates", "", "gates: lenient", "gates"},
		{"loosen strict gates", "gates: strict", "gates: default", "gates"},
		{"turn a gate off", "", "gates: {titles: error, paths: off}", "gates"},
		{"lower a gate", "gates: {paths: error}", "gates: {paths: warning}", "gates"},
		{"loosen completion", "completion: evidence", "completion: trust", "completion"},
		{"loosen approval", "approval: person", "approval: any", "approval"},
		{"end the read-only phase early", "", "approval_timeout: 1s", "approval_timeout"},
		{"end gathering early", "", "gathering_timeout: 59m", "gathering_timeout"},
		{"end what never ends", "gathering_timeout: 0", "gathering_timeout: 720h", "gathering_timeout"},
		{"agents", "", "agents: {evil: {command: [sh]}}", "agents"},
		{"servers", "", "servers: {evil: {command: [sh]}}", "servers"},
		{"model", "", "model: {url: 'http://evil'}", "model"},
		{"notify", "", "notify: 7", "notify"},
		{"do without hooks", "hooks: required", "hooks: advised", "hooks"},
		{"let tools pass", "", "read_only_tools: ['*']", "read_only_tools"},
		{"let commands pass", "", "read_only_commands: [touch *]", "read_only_commands"},
		{"ask nobody", "", "step_approval: never", "step_approval"},
		{"store", "", "store: memory", "store"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			without, _, err := layers{user: test.user}.load(t)
			if err != nil {
				t.Fatal(err)
			}
			got, warnings, err := layers{user: test.user, own: "# first\n" + test.own + "\nparallel: 2"}.load(t)
			if err != nil || len(warnings) != 1 {
				t.Fatal(warnings, err)
			}
			without.Parallel = 2 // the rest of the file applies
			if diff := cmp.Diff(without, got, sections); diff != "" {
				t.Error(diff)
			}
			if got.Agents.Given() || got.Servers.Given() || got.Model.Given() || got.Notify.Given() || got.Store.Given() {
				t.Error("a section was taken")
			}
			w := warnings[0]
			if w.Key != test.key || w.Line != 2 || w.Problem == "" || !strings.Contains(w.Want, "config.yaml") ||
				filepath.Base(w.Source) != workspace.FileName {
				t.Errorf("%+v", w)
			}
		})
	}
}

// Only the user's file loosens restrictions on agents: not the environment, not a flag, not the workspace's file, not
// another file that the environment points to. All of these can tighten them.
func TestOnlyTheUsersFileLoosens(t *testing.T) {
	type values struct{ users, looser, stricter string }
	restricting := map[string][]values{
		"gates": {{"default", "lenient", "strict"}, {"strict", "default", "strict"}, {"{paths: error}", "paths=off", "titles=error"},
			{"{paths: error}", "paths=warning", "strict"}},
		"completion":         {{"trust", "", "evidence"}, {"evidence", "trust", "evidence"}},
		"approval":           {{"any", "", "person"}, {"person", "any", "person"}},
		"approval_timeout":   {{"30m", "1s", "31m"}, {"2h", "119m", "0"}, {"0", "720h", "0"}},
		"gathering_timeout":  {{"1h", "59m", "2h"}, {"0", "720h", "0"}},
		"step_approval":      {{"ask", "never", "ask"}, {"never", "", ""}},
		"hooks":              {{"required", "advised", "required"}, {"advised", "", "required"}},
		"read_only_tools":    {{"", "mcp__x__*", ""}, {"[mcp__x__get]", "mcp__x__set", ""}},
		"read_only_commands": {{"", "touch *", ""}, {"[docker ps]", "docker rm", ""}},
		"agents":             {{"", "{default: {command: [sh]}}", ""}},
		"servers":            {{"{a: {url: b}}", "{c: {command: d}}", ""}, {"", "{c: {command: d}}", ""}},
		"model":              {{"{command: [a]}", "{command: [b]}", ""}, {"", "{command: [b]}", ""}},
		"notify":             {{"{webhook: a}", "{command: [b]}", ""}, {"", "{command: [b]}", ""}},
	}
	free := []string{"toolsets", "strategy", "text", "max_replans", "parallel", "lease", "agents_file", "mirror",
		"reminders", "store"} // features and how work is done
	for _, key := range workspace.Keys() {
		if _, ok := restricting[key]; !ok && !slices.Contains(free, key) {
			t.Errorf("%s: does it hold agents back?", key)
		}
	}
	inFile := func(key, text string) string {
		if name, level, ok := strings.Cut(text, "="); ok {
			text = "{" + name + ": " + level + "}"
		}
		if text == "" {
			return ""
		}
		return key + ": " + text + "\n"
	}
	for key, cases := range restricting {
		for _, v := range cases {
			users := inFile(key, v.users)
			holds, _, err := layers{user: users}.load(t)
			if err != nil {
				t.Fatal(err)
			}
			for name, asking := range map[string]func(text string) layers{
				"the environment": func(text string) layers {
					return layers{user: users, env: map[string]string{workspace.Variable(key): text}}
				},
				"a flag":               func(text string) layers { return layers{user: users, flags: map[string]string{key: text}} },
				"the workspace's file": func(text string) layers { return layers{user: users, own: inFile(key, text)} },
				"the workspace's file, by variable": func(text string) layers {
					return layers{own: users, env: map[string]string{workspace.Variable(key): text}}
				},
				"another file": func(text string) layers { return layers{user: inFile(key, text), account: users} },
			} {
				direct := name != "another file" && name != "the workspace's file, by variable"
				if slices.Contains([]string{"read_only_tools", "read_only_commands", "agents", "servers", "notify"}, key) && !direct {
					continue // they have no order
				}
				if key == "approval_timeout" && v.users != "0" && name == "the workspace's file, by variable" {
					continue // looser than the default
				}
				t.Run(key+": "+v.users+" by "+name, func(t *testing.T) {
					if v.looser != "" {
						got, warnings, err := asking(v.looser).load(t)
						if err != nil || !sameRules(got, holds) {
							t.Errorf("%s made it looser: %v\n%+v\n%+v", v.looser, err, got, holds)
						}
						told := len(warnings) == 1 && warnings[0].Key == key && strings.Contains(warnings[0].Error(), "your own file")
						if direct && !told {
							t.Errorf("%s is passed over without a word: %v", v.looser, warnings)
						}
					}
					if v.stricter != "" {
						got, warnings, err := asking(v.stricter).load(t)
						if err != nil || v.stricter != v.users && sameRules(got, holds) || len(warnings) > 0 {
							t.Errorf("%s was not taken: %v %v", v.stricter, warnings, err)
						}
					}
				})
			}
		}
	}
}

// sameRules reports whether two configurations restrict agents equally.
func sameRules(a, b workspace.Config) bool {
	for _, gate := range append(gates.Names(), "paths", "titles") {
		if a.Gates.Level(gate, gates.ByProfile(a.Gates.Profile, gate)) != b.Gates.Level(gate, gates.ByProfile(b.Gates.Profile, gate)) {
			return false
		}
	}
	var ofA, ofB, notifyA, notifyB map[string]any
	if errors.Join(a.Servers.Decode(&ofA), b.Servers.Decode(&ofB), a.Notify.Decode(&notifyA), b.Notify.Decode(&notifyB)) != nil {
		return false
	}
	return a.Limits() == b.Limits() && a.HooksRequired == b.HooksRequired && slices.Equal(a.ReadOnlyTools, b.ReadOnlyTools) &&
		slices.Equal(a.ReadOnlyCommands, b.ReadOnlyCommands) &&
		a.Agents.Given() == b.Agents.Given() && reflect.DeepEqual(ofA, ofB) && reflect.DeepEqual(notifyA, notifyB)
}

func TestTheDefaultWorkspaceHasNoFileOfItsOwn(t *testing.T) {
	s := layers{own: "nonsense: ["}.sources(t)
	s.Workspace.Default = true
	if _, _, err := workspace.Load(s); err != nil {
		t.Error(err)
	}
}

// steps are n keys, each nested in the one before.
func steps(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i+1) + "a:\n")
	}
	return b.String()
}

// One wrong or unknown word in a file leaves the rest in force; if the key can be tightened the word counts as the
// strictest.
func TestWrongWordsOfAFileAreWarnings(t *testing.T) {
	strict := workspace.Gates{Asked: true, Profile: gates.Strict}
	fatal := map[string]gates.Level{"paths": gates.Error}
	tightened := map[string]func(c *workspace.Config, own bool){
		"list for a word":       func(c *workspace.Config, _ bool) { c.NeedsPerson = true },
		"unknown approval":      func(c *workspace.Config, _ bool) { c.NeedsPerson = true },
		"no completion":         func(c *workspace.Config, _ bool) { c.NeedsEvidence = true },
		"negative":              func(c *workspace.Config, _ bool) { c.ApprovalTimeout = 0 },
		"too long":              func(c *workspace.Config, _ bool) { c.GatheringTimeout = 0 },
		"unknown profile":       func(c *workspace.Config, _ bool) { c.Gates = strict },
		"list of gates":         func(c *workspace.Config, _ bool) { c.Gates = strict },
		"unknown rule of hooks": func(c *workspace.Config, _ bool) { c.HooksRequired = true },
		"hooks as they were":    func(c *workspace.Config, _ bool) { c.HooksRequired = true },
		"unknown element":       func(c *workspace.Config, _ bool) { c.Toolsets = []workspace.Toolset{workspace.LoopTools} },
		"one gate of three":     setLevels(map[string]gates.Level{"titles": gates.Error, "paths": gates.Error}),
		"unknown level":         setLevels(fatal),
	}
	tests := []struct {
		name, text string
		line       int
		want       []string
	}{
		{"unknown key", "text: ascii\nstratagy: react", 2, []string{`"stratagy"`, "did you mean strategy?"}},
		{"unknown key like no other", "zzzzzzzzzz: 1", 1, []string{"the keys are toolsets, strategy,"}},
		{"dashes", "approval-timeout: 1m", 1, []string{"did you mean approval_timeout?"}},
		{"unknown word", "strategy: Plan-Act-Reflect", 1, []string{"strategy", "did you mean plan_act_reflect?",
			"react, plan_act_reflect, goal_decompose_route_synthesise"}},
		{"list for a word", "approval: [any]", 1, []string{"approval", "not one word", "any, person"}},
		{"mapping for a word", "text: {a: b}", 1, []string{"text", "not one word"}},
		{"word for a list", "toolsets: planning", 1, []string{"toolsets", "not a list", "[planning, loop]"}},
		{"unknown element", "toolsets:\n  - loop\n  - planing", 3, []string{"toolsets", `"planing"`, "did you mean planning?"}},
		{"nested element", "toolsets: [[loop]]", 1, []string{"toolsets", "not one word"}},
		{"word for a number", "parallel: many", 1, []string{"parallel", `"many"`, "whole number from 1 to 64"}},
		{"fraction", "max_replans: 2.5", 1, []string{"max_replans", "whole number"}},
		{"out of range", "parallel: 0", 1, []string{"parallel", `"0"`}},
		{"huge", "parallel: 99999999999999999999999", 1, []string{"parallel"}},
		{"list for a number", "max_replans: [1]", 1, []string{"max_replans", "a list or a mapping"}},
		{"bare number for a time", "lease: 30", 1, []string{"lease", "30m"}},
		{"no lease", "lease: 0", 1, []string{"lease"}},
		{"negative", "approval_timeout: -5m", 1, []string{"approval_timeout", "0 for never"}},
		{"too long", "gathering_timeout: 9000h", 1, []string{"gathering_timeout", "720h"}},
		{"unknown level", "gates: {paths: fatal}", 1, []string{"gates.paths", `"fatal"`, "off, warning, error"}},
		{"unknown profile", "gates: laxer", 1, []string{"gates", "lenient, default, strict"}},
		{"list of gates", "gates: [paths]", 1, []string{"gates", "neither a word nor a mapping"}},
		{"no gate's name", "gates: {'Pa ths': error}", 1, []string{"gates", `"Pa ths"`}},
		{"agents file outside", "agents_file: ../AGENTS.md", 1, []string{"agents_file", "inside the workspace"}},
		{"agents file outside, hidden", "agents_file: a/../../x.md", 1, []string{"agents_file"}},
		{"agents file absolute", "agents_file: /etc/x.md", 1, []string{"agents_file"}},
		{"agents file on a drive", "agents_file: 'C:x.md'", 1, []string{"agents_file"}},
		{"agents file with backslashes", `agents_file: '..\x.md'`, 1, []string{"agents_file"}},
		{"agents file that runs", "agents_file: .git/hooks/pre-commit", 1, []string{"agents_file", "Markdown"}},
		{"mirror outside", "mirror: ../PLAN.md", 1, []string{"mirror", "inside the workspace, such as PLAN.md, or none"}},
		{"mirror that runs", "mirror: Makefile", 1, []string{"mirror", "Markdown"}},
		{"mirror in .git", "mirror: .git/PLAN.md", 1, []string{"mirror"}},
		{"a list of mirrors", "mirror: [PLAN.md]", 1, []string{"mirror", "a list"}},
		{"agents file in .git", "agents_file: .GIT/x.md", 1, []string{"agents_file"}},
		{"agents file without a name", "agents_file: docs/.md", 1, []string{"agents_file"}},
		{"agents file with an escape", "agents_file: \"a\\x1b.md\"", 1, []string{"agents_file"}},
		{"unknown approval", "approval: persn", 1, []string{"did you mean person?", "until then it counts as person"}},
		{"no completion", "completion: proof", 1, []string{"trust, evidence", "until then it counts as evidence"}},
		{"one gate of three", "gates:\n  titles: error\n  paths: eror", 3, []string{"gates.paths", "counts as error"}},
		{"unknown rule of hooks", "hooks: needed", 1, []string{"hooks", "advised, required", "until then it counts as required"}},
		{"hooks as they were", "hooks: {claude: true}", 1, []string{"hooks", "not one word"}},
		{"a reminder", "reminders: sometimes", 1, []string{"reminders", "on, off"}},
		{"no known toolset", "toolsets: [planing]", 1, []string{"ignored"}},
	}
	for _, test := range tests {
		for _, own := range []bool{false, true} {
			t.Run(test.name+map[bool]string{false: ", user's", true: ", workspace's"}[own], func(t *testing.T) {
				text, l := test.text+"\nstrategy: plan_act_reflect", layers{user: test.text + "\nstrategy: plan_act_reflect"}
				if own {
					l = layers{own: text}
				}
				if strings.HasPrefix(test.text, "strategy:") {
					l = layers{user: test.text, env: map[string]string{"PLANLOOP_STRATEGY": "plan_act_reflect"}}
				}
				got, warnings, err := l.load(t)
				if err != nil || len(warnings) != 1 {
					t.Fatal(warnings, err)
				}
				want := changed(func(c *workspace.Config) {
					c.Strategy = prompts.PlanActReflect
					if change := tightened[test.name]; change != nil {
						change(c, own)
					}
				})
				if diff := cmp.Diff(want, got, sections, cmpopts.EquateEmpty()); diff != "" {
					t.Error(diff)
				}
				w := warnings[0]
				message := strings.TrimPrefix(w.Error(), w.Source)
				if w.Line != test.line {
					t.Errorf("line %d, want %d: %v", w.Line, test.line, w)
				}
				requireParts(t, message, test.want)
				if strings.ContainsAny(message, "\n\x1b\x00") || len(message) > 600 {
					t.Errorf("message %q", message)
				}
			})
		}
	}
}

func setLevels(levels map[string]gates.Level) func(*workspace.Config, bool) {
	return func(c *workspace.Config, own bool) {
		c.Gates.Asked = true
		if own {
			c.Gates.Floor = levels
		} else {
			c.Gates.Levels = levels
		}
	}
}

// A repository's file of nonsense does not fill the screen.
func TestWarningsAreBounded(t *testing.T) {
	_, warnings, err := layers{own: "toolsets: [" + strings.Repeat("x, ", 3000) + "]"}.load(t)
	if err != nil || len(warnings) == 0 || len(warnings) > 20 {
		t.Error(len(warnings), err)
	}
}

// A wrong word loosens neither the user's settings nor the workspace's.
func TestWrongWordsLoosenNothing(t *testing.T) {
	user := "approval: person\ncompletion: evidence\ngates: strict\napproval_timeout: 2h\ntoolsets: [loop]\n"
	holds, _, err := layers{user: user}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	holds.ApprovalTimeout = 0
	got, warnings, err := layers{user: user, gates: []string{"paths"},
		own: "approval: anny\ncompletion: thrust\ngates: {pahts: error}\napproval_timeout: short\ntoolsets: [lop]\n"}.load(t)
	if diff := cmp.Diff(holds, got, sections, cmpopts.EquateEmpty()); diff != "" || err != nil || len(warnings) != 5 {
		t.Error(diff, err, warnings)
	}
}

func TestWhatIsRefused(t *testing.T) {
	tests := []struct {
		name, text string // of the user's file
		line       int
		want       []string
	}{
		{"no mapping", "- a\n- b", 1, []string{"not a mapping"}},
		{"a word", "planloop", 1, []string{"not a mapping"}},
		{"twice", "text: ascii\ntext: unicode", 2, []string{"already defined"}},
		{"twice, quoted", "text: ascii\n\"text\": unicode", 2, []string{"already defined on line 1"}},
		{"twice below", "model:\n  a: 1\n  b: 2\n  a: 3", 4, []string{`"a"`, "already defined on line 2"}},
		{"no word for a key", "text: ascii\n[text]: ascii", 2, []string{"key that is not one word"}},
		{"no key", "text: ascii\n~: ascii", 2, []string{"key that is not one word"}},
		{"two documents", "text: ascii\n---\ntext: unicode", 3, []string{"second document"}},
		{"no YAML", "text: [ascii", 0, []string{"correct the YAML"}},
		{"no end", "text: ascii\ngates: {paths: error\n\n", 0, []string{"which begins on line 2", "correct the YAML"}},
		{"too deep in brackets", "text: ascii\nmodel: " + strings.Repeat("[", 33), 2, []string{"32 levels"}},
		{"too deep in lines", "model:\n" + steps(40), 33, []string{"32 levels"}},
		{"too deep in lines and brackets", "model:\n" + steps(20) + strings.Repeat(" ", 21) + strings.Repeat("[", 20) +
			strings.Repeat("]", 20), 22, []string{"32 levels"}},
		{"too many values", "model: [" + strings.Repeat("x, ", 4000) + "]", 1, []string{"4000 values"}},
		{"not even tokens", "!!!!", 1, nil},
		{"alias", "text: &a ascii\nstrategy: *a", 1, []string{"anchor"}},
		{"alias of nothing", "text: ascii\nstrategy: *a", 2, []string{"alias"}},
		{"alias as a key", "text: ascii\n*a : b", 2, []string{"alias"}},
		{"merge key below", "model:\n  <<: {a: b}", 2, []string{"merge key"}},
		{"merge key", "<<: {text: ascii}", 1, []string{"merge key"}},
		{"tag", "text: !!str ascii", 1, []string{"tag"}},
		{"tag of its own", "text: ascii\nmodel:\n  a: !mine b", 3, []string{"tag"}},
		{"tag without a name", "text: ! ascii", 1, []string{"tag"}},
		{"tagged key", "!!str text: ascii", 1, []string{"tag"}},
		{"directive of another version", "%YAML 1.1\n---\ntext: ascii", 1, []string{"directive"}},
		{"directive for tags", "# first\n%TAG !a! b\n---\ntext: ascii", 2, []string{"directive"}},
		{"directive of its own", "%MINE\n---\ntext: ascii", 1, []string{"directive"}},
		{"directive", "%YAML 1.2\n---\ntext: ascii", 1, []string{"directive"}},
		{"control character", "text: ascii\n# \x1b[2J", 2, []string{"control character"}},
		{"NUL", "text: ascii\x00", 1, []string{"control character"}},
		{"line break that no editor shows", "text: ascii\n# x\u2028text: unicode", 2, []string{"line break"}},
		{"no character", "text: ascii\n\n\uffff", 3, []string{"control character"}},
		{"not UTF-8", "text: \xff", 1, []string{"UTF-8"}},
		{"too big", "text: ascii\n#" + strings.Repeat(" x", 33<<10), 0, []string{"64 KB"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, warnings, err := layers{user: test.text}.load(t)
			var refusal *workspace.ConfigError
			if !errors.As(err, &refusal) || warnings != nil {
				t.Fatalf("%v, %v", warnings, err)
			}
			if diff := cmp.Diff(workspace.Config{}, got, sections); diff != "" {
				t.Error("an error came with a configuration")
			}
			if test.line > 0 && refusal.Line != test.line {
				t.Errorf("line %d, want %d: %v", refusal.Line, test.line, err)
			}
			message, named := strings.CutPrefix(err.Error(), refusal.Source) // the path contains the test's name
			if !named || filepath.Base(refusal.Source) != "config.yaml" {
				t.Errorf("%q does not name the file", err)
			}
			requireParts(t, message, test.want)
			if strings.ContainsAny(err.Error(), "\n\x1b\x00") || len(err.Error()) > 600 {
				t.Errorf("message %q", err)
			}
		})
	}
}

func TestRefusalsOfTheOtherLayers(t *testing.T) {
	tests := []struct {
		name string
		l    layers
		want []string
	}{
		{"workspace's file", layers{own: "strategy: [react"}, []string{workspace.FileName + ":2", "correct the YAML"}},
		{"environment", layers{env: map[string]string{"PLANLOOP_LEASE": "soon"}}, []string{"PLANLOOP_LEASE: lease", `"soon"`}},
		{"flag", layers{flags: map[string]string{"approval_timeout": "x"}}, []string{"--approval-timeout: approval_timeout"}},
		{"empty flag", layers{flags: map[string]string{"toolsets": ""}}, []string{"--toolsets"}},
		{"unknown flag", layers{flags: map[string]string{"sevrers": "x"}}, []string{"did you mean servers?"}},
		{"YAML in a variable", layers{env: map[string]string{"PLANLOOP_SERVERS": "{a: ["}},
			[]string{"PLANLOOP_SERVERS", "correct the YAML"}},
		{"blank section", layers{flags: map[string]string{"model": " "}}, []string{"--model", "blank"}},
		{"gate that does not exist", layers{gates: []string{"paths"}, env: map[string]string{"PLANLOOP_GATES": "pahts=off"}},
			[]string{"did you mean paths?", "the gates are paths"}},
		{"gate assignment without a gate", layers{flags: map[string]string{"gates": "paths=off,strict"}}, []string{"--gates"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := test.l.load(t)
			var refusal *workspace.ConfigError
			if !errors.As(err, &refusal) {
				t.Fatal(err)
			}
			requireParts(t, err.Error(), test.want)
		})
	}
}

func TestSections(t *testing.T) {
	type model struct {
		URL  string `yaml:"url"`
		Name string `yaml:"name"`
	}
	l := layers{
		user: "model:\n  url: http://localhost\n  name: small\nnotify:\n  nmae: x\nservers: {files: {command: [srv, --root, .]}}\n",
		env:  map[string]string{"PLANLOOP_STORE": "memory"},
	}
	c, _, err := l.load(t)
	if err != nil {
		t.Fatal(err)
	}
	var got model
	if err := c.Model.Decode(&got); err != nil || got != (model{"http://localhost", "small"}) {
		t.Errorf("%+v, %v", got, err)
	}
	var servers map[string]struct{ Command []string }
	if err := c.Servers.Decode(&servers); err != nil || !slices.Equal(servers["files"].Command, []string{"srv", "--root", "."}) {
		t.Errorf("%+v, %v", servers, err)
	}
	var store string
	if err := c.Store.Decode(&store); err != nil || store != "memory" {
		t.Errorf("%q, %v", store, err)
	}
	var refusal *workspace.ConfigError
	if err := c.Notify.Decode(&got); !errors.As(err, &refusal) || refusal.Key != "notify.nmae" || refusal.Line != 5 ||
		!strings.Contains(err.Error(), "nmae") {
		t.Errorf("%v", err)
	}
	kept := model{Name: "kept"}
	if err := c.Agents.Decode(&kept); err != nil || kept.Name != "kept" || c.Agents.Given() {
		t.Errorf("%+v, %v", kept, err)
	}
}

func TestGateLevels(t *testing.T) {
	g := workspace.Gates{
		Levels: map[string]gates.Level{"own": "off", "raised": "off", "high": "error"},
		Floor:  map[string]gates.Level{"raised": "warning", "high": "warning", "other": "error"},
	}
	for gate, want := range map[string]gates.Level{"own": "off", "raised": "warning", "high": "error", "other": "error",
		"unnamed": "warning"} {
		if got := g.Level(gate, gates.Warning); got != want {
			t.Errorf("%s is %s, want %s", gate, got, want)
		}
	}
}

// inTime fails the test unless call returns within a time far beyond its needs (a tenth of a second at most; a busy
// machine and the race detector make it seconds). A call still running then ends with the test binary.
func inTime(t *testing.T, call func() error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- call() }()
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		t.Fatal("no answer in time")
		return nil
	}
}

// hostileTexts are values, or near-values, that fill 64 KB and are known to take parsers excessive time.
func hostileTexts() map[string]string {
	const size = 63 << 10
	fill := func(text string) string { return strings.Repeat(text, size/len(text)) }
	return map[string]string{
		"blank lines, literal": "|\n" + fill("\n"), "blank lines, folded": ">\n" + fill("\n"), "blank lines, CRLF": "|\r\n" + fill("\r\n"),
		"spaces, literal": "|\n" + fill("   \n"), "tabs, literal": "|\n" + fill("  \t\n"), "a line of spaces": "|\n" + fill(" "),
		"brackets": fill("["), "braces": fill("{a: "), "dashes": "\n" + fill("- "), "questions": "\n" + fill("? "),
		"keys in a row":     fill("a: "),
		"pairs of brackets": "[" + fill("[],") + "]", "words": "[" + fill("x, ") + "]", "colons": "[" + fill(": "),
		"list": "\n" + fill("- x\n"), "empty list": "\n" + fill("-\n"),
		"deep keys": "\n" + steps(350), "deep dashes": "\n" + strings.ReplaceAll(steps(350), "a:", "-"),
		"comments": "\n" + fill("# x\n"), "comments in brackets": "[\n" + fill("x, # y\n"),
		"long key": "\n  " + fill("a") + ": b", "long key, quoted": "\n  \"" + fill("a") + "\": b",
		"long key, asked": "\n  ? " + fill("a") + "\n  : b", "long word": fill("a"),
		"long number": fill("9"), "long float": "1e" + fill("9"), "number in parts": fill("1_"), "escapes": `"` + fill(`\x41`) + `"`,
		"no end of quotes": `"` + fill("a\n\n"),
		"lines":            "a\n" + fill("  a\n"), "CRLF": fill("\r\n"), "CR": fill("\r"), "CR, literal": "|\r" + fill("\r"),
		"byte order marks": fill("\ufeff"), "byte order marks, literal": "|\n" + fill(" \ufeff\n"),
		"tabs": fill("\t"), "tabs in lines": fill("\t\n"), "tabs before": "\n" + fill("\ta: b\n"), "many keys": "\n" + manyKeys(size),
		"anchors": "[" + fill("&a x, ") + "]", "aliases": "[&a x, " + fill("*a, ") + "]", "tags": "[" + fill("!a x, ") + "]",
		"documents": "x\n" + fill("--- \n"),
	}
}

func manyKeys(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString("  k" + strconv.Itoa(i) + ": v\n")
	}
	return b.String()
}

// Each text is used as a value in a section that is decoded, and as the whole of a workspace's own file.
func TestHostileTextsAreAnsweredInTime(t *testing.T) {
	for name, text := range hostileTexts() {
		for place, l := range map[string]layers{
			"a section": {user: "model:\n a: " + text}, "the file": {own: text},
		} {
			t.Run(name+" for "+place, func(t *testing.T) {
				s := l.sources(t)
				err := inTime(t, func() error { return loadAndDecode(s) })
				if refusal := (*workspace.ConfigError)(nil); err != nil && !errors.As(err, &refusal) {
					t.Errorf("%T: %v", err, err)
				}
				if err != nil && len(err.Error()) > 2000 {
					t.Errorf("an error of %d bytes", len(err.Error()))
				}
			})
		}
	}
}

func loadAndDecode(s workspace.Sources) error {
	c, _, err := workspace.Load(s)
	if err != nil {
		return err
	}
	var into map[string]string
	return c.Model.Decode(&into)
}

// Long or blank text alone is not refused.
func TestBlankLinesAreText(t *testing.T) {
	for name, text := range map[string]string{
		"literal": "|\n    x\n" + strings.Repeat("\n", 60<<10), "folded": ">-\n    x\n" + strings.Repeat("\n", 60<<10),
		"CRLF": "|-\r\n    x" + strings.Repeat("\r\n", 30<<10),
	} {
		t.Run(name, func(t *testing.T) {
			s := layers{user: "model:\n  name: " + text}.sources(t)
			var into struct{ Name string }
			err := inTime(t, func() error {
				c, _, err := workspace.Load(s)
				return errors.Join(err, c.Model.Decode(&into))
			})
			if err != nil || strings.TrimSpace(into.Name) != "x" {
				t.Errorf("%q, %v", into.Name, err)
			}
		})
	}
}

// TestReadOnlyTools: a pattern is a name with stars; invalid ones are skipped, and the others apply.
func TestReadOnlyTools(t *testing.T) {
	for text, want := range map[string]struct {
		patterns []string
		warning  string
	}{
		"[mcp__x__get_*, 'x:y/z@1.0', get]":    {[]string{"mcp__x__get_*", "x:y/z@1.0", "get"}, ""},
		"[]":                                   {nil, ""},
		"mcp__x__get_*":                        {nil, "not a list"},
		"{mcp__x__get: true}":                  {nil, "not a list"},
		"[get_a, 'get b', get_c]":              {[]string{"get_a", "get_c"}, `"get b"`},
		"['(get|set)', get]":                   {[]string{"get"}, "not a valid pattern"},
		"[[get]]":                              {nil, "not a valid pattern"},
		"[" + strings.Repeat("a,", 201) + "b]": {slices.Repeat([]string{"a"}, 200), "more than 200"},
		"[" + strings.Repeat("a", 201) + "]":   {nil, "not a valid pattern"},
	} {
		got, warnings, err := layers{user: "read_only_tools: " + text}.load(t)
		told := len(warnings) == 1 && want.warning != "" && strings.Contains(warnings[0].Error(), want.warning)
		if err != nil || !slices.Equal(got.ReadOnlyTools, want.patterns) || told != (want.warning != "") || !told && len(warnings) > 0 {
			t.Errorf("%.40s: %q, %v, %v", text, got.ReadOnlyTools, warnings, err)
		}
	}
}

// TestReadOnlyCommands: a pattern is plain words; invalid ones are left out with a warning, and only the user may give any.
func TestReadOnlyCommands(t *testing.T) {
	for pattern, valid := range map[string]bool{
		"kubectl get *": true, "docker ps": true, "gh pr view *": true, "/opt/bin/x show": true, "kubectl get pods*": true,
		"terraform show -json": true, "git fetch --dry-run": true,
		"*": false, "kube* get": false, "kubectl * get": false, "kubectl get | sh": false, "kubectl get > f": false, "kubectl $x": false,
		"kubectl 'get'": false, "kubectl g*t": false, "bash *": false, "/bin/sh -c *": false, "sudo *": false, "env *": false,
		"xargs *": false,
		"eval *":  false, "command *": false, "planloop *": false, "/usr/bin/planloop approve": false, "x=1 ls": false,
		"kubectl get;ls": false,
		"find *":         false, "kubectl [g]et": false, "~/x ls": false, "! ls": false, "{ ls": false, "nohup *": false, "": false,
	} {
		text := "read_only_commands: ['" + strings.ReplaceAll(pattern, "'", "''") + "', ls -x]"
		got, warnings, err := layers{user: text}.load(t)
		if is := slices.Contains(got.ReadOnlyCommands, pattern); err != nil || is != valid || valid != (len(warnings) == 0) ||
			!slices.Contains(got.ReadOnlyCommands, "ls -x") {
			t.Errorf("%q: %q, %v, %v", pattern, got.ReadOnlyCommands, warnings, err)
		}
		if got, warnings, err := (layers{own: text}).load(t); err != nil || got.ReadOnlyCommands != nil || len(warnings) == 0 {
			t.Errorf("a workspace gives %q: %q, %v, %v", pattern, got.ReadOnlyCommands, warnings, err)
		}
	}
}
