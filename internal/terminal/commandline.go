package terminal

import (
	"fmt"
	"strings"

	"github.com/planloop/planloop/internal/verbs"
)

// CommandLine is the face of the command line: its callers type commands.
type CommandLine struct{}

// Brief is false: a command's output is for people and programs.
func (CommandLine) Brief() bool { return false }

// Word writes a call as a line that a shell takes. Everything can be called here.
func (CommandLine) Word(call verbs.Call) (string, bool) {
	switch call.Act {
	case verbs.ActSetUp:
		return "planloop setup OBJECTIVE", true
	case verbs.ActAddSteps:
		return "planloop step add TITLE", true
	case verbs.ActAddTasks:
		return "planloop update --json with add_tasks", true
	case verbs.ActMark:
		return fmt.Sprintf("planloop step mark %s %s", call.Step, call.Status), true
	case verbs.ActRead:
		return "planloop show", true
	case verbs.ActAskStatus:
		return "planloop status --json", true
	case verbs.ActWait:
		if call.For > 0 {
			return "planloop status --wait " + span(call.For), true
		}
		return "planloop status --wait 5m", true
	case verbs.ActSummarise:
		return `planloop update --json '{"final_summary": "..."}'`, true
	case verbs.ActAlert:
		return "planloop alert", true
	case verbs.ActClear:
		if call.ID == "" {
			return "planloop alert --clear", true
		}
		return "planloop alert --clear --id " + ShellWord(call.ID), true
	case verbs.ActSyncRules:
		return "Bring " + call.File + " up to date: planloop sync", true
	case verbs.ActSubmit:
		return "planloop submit", true
	case verbs.ActDraft:
		return "start without --decompose and let the agent break the goal down, or configure a model (`planloop help configuration`)", true
	case verbs.ActUsePrompt:
		return "list them with `planloop prompt`", true
	case verbs.ActApprove:
		return "planloop approve", true
	case verbs.ActReturn:
		return "planloop edit COMMENT", true
	case verbs.ActReject:
		return "planloop reject", true
	case verbs.ActAnswer:
		return "planloop answer", true
	case verbs.ActRestore:
		return "planloop restore " + call.ID, true
	case verbs.ActCancelMode:
		return "planloop plan cancel", true
	case verbs.ActPurge:
		return "planloop purge", true
	}
	return "", false
}

// ShellWord returns text as one word of a command line, in which a shell finds
// nothing to expand or to run.
func ShellWord(text string) string {
	bare := text != ""
	for _, r := range text {
		bare = bare && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:+@%,", r))
	}
	if bare {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
