package hosts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/safetext"
)

// host is a row of the table: everything specific to a host, in a scope.
type host struct {
	name, title      string
	programs, traces []string              // programs that start it; files and folders that only it creates
	server           *server               // nil: no servers in that scope
	hooks            *hooks                // nil: no hooks in that scope
	obstacles        func() []string       // lists reasons why its hooks do not run
	plugin           func(h *Host) *Plugin // finds a plugin that includes planloop, or nil; its problems are recorded in h
	byHand           bool                  // planloop's parts are printed, for a person to paste
	refusalVaries    bool                  // its reaction to a refusal differs between versions
	note             string                // for the user, after a write
}

type server struct {
	file    string   // "": no servers in this scope
	path    []string // of planloop's entry
	program string   // the member that names the program
	entry   object
}

type hooks struct {
	file         string
	layers       []string // other files with hooks
	root         []string // of the object with the events
	fixedMembers object   // other members that the file needs
	isGrouped    func(hook.Event) bool
	matchAll     string // matcher for all tools, for a host that needs one
	handler      func(e hook.Event, command string, limit time.Duration) object
	shell        shell
	whole        *wholeFile // a file that belongs to planloop alone, or nil

	powershell bool // PowerShell runs the commands on Windows; otherwise the shell is unknown
}

type shell int // starts the command of a hook

const (
	runTwice  shell = iota // in a shell; a hook that was killed is run a second time, so that it refuses
	runOnce                // in a shell; a refusal is an exit code, so a second run would follow every refusal
	runDirect              // like twice, but on Windows a program with arguments, without a shell
)

// Titles lists the names and titles of all hosts, in the order of the documentation.
func Titles() []Title {
	var titles []Title
	for _, h := range table(Machine{Getenv: func(string) string { return "" }}, User) {
		titles = append(titles, Title{h.name, h.title})
	}
	return titles
}

// Title is a host's name in commands and its title for people.
type Title struct{ Name, Title string }

// OfClient returns the host of an MCP client's or an agent's name, such as claude-code#1a2b3c.
func OfClient(name string) (Title, bool) {
	name, _, _ = strings.Cut(name, "#")
	name = cmp.Or(map[string]string{"claude-ai": "claude-desktop", "visual-studio-code": "vscode"}[name], name)
	titles := Titles()
	slices.SortFunc(titles, func(a, b Title) int { return len(b.Name) - len(a.Name) })
	i := slices.IndexFunc(titles, func(t Title) bool { return name == t.Name || strings.HasPrefix(name, t.Name+"-") })
	if i < 0 {
		return Title{}, false
	}
	return titles[i], true
}

// Names lists the names of all hosts.
func Names() []string {
	var names []string
	for _, title := range Titles() {
		names = append(names, title.Name)
	}
	return names
}

func table(m Machine, s Scope) []host {
	var hosts []host
	for _, row := range []func(Machine, Scope) host{claude, claudeDesktop, codex, gemini, antigravity, cursor, vscode, opencode, zed,
		windsurf, goose} {
		hosts = append(hosts, row(m, s))
	}
	return hosts
}

func (s Scope) pick(user, project string) string {
	if s == Project {
		return project
	}
	return user
}

const claudeHistory = ".claude.json" // Claude Code keeps its servers there, with its project history

func claude(m Machine, s Scope) host {
	dir := m.variable("CLAUDE_CONFIG_DIR", m.home(".claude"))
	own, project := m.join(dir, "settings.json"), m.project(".claude", "settings.json")
	managed := map[string]string{"darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
		"windows": `C:\Program Files\ClaudeCode\managed-settings.json`, "linux": "/etc/claude-code/managed-settings.json"}[m.GOOS]
	layers := []string{m.project(".claude", "settings.local.json"), managed}
	return host{
		name: "claude", title: "Claude Code", programs: []string{"claude"}, traces: []string{dir},
		server: mcpServers(s.pick(m.join(m.variable("CLAUDE_CONFIG_DIR", m.Home), claudeHistory), m.project(".mcp.json")),
			object{{"type", "stdio"}, {"command", m.Program}, {"args", []any{"serve"}}, {"env", object{}}}),
		hooks: &hooks{file: s.pick(own, project), layers: layers, root: []string{"hooks"}, isGrouped: always, handler: timed,
			shell: runDirect},
		plugin: func(h *Host) *Plugin { return h.claudePlugin(m, dir) },
		obstacles: func() []string {
			return append(m.inFiles(` has "disableAllHooks": true, so no hook runs`, func(file string) bool {
				return jsonSetting(file, "disableAllHooks") == true
			}, append(layers, own, project)...), m.inFiles(` has "allowManagedHooksOnly": true, so no hook of yours runs`,
				func(file string) bool { return jsonSetting(file, "allowManagedHooksOnly") == true }, managed)...)
		},
	}
}

