// Package hook reads the input that agents' hosts pass to their hooks, formats the answers as each host expects them, decides whether a
// tool may run in planning mode, and decodes the plans that agents keep in their hosts. Only this package knows the hosts' payloads, tool
// names and answer formats.
//
// It must not know logs or files: the caller says where a path leads and which commands are read-only.
package hook

import "github.com/go-json-experiment/json/jsontext"

// Host is an agents' host, as `planloop hook` and `planloop init` name it.
type Host string

// The hosts that have hooks.
const (
	Claude      Host = "claude"
	Codex       Host = "codex"
	Gemini      Host = "gemini"
	Antigravity Host = "antigravity"
	Cursor      Host = "cursor"
	VSCode      Host = "vscode"
	Opencode    Host = "opencode"
	Goose       Host = "goose"
	Windsurf    Host = "windsurf"
)

// Moment is when a hook is called, in one vocabulary for all hosts.
type Moment string

// The moments that planloop handles. Others are OtherMoment: they are accepted and get an empty answer.
const (
	OtherMoment  Moment = ""
	BeforeTool   Moment = "before_tool"
	AfterTool    Moment = "after_tool"
	SessionStart Moment = "session_start" // also after a compaction, where the host reports it
	BeforePrompt Moment = "before_prompt" // a person's message is about to reach the model
	Stop         Moment = "stop"          // the agent is about to end its turn
)

// Effect is the kind of work that a tool does, as far as its name and the host reveal it.
type Effect string

// The acts. The zero value is unknown, which may write.
const (
	Unknown Effect = ""
	Reads   Effect = "reads"  // reads files, the web or the host's own memory of the session; asks, or waits
	Runs    Effect = "runs"   // runs Call.Command in a shell
	Writes  Effect = "writes" // writes Call.Paths
	Spawns  Effect = "spawns" // starts a subagent
	Calls   Effect = "calls"  // calls the tool Call.Name of the MCP server Call.Server
	Plans   Effect = "plans"  // changes only the host's own plan or to-do list
)

// Call is one call of a hook.
type Call struct {
	Host   Host
	Event  string // as the command line names it: pre-tool-use
	Moment Moment

	Session  string   // the host's own name of the session, "" if unknown
	Subagent string   // the kind or id of the acting subagent, "" for the session's own agent
	Version  string   // of the host, "" if unknown
	Dir      string   // the agent's current directory, "" if unknown
	Roots    []string // the directories open in the host, as far as it lists them
	Home     string   // the user's home directory; set by the caller of Read, since hosts do not report it

	Source      string // of SessionStart: startup, resume, clear, compact …
	IsContinued bool   // of Stop: the agent continues already because a hook asked for it

	Tool     string         // as the host names it
	Effect   Effect         // its effect
	Server   string         // of Calls, as the host's configuration names it
	Name     string         // of Calls: the tool, without the server
	Command  string         // of Runs, as passed to the shell
	Paths    []string       // of Writes, as reported: see Places
	WorkDirs []string       // the working directories named in the tool's input, as reported: see Places
	Input    jsontext.Value // the tool's input, as reported
	Result   jsontext.Value // of AfterTool: the tool's answer, as reported
}

// OwnServer is the name of planloop's server in the configuration of hosts.
const OwnServer = "planloop"

// IsOwn reports whether the tool is one of planloop's own, with any prefix of the host's.
func (c Call) IsOwn() bool { return c.Effect == Calls && c.Server == OwnServer }

// Answer is a hook's answer. The zero value lets the agent continue and says nothing.
type Answer struct {
	Refuse   string // of BeforeTool: why the tool must not run, and what to do instead; for the agent
	Context  string // of SessionStart and BeforePrompt: facts for the agent
	Continue string // of Stop: the agent's unfinished work; the agent reads it and continues once
}
