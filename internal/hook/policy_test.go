package hook_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// TestPolicy: the calls that pass in planning mode of /src/app; all others are refused.
func TestPolicy(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths are of Unix")
	}
	policy := hook.Policy{
		Guard: func(_ context.Context, path string) (toolbox.Hold, error) {
			switch {
			case strings.HasPrefix(path, "/src/app"):
				return toolbox.Hold{By: toolbox.PlanningMode}, nil
			case path == "/broken":
				return toolbox.Hold{}, errors.New("the disk failed")
			}
			return toolbox.Hold{}, nil
		},
		HasTool:       func(tool string) bool { return tool == "planloop_status" },
		IsServer:      func(c hook.Call) bool { return c.Program == "" },
		Find:          func(_ hook.Call, d hook.Definition) (string, bool) { return "", d.Name == "plain" },
		SeesSubagents: func() bool { return false },
		IsShadowed:    func(c hook.Call) bool { return strings.HasSuffix(c.Command, "planloop status") },
		IsHostNote:    func(path string) bool { return path == "/src/app/.plans/a.md" },
		ReadOnlyTools: []string{"mcp__github__get_*"},
	}
	call := func(c hook.Call) hook.Call {
		c.Moment = hook.BeforeTool
		if c.Dir == "" {
			c.Dir = "/src/app"
		}
		return c
	}
	for name, test := range map[string]struct {
		call hook.Call
		want string // a piece of the refusal; "" if it passes
	}{
		"reading":                          {hook.Call{Effect: hook.Reads}, ""},
		"the host's own list":              {hook.Call{Effect: hook.Plans}, ""},
		"a command that reads":             {hook.Call{Effect: hook.Runs, Command: "ls | head"}, ""},
		"a command that writes":            {hook.Call{Effect: hook.Runs, Command: "touch x"}, "touch changes files"},
		"a command that writes, elsewhere": {hook.Call{Effect: hook.Runs, Command: "touch x", Dir: "/src/other"}, ""},
		"a command that reads, no word":    {hook.Call{Effect: hook.Runs, Command: "ls", Dir: "/broken"}, ""},
		"a command that writes, no word":   {hook.Call{Effect: hook.Runs, Command: "touch x", Dir: "/broken"}, "the disk failed"},
		"no command":                       {hook.Call{Effect: hook.Runs, Tool: "Bash"}, `"Bash" may do more than read`},
		"writing":                          {hook.Call{Effect: hook.Writes, Paths: []string{"main.go"}}, `would change "main.go"`},
		"writing elsewhere":                {hook.Call{Effect: hook.Writes, Paths: []string{"/src/other/main.go"}}, ""},
		"writing here, from elsewhere": {hook.Call{Effect: hook.Writes, Paths: []string{"../app/a"}, Dir: "/src/other"},
			`"../app/a"`},
		"writing elsewhere and here":      {hook.Call{Effect: hook.Writes, Paths: []string{"/tmp/a", "/src/app/a"}}, `"/src/app/a"`},
		"writing nobody knows where":      {hook.Call{Effect: hook.Writes, Tool: "Patch"}, `"Patch" changes files`},
		"writing where it cannot be told": {hook.Call{Effect: hook.Writes, Paths: []string{"/broken"}}, "the disk failed"},
		"writing the host's own plan":     {hook.Call{Effect: hook.Writes, Paths: []string{"/src/app/.plans/a.md"}}, ""},
		"an unknown tool":                 {hook.Call{Tool: "Frob"}, `"Frob" may do more than read`},
		"an unknown tool elsewhere":       {hook.Call{Tool: "Frob", Dir: "/src/other"}, ""},
		"a subagent without hooks":        {hook.Call{Host: hook.Cursor, Effect: hook.Spawns, Tool: "Task"}, "a subagent"},
		"a subagent with hooks":           {hook.Call{Host: hook.Claude, Version: "2.1.330", Effect: hook.Spawns}, ""},
		"a subagent of a newer version":   {hook.Call{Host: hook.Claude, Version: "2.10.0", Effect: hook.Spawns}, "a subagent"},
		"an explorer of a newer version": {hook.Call{Host: hook.Claude, Version: "2.10.0", Effect: hook.Spawns,
			Input: []byte(`{"subagent_type":"Explore"}`)}, ""},
		"another's explorer of a newer version": {hook.Call{Host: hook.Claude, Version: "2.10.0", Effect: hook.Spawns,
			Input: []byte(`{"subagent_type":"plain"}`)}, "a subagent"},
		"a subagent in a work tree": {hook.Call{Host: hook.Claude, Version: "2.1.330", Effect: hook.Spawns,
			Input: []byte(`{"isolation":"worktree"}`)}, "isolation"},
		"a subagent with a mode": {hook.Call{Host: hook.Claude, Version: "2.1.330", Effect: hook.Spawns,
			Input: []byte(`{"mode":"acceptEdits","isolation":null}`)}, `"mode"`},
		"a subagent not found": {hook.Call{Host: hook.Codex, Effect: hook.Spawns, Input: []byte(`{"agent_type":"own"}`)}, `"own"`},
		"a subagent that is found": {
			hook.Call{Host: hook.Codex, Effect: hook.Spawns, Input: []byte(`{"agent_type":"plain"}`)}, ""},
		"a subagent of two kinds": {hook.Call{Host: hook.Codex, Effect: hook.Spawns,
			Input: []byte(`{"agent_type":"plain","agent_name":"evil"}`)}, "two things"},
		"a plain skill": {hook.Call{Host: hook.Claude, Effect: hook.Loads, Input: []byte(`{"skill":"p:plain","args":"a b"}`)}, ""},
		"a plain command": {hook.Call{Host: hook.Claude, Tool: "SlashCommand", Effect: hook.Loads,
			Input: []byte(`{"command":"/plain now"}`)}, ""},
		"a skill with a command as its argument": {hook.Call{Host: hook.Claude, Effect: hook.Loads,
			Input: []byte("{\"skill\":\"plain\",\"args\":\"!`touch x`\"}")}, "start a command"},
		"a skill whose name has a space": {hook.Call{Host: hook.Claude, Effect: hook.Loads, Input: []byte(`{"skill":"plain evil"}`)},
			"no file"},
		"a skill not found": {
			hook.Call{Host: hook.Claude, Effect: hook.Loads, Input: []byte(`{"skill":"other"}`)}, "no file"},
		"a skill without a name":            {hook.Call{Host: hook.Claude, Effect: hook.Loads}, "no file"},
		"a subagent of an older version":    {hook.Call{Host: hook.Claude, Version: "2.1.99", Effect: hook.Spawns}, "a subagent"},
		"a subagent of a version not known": {hook.Call{Host: hook.Claude, Effect: hook.Spawns}, "a subagent"},
		"our tool that reads":               {hook.Call{Effect: hook.Calls, Server: "planloop", Name: "planloop_status"}, ""},
		"our tool of another program": {hook.Call{Effect: hook.Calls, Server: "planloop", Name: "planloop_status", Program: "./planloop"},
			"another program"},
		"a reader on a terminal":        {hook.Call{Host: hook.Codex, Effect: hook.Runs, Command: "timeout 5 less x"}, "cat or sed -n"},
		"a reader without one":          {hook.Call{Host: hook.Claude, Effect: hook.Runs, Command: "timeout 5 head x"}, ""},
		"a command on a terminal":       {hook.Call{Host: hook.Codex, Effect: hook.Runs, Command: "ls", OnTerminal: true}, "without tty"},
		"a shadowed planloop":           {hook.Call{Effect: hook.Runs, Command: "planloop status"}, "comes with the workspace"},
		"no tool of ours":               {hook.Call{Effect: hook.Calls, Server: "planloop", Name: "planning_none"}, "no tool"},
		"another's tool that is listed": {hook.Call{Effect: hook.Calls, Server: "github", Name: "get_issue"}, ""},
		"another's tool":                {hook.Call{Effect: hook.Calls, Server: "github", Name: "add_issue"}, `to read_only_tools`},
	} {
		err := policy.Check(t.Context(), call(test.call))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if refused := (*plan.ValidationError)(nil); err != nil && test.want != "the disk failed" && !errors.As(err, &refused) {
			t.Errorf("%s: %v is no refusal", name, err)
		}
	}
	policy.Windows = true
	for command, bash := range map[string]bool{ // the verdict depends on whether bash runs the command
		"git log --oneline -3 -- src/main.go": false, `rg -n "a b" src`: false, "cat a.go": false, "ls -la": false,
		`echo a\; rm x`: true, "echo 'a & del x'": true, "ls | head": true, "git log --grep='a;b'": true, "ls; ls": true, "cat a\nls": true,
		`cat src\a.go`: true, "sort x /o y": true, "expand x y": true, "cat a,b": true, "git log HEAD^": true, "cat %x%": true,
		"git show HEAD@{1}": true, `ls "` + "`rm x`" + `"`: false,
	} {
		for _, host := range []hook.Call{{Host: hook.Codex, Tool: "Bash"}, {Host: hook.Claude, Tool: "run_in_terminal"},
			{Host: hook.Opencode, Tool: "bash"}, {Host: hook.Cursor, Tool: "Shell"}} {
			host.Effect, host.Command = hook.Runs, command
			err := policy.Check(t.Context(), call(host))
			host.Host, host.Tool = hook.Claude, "Bash"
			inBash := policy.Check(t.Context(), call(host))
			if (err != nil) == (inBash == nil) != bash {
				t.Errorf("%s in %s: %v, in bash: %v", command, host.Tool, err, inBash)
			}
		}
	}
	late := call(hook.Call{Effect: hook.Writes, Paths: []string{"main.go"}})
	late.Moment = hook.AfterTool
	if err := policy.Check(t.Context(), late); err != nil {
		t.Error("what was done already is refused:", err)
	}
}