func claudeDesktop(m Machine, s Scope) host {
	dir := m.appData("Claude")
	return host{
		name: "claude-desktop", title: "Claude Desktop", traces: []string{dir},
		server: mcpServers(s.pick(m.join(dir, "claude_desktop_config.json"), ""), command(m)),
		note: "restart it. It has no hooks, so planning mode is not enforced for its own tools. It has no project: planloop uses " +
			"the workspace named default unless args name one, " +
			`as in "serve", "--workspace", "/path/to/project"`,
	}
}

func codex(m Machine, s Scope) host {
	dir := m.variable("CODEX_HOME", m.home(".codex"))
	own, project := m.join(dir, "config.toml"), m.project(".codex", "config.toml")
	file := s.pick(m.join(dir, "hooks.json"), m.project(".codex", "hooks.json"))
	// Codex passes few variables to a server and all to hooks. Both must find the same state.
	passed := []any{"PLANLOOP_AGENT", "PLANLOOP_INSIDE_MODEL", "PLANLOOP_RUN", "PLANLOOP_WORKSPACE", "XDG_CONFIG_HOME", "XDG_STATE_HOME"}
	return host{
		name: "codex", title: "Codex", programs: []string{"codex"}, traces: []string{dir},
		server: &server{file: s.pick(own, project), path: []string{"mcp_servers", hook.OwnServer}, program: "command",
			entry: append(command(m), member{"env_vars", passed})},
		hooks:  &hooks{file: file, root: []string{"hooks"}, isGrouped: always, handler: timed},
		plugin: func(h *Host) *Plugin { return h.codexPlugin(m, dir) },
		obstacles: func() (found []string) {
			found = m.inFiles(" has hooks = false under [features], so no hook runs", func(file string) bool {
				return tomlSettings(file)[joinKey("features", "hooks")] == "false"
			}, own, project)
			if n := m.countUntrusted(file, own); n > 0 {
				found = append(found, fmt.Sprintf("Codex does not trust %d of these hooks and skips them: "+
					"type /hooks in Codex", n))
			}
			return found
		},
		note: "Codex runs these hooks only after you trust them: type /hooks in Codex, again after each change. " +
			"A project's files apply only if you trust the project",
	}
}

func gemini(m Machine, s Scope) host {
	dir := m.join(m.variable("GEMINI_CLI_HOME", m.Home), ".gemini")
	own, project := m.join(dir, "settings.json"), m.project(".gemini", "settings.json")
	handler := func(_ hook.Event, command string, limit time.Duration) object {
		return object{{"name", hook.OwnServer}, {"type", "command"}, {"command", command}, {"timeout", limit.Milliseconds()}}
	}
	return host{
		name: "gemini", title: "Gemini CLI", programs: []string{"gemini"}, traces: []string{own}, // the folder is Antigravity's too
		server: mcpServers(s.pick(own, project), command(m)),
		hooks:  &hooks{file: s.pick(own, project), root: []string{"hooks"}, isGrouped: always, powershell: true, handler: handler},
		plugin: func(h *Host) *Plugin { return h.geminiExtension(m, dir) },
		obstacles: func() []string {
			return m.inFiles(" turns hooks off under hooksConfig", func(file string) bool {
				off, _ := jsonSetting(file, "hooksConfig", "disabled").([]any)
				return jsonSetting(file, "hooksConfig", "enabled") == false || slices.Contains(off, any(hook.OwnServer))
			}, own, project)
		},
		note: "Gemini CLI starts servers only in folders you trust",
	}
}

