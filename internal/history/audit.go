package history

import (
	"cmp"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// Decision is one decision, or a request for one, with its author, time, way and plan.
type Decision struct {
	Revision plan.Revision  `json:"revision"`
	Time     time.Time      `json:"time"`
	Event    string         `json:"event"`
	By       string         `json:"by"`
	Kind     plan.ActorKind `json:"kind"`
	Way      plan.Way       `json:"way,omitempty"`
	PlanID   string         `json:"plan_id,omitempty"`
	Digest   string         `json:"digest,omitempty"` // of the version shown, abbreviated
	Request  string         `json:"request,omitempty"`
	Question string         `json:"question,omitempty"`
	Step     plan.StepID    `json:"step_id,omitzero"`
	Text     string         `json:"text,omitempty"`  // the words that came with it
	Proof    string         `json:"proof,omitempty"` // that the person signed it with
	From     string         `json:"from,omitempty"`  // where it was made, if that was before its track was shared

	what string // in words
}

// Audit returns the decisions in a log. The records must start from the first one: an approval does
// not repeat its plan.
func Audit(records iter.Seq2[plan.Record, error]) ([]Decision, error) {
	entries := []Decision{}
	var plans auditedPlans
	for record, err := range records {
		if err != nil {
			return nil, err
		}
		for _, e := range record.Events {
			if shared, is := e.(plan.TrackShared); is {
				for i := range entries {
					entries[i].From = cmp.Or(entries[i].From, shared.From)
				}
			}
			entry, ok := plans.entry(e)
			if !ok {
				continue
			}
			entry.Revision, entry.Time = record.Seq, record.Time
			entry.By, entry.Kind = record.Actor.Name, record.Actor.Kind
			if ended, is := e.(plan.ModeEnded); hasNoActor(e) || is && ended.By == string(plan.Planloop) {
				entry.By, entry.Kind = string(plan.Planloop), plan.Planloop
			}
			entries = append(entries, entry)
		}
	}
	return entries, nil
}

// auditedPlan is the subject of a decision.
type auditedPlan struct {
	id, digest string
}

// auditedPlans are the possible subjects at one point of the log.
type auditedPlans struct {
	waiting, approved auditedPlan

	isApproved bool          // the current plan
	skipped    []plan.StepID // its steps that were skipped or cancelled since the last done one
}

// entry returns the decision in an event; false if it is not one.
func (w *auditedPlans) entry(e plan.Event) (Decision, bool) {
	switch e := e.(type) {
	case plan.DraftMade:
		w.waiting = auditedPlan{e.Plan.ID, ShortDigest(plan.Digest(e.Plan.Build()))}
		return w.waiting.about(Decision{Event: "drafted", what: "drafted"}), true
	case plan.HostPlanAdopted:
		first := w.waiting.id != e.Plan.ID
		w.waiting = auditedPlan{e.Plan.ID, ShortDigest(plan.Digest(e.Plan.Build()))}
		return w.waiting.about(Decision{Event: "drafted", what: "drafted"}), first
	case plan.PlanSubmitted:
		w.waiting = auditedPlan{e.Plan.ID, ShortDigest(e.Request.Digest)}
		return w.waiting.about(Decision{Event: "submitted", what: "submitted", Request: e.Request.ID, Text: e.Plan.Changes}), true
	case plan.ChangeProposed:
		w.waiting = auditedPlan{e.Plan.ID, ShortDigest(e.Request.Digest)}
		what := map[bool]string{true: "submitted", false: "change proposed"}[e.Plan.HostPlan != nil]
		return w.waiting.about(Decision{Event: "proposed", what: what, Request: e.Request.ID, Text: e.Plan.Changes}), true
	case plan.ProposalWithdrawn:
		return w.drops(Decision{Event: "withdrawn", what: "proposal withdrawn", Way: e.Way}), true
	case plan.DraftEdited:
		w.waiting = auditedPlan{e.Plan, ShortDigest(e.Digest)}
		return w.waiting.about(Decision{Event: "edited", what: "changed", Way: e.Way, Text: editPhrase(e)}), true
	case plan.PlanArchived:
		head, event := e.Head, map[bool]string{true: "cleared", false: "replaced"}[e.Head.Reason == "cleared"]
		what := fmt.Sprintf("approved plan %s (%d of %s unfinished)", event, head.Unfinished, plan.Pluralize(head.Steps, "step"))
		return Decision{Event: event, PlanID: head.ID, what: what}, head.WasInForce() && head.Reason != "replanned" && head.Unfinished > 0
	case plan.StepMarked:
		w.skipped = w.skippedAfter(e)
	case plan.PlanSetUp:
		w.isApproved = false
	case plan.PlanCompleted, plan.PlanAbandoned:
		return w.approved.about(Decision{Event: "skipped", what: "all that was left of the approved plan skipped",
			Text: plan.IDs(w.skipped)}), w.isApproved && len(w.skipped) > 0
	case plan.UndoneAccepted:
		return w.waiting.about(Decision{Event: "accepted", what: "undone edits accepted", Way: e.Way, Text: e.Text}), true
	case plan.PlanApproved:
		w.isApproved, w.skipped = true, nil
		w.approved, w.waiting = auditedPlan{w.waiting.id, ShortDigest(e.Approval.Digest)}, auditedPlan{}
		return w.approved.about(Decision{Event: "approved", what: "approved", Way: wayOf(e), Text: e.Approval.Comment}), true
	case plan.PlanRejected:
		return w.drops(Decision{Event: "rejected", what: "rejected", Way: e.Way, Text: e.Reason}), true
	case plan.PlanReturned:
		return w.waiting.about(Decision{Event: "returned", what: "returned for changes", Way: e.Way, Text: e.Comment}), true
	case plan.HostReviewLeft:
		return w.drops(Decision{Event: "answered_there", what: "answered in " + e.Title}), true
	case plan.NoDecisionReceived:
		return w.waiting.about(Decision{Event: "undecided", what: undecided, Request: e.Request, Text: undecidedWords(e.How)}), true
	case plan.PlanDeviated:
		return w.approved.about(Decision{Event: "deviated", what: "approved plan adapted", Text: strings.Join(e.Deviations, "; ")}), true
	case plan.ModeEntered:
		w.approved = auditedPlan{}
		return Decision{Event: "entered", what: "planning mode entered", Text: e.Task + e.Reason}, true
	case plan.ModeCancelled:
		return w.drops(Decision{Event: "cancelled", what: "planning mode cancelled", Way: e.Way}), true
	case plan.ModeExpired:
		return w.drops(expiryOf(e)), true
	case plan.ModeEnded:
		return w.approved.about(Decision{Event: "ended", what: "planning mode ended", Text: e.Why}), true
	case plan.ModeRestored:
		return Decision{Event: "mode_restored", what: "planning mode restored", Text: string(e.Phase)}, true
	case plan.QuestionAsked:
		return Decision{Event: "asked", what: "question " + e.ID + " asked", Question: e.ID, Text: e.Text}, !e.Listed
	case plan.QuestionAnswered:
		return Decision{Event: "answered", what: "question " + e.ID + " answered", Question: e.ID, Way: e.Way, Text: e.Answer}, true
	case plan.StepAsked:
		return Decision{Event: "step_asked", what: e.Step.String() + " asked", Step: e.Step, Digest: ShortDigest(e.Ask.Digest),
			Text: cmp.Or(e.Ask.Text, string(e.Ask.Args))}, true
	case plan.StepAnswered:
		if e.Choice == plan.Skip || e.Choice == plan.Deny {
			w.skipped = append(w.skipped, e.Step)
		}
		return Decision{Event: "step_answered", what: e.Step.String() + ": " + answerWords()[e.Choice], Step: e.Step,
			Digest: ShortDigest(e.Digest), Way: e.Way, Text: cmp.Or(e.Text, string(e.Args))}, true
	case plan.PlanRestored:
		w.isApproved = e.Plan.Approval != nil
		return Decision{Event: "restored", what: "restored", PlanID: e.Plan.ID}, true
	case plan.HistoryPurged:
		return Decision{Event: "purged", what: "history purged", Text: plan.Pluralize(int(e.Records), "change")}, true
	}
	return w.teamEntry(e)
}

// teamEntry is entry for the events of a team.
func (w *auditedPlans) teamEntry(e plan.Event) (Decision, bool) {
	switch e := e.(type) {
	case plan.ApprovalGiven:
		return auditedPlan{w.waiting.id, ShortDigest(e.Vote.Digest)}.about(Decision{Event: "approval_given", what: votePhrase(e),
			Request: e.Request, Way: e.Way, Proof: e.Vote.Proof, Text: e.Vote.Comment}), true
	case plan.TrackShared:
		if e.DropsApprovals {
			w.approved, w.isApproved = auditedPlan{}, false
		}
		return Decision{Event: "shared", what: "shared with the team",
			Text: plan.Pluralize(int(e.Records), "change") + " from " + e.From}, true
	}
	return Decision{}, false
}

// expiryOf describes an expiry, of planning mode or of a proposal alone.
func expiryOf(e plan.ModeExpired) Decision {
	if !e.Phase.IsRestricted() {
		return Decision{Event: "expired", what: "proposal expired", Text: e.Why}
	}
	return Decision{Event: "expired", what: "planning mode expired", Text: e.Limit + " of " + expiredPhase(e.Phase)}
}

func (p auditedPlan) about(entry Decision) Decision {
	entry.PlanID, entry.Digest = p.id, p.digest
	return entry
}

// skippedAfter returns the steps that were skipped last, in a row.
func (w *auditedPlans) skippedAfter(e plan.StepMarked) []plan.StepID {
	if e.Status == plan.Skipped || e.Status == plan.Cancelled {
		return append(w.skipped, e.Step)
	}
	return nil
}

// drops returns an entry about the waiting plan, which no longer waits.
func (w *auditedPlans) drops(entry Decision) Decision {
	entry = w.waiting.about(entry)
	w.waiting = auditedPlan{}
	return entry
}

// ShortDigest returns the beginning of a digest, enough for people to tell plans apart.
func ShortDigest(digest string) string { return digest[:min(8, len(digest))] }

// Sentence returns an entry in words: `approved by alice (person): "tests first"; plan X, 4f6d0c2a`.
func (e Decision) Sentence() string {
	text := e.what
	if e.Kind != plan.Planloop || e.Way == plan.WayClient {
		text += " by " + plan.DescribeActor(e.By, e.Kind, e.Way)
	}
	if e.Text != "" {
		text += ": " + noteQuote(e.Text)
	}
	if e.PlanID != "" {
		text += "; plan " + e.PlanID
	}
	if e.Digest != "" {
		text += ", " + e.Digest
	}
	if e.Proof != "" {
		text += ", signed with a " + e.Proof
	}
	if e.From != "" {
		text += "; before sharing, from " + e.From
	}
	return text
}
