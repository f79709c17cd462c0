package review

import (
	"strings"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// Face is the face of a caller in front of a page, with the page's buttons as calls. Other faces can embed it.
type Face struct{}

// Brief is false: people read the replies.
func (Face) Brief() bool { return false }

// Hidden is empty: a call that is not possible now is refused.
func (Face) Hidden() []string { return nil }

// Word returns the label of the page's button for a call.
func (Face) Word(call verbs.Call) (string, bool) {
	button, is := map[verbs.Act]string{verbs.ActApprove: "Approve", verbs.ActReturn: "Ask for changes", verbs.ActReject: "Reject",
		verbs.ActAnswer: "Answer", verbs.ActComment: "Comment", verbs.ActCancelMode: "End planning mode", verbs.ActEnterMode: "Plan first",
		verbs.ActRun: "Run", verbs.ActResume: "Run", verbs.ActPause: "Pause", verbs.ActClear: "Clear", verbs.ActRead: "look at the plan",
		verbs.ActShowTask: "look at " + call.Step.String(), verbs.ActApproveStep: "Approve " + call.Step.String(),
		verbs.ActRejectStep: "Reject " + call.Step.String(), verbs.ActAnswerStep: "Answer " + call.Step.String(),
		verbs.ActRecover: "decide what becomes of " + call.Step.String()}[call.Act]
	if !is {
		button = strings.ReplaceAll(string(call.Act), "_", " ")
	}
	return button, is
}

// onlooker returns a person without the right to act.
func onlooker() verbs.Caller {
	return verbs.Caller{Actor: plan.NewActor(plan.ViaPage, "you"), Face: Face{}}
}