func antigravity(m Machine, s Scope) host {
	dir := s.pick(m.home(".gemini", "config"), m.project(".agents"))
	file := m.join(dir, "hooks.json")
	return host{
		name: "antigravity", title: "Antigravity CLI", programs: []string{"agy"},
		traces: []string{m.home(".gemini", "antigravity-cli"), m.home(".gemini", "antigravity")},
		server: mcpServers(m.join(dir, "mcp_config.json"), command(m)),
		hooks: &hooks{file: file, root: []string{hook.OwnServer}, matchAll: "*", handler: timed,
			isGrouped: func(e hook.Event) bool { return e.Moment == hook.BeforeTool || e.Moment == hook.AfterTool }},
		obstacles: func() []string {
			return m.inFiles(` has "enabled": false for planloop's hooks`, func(file string) bool {
				return jsonSetting(file, hook.OwnServer, "enabled") == false
			}, file)
		},
		byHand: true, refusalVaries: true,
		note: "Antigravity's versions react differently to a refusal: planning mode is not enforced for its own tools",
	}
}

func cursor(m Machine, s Scope) host {
	dir := s.pick(m.home(".cursor"), m.project(".cursor"))
	return host{
		name: "cursor", title: "Cursor", programs: []string{"cursor", "cursor-agent"}, traces: []string{m.home(".cursor")},
		server: mcpServers(m.join(dir, "mcp.json"), command(m, "--workspace", "${workspaceFolder}")),
		hooks: &hooks{file: m.join(dir, "hooks.json"), root: []string{"hooks"}, fixedMembers: object{{"version", 1}},
			handler: func(e hook.Event, command string, limit time.Duration) object {
				handler := object{{"command", command}}
				if e.Matcher != "" {
					handler = append(handler, member{"matcher", e.Matcher})
				}
				handler = append(handler, member{"timeout", int(limit.Seconds())})
				if e.Moment == hook.BeforeTool {
					handler = append(handler, member{"failClosed", true})
				}
				return handler
			}},
	}
}

func vscode(m Machine, s Scope) host {
	user := m.appData("Code", "User")
	if portable := m.variable("VSCODE_PORTABLE", ""); portable != "" {
		user = m.join(portable, "user-data", "User")
	}
	var workspace []string
	if s == Project {
		workspace = []string{"--workspace", "${workspaceFolder}"}
	}
	return host{
		name: "vscode", title: "VS Code", programs: []string{"code"}, traces: []string{user},
		server: &server{file: s.pick(m.join(user, "mcp.json"), m.project(".vscode", "mcp.json")), path: []string{"servers", hook.OwnServer},
			program: "command", entry: append(object{{"type", "stdio"}}, command(m, workspace...)...)},
		hooks: &hooks{file: m.join(s.pick(m.variable("COPILOT_HOME", m.home(".copilot")), m.project(".github")), "hooks", "planloop.json"),
			root: []string{"hooks"}, fixedMembers: object{{"version", 1}}, handler: timed},
		note: "hooks are a preview feature, and an organization can turn them off: chat.hookFilesLocations lists the files",
	}
}

func opencode(m Machine, s Scope) host {
	own := m.variable("OPENCODE_CONFIG_DIR", m.config("opencode"))
	folder, named := s.pick(own, m.Project), s.pick(m.variable("OPENCODE_CONFIG", ""), "")
	if named == "" {
		named = firstExisting(m.join(folder, "opencode.json"), m.join(folder, "opencode.jsonc"))
	}
	return host{
		name: "opencode", title: "opencode", programs: []string{"opencode"}, traces: []string{own},
		server: &server{file: named, path: []string{"mcp", hook.OwnServer}, program: "command",
			entry: object{{"type", "local"}, {"command", []any{m.Program, "serve"}}, {"enabled", true}}},
		hooks: &hooks{whole: &wholeFile{path: m.join(s.pick(own, m.project(".opencode")), "plugins", "planloop.js"),
			text: hook.OpencodePlugin(m.Program, m.Marks)}},
	}
}

func zed(m Machine, s Scope) host {
	dir := m.config("zed")
	switch m.GOOS {
	case "windows":
		dir = m.join(m.roaming(), "Zed")
	case "darwin":
		dir = m.home(".config", "zed")
	}
	return host{
		name: "zed", title: "Zed", programs: []string{"zed", "zeditor"}, traces: []string{dir},
		server: &server{file: s.pick(m.join(dir, "settings.json"), m.project(".zed", "settings.json")),
			path: []string{"context_servers", hook.OwnServer}, program: "command", entry: command(m)},
		note: "Zed has no hooks: planning mode is not enforced for its own tools",
	}
}

