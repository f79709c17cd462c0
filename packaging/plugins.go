package main

import (
	"bytes"
	"os/exec"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/hosts"
)

// The plugins of hosts. Each has its own folder, because a plugin.json in the root would disable
// Codex's hooks. All start the planloop on the PATH.

func about() object {
	return object{
		{"name", name}, {"version", version}, {"description", description},
		{"author", object{{"name", owner}, {"url", homepage}}},
		{"homepage", homepage}, {"repository", homepage}, {"license", license}, {"keywords", keywords()},
	}
}

// skill teaches the command line to agents without MCP.
func skill() []byte {
	front := "---\nname: " + name + "\n" +
		"description: Keep a plan on disk with the planloop command line. Use it for work of several steps, to continue after a break or " +
		"compaction, to report progress, and to plan read-only until a person approves.\n" +
		"license: " + license + "\ncompatibility: Needs the program planloop on the PATH, and a shell.\n" +
		"metadata:\n  version: \"" + version + "\"\n---\n\n"
	return append([]byte(front), text("skill.md")...)
}

const skillPath = "skills/" + name + "/SKILL.md"

func claudePlugin() files {
	f := files{skillPath: skill(), "README.md": pluginReadme("Claude Code", text("claude.md"))}
	f.put(".claude-plugin/plugin.json", about())
	f.put(".mcp.json", server(hook.Claude))
	f.put("hooks/hooks.json", object{{"description", "Planning mode for Claude Code's own tools, and the state of the plan"},
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
	f.put("hooks/hooks.json", object{{"hooks", hooks(hook.Codex)}}) // any key except hooks is an error for Codex
	return f
}

// agentPlugin makes the package for Agent Plugins 1.0. Its schemas allow no other members, and it has no hooks.
func agentPlugin() files {
	const schemas = "https://agent-plugins.org/schemas/1.0.0/"
	f := files{skillPath: skill(), "README.md": pluginReadme("hosts of Agent Plugins 1.0", text("agent-plugin.md"))}
	f.put("plugin.json", append(object{{"$schema", schemas + "plugin.schema.json"}}, about()...))
	f.put("mcp.json", object{{"$schema", schemas + "mcp.schema.json"},
		{"mcpServers", object{{name, object{{"type", "stdio"}, {"command", name}, {"args", []string{"serve"}}}}}}})
	return f
}

// machine returns a machine without hosts, where a shell finds planloop on the PATH.
func machine() hosts.Machine {
	const nowhere = "/nonexistent"
	return hosts.Machine{GOOS: "linux", Home: nowhere, Project: nowhere, Ledger: nowhere, Marks: marks, Program: name,
		Getenv: func(string) string { return "" }, LookPath: func(string) (string, error) { return "", exec.ErrNotFound }}
}

// marks stands for the folder of the marks, which a shell finds by its variables.
const marks = "MARKS"

func hooks(host hook.Host) jsontext.Value {
	found, _ := machine().Inspect(string(host), hosts.Request{Scope: hosts.User})
	for _, edit := range found.Edits {
		var has struct {
			Hooks jsontext.Value `json:"hooks"`
		}
		text := bytes.ReplaceAll(edit.After, []byte("'"+name+"'"), []byte(name))
		text = bytes.ReplaceAll(text, []byte("'"+marks+"'"), []byte(`\"${XDG_STATE_HOME:-$HOME/.local/state}/planloop-planning\"`))
		text = bytes.ReplaceAll(text, []byte("session-start || exit 1"), []byte("session-start || echo "+missing()))
		text = bytes.ReplaceAll(text, []byte(" || exit 1"), []byte(" || exit 0")) // one message for each session is enough
		if err := json.Unmarshal(text, &has); err == nil && has.Hooks != nil {
			return has.Hooks
		}
	}
	panic("packaging: init writes no hooks for " + string(host)) // a programming error that every test would hit
}

// missing returns the notice that planloop is missing, which a plugin gives when a session starts, as part of a JSON string.
func missing() string {
	notice := jsonText(object{{"systemMessage", "The planloop plugin does nothing yet: planloop is not on the PATH. " + installing}})
	inString, err := jsontext.AppendQuote(nil, "'"+strings.Join(strings.Fields(notice), " ")+"'")
	if err != nil {
		panic("packaging: " + err.Error()) // the text is a constant of this program
	}
	return string(inString[1 : len(inString)-1])
}

func server(host hook.Host) object {
	entry := machine().Entry(string(host))
	if err := entry.Canonicalize(); err != nil {
		panic("packaging: init names no server for " + string(host)) // a programming error that every test would hit
	}
	return object{{"mcpServers", object{{name, entry}}}}
}

// marketplaces lists the plugins of this repository in the files that the hosts look for.
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
