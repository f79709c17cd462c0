package hook

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/toolbox"
)

// toolGroup are tools of a host with the same effect.
type toolGroup struct {
	effect  Effect
	members string // members of the input that hold the command, the paths, or the MCP server and its tool
	names   string
}

const patchEffect Effect = "patches" // the input is a patch, which names the files that it writes

// toolGroups returns the known tools of a host, as of the version in each comment. All others are unknown, and so are tools that type into
// or end a running program, and PowerShell's, since planloop cannot parse PowerShell.
func toolGroups(host Host) []toolGroup {
	switch host {
	case Claude: // VS Code also calls the hooks written for Claude Code, with its own tools
		return append(claudeTools(), vscodeTools()...)
	case Codex: // 0.169; it reports its shell as Bash, whatever name the model used
		return []toolGroup{
			{Runs, "command cmd", "Bash shell local_shell shell_command exec_command container.exec"},
			{patchEffect, "command input patch", "apply_patch"},
			{Reads, "", `view_image list_mcp_resources list_mcp_resource_templates read_mcp_resource tool_search web_search
				request_user_input wait_agent list_agents collaborationwait_agent collaborationlist_agents get_goal`},
			{Plans, "", "update_plan"},
			{Spawns, "", `spawn_agent resume_agent send_input send_message followup_task collaborationspawn_agent
				collaborationsend_message collaborationfollowup_task`},
		}
	case Gemini: // 0.61
		return []toolGroup{
			{Runs, "command", "run_shell_command"},
			{Writes, "file_path", "write_file replace"},
			{Reads, "", `read_file read_many_files list_directory glob grep_search search_file_content google_web_search web_fetch
				get_internal_docs ask_user read_mcp_resource list_mcp_resources update_topic complete_task`},
			{Plans, "", `enter_plan_mode exit_plan_mode write_todos tracker_create_task tracker_update_task tracker_get_task
				tracker_list_tasks tracker_add_dependency tracker_visualize`},
			{Loads, "", "activate_skill"},
			{Spawns, "", "invoke_agent codebase_investigator cli_help"},
		}
	case Antigravity: // 2.0
		return []toolGroup{
			{Runs, "CommandLine", "run_command"},
			{Writes, "TargetFile", "write_to_file replace_file_content multi_replace_file_content"},
			{Reads, "", `view_file list_dir find_by_name grep_search search_web read_url_content command_status list_permissions
				ask_permission ask_question`},
			{Spawns, "", "invoke_subagent define_subagent send_message browser_subagent"},
			{Calls, "ServerName ToolName", "call_mcp_tool"},
		}
	case Cursor: // 2.4 and later
		return []toolGroup{
			{Runs, "command", "Shell beforeShellExecution"},
			{Writes, "file_path path target_file target_notebook", "Write StrReplace Edit MultiEdit Delete EditNotebook"},
			{patchEffect, "patch input", "ApplyPatch"},
			{Reads, "", `Read Grep Glob LS List SemanticSearch ReadLints WebSearch WebFetch AskQuestion FetchMcpResource
				ListMcpResources`},
			{Plans, "", "TodoWrite CreatePlan SwitchMode"},
			{Spawns, "", "Task Subagent"},
		}
	case VSCode:
		return append(vscodeTools(), copilotTools()...)
	case Opencode: // 1.18
		return []toolGroup{
			{Runs, "command", "bash shell"},
			{Writes, "filePath path", "edit write multiedit"},
			{patchEffect, "patchText patch", "apply_patch patch"},
			{Reads, "", `read grep glob list webfetch websearch codesearch lsp question invalid list_mcp_resources
				list_mcp_resource_templates read_mcp_resource`},
			{Plans, "", "todowrite todoread plan_enter plan_exit"},
			{Loads, "", "skill"},
			{Spawns, "", "task subagent"},
		}
	case Goose: // 1.3x, with and without the name of the extension
		return []toolGroup{
			{Runs, "command", "developer__shell shell"},
			{Writes, "path", "developer__write developer__edit developer__text_editor write edit text_editor"},
			{Reads, "", `developer__tree developer__read_image developer__image_processor tree read_image read_file load
				platform__search_available_extensions`},
			{Plans, "", "todo__todo_write todo__todo_read todo_write todo_read"},
			{Spawns, "", "delegate subagent summon__delegate dynamic_task__create_task subagent__execute_task"},
		}
	case Windsurf: // each tool has an event of its own
		return []toolGroup{
			{Runs, "command_line", "pre_run_command"},
			{Writes, "file_path", "pre_write_code"},
			{Reads, "", "pre_read_code"},
			{Calls, "mcp_server_name mcp_tool_name", "pre_mcp_tool_use"},
		}
	}
	return nil
}