// TestPlaces: every possible meaning of a tool's working directory and of its file names is judged.
func TestPlaces(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths are of Unix")
	}
	guard := func(_ context.Context, path string) (toolbox.Hold, error) {
		if path == "/home/ann/app" || strings.HasPrefix(path, "/home/ann/app/") {
			return toolbox.Hold{By: toolbox.PlanningMode}, nil
		}
		return toolbox.Hold{}, nil
	}
	policy := hook.Policy{Guard: guard, HasTool: func(string) bool { return false }, IsHostNote: func(string) bool { return false },
		IsShadowed: func(hook.Call) bool { return false }}
	for _, test := range []struct {
		host         hook.Host
		event, input string // what follows "tool_name":
		dir          string
		refused      bool
	}{
		{hook.Gemini, "before-tool", `"run_shell_command","tool_input":{"command":"touch x","directory":"/home/ann/app"}`, "/b", true},
		{hook.Gemini, "before-tool", `"run_shell_command","tool_input":{"command":"ls","directory":"/home/ann/app"}`, "/b", false},
		{hook.Gemini, "before-tool", `"run_shell_command","tool_input":{"command":"touch x","dir_path":"../home/ann/app"}`, "/b", true},
		{hook.Codex, "pre-tool-use", `"Bash","tool_input":{"command":"touch x","workdir":"/home/ann/app"}`, "/b", true},
		{hook.Codex, "pre-tool-use", `"Bash","tool_input":{"command":"touch x","workdir":"/b"}`, "/home/ann/app", true},
		{hook.Codex, "pre-tool-use", `"Bash","tool_input":{"command":"touch x","Workdir":"/home/ann/app"}`, "/b", true},
		{hook.Codex, "pre-tool-use", `"Bash","tool_input":{"command":"touch x","workdir":"/c"}`, "/b", false},
		{hook.Codex, "pre-tool-use", `"Bash","tool_input":{"command":["echo","a b"],"workdir":"/home/ann/app"}`, "/b", true},
		{hook.Codex, "pre-tool-use", `"apply_patch","tool_input":{"input":"*** Add File: x\n","workdir":"/home/ann/app"}`, "/b", true},
		{hook.Claude, "pre-tool-use", `"Bash","tool_input":{"command":"touch x","working_directory":"~/app"}`, "/b", true},
		{hook.Claude, "pre-tool-use", `"Write","tool_input":{"file_path":"x","cwd":"/home/ann/app"}`, "/b", true},
		{hook.Claude, "pre-tool-use", `"Write","tool_input":{"file_path":"~/x"}`, "/b", false},
		{hook.Claude, "pre-tool-use", `"Write","tool_input":{"file_path":"~/x"}`, "/home/ann/app", true},
		{hook.Goose, "pre-tool-use", `"developer__text_editor","tool_input":{"path":"~/../ann/app/main.go"}`, "/b", true},
		{hook.Goose, "pre-tool-use", `"developer__text_editor","tool_input":{"path":"~"}`, "/home/ann/app", true},
		{hook.VSCode, "pre-tool-use", `"create_file","tool_input":{"filePath":"file:///home/x/../ann/app/main.go"}`, "/b", true},
		{hook.VSCode, "pre-tool-use", `"create_file","tool_input":{"filePath":"FILE://localhost/home/ann/app/main.go"}`, "/b", true},
		{hook.VSCode, "pre-tool-use", `"create_file","tool_input":{"filePath":"file:/home/ann/%61pp/x?/../../../../b"}`, "/b", true},
		{hook.VSCode, "pre-tool-use", `"create_file","tool_input":{"filePath":"file:///home/ann/app/%zz"}`, "/b", true},
		{hook.VSCode, "pre-tool-use", `"create_file","tool_input":{"filePath":"file:///c/x"}`, "/b", false},
		{hook.VSCode, "pre-tool-use", `"create_file","tool_input":{"filePath":"vscode-remote://h/../../../../c/x"}`, "/home/ann/app", true},
		{hook.VSCode, "pre-tool-use", `"editFiles","tool_input":{"files":["/home/ann/app/x","x://y"]}`, "/b", true},
	} {
		call, err := hook.Read(test.host, test.event, []byte(`{"tool_name":`+test.input+`}`))
		call.Dir, call.Home = test.dir, "/home/ann"
		if err == nil {
			err = policy.Check(t.Context(), call)
		}
		if refused := (*plan.ValidationError)(nil); errors.As(err, &refused) != test.refused || err != nil && !test.refused {
			t.Errorf("%s in %s: %v", test.input, test.dir, err)
		}
	}
	antigravity, err := hook.Read(hook.Antigravity, "pre-tool-use", []byte(
		`{"workspacePaths":["/b"],"toolCall":{"name":"run_command","args":{"CommandLine":"touch x","Cwd":"/home/ann/app"}}}`))
	if err == nil {
		err = policy.Check(t.Context(), antigravity)
	}
	if err == nil {
		t.Error("antigravity's Cwd is not judged")
	}
}

