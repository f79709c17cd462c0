package hook

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/plan"
)

// Definition is a skill, a slash command or a subagent that a call names. The host reads it from a file, or has it built in.
type Definition struct {
	Kind   string // "skill", also for commands, "subagent", or AnyName
	Name   string // without the name of its plugin
	Plugin string // "" if the call names none

	MayFork bool // a skill may run in a subagent
}

// definition returns what a call names, and why it must not start: "" if only the file can say so.
func (c Call) definition() (d Definition, problem string) {
	members := map[string]jsontext.Value{}
	if c.Input != nil && json.Unmarshal(c.Input, &members) != nil {
		return d, plan.Quote(c.Tool) + " has no readable input"
	}
	d.Kind = "subagent"
	names := []string{"subagent_type", "agent_type", "agent_name", "agentName", "agent", "subagent_name"}
	if c.Effect == Loads {
		d.Kind, names = "skill", []string{"skill", "command", "name"}
	}
	r := reader{}
	for _, member := range names {
		if name := r.text(members[member]); name != "" && d.Name == "" {
			if d.Name = name; c.Tool == "SlashCommand" {
				d.Name, _, _ = strings.Cut(strings.TrimPrefix(name, "/"), " ")
			}
		} else if members[member] != nil && name != d.Name {
			return d, plan.Quote(c.Tool) + " names two things"
		}
	}
	if at := strings.LastIndex(d.Name, ":"); at >= 0 {
		d.Plugin, d.Name = d.Name[:at], d.Name[at+1:]
	}
	for name, value := range members {
		key, text := strings.ToLower(name), r.text(value)
		harmless := slices.Contains([]string{"null", "false", `""`, `"none"`, `"default"`, `"plan"`}, string(value))
		if !harmless && (grants.MatchString(name+":") || key == "worktree" || key == "mode") {
			return d, plan.Quote(c.Tool) + " is called with " + plan.Quote(name) + ", so planloop cannot check everything it does"
		}
		if c.Effect == Loads && strings.ContainsAny(text, "!`") { // the host inserts it into a text, perhaps beside the other one
			return d, "the arguments of " + plan.Quote(c.Tool) + " hold ! or `, which can start a command while it loads"
		}
	}
	return d, ""
}

// inlineCommand matches what Claude Code, opencode and Gemini CLI run while they load a text: !`…`, a block ```!, !{…}. A word before the
// mark makes it prose, as in `println!`.
var inlineCommand = regexp.MustCompile("(^|\\W)!`|```[ \t]*!|(^|\\s)!\\{")

// Members that give a definition, or a call, more than checked tools, and heads in which a member could be hidden.
const granted = `(hooks|mcp[-_]?servers|permission[-_]?mode|sandbox[-_]?mode|approval[-_]?policy|isolation|skills|` +
	`initial[-_]?prompt|notify)`

var (
	grants = regexp.MustCompile(`(?im)(?:^[ \t]*[?\["']*[ \t]*|[{,][ \t]*["']?)` + granted + `["']?[ \t]*(?:[:=.\]]|\r?$)`)
	hidden = regexp.MustCompile(`(?m)^[ \t]*(?:\{|\*|<<|["?].*\\)`)
)

// AnyName is a name that planloop cannot read, so that the file may be any definition's. As the name and kind of a definition it means all.
const AnyName = "*"

// Read reads the file of a definition, and returns the name that it gives itself, and why it must not start.
func (d Definition) Read(text []byte) (name, problem string) {
	body := strings.TrimSpace(strings.TrimPrefix(string(text), "\uFEFF"))
	head, isMarkdown := strings.CutPrefix(body, "---")
	if head, _, _ = strings.Cut(head, "\n---"); !isMarkdown {
		head = body // all of a TOML file; in Markdown it is prose
	}
	member := func(name string) string {
		found := regexp.MustCompile(`(?m)^[ \t]*["']?`+name+`["']?[ \t]*[:=][ \t]*["']?([^"'\r\n]*)`).FindAllStringSubmatch(head, -1)
		switch {
		case len(found) == 0:
			return ""
		case len(found) > 1, strings.Trim(found[0][1], " \t") == "", strings.ContainsAny(found[0][1][:1], ">|&*!\\"):
			return AnyName
		}
		return strings.TrimSpace(found[0][1])
	}
	name = member("name")
	switch agent := member("agent"); {
	case grants.MatchString(head):
		return name, "brings " + grants.FindStringSubmatch(head)[1] + " of its own"
	case isMarkdown && hidden.MatchString(head), !utf8.Valid(text), bytes.IndexByte(text, 0) >= 0:
		return name, "has a head that planloop cannot read"
	case d.Kind != "skill":
	case isMarkdown && !isBuiltIn(agent):
		return name, "starts the subagent " + plan.Quote(agent)
	case isMarkdown && !d.MayFork && member("context") != "":
		return name, "runs in a subagent, which planloop cannot check"
	case inlineCommand.Match(text):
		return name, "runs commands while it loads"
	}
	return name, ""
}

// isBuiltIn reports whether a subagent comes with a host, unless a file replaces it.
func isBuiltIn(name string) bool {
	return name == "" || slices.Contains(strings.Fields(`general-purpose Explore Plan claude-code-guide default worker explorer awaiter
		generalist codebase_investigator cli_help general explore`), name)
}

// NameOf returns the name of a definition by its file, and whether hosts read such a file.
func (d Definition) NameOf(file string) (name string, ok bool) {
	folder, base := path.Split(file)
	name, _, _ = strings.Cut(base, ".") // of x.md, x.agent.md, x.toml
	isMarkdown := strings.EqualFold(path.Ext(base), ".md")
	if isSkill := strings.EqualFold(base, "SKILL.md"); isSkill && d.Kind == "skill" {
		name = path.Base(folder)
	} else if d.Kind == "skill" {
		isMarkdown = isMarkdown && strings.Contains(folder, "commands/")
	}
	isKind := isMarkdown || d.Kind != "skill" && path.Ext(base) == ".toml"
	return name, isKind && (d.Plugin == "" || strings.Contains(folder, "/"+d.Plugin+"/"))
}

// Folders returns patterns of the folders in which hosts read definitions, relative to a project or the home directory. Hosts read the
// folders of others as well.
func (d Definition) Folders() []string {
	var folders []string
	if d.Kind == "skill" || d.Kind == AnyName {
		folders = strings.Fields(".*/skills .*/skill .*/commands .config/*/skills .config/*/skill .gemini/extensions/*/skills")
	}
	if d.Kind != "skill" {
		folders = append(folders, strings.Fields(".*/agents .*/agent .config/*/agents .config/*/agent .gemini/extensions/*/agents")...)
	}
	if d.Plugin != "" && !strings.ContainsAny(d.Plugin, `/*?[\`) {
		folders = append(folders, ".claude/plugins/cache/*/"+d.Plugin)
	}
	return folders
}