// claudeTools returns the tools of Claude Code, as of 2.1.330.
func claudeTools() []toolGroup {
	return []toolGroup{
		{Runs, "command", "Bash Monitor"},
		{Writes, "file_path", "Write Edit MultiEdit"},
		{Writes, "notebook_path", "NotebookEdit"},
		{Reads, "", `Read NotebookRead Glob Grep LS LSP WebFetch WebSearch ToolSearch BashOutput TaskOutput AgentOutputTool
			ListMcpResources ListMcpResourcesTool ReadMcpResource ReadMcpResourceTool ReadMcpResourceDir ReadMcpResourceDirTool
			RefreshMcpTools WaitForMcpServers AskUserQuestion CronList ReportFindings SendUserMessage StructuredOutput Sleep`},
		{Plans, "", "EnterPlanMode ExitPlanMode TodoRead TodoWrite TaskCreate TaskGet TaskList TaskUpdate"},
		{Loads, "", "Skill SlashCommand"},
		{Spawns, "", "Agent Task SendMessage"},
	}
}

// vscodeTools returns the tools of VS Code's own agent, as of 1.110: as the model sees them, as registered, and as documented.
func vscodeTools() []toolGroup {
	return []toolGroup{
		{Runs, "command", "run_in_terminal runInTerminal runTerminalCommand"},
		{Writes, "filePath files dirPath replacements[].filePath", `create_file copilot_createFile createFile
			replace_string_in_file copilot_replaceString multi_replace_string_in_file copilot_multiReplaceString
			insert_edit_into_file copilot_insertEdit editFiles edit_files copilot_editFiles edit_notebook_file copilot_editNotebook
			create_directory copilot_createDirectory createDirectory deleteFile`},
		{patchEffect, "input", "copilot_applyPatch"},
		{Reads, "", `read_file copilot_readFile readFile list_dir copilot_listDirectory listDirectory file_search copilot_findFiles
			grep_search copilot_findTextInFiles semantic_search copilot_searchCodebase list_code_usages copilot_listCodeUsages
			search_workspace_symbols copilot_searchWorkspaceSymbols get_errors copilot_getErrors get_changed_files
			copilot_getChangedFiles fetch_webpage copilot_fetchWebPage get_search_view_results copilot_getSearchResults
			test_search copilot_findTestFiles test_failure copilot_testFailure get_terminal_output terminal_last_command
			terminal_selection copilot_getNotebookSummary read_notebook_cell_output copilot_readNotebookCellOutput view_image
			get_vscode_api copilot_getVSCodeAPI github_repo copilot_githubRepo github_text_search vscode_askQuestions ask_questions
			read_project_structure copilot_readProjectStructure get_task_output tool_search`},
		{Plans, "", "manage_todo_list"},
		{Spawns, "", "runSubagent run_subagent search_subagent execution_subagent"},
	}
}

// copilotTools returns the tools of Copilot's command line and cloud agent, as of 1.0.
func copilotTools() []toolGroup {
	return []toolGroup{
		{Runs, "command", "bash"},
		{Writes, "path file_path", "create edit str_replace_editor"},
		{patchEffect, "input patch command", "apply_patch"},
		{Reads, "", `view glob grep rg web_fetch web_search ask_user read_bash list_bash read_powershell list_powershell lsp
			read_agent list_agents report_intent show_file fetch_copilot_cli_documentation`},
		{Plans, "", "update_todo exit_plan_mode"},
		{Loads, "", "skill"},
		{Spawns, "", "task write_agent"},
	}
}

