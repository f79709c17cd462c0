package hosts

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/shellquote"
)

// host is a row of the table: all that is particular to a host.
type host struct {
	name, title string
	programs    []string                      // that start it
	traces      func(Machine) []string        // files and folders that only it makes
	server      func(Machine, Scope) *server  // nil: it names no servers in that scope
	hooks       func(Machine, Scope) *hooks   // nil: it has none there
	obstacles   func(Machine, Scope) []string // what keeps its hooks from being heard
	plugin      func(Machine, *Host) *Plugin  // that brings planloop along; nil for none. What is wrong with it goes to the host
	byHand      bool                          // what belongs in its files is printed, for a person to paste
	note        string                        // for the user, once something of it was written
	unsure      bool                          // what it makes of a refusal changes from version to version
}

// server is where a host names its servers, and how.
type server struct {
	file    string
	path    []string // of planloop's entry
	program string   // the member that names the program
	entry   object
}

// hooks is where a host names its hooks, and how.
type hooks struct {
	file    string
	root    []string // of the object that has the events
	fixed   object   // what else the file has to say
	grouped func(hook.Event) bool
	all     string // the matcher of all tools, for a host that wants one
	handler func(e hook.Event, command string) object
	shell   shell
	whole   []wholeFile // files that are planloop's alone

	powershell bool // it is the shell on Windows; else it is not known which is
}

// shell is how a host starts the command of a hook.
type shell int

const (
	twice  shell = iota // in a shell; a hook that was killed is asked once more, so that it refuses
	once                // in a shell; a refusal is an exit code, which leads to no second try
	direct              // as twice, but on Windows a program with its arguments
)

// Titles are the names of all hosts and what people call them, in the order of the documentation.
func Titles() []Title {
	var titles []Title
	for _, h := range table() {
		titles = append(titles, Title{h.name, h.title})
	}
	return titles
}

// Title is a host's name and what people call it.
type Title struct{ Name, Title string }

// Names are the names of all hosts.
func Names() []string {
	var names []string
	for _, h := range table() {
		names = append(names, h.name)
	}
	return names
}

func table() []host {
	return []host{claude(), claudeDesktop(), codex(), gemini(), antigravity(), cursor(), vscode(), opencode(), zed(), windsurf(), goose()}
}

// claudeHistory is the file in which Claude Code names its servers, among all that it remembers.
const claudeHistory = ".claude.json"

func claude() host {
	dir := func(m Machine) string { return m.variable("CLAUDE_CONFIG_DIR", m.home(".claude")) }
	return host{
		name: "claude", title: "Claude Code", programs: []string{"claude"},
		traces: func(m Machine) []string { return []string{dir(m)} },
		server: func(m Machine, s Scope) *server {
			file := m.join(m.variable("CLAUDE_CONFIG_DIR", m.Home), claudeHistory)
			if s == Project {
				file = m.project(".mcp.json")
			}
			return mcpServers(file, object{{"type", "stdio"}, {"command", m.Program},
				{"args", []any{"serve"}}, {"env", object{}}})
		},
		hooks: func(m Machine, s Scope) *hooks {
			file := m.join(dir(m), "settings.json")
			if s == Project {
				file = m.project(".claude", "settings.json")
			}
			return &hooks{file: file, root: []string{"hooks"}, grouped: always, handler: timed(time.Second), shell: direct}
		},
		plugin: func(m Machine, h *Host) *Plugin { return h.claudePlugin(m, dir(m)) },
		obstacles: func(m Machine, s Scope) []string {
			var found []string
			for _, file := range []string{m.join(dir(m), "settings.json"), m.project(".claude", "settings.json"),
				m.project(".claude", "settings.local.json")} {
				if said(file, "disableAllHooks") == true {
					found = append(found, m.Short(file)+` has "disableAllHooks": true, so that no hook is heard`)
				}
			}
			return found
		},
	}
}

func claudeDesktop() host {
	dir := func(m Machine) string { return m.appData("Claude") }
	return host{
		name: "claude-desktop", title: "Claude Desktop", traces: func(m Machine) []string { return []string{dir(m)} },
		server: userOnly(func(m Machine) *server {
			return mcpServers(m.join(dir(m), "claude_desktop_config.json"), command(m))
		}),
		note: "restart it. It has no project and no hooks: it uses the workspace named default unless args name one, " +
			`as in "serve", "--workspace", "/path/to/project", and planning mode is advisory for its own tools`,
	}
}

