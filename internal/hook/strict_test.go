package hook

import (
	"slices"
	"strings"
	"testing"
)

// TestNonsenseIsAnError gives each event of each host input that no host would send. Every call can still be answered.
func TestNonsenseIsAnError(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	nonsense := map[string]string{
		"empty": "", "space": " \n", "no object": `[]`, "no JSON": `{`, "more after it": `{} {}`, "comments": `{/* */}`,
		"twice": `{"x":1,"x":2}`, "twice within": `{"tool_input":{"command":"ls","command":"rm -rf ."}}`,
		"twice far within": `{"y":[{"z":{"a":1,"a":2}}]}`, "no UTF-8": "{\"x\":\"\xff\"}", "half a surrogate": `{"x":"\ud800"}`,
		"deep": deep, "large": `{"x":"` + strings.Repeat("x", MaxPayload) + `"}`, "10 MB": strings.Repeat(" ", 10<<20),
		"a null byte": "{\"x\":\"\x00\"}",
	}
	for _, host := range Hosts() {
		for _, event := range Events(host) {
			for name, text := range nonsense {
				call, err := Read(host, event.Name, []byte(text))
				if err == nil || call.Host != host || call.Event != event.Name || call.Moment != event.Moment || call.Tool != "" {
					t.Errorf("%s %s: %s: %v, %+v", host, event.Name, name, err, call)
				}
			}
		}
	}
}

// TestHostAndPlanloopCannotReadTwoThings is about inputs that a host might read differently.
func TestHostAndPlanloopCannotReadTwoThings(t *testing.T) {
	for _, c := range []struct {
		host           Host
		event, payload string
	}{
		{Claude, "pre-tool-use", `{"tool_name":"Read","Tool_Name":"Write","tool_input":{}}`},
		{Claude, "pre-tool-use", `{"tool_name":"Bash","tool_input":{"command":"ls","Command":"rm x"}}`},
		{Claude, "pre-tool-use", `{"tool_name":"Bash","tool_input":{"command":"ls\u0000; rm x"}}`},
		{Claude, "pre-tool-use", `{"tool_name":"Write","tool_input":{"file_path":"a\u0000b"}}`},
		{Claude, "pre-tool-use", `{"cwd":"/a\u0000","tool_name":"Write","tool_input":{"file_path":"b"}}`},
		{Antigravity, "pre-tool-use", `{"toolCall":{"name":"view_file","Name":"run_command","args":{}}}`},
		{Antigravity, "pre-tool-use", `{"toolcall":{"name":"view_file","args":{}}}`},
		{VSCode, "pre-tool-use", `{"toolName":"bash","toolArgs":"{\"command\":\"ls\",\"command\":\"rm x\"}"}`},
		{VSCode, "pre-tool-use",
			`{"tool_name":"multi_replace_string_in_file","tool_input":{"replacements":[{"filePath":"a","FilePath":"b"}]}}`},
		{Cursor, "before-shell-execution", `{"command":"ls","Command":"rm x"}`},
	} {
		if call, err := Read(c.host, c.event, []byte(c.payload)); err == nil {
			t.Errorf("%s %s: read as %+v", c.host, c.payload, call)
		}
	}
}

