package hook

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// Policy decides on the tools of an agent's host in planning mode.
type Policy struct {
	Guard toolbox.Guard // says where planning mode allows only reading; never nil
	// Named says whether only reading is allowed at one of the places that a command names; nil: it is not.
	Named      func(ctx context.Context, places []string) (toolbox.Hold, error)
	HasTool    func(tool string) bool // reports whether planloop's own server has a tool, which it checks itself
	IsServer   func(Call) bool        // reports whether this program serves the calls of its own tools, not another under its name
	IsShadowed func(Call) bool        // reports whether a command would run another program under the name planloop
	IsHostNote func(path string) bool // reports whether a file is the host's own note, such as the plan of its own plan mode
	// Find reads the files of a definition. It returns why the definition must not start, and whether there is a file.
	Find             func(Call, Definition) (problem string, found bool)
	SeesSubagents    func() bool // reports whether a hook of the running host was called in a subagent
	Windows          bool        // a host's shell may be other than bash
	ReadOnlyTools    []string    // patterns of read-only MCP tools, as written by the user
	Confine          string      // the planloop that runs commands in the sandbox; "" if there is none
	ReadOnlyCommands []string    // patterns of read-only commands of bash, as written by the user
}

// Check refuses a tool that must not run now with a *plan.ValidationError, which says what to do instead. Any other error is a failure, and
// does not permit the call. Outside planning mode all tools may run.
func (p Policy) Check(ctx context.Context, c Call) error {
	if c.Moment != BeforeTool || c.Effect == Reads || c.Effect == Plans {
		return nil
	}
	if c.Effect == Writes && len(c.Paths) > 0 {
		return p.checkPaths(ctx, c)
	}
	if (c.Effect == Runs || c.Effect == Calls && !c.IsOwn()) && p.checkHold(toolbox.Hold{}, c) == nil {
		return nil // allowed anywhere; asking Guard takes longer
	}
	for _, at := range c.workDirs() {
		hold, err := p.Guard(ctx, at)
		if err == nil && hold.By != "" {
			err = p.checkHold(hold, c)
		}
		if err != nil {
			return err
		}
	}
	if p.Named == nil || c.Effect != Runs && c.Effect != Unknown {
		return nil
	}
	hold, err := p.Named(ctx, c.namedPlaces())
	if err == nil && hold.By != "" {
		err = p.checkHold(hold, c)
	}
	return err
}

// checkHold checks a tool under a hold on its working directory.
func (p Policy) checkHold(hold toolbox.Hold, c Call) error {
	unknown := plan.Quote(c.Tool) + " may do more than read"
	switch {
	case c.Effect == Runs && c.Command != "" && p.IsShadowed(c):
		return hold.Refuse("", "the planloop on the PATH comes with the workspace, and is another program", "")
	case c.Effect == Runs && c.OnTerminal:
		return hold.Refuse("", "a program on a terminal can be typed into later", "the command without tty")
	case c.Effect == Runs && c.Command != "": // "": the command could not be read
		// Codex does not report whether the command gets a terminal, and calls no hook for later input; VS Code's tool has one.
		return hold.HostCommand(c.Command, !p.Windows || c.inBash(), p.Confine, p.ReadOnlyCommands...)
	case c.IsOwn() && p.HasTool(c.Name) && p.IsServer(c):
		return nil
	case c.Effect == Spawns, c.Effect == Loads:
		if problem := p.startProblem(c); problem != "" {
			return hold.Refuse("", problem, "")
		}
		return nil
	case c.Effect == Calls && toolbox.Listed(p.ReadOnlyTools, c.mcpName(), c.Tool):
		return nil
	case c.IsOwn() && !p.HasTool(c.Name):
		return hold.Refuse("", "planloop has no tool "+plan.Quote(c.Name), "")
	case c.IsOwn():
		return hold.Refuse("", plan.Quote(c.Tool)+" may reach another program: no server of this planloop runs in this host "+
			"(`planloop hosts` names the files; then start a new session)", "")
	case c.Effect == Writes:
		return hold.Refuse("", plan.Quote(c.Tool)+" changes files", "")
	case c.Effect == Calls && c.Server != "":
		return hold.Refuse("", unknown+"; the user can add "+plan.Quote(c.mcpName())+" to read_only_tools in planloop's configuration", "")
	}
	return hold.Refuse("", unknown, "")
}

