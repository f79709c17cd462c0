package main

import (
	"bytes"
	"os/exec"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/hosts"
)

// The plugins of hosts. Each has a folder of its own: a root plugin.json would disable the
// hooks of Codex. All of them start the planloop that is on the PATH.

// about is what the manifests of plugins have in common.
func about() object {
	return object{
		{"name", name}, {"version", version}, {"description", description},
		{"author", object{{"name", owner}, {"url", homepage}}},
		{"homepage", homepage}, {"repository", homepage}, {"license", license}, {"keywords", keywords()},
	}
}

// skill teaches the command line to agents without MCP.
func skill() []byte {
	return markdown([]string{
		"name: " + name,
		"description: Keep a plan on disk with the planloop command line. Use it for work of several steps, to go on after a break or " +
			"compaction, to report progress, and to plan read-only until a person approves.",
		"license: " + license,
		"compatibility: Needs the program planloop on the PATH, and a shell.",
		"metadata:",
		`  version: "` + version + `"`,
	}, text("skill.md"))
}

const skillPath = "skills/" + name + "/SKILL.md"

func claudePlugin() files {
	f := files{skillPath: skill(), "README.md": pluginReadme("Claude Code", text("claude.md"))}
	f.put(".claude-plugin/plugin.json", about())
	f.put(".mcp.json", server(hook.Claude))
	f.put("hooks/hooks.json", object{{"description", "Planning mode for Claude Code's own tools, and where the plan stands"},
		{"hooks", hooks(hook.Claude)}})
	for _, command := range []string{"plan", "show", "resume"} {
		f["commands/"+command+".md"] = text("commands/" + command + ".md")
	}
	return f
}

func codexPlugin() files {
	f := files{skillPath: skill(), "README.md": pluginReadme("Codex", text("codex.md"))}
	f.put(".codex-plugin/plugin.json", append(about(), member{"skills", "./skills/"}, member{"mcpServers", "./.mcp.json"},
		member{"hooks", "./hooks/hooks.json"}, member{"interface", object{{"displayName", name}, {"shortDescription", description},
			{"longDescription", details}, {"developerName", owner}, {"category", "Productivity"}, {"websiteURL", homepage}}}))
	f.put(".mcp.json", server(hook.Codex))
	f.put("hooks/hooks.json", object{{"hooks", hooks(hook.Codex)}}) // another key than hooks is an error there
	return f
}

// agentPlugin is the package of Agent Plugins 1.0, whose schemas are closed. It has no hooks.
func agentPlugin() files {
	const schemas = "https://agent-plugins.org/schemas/1.0.0/"
	f := files{skillPath: skill(), "README.md": pluginReadme("hosts of Agent Plugins 1.0", text("agent-plugin.md"))}
	f.put("plugin.json", append(object{{"$schema", schemas + "plugin.schema.json"}}, about()...))
	f.put("mcp.json", object{{"$schema", schemas + "mcp.schema.json"},
		{"mcpServers", object{{name, object{{"type", "stdio"}, {"command", name}, {"args", []string{"serve"}}}}}}})
	return f
}

// machine is one without hosts, and with the planloop on the PATH of a shell.
func machine() hosts.Machine {
	const nowhere = "/nonexistent"
	return hosts.Machine{GOOS: "linux", Home: nowhere, Project: nowhere, Ledger: nowhere, Program: name,
		Getenv: func(string) string { return "" }, LookPath: func(string) (string, error) { return "", exec.ErrNotFound }}
}

// hooks are those that init writes.
func hooks(host hook.Host) jsontext.Value {
	found, _ := machine().Look(string(host), hosts.Want{Scope: hosts.User})
	for _, edit := range found.Edits {
		var has struct {
			Hooks jsontext.Value `json:"hooks"`
		}
		text := bytes.ReplaceAll(edit.After, []byte("'"+name+"'"), []byte(name))
		if err := json.Unmarshal(text, &has); err == nil && has.Hooks != nil {
			return has.Hooks
		}
	}
	panic("packaging: init writes no hooks for " + string(host)) // met by every test
}

// server is how init has a host start the server.
func server(host hook.Host) object {
	entry := machine().Entry(string(host))
	if err := entry.Canonicalize(); err != nil {
		panic("packaging: init names no server for " + string(host)) // met by every test
	}
	return object{{"mcpServers", object{{name, entry}}}}
}

// marketplaces list the plugins of this repository, where the hosts look for them.
func marketplaces() files {
	f := files{}
	f.put(".claude-plugin/marketplace.json", object{{"name", name}, {"owner", object{{"name", owner}, {"url", homepage}}},
		{"description", description},
		{"plugins", []object{{{"name", name}, {"source", "./packaging/claude"}, {"description", description}, {"license", license}}}}})
	f.put(".agents/plugins/marketplace.json", object{{"name", name}, {"interface", object{{"displayName", name}}},
		{"plugins", []object{{{"name", name}, {"source", object{{"source", "local"}, {"path", "./packaging/codex"}}},
			{"policy", object{{"installation", "AVAILABLE"}, {"authentication", "ON_INSTALL"}}}, {"category", "Productivity"}}}}})
	return f
}

func pluginReadme(host string, body []byte) []byte {
	return append([]byte("# planloop for "+host+"\n\n"+details+"\n\n"), body...)
}