func toolGroupOf(host Host, tool string) (toolGroup, bool) {
	known := toolGroups(host)
	i := slices.IndexFunc(known, func(t toolGroup) bool { return slices.Contains(strings.Fields(t.names), tool) })
	if i < 0 {
		return toolGroup{}, false
	}
	return known[i], true
}

// classify sets a tool's act from its name and its input.
func (r *reader) classify(c *Call, top map[string]jsontext.Value) {
	row, known := toolGroupOf(c.Host, c.Tool)
	if server, name, ok := mcpTool(c.Host, c.Tool, r.text(top[serverMembers])); ok && !known {
		if reported := r.text(top[nameMembers]); reported != "" {
			name = reported
		}
		c.Effect, c.Server, c.Name = Calls, server, name
		return
	}
	c.Effect = row.effect
	if row.effect == Reads && writesAside.Match(c.Input) {
		c.Effect = Unknown
	}
	if row.members == "" {
		return
	}
	at := strings.Fields(row.members)
	if row.effect != Calls && !r.readWorkDirs(c) {
		c.Effect = Unknown
		return
	}
	text, bare := r.text(c.Input), c.Input.Kind() == jsontext.KindString
	switch {
	case row.effect == patchEffect && bare:
		c.Effect, c.Paths = Writes, patchPaths(text)
	case bare || c.Input == nil:
		if c.Effect != Writes && c.Effect != patchEffect {
			c.Effect = Unknown
			return
		}
		c.Effect = Writes
	case row.effect == patchEffect:
		c.Effect, c.Paths = Writes, patchPaths(r.text(r.soleValue(c.Input, row.members)))
	case row.effect == Writes:
		c.Paths = r.paths(c.Input, at)
	case row.effect == Runs:
		shell := r.members(c.Input, "shell")["shell"]
		c.Command = commandText(r.texts(r.soleValue(c.Input, row.members)))
		if shell != nil && !isShell(r.text(shell)) || c.Command == "" || !r.knowsMembers(c) {
			c.Effect, c.Command = Unknown, ""
		}
		tty := string(r.members(c.Input, "tty")["tty"])
		c.OnTerminal = tty != "" && tty != "false"
	case row.effect == Calls:
		found := r.members(c.Input, at...)
		c.Server, c.Name = r.text(found[at[0]]), r.text(found[at[1]])
	}
}

// writesAside matches the input of a reading tool that saves its result in a file, or renames a symbol, as Copilot's lsp does.
var writesAside = regexp.MustCompile(`(?i)"(download|save|output|dest)[-_]?(path|file|dir|to|ination|as)":\s*"[^"]|` +
	`"(operation|action)":\s*"[^"]*(rename|apply|edit|write|delete|format|execute|codeaction)`)

// shellMembers are the members of a shell tool's input that are read or harmless. Another one, such as env or script, is neither.
func shellMembers(host Host) []string {
	const common = "description timeout command cmd shell workdir working_directory directory dir_path cwd "
	return strings.Fields(common + map[Host]string{
		Claude:      "run_in_background dangerouslyDisableSandbox timeout_ms persistent " + vscodeMembers,
		Codex:       "timeout_ms login tty yield_time_ms max_output_tokens justification prefix_rule sandbox_permissions",
		Gemini:      "is_background delay_ms wait_for_previous",
		Antigravity: "CommandLine Cwd WaitMsBeforeAsync SafeToAutoRun Blocking toolAction toolSummary",
		Cursor:      "is_background block_until_ms explanation required_permissions sandbox",
		VSCode:      "async mode initial_wait detach sessionId shellId " + vscodeMembers,
		Goose:       "timeout_secs",
		Windsurf:    "command_line",
	}[host])
}

const vscodeMembers = "explanation goal isBackground mode"

// knowsMembers reports whether all members of a shell tool's input are known. An event for shell commands alone has the whole payload as
// its input, which is the host's and not the model's.
func (r *reader) knowsMembers(c *Call) bool {
	if c.Tool == eventOf(c.Host, c.Event).Native {
		return true
	}
	known := shellMembers(c.Host)
	for name := range r.object(c.Input) {
		if !slices.Contains(known, name) {
			return false
		}
	}
	return true
}