func windsurf(m Machine, s Scope) host {
	dir, field := m.home(".codeium", "windsurf"), "command"
	if m.GOOS == "windows" {
		field = "powershell"
	}
	return host{
		name: "windsurf", title: "Windsurf", programs: []string{"windsurf"}, traces: []string{dir},
		server: mcpServers(s.pick(m.join(dir, "mcp_config.json"), ""), command(m)),
		hooks: &hooks{file: s.pick(m.join(dir, "hooks.json"), m.project(".windsurf", "hooks.json")), root: []string{"hooks"},
			shell: runOnce, powershell: true,
			handler: func(_ hook.Event, command string, _ time.Duration) object { return object{{field, command}} }},
		note: "Windsurf gives its servers no project: planloop uses the workspace named default unless args name one, " +
			`as in "serve", "--workspace", "/path/to/project"`,
	}
}

func goose(m Machine, s Scope) host {
	config, root := m.config("goose"), m.variable("GOOSE_PATH_ROOT", "")
	if m.GOOS == "windows" {
		config = m.join(m.roaming(), "Block", "goose", "config")
	}
	if root != "" {
		config = m.join(root, "config")
	}
	folder := s.pick(m.join(cmp.Or(root, m.Home), ".agents", "plugins", "planloop"), m.project(".agents", "plugins", "planloop"))
	return host{
		name: "goose", title: "Goose", byHand: true, programs: []string{"goose"}, traces: []string{config},
		server: &server{file: s.pick(m.join(config, "config.yaml"), ""), path: []string{"extensions", hook.OwnServer}, program: "cmd",
			entry: object{{"name", hook.OwnServer}, {"type", "stdio"}, {"cmd", m.Program}, {"args", []any{"serve"}}, {"envs", object{}},
				{"enabled", true}, {"timeout", 300}}},
		hooks: &hooks{file: m.join(folder, "hooks", "hooks.json"), root: []string{"hooks"}, isGrouped: always, shell: runOnce,
			handler: func(e hook.Event, command string, limit time.Duration) object {
				handler := timed(e, command, limit)
				if e.Moment == hook.BeforeTool {
					handler = append(handler, member{"on_failure", "block"})
				}
				return handler
			},
			whole: &wholeFile{m.join(folder, "plugin.json"), goosePlugin}},
	}
}

const goosePlugin = `{
  "name": "planloop",
  "version": "1.0.0",
  "description": "Tells planloop which tools are about to run"
}
`

func always(hook.Event) bool { return true }

func mcpServers(file string, entry object) *server {
	return &server{file: file, path: []string{"mcpServers", hook.OwnServer}, program: "command", entry: entry}
}

// command returns the program and its arguments in the form of most hosts.
func command(m Machine, more ...string) object {
	args := []any{"serve"}
	for _, arg := range more {
		args = append(args, arg)
	}
	return object{{"command", m.Program}, {"args", args}}
}

// timed makes a handler in Claude Code's form, with the time limit in seconds.
func timed(_ hook.Event, command string, limit time.Duration) object {
	return object{{"type", "command"}, {"command", command}, {"timeout", int(limit.Seconds())}}
}

// failClosed is the end of a hook's line, in the words of any POSIX shell: it refuses if planloop cannot run and a workspace is marked. $0
// is the folder of the marks, and $1 the exit code of a planloop that refuses by 2.
const failClosed = `[ "$1" = 2 ] && exit 2; for f in "$0"/*; do [ -e "$f" ] && { echo "planning mode is on, and planloop cannot run. ` +
	`Ask the user to repair planloop, or to delete $0." >&2; exit 2; }; done; exit 0`

// commandLine returns the line by which a host's shell starts the hook. On Unix a hook before a tool runs again if the first one was
// killed before it could answer: the second finds no input left and refuses in planning mode. If that also fails, the line itself refuses.
// Any other hook that fails exits with 1, the only code that no host takes for a refusal: Gemini CLI would never end its turn.
func (h *hooks) commandLine(m Machine, on hook.Host, e hook.Event) string {
	line := " hook " + string(on) + " " + e.Name
	switch {
	case m.GOOS != "windows":
		line = safetext.QuoteAlways(m.Program) + line
		if e.Moment != hook.BeforeTool {
			return line + " || exit 1"
		}
		guard := " || sh -c " + safetext.QuoteAlways(failClosed) + " " + safetext.QuoteAlways(m.Marks)
		if h.shell == runOnce {
			return line + guard + " $?"
		}
		return line + " || " + line + guard
	case h.shell == runDirect:
		return m.Program
	case h.powershell:
		return safetext.QuotePowerShell(m.Program) + line
	}
	return safetext.QuoteWindows(m.Program) + line
}
