package hook

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// Policy judges the tools of an agent's host while an agent may only read.
type Policy struct {
	Guard toolbox.Guard          // what allows only reading, and where; never nil
	Own   func(tool string) bool // whether planloop's own server has such a tool, which it judges itself
	Aside func(path string) bool // whether a file is the host's own note, such as the plan of its own plan mode
	// Windows says that a host's shell need not be bash.
	Windows bool
	// ReadOnlyTools are patterns of MCP tools that only read, as the user has written them.
	ReadOnlyTools []string
}

// Judge refuses a tool that must not run now with a *plan.ValidationError, which tells the agent what to
// do instead. Any other error is a fault, and no leave to go on. Where nothing is held all may run.
func (p Policy) Judge(ctx context.Context, c Call) error {
	if c.Moment != BeforeTool || c.Does == Reads || c.Does == Plans {
		return nil
	}
	if c.Does == Writes && len(c.Paths) > 0 {
		return p.paths(ctx, c)
	}
	if p.under(toolbox.Hold{}, c) == nil { // it may run whatever holds, which takes longer to find out
		return nil
	}
	for _, at := range c.bases() {
		hold, err := p.Guard(ctx, at)
		if err == nil && hold.By != "" {
			err = p.under(hold, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// under judges a tool where something holds the directory that it works in.
func (p Policy) under(hold toolbox.Hold, c Call) error {
	switch {
	case c.Does == Runs && c.Command != "": // none is one that was not found
		return hold.HostCommand(c.Command, !p.Windows || c.inBash())
	case c.Own() && p.Own(c.Name), c.Does == Spawns && c.reachesSubagents():
		return nil
	case c.Does == Calls && toolbox.Listed(p.ReadOnlyTools, c.mcpName(), c.Tool):
		return nil
	case c.Own():
		return refuse(hold, "planloop has no tool "+plan.Quote(c.Name), hold.Fix)
	case c.Does == Writes:
		return refuse(hold, plan.Quote(c.Tool)+" changes files", hold.Fix)
	case c.Does == Spawns:
		return refuse(hold, "what a subagent of "+plan.Quote(c.Tool)+" does cannot be seen from here", "read without one")
	case c.Does == Calls:
		return refuse(hold, "whether "+plan.Quote(c.Tool)+" only reads is not known",
			"do without it; the user can name "+plan.Quote(c.mcpName())+" in read_only_tools of planloop's configuration")
	}
	return refuse(hold, "whether "+plan.Quote(c.Tool)+" only reads is not known", "use a tool that only reads")
}

// paths refuses a tool that writes, unless each path that it writes to is free, or the host's own note.
func (p Policy) paths(ctx context.Context, c Call) error {
	for _, told := range c.Paths {
		for _, at := range c.places(told) {
			hold, err := p.Guard(ctx, at)
			if err != nil {
				return err
			}
			if hold.By != "" && !p.Aside(at) {
				return refuse(hold, plan.Quote(c.Tool)+" would change "+plan.Quote(told), hold.Fix)
			}
		}
	}
	return nil
}

func refuse(hold toolbox.Hold, problem, fix string) error {
	return plan.Refuse(plan.Conflict, "", hold.By+" is on, and nothing is changed until a plan is approved: "+problem, fix)
}

// mcpName is how read_only_tools names an MCP tool, whatever the host calls it.
func (c Call) mcpName() string { return "mcp__" + c.Server + "__" + c.Name }

// reachesSubagents reports whether the host calls its hooks for what subagents do as well, as was seen of these: of
// Claude Code from some version on, since older ones are reported not to.
func (c Call) reachesSubagents() bool {
	switch c.Host {
	case Opencode, Codex, Gemini:
		return true
	case Claude:
		return c.Version != "" && newer(c.Version, "2.1.330")
	}
	return false
}

// inBash reports whether the tool runs bash on Windows too: Claude Code's and Copilot's have others for PowerShell.
// Other hosts start the shell there is, whatever the tool is called.
func (c Call) inBash() bool {
	return c.Host == Claude && slices.Contains([]string{"Bash", "Monitor"}, c.Tool) || c.Host == VSCode && c.Tool == "bash"
}

// newer reports whether a version, of numbers with dots between, is at least another.
func newer(version, least string) bool {
	numbers := func(text string) []int {
		var all []int
		for part := range strings.SplitSeq(text, ".") {
			n, _ := strconv.Atoi(part) // what is no number counts as the oldest
			all = append(all, n)
		}
		return all
	}
	return slices.Compare(numbers(version), numbers(least)) >= 0
}

// VersionIn is the host's version, as its hooks' environment tells; "" where it does not.
func VersionIn(host Host, getenv func(string) string) string {
	rest, ok := strings.CutPrefix(getenv("AI_AGENT"), "claude-code_") // claude-code_2-1-330_harness
	if host != Claude || !ok {
		return ""
	}
	version, _, _ := strings.Cut(rest, "_")
	return strings.ReplaceAll(version, "-", ".")
}

// Notes are the folders in which a host keeps the plans of its own plan mode, which its agent writes with the
// tools that write files.
func Notes(host Host, getenv func(string) string) []string {
	switch host {
	case Claude:
		return []string{filepath.Join(cmp.Or(getenv("CLAUDE_CONFIG_DIR"), filepath.Join(getenv("HOME"), ".claude")), "plans")}
	case Gemini:
		return []string{getenv("GEMINI_PLANS_DIR")}
	}
	return nil
}