// TestWhatCannotBeReadMayWrite is about known tools with ambiguous input.
func TestWhatCannotBeReadMayWrite(t *testing.T) {
	for _, c := range []struct {
		host    Host
		payload string
		does    Effect
		command string
		paths   []string
	}{
		{Claude, `{}`, Unknown, "", nil},
		{Claude, `{"tool_name":"Brand New","tool_input":{}}`, Unknown, "", nil},
		{Claude, `{"tool_name":"PowerShell","tool_input":{"command":"ls"}}`, Unknown, "", nil},
		{Claude, `{"tool_name":"Bash"}`, Unknown, "", nil},
		{Claude, `{"tool_name":"Bash","tool_input":"ls"}`, Unknown, "", nil},
		{Claude, `{"tool_name":"Bash","tool_input":{"command":7}}`, Unknown, "", nil},
		{Claude, `{"tool_name":"Bash","tool_input":{"command":"ls","timeout":9,"run_in_background":true,"dangerouslyDisableSandbox":true}}`,
			Runs, "ls", nil},
		{Claude, `{"tool_name":"Bash","tool_input":{"command":"ls","env":{"PATH":"/tmp"}}}`, Unknown, "", nil},
		{Claude, `{"tool_name":"Bash","tool_input":{"command":"ls","_simulatedSedEdit":{"filePath":"a"}}}`, Unknown, "", nil},
		{Claude, `{"tool_name":"Bash","tool_input":{"command":"ls","script":"rm x"}}`, Unknown, "", nil},
		{Codex, `{"tool_name":"exec_command","tool_input":{"cmd":"ls","yield_time_ms":1,"login":true}}`, Runs, "ls", nil},
		{Codex, `{"tool_name":"exec_command","tool_input":{"cmd":"ls","environment":{}}}`, Unknown, "", nil},
		{Gemini, `{"tool_name":"run_shell_command","tool_input":{"command":"ls","dir_path":".","is_background":true}}`, Runs, "ls", nil},
		{Gemini, `{"tool_name":"run_shell_command","tool_input":{"command":"ls","stdin":"x"}}`, Unknown, "", nil},
		{Opencode, `{"tool_name":"bash","tool_input":{"command":"ls","workdir":"a","timeout":1,"description":"x"}}`, Runs, "ls", nil},
		{Opencode, `{"tool_name":"bash","tool_input":{"command":"ls","Env":{}}}`, Unknown, "", nil},
		{Claude, `{"tool_name":"Monitor","tool_input":{"ws":{"url":"ws://x"}}}`, Unknown, "", nil},
		{Claude, `{"tool_name":"Write","tool_input":{}}`, Writes, "", nil},
		{Claude, `{"tool_name":"Write"}`, Writes, "", nil},
		{Claude, `{"tool_name":"Write","tool_input":{"file_path":{"a":1}}}`, Writes, "", nil},
		{Claude, `{"tool_name":"Grep","tool_input":{"pattern":"x","output_mode":"content"}}`, Reads, "", nil},
		{VSCode, `{"tool_name":"lsp","tool_input":{"operation":"rename","newName":"x"}}`, Unknown, "", nil},
		{VSCode, `{"tool_name":"lsp","tool_input":{"operation":"hover"}}`, Reads, "", nil},
		{Cursor, `{"tool_name":"FetchMcpResource","tool_input":{"server":"a","uri":"b","downloadPath":"x"}}`, Unknown, "", nil},
		{Cursor, `{"tool_name":"FetchMcpResource","tool_input":{"server":"a","uri":"b"}}`, Reads, "", nil},
		{Codex, `{"tool_name":"shell","tool_input":{"command":["bash","-lc","ls | wc -l"]}}`, Runs, "ls | wc -l", nil},
		{Codex, `{"tool_name":"shell","tool_input":{"command":["/usr/bin/bash","-c","ls"]}}`, Runs, "ls", nil},
		{Codex, `{"tool_name":"shell","tool_input":{"command":["/src/tree/bash","-c","ls"]}}`, Runs, "/src/tree/bash -c ls", nil},
		{Codex, `{"tool_name":"shell","tool_input":{"command":["/src/tree/bash","-c","ls | wc"]}}`, Unknown, "", nil},
		{Codex, `{"tool_name":"shell","tool_input":{"command":["/bin/sh","-c","ls"]}}`, Runs, "ls", nil},
		{Codex, `{"tool_name":"shell","tool_input":{"command":["./sh","-c","ls"]}}`, Runs, "./sh -c ls", nil},
		{Codex, `{"tool_name":"shell","tool_input":{"command":["git","log","-n1"]}}`, Runs, "git log -n1", nil},
		{Codex, `{"tool_name":"shell","tool_input":{"command":["echo","a b"]}}`, Unknown, "", nil},
		{Codex, `{"tool_name":"shell","tool_input":{"command":[]}}`, Unknown, "", nil},
		{Codex, `{"tool_name":"shell","tool_input":{"command":["ls",1]}}`, Unknown, "", nil},
		{Codex, `{"tool_name":"exec_command","tool_input":{"cmd":"ls","shell":"/src/tree/bash"}}`, Unknown, "", nil},
		{Codex, `{"tool_name":"exec_command","tool_input":{"cmd":"ls","shell":"./sh"}}`, Unknown, "", nil},
		{Codex, `{"tool_name":"exec_command","tool_input":{"cmd":"ls","shell":"python"}}`, Unknown, "", nil},
		{Codex, `{"tool_name":"exec_command","tool_input":{"cmd":"ls","shell":["bash"]}}`, Unknown, "", nil},
		{Codex, `{"tool_name":"exec_command","tool_input":{"cmd":"ls","shell":"zsh"}}`, Runs, "ls", nil},
		{Codex, `{"tool_name":"exec_command","tool_input":{"cmd":"ls","shell":"/bin/bash"}}`, Runs, "ls", nil},
		{Codex, `{"tool_name":"exec_command","tool_input":{"cmd":"ls","shell":null}}`, Runs, "ls", nil},
		{Codex, `{"tool_name":"exec_command","tool_input":{"command":"ls","cmd":"touch x"}}`, Unknown, "", nil},
		{Codex, `{"tool_name":"exec_command","tool_input":{"command":"ls","cmd":["touch","x"]}}`, Unknown, "", nil},
		{Codex, `{"tool_name":"exec_command","tool_input":{"command":"ls","cmd":7}}`, Unknown, "", nil},
		{Codex, `{"tool_name":"exec_command","tool_input":{"command":"ls","cmd":"ls"}}`, Runs, "ls", nil},
		{Codex, `{"tool_name":"exec_command","tool_input":{"cmd":"ls","workdir":7}}`, Unknown, "", nil},
		{Codex, `{"tool_name":"apply_patch","tool_input":{"command":"*** Add File: a\n","patch":"*** Add File: b\n"}}`, Writes, "", nil},
		{Codex, `{"tool_name":"apply_patch","tool_input":{"input":"*** Add File: a\n","patch":"*** Add File: a\n"}}`, Writes, "",
			[]string{"a"}},
		{Codex, `{"tool_name":"apply_patch","tool_input":{}}`, Writes, "", nil},
		{Codex, `{"tool_name":"apply_patch","tool_input":{"command":"*** Add File: b\n*** Rename File: a\n"}}`, Writes, "", nil},
		{Codex, `{"tool_name":"apply_patch","tool_input":{"command":"*** Update File:\n"}}`, Writes, "", nil},
		{Codex, `{"tool_name":"apply_patch","tool_input":{"command":"*** Update File: a\n*** Move to: b\n@@\n*** Delete File: c\n"}}`,
			Writes, "", []string{"a", "b", "c"}},
		{Codex, `{"tool_name":"apply_patch","tool_input":{"command":"  *** Update File: a b  \r\n+*** Add File: c\n"}}`, Writes, "",
			[]string{"a b"}},
		{VSCode, `{"tool_name":"multi_replace_string_in_file","tool_input":{"replacements":[{"filePath":"a"},{}]}}`, Writes, "", nil},
		{VSCode, `{"tool_name":"multi_replace_string_in_file","tool_input":{"replacements":[{"filePath":"a"},7]}}`, Writes, "", nil},
		{VSCode, `{"tool_name":"editFiles","tool_input":{"files":["a",1]}}`, Writes, "", nil},
		{VSCode, `{"tool_name":"editFiles","tool_input":{"files":["a"],"filePath":"b"}}`, Writes, "", []string{"b", "a"}},
		{VSCode, `{"tool_name":"editFiles","tool_input":{"files":[]}}`, Writes, "", nil},
	} {
		event := Events(c.host)[1].Name
		call, err := Read(c.host, event, []byte(c.payload))
		if err != nil || call.Effect != c.does || call.Command != c.command || !slices.Equal(call.Paths, c.paths) {
			t.Errorf("%s %s: %v, %q %q %q", c.host, c.payload, err, call.Effect, call.Command, call.Paths)
		}
	}
}