// Confined returns the command that runs a call's own in the sandbox: that command if it does so itself, or the one that its refusal names.
// It returns "" if the host is not known to run a changed command, or if there is no such command.
func (p Policy) Confined(c Call) string {
	if p.Confine == "" || c.Host != Claude || c.Tool != "Bash" || c.Effect != Runs || c.Command == "" {
		return ""
	}
	begin := p.Confine + " confine -- "
	if !strings.HasPrefix(c.Command, begin) {
		c.Command = toolbox.HostVerdict(c.Command, p.Confine, p.ReadOnlyCommands...).Instead
	}
	if !strings.HasPrefix(c.Command, begin) || p.checkHold(toolbox.Hold{}, c) != nil {
		return ""
	}
	return c.Command
}

// checkPaths refuses a writing tool, unless each path that it writes to is free or the host's own note.
func (p Policy) checkPaths(ctx context.Context, c Call) error {
	for _, given := range c.Paths {
		for _, at := range c.possiblePaths(given) {
			hold, err := p.Guard(ctx, at)
			if err != nil {
				return err
			}
			if hold.By != "" && !p.IsHostNote(at) {
				return hold.Refuse("", plan.Quote(c.Tool)+" would change "+plan.Quote(given), "")
			}
		}
	}
	return nil
}

// mcpName returns an MCP tool's name in read_only_tools, whatever its name in the host.
func (c Call) mcpName() string { return "mcp__" + c.Server + "__" + c.Name }

// startProblem returns why a skill, a command or a subagent must not start; "" if it may.
func (p Policy) startProblem(c Call) string {
	d, problem := c.definition()
	if problem != "" {
		return problem
	}
	found := false
	d.MayFork = c.reachesSubagents() || p.SeesSubagents()
	if d.Name != "" {
		problem, found = p.Find(c, d)
	}
	what := "the " + d.Kind + " " + plan.Quote(d.Name)
	switch {
	case problem != "":
		return what + " " + problem
	case c.Effect == Loads && !found, !found && !isBuiltIn(d.Name):
		return "planloop finds no file of " + what + ", which may run commands of its own"
	case c.Effect == Spawns && !d.MayFork && (found || d.Name != "Explore" && d.Name != "Plan"): // these two read
		return strings.TrimSpace(string(c.Host)+" "+c.Version) + " was not seen to call its hooks in a subagent"
	}
	return ""
}

// reachesSubagents reports whether testdata shows the host's hooks in subagents. Reports on other Claude Code versions disagree.
func (c Call) reachesSubagents() bool {
	return slices.Contains([]Host{Opencode, Codex, Gemini}, c.Host) ||
		c.Host == Claude && slices.Contains([]string{"2.1.197", "2.1.330"}, c.Version)
}

// inBash reports whether the tool runs bash on Windows, too. Other hosts start the available shell, whatever the tool's name.
func (c Call) inBash() bool {
	return c.Host == Claude && slices.Contains([]string{"Bash", "Monitor"}, c.Tool) || c.Host == VSCode && c.Tool == "bash"
}

// HostVersion returns the host's version from its hooks' environment; "" if unknown.
func HostVersion(host Host, getenv func(string) string) string {
	rest, ok := strings.CutPrefix(getenv("AI_AGENT"), "claude-code_") // claude-code_2-1-330_harness
	if host != Claude || !ok {
		return ""
	}
	version, _, _ := strings.Cut(rest, "_")
	return strings.ReplaceAll(version, "-", ".")
}

// PlanFolders returns the folders for the plans of a host's own plan mode, in which its agent writes with the ordinary tools for files.
// They are below the user's home directory, whatever the environment says: an agent may have chosen that.
func PlanFolders(host Host, home string, getenv func(string) string) []string {
	switch {
	case home == "":
	case host == Claude:
		return []string{filepath.Join(home, ".claude", "plans")}
	case host == Gemini: // a folder of each session
		given := filepath.Clean(getenv("GEMINI_PLANS_DIR"))
		inside, err := filepath.Rel(filepath.Join(home, ".gemini", "tmp"), given)
		if err == nil && filepath.IsLocal(inside) && filepath.Base(given) == "plans" && filepath.Dir(inside) != "." {
			return []string{given}
		}
	}
	return nil
}

// IsHeadless reports whether the host runs without a person in front of it: then its last answer is its output, which a reminder would
// replace. args are those of the host's program, nil if unknown.
func IsHeadless(host Host, args []string, getenv func(string) string) bool {
	if host == Claude && (getenv("CLAUDE_CODE_ENTRYPOINT") == "sdk-cli" || getenv("CLAUDE_CODE_SESSION_ATTENDED") == "0") {
		return true
	}
	words := map[Host]string{Claude: "-p --print", Codex: "exec e review", Gemini: "-p --prompt", Cursor: "-p --print",
		VSCode: "-p --prompt", Opencode: "run", Goose: "run"}[host]
	return slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return slices.Contains(strings.Fields(words), name)
	})
}