// soleValue returns the one member present among some, nil if two differ, since it is unknown which of them the host uses.
func (r *reader) soleValue(input jsontext.Value, at string) jsontext.Value {
	found := r.members(input, at)
	for _, name := range strings.Fields(at) {
		if found[name] != nil && !bytes.Equal(found[name], found[at]) {
			return nil
		}
	}
	return found[at]
}

// readWorkDirs reads the working directories in a tool's input, with names in any case, and reports whether they are readable.
func (r *reader) readWorkDirs(c *Call) bool {
	if c.Input.Kind() != jsontext.KindBeginObject {
		return true
	}
	for name, value := range r.object(c.Input) {
		switch strings.ToLower(name) {
		case "workdir", "working_directory", "directory", "dir_path", "cwd":
			if value.Kind() == jsontext.KindNull {
				continue
			}
			if value.Kind() != jsontext.KindString {
				return false
			}
			if reported := r.text(value); reported != "" {
				c.WorkDirs = append(c.WorkDirs, reported)
			}
		}
	}
	slices.Sort(c.WorkDirs)
	return true
}

// Members in which some hosts report a tool's MCP server, and the tool's own name.
const (
	serverMembers = "mcp_server.name mcp_context.server_name"
	nameMembers   = "mcp_context.tool_name"
)

// mcpTool splits the host's name of an MCP tool; reported is the name of its server if the host reports it separately. A server's name may
// contain the separator; then a name counts as planloop's only if no other reading is possible.
func mcpTool(host Host, tool, reported string) (server, name string, ok bool) {
	// The prefix before the server, and the separator between the server and its tool, "" if the name omits the server.
	forms := map[Host][][2]string{
		Claude:      {{"mcp__", "__"}, {"mcp_", "_"}},
		Codex:       {{"mcp__", "__"}},
		Gemini:      {{"mcp_", "_"}},
		Antigravity: {{"mcp_", "_"}},
		Cursor:      {{"MCP:", ":"}, {"MCP:", ""}},
		VSCode:      {{"mcp_", "_"}, {"", "-"}},
		Opencode:    {{"", "_"}},
		Goose:       {{"", "__"}},
	}
	for _, form := range forms[host] {
		before, between := form[0], form[1]
		rest, ok := strings.CutPrefix(tool, before)
		switch {
		case !ok:
			continue
		case between == "" && ownPrefix(rest):
			return OwnServer, rest, true
		case between == "":
			return "", rest, true
		}
		if reported != "" {
			server = regexp.MustCompile(`[^-\w]`).ReplaceAllString(reported, "_") // as in the names of tools
			return normalServer(server), strings.TrimPrefix(rest, server+between), true
		}
		if server, name, ok = strings.Cut(rest, between); !ok {
			continue
		}
		if i := strings.LastIndex(name, between); i >= 0 && normalServer(server) == OwnServer && between != "_" {
			server, name = server+between+name[:i], name[i+len(between):]
		}
		if server = normalServer(server); server == OwnServer && between != "__" && !ownPrefix(name) &&
			!slices.ContainsFunc(toolbox.Table(), func(row toolbox.Row) bool { return row.Name == name }) {
			return "", rest, true
		}
		return server, name, true
	}
	return "", "", false
}

// ownPrefix reports whether a tool has a name like planloop's planning tools.
func ownPrefix(tool string) bool {
	return (strings.HasPrefix(tool, "planning_") || strings.HasPrefix(tool, OwnServer+"_")) && !strings.Contains(tool, "__")
}

// ownProgram returns the program that a command starts as an MCP server, and whether it has planloop's name.
func ownProgram(command string) (program string, isOwn bool) {
	program, _, _ = strings.Cut(strings.TrimSpace(command), " ")
	if quoted, ok := strings.CutPrefix(strings.TrimSpace(command), `"`); ok {
		program, _, _ = strings.Cut(quoted, `"`)
	}
	name := path.Base(strings.ReplaceAll(program, `\`, "/"))
	return program, strings.TrimSuffix(name, ".exe") == OwnServer
}

// normalServer returns OwnServer for planloop's server, also as Claude Code names a plugin's; any other name unchanged.
func normalServer(server string) string {
	if server == "plugin_"+OwnServer+"_"+OwnServer {
		return OwnServer
	}
	return server
}