// TestOwnToolsAreKnownInEachHost, and tools of other servers are not.
func TestOwnToolsAreKnownInEachHost(t *testing.T) {
	for _, c := range []struct {
		host         Host
		tool         string
		server, name string
	}{
		{Claude, "mcp__planloop__planloop_status", "planloop", "planloop_status"},
		{Claude, "mcp__plugin_planloop_planloop__planloop_status", "planloop", "planloop_status"},
		{Claude, "mcp__plugin_other_planloop__planloop_status", "plugin_other_planloop", "planloop_status"},
		{Claude, "mcp__planloop__evil__planloop_status", "planloop__evil", "planloop_status"},
		{Claude, "mcp__github__get__me", "github", "get__me"},
		{Claude, "mcp_planloop_planloop_status", "planloop", "planloop_status"}, // VS Code
		{Codex, "mcp__planloop__planloop_status", "planloop", "planloop_status"},
		{Gemini, "mcp_planloop_planloop_status", "planloop", "planloop_status"},
		{Gemini, "mcp_github_get_me", "github", "get_me"},
		{Cursor, "MCP:planloop_status", "planloop", "planloop_status"},
		{Cursor, "MCP:planloop:planloop_status", "planloop", "planloop_status"},
		{Cursor, "MCP:get_me", "", "get_me"},
		{VSCode, "mcp_planloop_planloop_status", "planloop", "planloop_status"},
		{VSCode, "planloop-planloop_status", "planloop", "planloop_status"},
		{VSCode, "planloop-evil-planloop_status", "planloop-evil", "planloop_status"},
		{Opencode, "planloop_planloop_status", "planloop", "planloop_status"},
		{Opencode, "planloop_view", "planloop", "view"},
		{Opencode, "planloop_evil_planloop_status", "", "planloop_evil_planloop_status"}, // not a tool of planloop's
		{Opencode, "planloop_evil__tool", "", "planloop_evil__tool"},
		{Opencode, "planloop_planloop_evil__tool", "", "planloop_planloop_evil__tool"},
		{Opencode, "planloop_planning_evil__tool", "", "planloop_planning_evil__tool"},
		{Gemini, "mcp_planloop_evil__tool", "", "planloop_evil__tool"},
		{Claude, "mcp_planloop_evil__tool", "", "planloop_evil__tool"},
		{Claude, "mcp__planloop_evil__planloop_status", "planloop_evil", "planloop_status"},
		{Antigravity, "mcp_planloop_x__y", "", "planloop_x__y"},
		{VSCode, "mcp_planloop_a__b", "", "planloop_a__b"},
		{VSCode, "planloop-a__b", "", "planloop-a__b"},
		{Cursor, "MCP:planning_evil__x", "", "planning_evil__x"},
		{Cursor, "MCP:planloop_evil__x", "", "planloop_evil__x"},
		{Cursor, "MCP:planloop:evil__x", "", "planloop:evil__x"},
		{Cursor, "MCP:view", "", "view"},
		{Goose, "planloop__planloop_status", "planloop", "planloop_status"},
	} {
		server, name, ok := mcpTool(c.host, c.tool, "")
		if !ok || server != c.server || name != c.name {
			t.Errorf("%s %s: %q %q %v", c.host, c.tool, server, name, ok)
		}
	}
	for _, c := range []struct {
		host          Host
		event, more   string
		own           bool
		server, named string
	}{
		{Gemini, "before-tool", `"tool_name":"mcp_planloop_x","mcp_context":{"server_name":"evil","tool_name":"x"}`, false, "evil", "x"},
		{Gemini, "before-tool", `"tool_name":"mcp_planloop_pl...us","mcp_context":{"server_name":"planloop","tool_name":"planloop_status"}`,
			true, "planloop", "planloop_status"},
		{Claude, "pre-tool-use", `"tool_name":"mcp__a__b__c","mcp_server":{"name":"a__b"}`, false, "a__b", "c"},
		{Claude, "pre-tool-use", `"tool_name":"mcp__planloop__b__c","mcp_server":{"name":"planloop__b"}`, false, "planloop__b", "c"},
		{Claude, "pre-tool-use", `"tool_name":"mcp__plugin_planloop_planloop__c","mcp_server":{"name":"plugin:planloop:planloop"}`,
			true, "planloop", "c"},
		{Gemini, "before-tool", `"tool_name":"mcp_planloop_a__b","mcp_context":{"server_name":"planloop","tool_name":"a__b"}`,
			true, "planloop", "a__b"},
		{Cursor, "before-mcp-execution", `"tool_name":"planloop_status"`, true, "planloop", "planloop_status"},
		{Cursor, "before-mcp-execution", `"tool_name":"planloop_status","command":"planloop mcp"`, true, "planloop", "planloop_status"},
		{Cursor, "before-mcp-execution", `"tool_name":"planloop_status","command":"\"/opt/x/planloop\" mcp"`, true, "planloop",
			"planloop_status"},
		{Cursor, "before-mcp-execution", `"tool_name":"planloop_status","command":"C:\\bin\\planloop.exe mcp"`, true, "planloop",
			"planloop_status"},
		{Cursor, "before-mcp-execution", `"tool_name":"planloop_status","command":"sh /x/planloop"`, false, "", "planloop_status"},
		{Cursor, "before-mcp-execution", `"tool_name":"planloop_status","command":"planloop-evil"`, false, "", "planloop_status"},
		{Cursor, "before-mcp-execution", `"tool_name":"planloop_status","command":7`, false, "", "planloop_status"},
		{Cursor, "before-mcp-execution", `"tool_name":"planloop_status","url":"https://x/planloop"`, false, "", "planloop_status"},
		{Cursor, "pre-tool-use", `"tool_name":"MCP:planloop:planloop_status","command":"planloop","url":"https://x"`, false, "",
			"planloop_status"},
	} {
		call, err := Read(c.host, c.event, []byte("{"+c.more+`,"tool_input":{}}`))
		if err != nil || call.IsOwn() != c.own || call.Server != c.server || call.Name != c.named {
			t.Errorf("%s: %v, %+v", c.more, err, call)
		}
	}
}
