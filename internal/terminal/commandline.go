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
type CommandLine struct{ Track string } // the track that commands must name; "" if they need none

// Brief returns false: a command's output is for people and programs.
func (CommandLine) Brief() bool { return false }

// Hidden returns nothing: commands are refused, not hidden.
func (CommandLine) Hidden() []string { return nil }

func read(call verbs.Call) string {
	if call.ID == string(verbs.CommentsOnly) {
		return "planloop comment"
	}
	return strings.TrimSuffix("planloop show --"+call.ID, " --")
}

func askStatus(call verbs.Call) string {
	if call.Page > 0 {
		return fmt.Sprint("planloop status --page ", call.Page)
	}
	return "planloop status --json"
}

// Word writes a call as a shell command. Every call is possible except CallAsk. The dots in the command for a
// summary are part of the contract.
func (c CommandLine) Word(call verbs.Call) (string, bool) {
	clear, template := "planloop alert --clear", "planloop template list"
	if call.ID != "" {
		clear += " --id " + safetext.QuoteWord(call.ID)
		template = "planloop template apply " + safetext.QuoteWord(call.ID) + settings(call.JSON)
	}
	replan := "planloop replan --file FILE"
	if call.JSON != "" {
		replan = "planloop replan --json " + safetext.QuoteWord(call.JSON)
	}
	if call.Kind == verbs.CallAsk {
		return "ask the user", false // in the conversation: no command waits for a person
	}
	text, known := map[verbs.CallKind]string{
		verbs.CallSetUp:     "planloop start GOAL --step TITLE",
		verbs.CallStart:     "planloop start --goal GOAL",
		verbs.CallAddSteps:  "planloop step add TITLE",
		verbs.CallUpdate:    strings.TrimSuffix("planloop update --json "+safetext.QuoteWord(call.JSON), " ''"),
		verbs.CallMark:      fmt.Sprintf("planloop step mark %s %s", call.Step, call.Status),
		verbs.CallRead:      read(call),
		verbs.CallShowTask:  "planloop status --task " + call.Step.String(),
		verbs.CallListTasks: "planloop status --json",
		verbs.CallAskStatus: askStatus(call),
		verbs.CallJoin:      "planloop --track " + call.ID + " status",
		verbs.CallWait:      "planloop status --wait " + span(cmp.Or(call.For, 5*time.Minute)),
		verbs.CallProve: fmt.Sprintf(`planloop update --json '{"update_tasks":[{"id":%s,`+
			`"evidence":[{"criterion":"<which one>","note":"<what you saw>"}]}]}'`, call.Step.Number()),
		verbs.CallSummarise: `planloop update --json '{"final_summary": "..."}'`,
		verbs.CallAlert:     "planloop alert",
		verbs.CallClear:     clear,
		verbs.CallSyncRules: "Bring " + call.File + " up to date: planloop sync",
		verbs.CallSubmit:    "planloop submit",
		verbs.CallDraft: "start without --decompose and let the agent break the goal down, or configure a model " +
			"(`planloop help configuration`)",
		verbs.CallUsePrompt:  "list them with `planloop prompt`",
		verbs.CallApprove:    "planloop approve",
		verbs.CallReview:     "planloop review",
		verbs.CallReturn:     "planloop edit COMMENT",
		verbs.CallReject:     "planloop reject",
		verbs.CallAnswer:     "planloop answer",
		verbs.CallComment:    "planloop comment TEXT",
		verbs.CallReply:      "planloop reply " + call.ID + " TEXT",
		verbs.CallRestore:    "planloop plan restore " + call.ID,
		verbs.CallCancelMode: "planloop plan cancel",
		verbs.CallPurge:      "planloop purge",
		verbs.CallTakeOver:   "planloop step claim " + call.Step.String() + " --force",
		verbs.CallCheck:      "planloop check --task " + call.Step.String(),
		verbs.CallAbandon:    "planloop clear",
		verbs.CallDiscard:    "planloop clear",

		verbs.CallApplyTemplate: template,
		verbs.CallInstall:       "planloop init",
		verbs.CallEnterMode:     "planloop plan TASK",
		verbs.CallRun:           "planloop run",
		verbs.CallResume:        "planloop run",
		verbs.CallPause:         "planloop pause",
		verbs.CallApproveStep:   "planloop approve " + call.Step.String(),
		verbs.CallRejectStep:    "planloop reject " + call.Step.String(),
		verbs.CallAnswerStep:    "planloop answer " + call.Step.String() + " TEXT",
		verbs.CallReplan:        replan,
		verbs.CallRecover:       recovery(call),
	}[call.Kind]
	if c.Track != "" {
		text = strings.Replace(text, "planloop ", "planloop --track "+c.Track+" ", 1)
	}
	return text, known
}

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

func recovery(call verbs.Call) string {
	switch step := call.Step.String(); call.Choice {
	case plan.Retry:
		if call.WithDependents {
			return "planloop step retry " + step + " --with-dependents"
		}
		return strings.TrimSuffix("planloop step retry "+step+" --args "+safetext.QuoteWord(call.JSON), " --args ''")
	case plan.Skip:
		return "planloop step skip " + step + " --reason WHY"
	case plan.Insert:
		return "echo " + safetext.QuoteWord(`{"steps":`+call.JSON+"}") + " | planloop step settle " + step + " --choice insert --file -"
	default:
		return strings.TrimSuffix("planloop step settle "+step+" --choice "+string(call.Choice), " --choice ")
	}
}
