package hosts

// Variables lists variables that agents' hosts set in the shells they run. A person's own shell has none of them.
func Variables() []string {
	return []string{"CLAUDECODE", "CODEX_SANDBOX", "CODEX_THREAD_ID", "GEMINI_CLI", "CURSOR_AGENT", "OPENCODE", "COPILOT_AGENT"}
}
