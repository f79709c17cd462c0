package main

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/planloop/planloop/plan"
)

// auditEntry is one decision, or what asked for one: who, when, by which way, and
// about which plan.
type auditEntry struct {
	Revision plan.Revision  `json:"revision"`
	Time     time.Time      `json:"time"`
	Event    string         `json:"event"`
	By       string         `json:"by"`
	Kind     plan.ActorKind `json:"kind"`
	Way      plan.Way       `json:"way,omitempty"`
	PlanID   string         `json:"plan_id,omitempty"`
	Digest   string         `json:"digest,omitempty"` // of what was shown, its beginning
	Request  string         `json:"request,omitempty"`
	Question string         `json:"question,omitempty"`
	Text     string         `json:"text,omitempty"` // what was said

	what string // in words
}

// digestShown is how much of a digest tells plans apart for people.
const digestShown = 8

// audit picks the decisions out of a log. It has to be read from its beginning: an
// approval does not repeat which plan it is about.
func audit(records iter.Seq2[plan.Record, error]) ([]auditEntry, error) {
	entries := []auditEntry{}
	var plans auditedPlans
	for record, err := range records {
		if err != nil {
			return nil, err
		}
		for _, e := range record.Events {
			entry, ok := plans.entry(e)
			if !ok {
				continue
			}
			entry.Revision, entry.Time = record.Seq, record.Time
			entry.By, entry.Kind = record.Actor.Name, record.Actor.Kind
			if ended, is := e.(plan.ModeEnded); byItself(e) || is && ended.By == string(plan.Planloop) {
				entry.By, entry.Kind = string(plan.Planloop), plan.Planloop
			}
			entries = append(entries, entry)
		}
	}
	return entries, nil
}

// auditedPlan is what a decision is about.
type auditedPlan struct {
	id, digest string
}

// auditedPlans are those that decisions can be about while the log is read.
type auditedPlans struct {
	waiting, approved auditedPlan
}

// entry says what an event decides; false when it is no decision.
func (w *auditedPlans) entry(e plan.Event) (auditEntry, bool) {
	switch e := e.(type) {
	case plan.DraftMade:
		w.waiting = auditedPlan{e.Plan.ID, short(plan.Digest(e.Plan.Build()))}
		return w.waiting.about(auditEntry{Event: "drafted", what: "drafted"}), true
	case plan.PlanSubmitted:
		w.waiting = auditedPlan{e.Plan.ID, short(e.Request.Digest)}
		return w.waiting.about(auditEntry{Event: "submitted", what: "submitted", Request: e.Request.ID, Text: e.Plan.Changes}), true
	case plan.PlanApproved:
		w.approved, w.waiting = auditedPlan{w.waiting.id, short(e.Approval.Digest)}, auditedPlan{}
		return w.approved.about(auditEntry{Event: "approved", what: "approved", Way: plan.Way(e.Approval.Way), Text: e.Approval.Comment}), true
	case plan.PlanRejected:
		return w.drops(auditEntry{Event: "rejected", what: "rejected", Way: e.Way, Text: e.Reason}), true
	case plan.PlanReturned:
		return w.waiting.about(auditEntry{Event: "returned", what: "returned to be edited", Way: e.Way, Text: e.Comment}), true
	case plan.LeftUndecided:
		return w.waiting.about(auditEntry{Event: "undecided", what: "left undecided", Request: e.Request, Text: undecidedWords(e.How)}), true
	case plan.PlanDeviated:
		return w.approved.about(auditEntry{Event: "deviated", what: "approved plan changed a little", Text: strings.Join(e.What, "; ")}), true
	}
	return w.ofMode(e)
}

// ofMode says what an event decides about planning mode and beside it.
func (w *auditedPlans) ofMode(e plan.Event) (auditEntry, bool) {
	switch e := e.(type) {
	case plan.ModeEntered:
		w.approved = auditedPlan{}
		return auditEntry{Event: "entered", what: "planning mode entered", Text: e.Task + e.Reason}, true
	case plan.ModeCancelled:
		return w.drops(auditEntry{Event: "cancelled", what: "planning mode cancelled", Way: e.Way}), true
	case plan.ModeExpired:
		return w.drops(auditEntry{Event: "expired", what: "planning mode expired", Text: e.Limit + " of " + expiredPhase(e.Phase)}), true
	case plan.ModeEnded:
		return w.approved.about(auditEntry{Event: "ended", what: "planning mode ended", Text: e.Why}), true
	case plan.ModeRestored:
		return auditEntry{Event: "mode_restored", what: "planning mode brought back", Text: string(e.Phase)}, true
	case plan.QuestionAsked:
		return auditEntry{Event: "asked", what: "question " + e.ID + " asked", Question: e.ID, Text: e.Text}, true
	case plan.QuestionAnswered:
		return auditEntry{Event: "answered", what: "question " + e.ID + " answered", Question: e.ID, Way: e.Way, Text: e.Answer}, true
	case plan.PlanRestored:
		return auditEntry{Event: "restored", what: "restored", PlanID: e.Plan.ID}, true
	case plan.HistoryPurged:
		return auditEntry{Event: "purged", what: "history purged", Text: count(int(e.Records), "change")}, true
	}
	return auditEntry{}, false
}

func (p auditedPlan) about(entry auditEntry) auditEntry {
	entry.PlanID, entry.Digest = p.id, p.digest
	return entry
}

// drops is about what waited and does so no more.
func (w *auditedPlans) drops(entry auditEntry) auditEntry {
	entry = w.waiting.about(entry)
	w.waiting = auditedPlan{}
	return entry
}

func short(digest string) string { return digest[:min(digestShown, len(digest))] }

// sentence is an entry in words: `approved by alice (person): "tests first"; plan X, 4f6d0c2a`.
func (e auditEntry) sentence() string {
	who := string(e.Kind)
	if e.Way != "" {
		who = string(e.Way)
	}
	text := e.what
	if e.Kind != plan.Planloop {
		text += " by " + e.By + " (" + who + ")"
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
	return text
}

// within keeps what the options ask for: the last so many, those after a revision.
// Without them, all of it.
func (o logOptions) within(entries []auditEntry) []auditEntry {
	entries = slices.DeleteFunc(entries, func(e auditEntry) bool { return int64(e.Revision) <= o.since })
	if o.limited && o.last > 0 {
		entries = entries[max(0, len(entries)-o.last):]
	}
	return entries
}

func (a *app) printAudit(head plan.Revision, entries []auditEntry) error {
	if a.flags.json {
		return a.printJSON(struct {
			Revision plan.Revision `json:"revision"`
			Audit    []auditEntry  `json:"audit"`
		}{head, entries})
	}
	if len(entries) == 0 {
		return a.print([]byte("Nothing has been decided here yet.\n"))
	}
	s := a.screen()
	var lines []string
	for _, entry := range entries {
		lines = append(lines, s.dated(entry.Revision, entry.Time, entry.sentence(), len(fmt.Sprint(head)))...)
	}
	return a.print(joined(lines))
}

// dated lays out a line of a log: revision, time, what was done.
func (s screen) dated(revision plan.Revision, at time.Time, text string, revisionWidth int) []string {
	left := fmt.Sprintf("%*d  %s  ", revisionWidth, revision, at.Local().Format("2006-01-02 15:04"))
	margin := ansi.StringWidth(left)
	var lines []string
	for i, text := range s.wrap(printableLine(text), margin) {
		if i == 0 {
			lines = append(lines, s.faint(left)+text)
		} else {
			lines = append(lines, strings.Repeat(" ", margin)+text)
		}
	}
	return lines
}
