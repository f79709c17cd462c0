package terminal

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// CommandLine writes calls as commands.
type CommandLine struct{}

// Brief returns false: a command's output is for people and programs.
func (CommandLine) Brief() bool { return false }

// Hidden returns nothing: commands are refused, not hidden.
func (CommandLine) Hidden() []string { return nil }

// read returns the command that shows the plan, a form of it, or the comments.
func read(call verbs.Call) string {
	if call.ID == string(verbs.CommentsOnly) {
		return "planloop comment"
	}
	return strings.TrimSuffix("planloop show --"+call.ID, " --")
}

// Word writes a call as a shell command. Every call is possible except ActAsk. The dots in the command for a
// summary are part of the contract.
func (CommandLine) Word(call verbs.Call) (string, bool) {
	clear, template := "planloop alert --clear", "planloop template list"
	if call.ID != "" {
		clear += " --id " + safetext.QuoteWord(call.ID)
		template = "planloop template apply " + safetext.QuoteWord(call.ID) + settings(call.JSON)
	}
	if call.Act == verbs.ActAsk {
		return "ask the user", false // in the conversation: no command waits for a person
	}
	text, known := map[verbs.Act]string{
		verbs.ActSetUp:     "planloop start GOAL --step TITLE",
		verbs.ActStart:     "planloop start --goal GOAL",
		verbs.ActAddSteps:  "planloop step add TITLE",
		verbs.ActUpdate:    strings.TrimSuffix("planloop update --json "+safetext.QuoteWord(call.JSON), " ''"),
		verbs.ActMark:      fmt.Sprintf("planloop step mark %s %s", call.Step, call.Status),
		verbs.ActRead:      read(call),
		verbs.ActShowTask:  "planloop status --task " + call.Step.Number(),
		verbs.ActListTasks: "planloop status --json",
		verbs.ActAskStatus: "planloop status --json",
		verbs.ActWait:      "planloop status --wait " + span(cmp.Or(call.For, 5*time.Minute)),
		verbs.ActProve: fmt.Sprintf(`planloop update --json '{"update_tasks":[{"id":%s,`+
			`"evidence":[{"criterion":"<which one>","note":"<what you saw>"}]}]}'`, call.Step.Number()),
		verbs.ActSummarise: `planloop update --json '{"final_summary": "..."}'`,
		verbs.ActAlert:     "planloop alert",
		verbs.ActClear:     clear,
		verbs.ActSyncRules: "Bring " + call.File + " up to date: planloop sync",
		verbs.ActSubmit:    "planloop submit",
		verbs.ActDraft: "start without --decompose and let the agent break the goal down, or configure a model " +
			"(`planloop help configuration`)",
		verbs.ActUsePrompt:  "list them with `planloop prompt`",
		verbs.ActApprove:    "planloop approve",
		verbs.ActReview:     "planloop review",
		verbs.ActReturn:     "planloop edit COMMENT",
		verbs.ActReject:     "planloop reject",
		verbs.ActAnswer:     "planloop answer",
		verbs.ActComment:    "planloop comment TEXT",
		verbs.ActReply:      "planloop reply " + call.ID + " TEXT",
		verbs.ActRestore:    "planloop plan restore " + call.ID,
		verbs.ActCancelMode: "planloop plan cancel",
		verbs.ActPurge:      "planloop purge",
		verbs.ActTakeOver:   "planloop step claim " + call.Step.String() + " --force",
		verbs.ActCheck:      "planloop check --task " + call.Step.Number(),
		verbs.ActAbandon:    "planloop clear",

		verbs.ActApplyTemplate: template,
		verbs.ActInstall:       "planloop init",
		verbs.ActEnterMode:     "planloop plan TASK",
		verbs.ActRun:           "planloop run",
		verbs.ActResume:        "planloop run",
		verbs.ActPause:         "planloop pause",
		verbs.ActApproveStep:   "planloop approve " + call.Step.String(),
		verbs.ActRejectStep:    "planloop reject " + call.Step.String(),
		verbs.ActAnswerStep:    "planloop answer " + call.Step.String() + " TEXT",
		verbs.ActReplan:        replanning(call),
		verbs.ActRecover:       recovery(call),
	}[call.Act]
	return text, known
}

// settings returns the flags that pass the members of a JSON object to a template.
func settings(object string) string {
	var flags strings.Builder
	in := jsontext.NewDecoder(strings.NewReader(object))
	for _, err := in.ReadToken(); err == nil && in.PeekKind() == jsontext.KindString; {
		name, _ := in.ReadToken()
		key := name.String()
		value, wrong := in.ReadValue()
		if err = wrong; err != nil {
			break
		}
		text := string(value)
		if value.Kind() == jsontext.KindString {
			unquoted, _ := jsontext.AppendUnquote(nil, value)
			text = string(unquoted)
		}
		flags.WriteString(" --set " + safetext.QuoteWord(key+"="+text))
	}
	return flags.String()
}

// recovery returns the command that settles a step.
func recovery(call verbs.Call) string {
	switch step := call.Step.String(); call.Choice {
	case plan.Retry:
		return strings.TrimSuffix("planloop step retry "+step+" --args "+safetext.QuoteWord(call.JSON), " --args ''")
	case plan.Skip:
		return "planloop step skip " + step + " --reason WHY"
	case plan.Insert:
		return "echo " + safetext.QuoteWord(`{"steps":`+call.JSON+"}") + " | planloop step settle " + step + " --choice insert --file -"
	default:
		return strings.TrimSuffix("planloop step settle "+step+" --choice "+string(call.Choice), " --choice ")
	}
}

// replanning returns the command that makes the next version of the plan.
func replanning(call verbs.Call) string {
	if call.JSON == "" {
		return "planloop replan --file FILE"
	}
	return "planloop replan --json " + safetext.QuoteWord(call.JSON)
}