func codex() host {
	dir := func(m Machine) string { return m.variable("CODEX_HOME", m.home(".codex")) }
	in := func(m Machine, s Scope, file string) string {
		if s == Project {
			return m.project(".codex", file)
		}
		return m.join(dir(m), file)
	}
	return host{
		name: "codex", title: "Codex", programs: []string{"codex"}, traces: func(m Machine) []string { return []string{dir(m)} },
		server: func(m Machine, s Scope) *server {
			// A server gets few variables there, while hooks get all. They must find the same state.
			passed := []any{"PLANLOOP_AGENT", "PLANLOOP_RUN", "PLANLOOP_WORKSPACE", "XDG_CONFIG_HOME", "XDG_STATE_HOME"}
			return &server{file: in(m, s, "config.toml"), path: []string{"mcp_servers", hook.OwnServer},
				program: "command", entry: append(command(m), member{"env_vars", passed})}
		},
		hooks: func(m Machine, s Scope) *hooks {
			return &hooks{file: in(m, s, "hooks.json"), root: []string{"hooks"}, grouped: always, handler: timed(time.Second)}
		},
		plugin: func(m Machine, h *Host) *Plugin { return h.codexPlugin(m, dir(m)) },
		obstacles: func(m Machine, s Scope) []string {
			var found []string
			for _, file := range []string{m.join(dir(m), "config.toml"), m.project(".codex", "config.toml")} {
				if saidTOML(file)[joined("features", "hooks")] == "false" {
					found = append(found, m.Short(file)+" has hooks = false under [features], so that no hook is heard")
				}
			}
			if n := m.untrusted(in(m, s, "hooks.json"), m.join(dir(m), "config.toml")); n > 0 {
				found = append(found, fmt.Sprintf("Codex has not been told to trust %d of these hooks, and does not run them: "+
					"type /hooks in Codex", n))
			}
			return found
		},
		note: "Codex runs these hooks only once you trust them: type /hooks in Codex, and again whenever they have changed. " +
			"Files of a project count where you trust the project",
	}
}

func gemini() host {
	file := func(m Machine, s Scope) string {
		if s == Project {
			return m.project(".gemini", "settings.json")
		}
		return m.join(m.variable("GEMINI_CLI_HOME", m.Home), ".gemini", "settings.json")
	}
	return host{
		name: "gemini", title: "Gemini CLI", programs: []string{"gemini"},
		traces: func(m Machine) []string { return []string{file(m, User)} }, // the folder is Antigravity's too
		server: func(m Machine, s Scope) *server { return mcpServers(file(m, s), command(m)) },
		hooks: func(m Machine, s Scope) *hooks {
			return &hooks{file: file(m, s), root: []string{"hooks"}, grouped: always, powershell: true,
				handler: func(e hook.Event, command string) object {
					return append(object{{"name", hook.OwnServer}}, timed(time.Millisecond)(e, command)...)
				}}
		},
		plugin: func(m Machine, h *Host) *Plugin { return h.geminiExtension(m, filepath.Dir(file(m, User))) },
		obstacles: func(m Machine, s Scope) []string {
			var found []string
			for _, file := range []string{file(m, User), file(m, Project)} {
				off, _ := said(file, "hooksConfig", "disabled").([]any)
				if said(file, "hooksConfig", "enabled") == false || slices.Contains(off, any(hook.OwnServer)) {
					found = append(found, m.Short(file)+" turns hooks off under hooksConfig")
				}
			}
			return found
		},
		note: "Gemini CLI starts servers only in folders you trust",
	}
}

func antigravity() host {
	in := func(m Machine, s Scope, file string) string {
		if s == Project {
			return m.project(".agents", file)
		}
		return m.home(".gemini", "config", file)
	}
	return host{
		name: "antigravity", title: "Antigravity CLI", programs: []string{"agy"},
		traces: func(m Machine) []string {
			return []string{m.home(".gemini", "antigravity-cli"), m.home(".gemini", "antigravity")}
		},
		server: func(m Machine, s Scope) *server { return mcpServers(in(m, s, "mcp_config.json"), command(m)) },
		hooks: func(m Machine, s Scope) *hooks {
			return &hooks{file: in(m, s, "hooks.json"), root: []string{hook.OwnServer}, all: "*", handler: timed(time.Second),
				grouped: func(e hook.Event) bool { return e.Moment == hook.BeforeTool || e.Moment == hook.AfterTool }}
		},
		obstacles: func(m Machine, s Scope) []string {
			if file := in(m, s, "hooks.json"); said(file, hook.OwnServer, "enabled") == false {
				return []string{m.Short(file) + ` has "enabled": false for planloop's hooks`}
			}
			return nil
		},
		byHand: true, unsure: true,
		note: "what Antigravity makes of a refusal changes from version to version: planning mode is advisory for its own tools",
	}
}