// TestNotes: the folders with the plans of hosts' own plan modes are below the home directory, whatever variables say.
func TestNotes(t *testing.T) {
	const home = "/home/ann"
	for variables, want := range map[[2]string]string{
		{}:                                   "",
		{"CLAUDE_CONFIG_DIR", "/etc/claude"}: "",
		{"HOME", "/tmp"}:                     "",
		{"GEMINI_PLANS_DIR", home + "/.gemini/tmp/x/plans"}:      home + "/.gemini/tmp/x/plans",
		{"GEMINI_PLANS_DIR", home + "/.gemini/tmp/x/1/plans"}:    home + "/.gemini/tmp/x/1/plans",
		{"GEMINI_PLANS_DIR", home + "/.gemini/tmp/plans"}:        "",
		{"GEMINI_PLANS_DIR", home + "/.gemini/tmp/../../plans"}:  "",
		{"GEMINI_PLANS_DIR", home + "/.gemini/tmp/x/plans/main"}: "",
		{"GEMINI_PLANS_DIR", home + "/src/app/plans"}:            "",
		{"GEMINI_PLANS_DIR", "plans"}:                            "",
	} {
		getenv := func(name string) string {
			if name == variables[0] {
				return variables[1]
			}
			return ""
		}
		if got := hook.PlanFolders(hook.Claude, home, getenv); !slices.Equal(got, []string{filepath.FromSlash("/home/ann/.claude/plans")}) {
			t.Errorf("%q: %q", variables, got)
		}
		if got := hook.PlanFolders(hook.Gemini, home, getenv); strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", variables, got, want)
		}
	}
	if hook.PlanFolders(hook.Claude, "", func(string) string { return "" }) != nil {
		t.Error("without a home there is no folder")
	}
}

