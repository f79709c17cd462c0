package plan

import (
	"reflect"
	"sync"
)

// Event is a fact that follows from an accepted action, in final form. Its meaning never changes; a
// new meaning gets a new kind.
type Event interface{ apply(State) State }

// kinds is the table of events: each kind with its word in the log.
func kinds() []kind {
	return []kind{
		{"plan_archived", PlanArchived{}},
		{"plan_set_up", PlanSetUp{}},
		{"draft_made", DraftMade{}},
		{"host_plan_adopted", HostPlanAdopted{}},
		{"host_task_linked", HostTaskLinked{}},
		{"plan_restored", PlanRestored{}},
		{"plan_cleared", PlanCleared{}},
		{"plan_completed", PlanCompleted{}},
		{"plan_reopened", PlanReopened{}},
		{"plan_abandoned", PlanAbandoned{}},
		{"plan_needs_replan", PlanNeedsReplan{}},
		{"plan_failed", PlanFailed{}},
		{"steps_added", StepsAdded{}},
		{"step_updated", StepUpdated{}},
		{"step_moved", StepMoved{}},
		{"step_marked", StepMarked{}},
		{"step_claimed", StepClaimed{}},
		{"step_reported", StepReported{}},
		{"signal_raised", SignalRaised{}},
		{"signal_cleared", SignalCleared{}},
		{"plan_judged", PlanJudged{}},
		{"plan_closed", PlanClosed{}},
		{"history_purged", HistoryPurged{}},
		{"mode_entered", ModeEntered{}},
		{"mode_cancelled", ModeCancelled{}},
		{"mode_expired", ModeExpired{}},
		{"mode_ended", ModeEnded{}},
		{"host_review_left", HostReviewLeft{}},
		{"mode_touched", ModeTouched{}},
		{"plan_submitted", PlanSubmitted{}},
		{"change_proposed", ChangeProposed{}},
		{"proposal_withdrawn", ProposalWithdrawn{}},
		{"draft_edited", DraftEdited{}},
		{"approval_given", ApprovalGiven{}},
		{"plan_approved", PlanApproved{}},
		{"plan_rejected", PlanRejected{}},
		{"plan_returned", PlanReturned{}},
		{"left_undecided", NoDecisionReceived{}},
		{"plan_deviated", PlanDeviated{}},
		{"question_asked", QuestionAsked{}},
		{"question_answered", QuestionAnswered{}},
		{"commented", CommentAdded{}},
		{"comment_replied", CommentReplied{}},
		{"comment_met", CommentResolved{}},
		{"undone_accepted", UndoneAccepted{}},
		{"mode_restored", ModeRestored{}},
		{"run_begun", RunBegun{}},
		{"run_paused", RunPaused{}},
		{"run_resumed", RunResumed{}},
		{"run_ending", RunEnding{}},
		{"run_ended", RunEnded{}},
		{"step_started", StepStarted{}},
		{"step_finished", StepFinished{}},
		{"step_retried", StepRetried{}},
		{"step_stop_requested", StepStopRequested{}},
		{"step_lost", StepLost{}},
		{"stray_result", StrayResult{}},
		{"agent_reported", AgentReported{}},
		{"agent_unavailable", AgentUnavailable{}},
		{"condition_met", ConditionMet{}},
		{"condition_unmet", ConditionUnmet{}},
		{"loop_expanded", LoopExpanded{}},
		{"loop_settled", LoopSettled{}},
		{"step_asked", StepAsked{}},
		{"step_answered", StepAnswered{}},
		{"steps_renewed", StepsRenewed{}},
		{"plan_replanned", PlanReplanned{}},
		{"context_added", ContextAdded{}},
		{"step_ids_taken", StepIDsTaken{}},
		{"track_shared", TrackShared{}},
	}
}

type kind struct {
	word string
	zero Event
}

var kindWords = sync.OnceValue(func() map[reflect.Type]string {
	words := map[reflect.Type]string{}
	for _, k := range kinds() {
		words[reflect.TypeOf(k.zero)] = k.word
	}
	return words
})

// EventKind returns the event's word in the log.
func EventKind(e Event) string { return kindWords()[reflect.TypeOf(e)] }

// Events returns one zero value of each kind of event, for decoders.
func Events() []Event {
	var all []Event
	for _, k := range kinds() {
		all = append(all, k.zero)
	}
	return all
}
