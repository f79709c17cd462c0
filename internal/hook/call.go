// Package hook reads what agents' hosts tell the commands that they call around an
// agent's tools and sessions, words the answers as each host takes them, judges
// whether a tool may run while an agent may only read, and decodes the plans that agents
// keep in their hosts. Each host's payloads, names of
// tools and ways of answering are known here and nowhere else.
//
// It must not know logs or files: the caller says where a path leads and which commands only read.
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

// The moments that planloop listens to. Others are Elsewhen: they are survived, and answered
// with nothing.
const (
	Elsewhen     Moment = ""
	BeforeTool   Moment = "before_tool"
	AfterTool    Moment = "after_tool"
	SessionStart Moment = "session_start" // after a compaction as well, where the host says so
	BeforePrompt Moment = "before_prompt" // a person's message is about to reach the model
	Stop         Moment = "stop"          // the agent is about to end its turn
)

// Act is what a tool does, as far as its name and the host tell.
type Act string

// What tools do. The zero value is unknown, which may write.
const (
	Unknown Act = ""
	Reads   Act = "reads"  // files, the web, the host's own memory of the session; asks, or waits
	Runs    Act = "runs"   // Call.Command, in a shell
	Writes  Act = "writes" // Call.Paths
	Spawns  Act = "spawns" // an agent beneath this one
	Calls   Act = "calls"  // Call.Name of the MCP server Call.Server
	Plans   Act = "plans"  // the host's own list of what is to do, which changes nothing else
)

// Call is one call of a hook.
type Call struct {
	Host   Host
	Event  string // as the command line names it: pre-tool-use
	Moment Moment

	Session  string   // the host's own name of the session, "" when it tells none
	Subagent string   // the kind or the id of the subagent that acts, "" for the session's own agent
	Version  string   // of the host, "" when it tells none
	Dir      string   // the agent's current directory, "" when not told
	Roots    []string // the directories that the host has open, as far as it tells
	Home     string   // the person's home directory, which no host tells: whoever calls Read sets it

	Source string // of SessionStart: startup, resume, clear, compact …
	Again  bool   // of Stop: the agent goes on already because a hook asked for it

	Tool    string         // as the host names it
	Does    Act            // what it does
	Server  string         // of Calls, as the host's configuration names it
	Name    string         // of Calls: the tool, without the server
	Command string         // of Runs, as the shell gets it
	Paths   []string       // of Writes, as told: see Places
	WorksIn []string       // the directories that the tool's input names to work in, as told: see Places
	Input   jsontext.Value // the tool's input, as told
	Result  jsontext.Value // of AfterTool: what the tool answered, as told
}

// OwnServer is what planloop's server is called in the configuration of hosts.
const OwnServer = "planloop"

// Own reports whether the tool is one of planloop's own, whatever the host puts before its name.
func (c Call) Own() bool { return c.Does == Calls && c.Server == OwnServer }

// Answer is what a hook has to say. The zero value lets everything go on, and says nothing.
type Answer struct {
	Refuse  string // of BeforeTool: why the tool must not run, and what to do instead; for the agent
	Context string // of SessionStart and BeforePrompt: facts for the agent
	GoOn    string // of Stop: what the agent has left behind; it is told, and goes on once
}