func cursor() host {
	in := func(m Machine, s Scope, file string) string {
		if s == Project {
			return m.project(".cursor", file)
		}
		return m.home(".cursor", file)
	}
	return host{
		name: "cursor", title: "Cursor", programs: []string{"cursor", "cursor-agent"},
		traces: func(m Machine) []string { return []string{m.home(".cursor")} },
		server: func(m Machine, s Scope) *server {
			return mcpServers(in(m, s, "mcp.json"), command(m, "--workspace", "${workspaceFolder}"))
		},
		hooks: func(m Machine, s Scope) *hooks {
			return &hooks{file: in(m, s, "hooks.json"), root: []string{"hooks"},
				fixed: object{{"version", 1}},
				handler: func(e hook.Event, command string) object {
					handler := object{{"command", command}}
					if e.Matcher != "" {
						handler = append(handler, member{"matcher", e.Matcher})
					}
					handler = limited(handler, e, time.Second)
					if e.Moment == hook.BeforeTool {
						handler = append(handler, member{"failClosed", true})
					}
					return handler
				}}
		},
	}
}

func vscode() host {
	user := func(m Machine) string {
		if portable := m.variable("VSCODE_PORTABLE", ""); portable != "" {
			return m.join(portable, "user-data", "User")
		}
		return m.appData("Code", "User")
	}
	return host{
		name: "vscode", title: "VS Code", programs: []string{"code"}, traces: func(m Machine) []string { return []string{user(m)} },
		server: func(m Machine, s Scope) *server {
			file, more := m.join(user(m), "mcp.json"), []string(nil)
			if s == Project {
				file, more = m.project(".vscode", "mcp.json"), []string{"--workspace", "${workspaceFolder}"}
			}
			return &server{file: file, path: []string{"servers", hook.OwnServer}, program: "command",
				entry: append(object{{"type", "stdio"}}, command(m, more...)...)}
		},
		hooks: func(m Machine, s Scope) *hooks {
			file := m.join(m.variable("COPILOT_HOME", m.home(".copilot")), "hooks", "planloop.json")
			if s == Project {
				file = m.project(".github", "hooks", "planloop.json")
			}
			return &hooks{file: file, root: []string{"hooks"}, fixed: object{{"version", 1}},
				handler: timed(time.Second)}
		},
		note: "hooks are in preview there, and an organization can turn them off: chat.hookFilesLocations says which are read",
	}
}

func opencode() host {
	dir := func(m Machine, s Scope) string {
		if s == Project {
			return m.project(".opencode")
		}
		return m.variable("OPENCODE_CONFIG_DIR", m.config("opencode"))
	}
	return host{
		name: "opencode", title: "opencode", programs: []string{"opencode"},
		traces: func(m Machine) []string { return []string{dir(m, User)} },
		server: func(m Machine, s Scope) *server {
			folder, named := dir(m, User), m.variable("OPENCODE_CONFIG", "")
			if s == Project {
				folder, named = m.Project, ""
			}
			if named == "" {
				named = first(m.join(folder, "opencode.json"), m.join(folder, "opencode.jsonc"))
			}
			return &server{file: named, path: []string{"mcp", hook.OwnServer}, program: "command",
				entry: object{{"type", "local"}, {"command", []any{m.Program, "serve"}},
					{"enabled", true}}}
		},
		hooks: func(m Machine, s Scope) *hooks {
			return &hooks{whole: []wholeFile{{m.join(dir(m, s), "plugins", "planloop.js"), hook.OpencodePlugin(m.Program)}}}
		},
	}
}

func zed() host {
	dir := func(m Machine) string {
		switch m.GOOS {
		case "windows":
			return m.join(m.roaming(), "Zed")
		case "darwin":
			return m.home(".config", "zed")
		}
		return m.config("zed")
	}
	return host{
		name: "zed", title: "Zed", programs: []string{"zed", "zeditor"}, traces: func(m Machine) []string { return []string{dir(m)} },
		server: func(m Machine, s Scope) *server {
			file := m.join(dir(m), "settings.json")
			if s == Project {
				file = m.project(".zed", "settings.json")
			}
			return &server{file: file, path: []string{"context_servers", hook.OwnServer}, program: "command",
				entry: command(m)}
		},
		note: "Zed has no hooks: planning mode is advisory for its own tools",
	}
}