// TestHeadless: a run without a person is known by the arguments of the host's program, or its variables.
func TestHeadless(t *testing.T) {
	for _, test := range []struct {
		host hook.Host
		args string
		want bool
	}{
		{hook.Claude, "-p Do_it", true}, {hook.Claude, "--model x --print", true}, {hook.Claude, "Do_it", false}, {hook.Claude, "", false},
		{hook.Codex, "exec Do_it", true}, {hook.Codex, "--profile x e", true}, {hook.Codex, "Do_it", false},
		{hook.Gemini, "/usr/bin/gemini.js --prompt=Do_it", true}, {hook.Gemini, "gemini.js -i Do_it", false},
		{hook.Opencode, "run Do_it", true}, {hook.Opencode, "", false}, {hook.Goose, "run -t x", true}, {hook.Windsurf, "-p", false},
	} {
		if got := hook.IsHeadless(test.host, strings.Fields(test.args), func(string) string { return "" }); got != test.want {
			t.Errorf("%s %s: %t", test.host, test.args, got)
		}
	}
	for variable, value := range map[string]string{"CLAUDE_CODE_ENTRYPOINT": "sdk-cli", "CLAUDE_CODE_SESSION_ATTENDED": "0"} {
		getenv := func(name string) string {
			if name == variable {
				return value
			}
			return ""
		}
		if !hook.IsHeadless(hook.Claude, nil, getenv) || hook.IsHeadless(hook.Codex, nil, getenv) {
			t.Error(variable)
		}
	}
}