func windsurf() host {
	dir := func(m Machine) string { return m.home(".codeium", "windsurf") }
	return host{
		name: "windsurf", title: "Windsurf", programs: []string{"windsurf"}, traces: func(m Machine) []string { return []string{dir(m)} },
		server: userOnly(func(m Machine) *server { return mcpServers(m.join(dir(m), "mcp_config.json"), command(m)) }),
		hooks: func(m Machine, s Scope) *hooks {
			file := m.join(dir(m), "hooks.json")
			if s == Project {
				file = m.project(".windsurf", "hooks.json")
			}
			field := "command"
			if m.GOOS == "windows" {
				field = "powershell"
			}
			return &hooks{file: file, root: []string{"hooks"}, shell: once, powershell: true,
				handler: func(_ hook.Event, command string) object { return object{{field, command}} }}
		},
		note: "Windsurf tells its servers no project: planloop uses the workspace named default unless args name one, " +
			`as in "serve", "--workspace", "/path/to/project"`,
	}
}

func goose() host {
	config := func(m Machine) string {
		if root := m.variable("GOOSE_PATH_ROOT", ""); root != "" {
			return m.join(root, "config")
		}
		if m.GOOS == "windows" {
			return m.join(m.roaming(), "Block", "goose", "config")
		}
		return m.config("goose")
	}
	return host{
		name: "goose", title: "Goose", byHand: true, programs: []string{"goose"},
		traces: func(m Machine) []string { return []string{config(m)} },
		server: userOnly(func(m Machine) *server {
			return &server{file: m.join(config(m), "config.yaml"), path: []string{"extensions", hook.OwnServer},
				program: "cmd", entry: object{{"name", hook.OwnServer}, {"type", "stdio"},
					{"cmd", m.Program}, {"args", []any{"serve"}}, {"envs", object{}},
					{"enabled", true}, {"timeout", 300}}}
		}),
		hooks: func(m Machine, s Scope) *hooks {
			folder := m.join(m.variable("GOOSE_PATH_ROOT", m.Home), ".agents", "plugins", "planloop")
			if s == Project {
				folder = m.project(".agents", "plugins", "planloop")
			}
			return &hooks{file: m.join(folder, "hooks", "hooks.json"), root: []string{"hooks"}, grouped: always, shell: once,
				handler: func(e hook.Event, command string) object {
					handler := timed(time.Second)(e, command)
					if e.Moment == hook.BeforeTool {
						handler = append(handler, member{"on_failure", "block"})
					}
					return handler
				},
				whole: []wholeFile{{m.join(folder, "plugin.json"), goosePlugin}}}
		},
	}
}

// goosePlugin makes a folder a plugin of Goose.
const goosePlugin = `{
  "name": "planloop",
  "version": "1.0.0",
  "description": "Tells planloop which tools are about to run"
}
`

func always(hook.Event) bool { return true }

func userOnly(in func(Machine) *server) func(Machine, Scope) *server {
	return func(m Machine, s Scope) *server {
		if s == Project {
			return nil
		}
		return in(m)
	}
}

func mcpServers(file string, entry object) *server {
	return &server{file: file, path: []string{"mcpServers", hook.OwnServer}, program: "command", entry: entry}
}

// command names the program and its arguments as most hosts do.
func command(m Machine, more ...string) object {
	args := []any{"serve"}
	for _, arg := range more {
		args = append(args, arg)
	}
	return object{{"command", m.Program}, {"args", args}}
}

// timed is a handler as Claude Code has it, with its time limit in a unit.
func timed(unit time.Duration) func(hook.Event, string) object {
	return func(e hook.Event, command string) object {
		return limited(object{{"type", "command"}, {"command", command}}, e, unit)
	}
}

func limited(handler object, e hook.Event, unit time.Duration) object {
	if e.Limit == 0 {
		return handler
	}
	return append(handler, member{"timeout", int(e.Limit / unit)})
}

// commandLine is how a host's shell starts the hook. A shell on Unix tries a second time
// where the first was killed before it could answer: the second finds no input left, and
// refuses in planning mode.
func (h *hooks) commandLine(m Machine, on hook.Host, e hook.Event) string {
	line := " hook " + string(on) + " " + e.Name
	switch {
	case m.GOOS != "windows":
		line = shellquote.Quoted(m.Program) + line
		if e.Moment == hook.BeforeTool && h.shell != once {
			line += " || " + line
		}
		return line
	case h.shell == direct:
		return m.Program
	case h.powershell:
		return shellquote.PowerShell(m.Program) + line
	}
	return shellquote.Windows(m.Program) + line
}
