package notify

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Notice is an event to report. It leaves the machine, so it must not contain a launch code, a token or any
// other credential.
type Notice struct {
	ID        string // of a notice that may be sent again; "": a new one
	Event     string // plan_waits, question_waits, step_failed, run_ended, reply_came, mode_entered, mode_expired or plan_decided
	Workspace string // its path
	Title     string // the plan's summary, the question or the reason
	Text      string // details
	PlanID    string
	Steps     []Step
	Questions []string // open questions of the plan
	How       string   // where to answer; "": by the command for the event
}

// Step is a step of a waiting plan.
type Step struct {
	ID    string `json:"step_id"`
	Title string `json:"title"`
	Risk  string `json:"risk,omitempty"` // low, medium, high or ""
}

const bodyVersion = 1 // changes when a field of the body changes its meaning

// Limits of the body, in characters and entries.
const (
	maxSentence  = 1000 // Discord accepts 2000 UTF-16 units, and a character has at most two
	maxTitle     = 500
	maxText      = 4000
	maxSteps     = 100
	maxQuestions = 20
)

// body is the JSON for a command or a webhook. Chat services show one of its texts and ignore unknown fields.
type body struct {
	Content   string              `json:"content"`          // Discord shows it
	Sentence  string              `json:"text"`             // the same; Slack and Mattermost show it
	Mentions  map[string][]string `json:"allowed_mentions"` // Discord: no text of a plan notifies anyone
	Version   int                 `json:"version"`
	ID        string              `json:"id"`
	Event     string              `json:"event"`
	Workspace string              `json:"workspace,omitempty"`
	Title     string              `json:"title,omitempty"`
	Details   string              `json:"details,omitempty"`
	PlanID    string              `json:"plan_id,omitempty"`
	Steps     []Step              `json:"steps,omitempty"`
	StepCount int                 `json:"step_count,omitempty"`
	Questions []string            `json:"questions,omitempty"`
	How       string              `json:"how,omitempty"`
	Time      string              `json:"time"`
}

// Encode returns the notice as JSON for a command or a webhook.
func (n Notice) Encode() ([]byte, error) {
	sentence := n.sentence()
	b := body{
		Content: sentence, Sentence: sentence, Mentions: map[string][]string{"parse": {}},
		Version: bodyVersion, ID: cmp.Or(n.ID, rand.Text()), Event: n.Event, Workspace: safetext.Line(n.Workspace),
		Title: shortLine(n.Title), Details: plan.Shorten(strings.TrimSpace(safetext.Drop(n.Text)), maxText), PlanID: shortLine(n.PlanID),
		StepCount: len(n.Steps), How: n.how(), Time: time.Now().UTC().Format(time.RFC3339),
	}
	for _, s := range n.Steps[:min(len(n.Steps), maxSteps)] {
		b.Steps = append(b.Steps, Step{shortLine(s.ID), shortLine(s.Title), shortLine(s.Risk)})
	}
	for _, question := range n.Questions[:min(len(n.Questions), maxQuestions)] {
		b.Questions = append(b.Questions, shortLine(question))
	}
	return json.Marshal(b)
}

func shortLine(text string) string { return plan.Shorten(safetext.Line(text), maxTitle) }

// how returns where to answer the event, "" if there is nothing to answer.
func (n Notice) how() string {
	if n.How != "" {
		return n.How
	}
	switch n.Event {
	case "plan_waits":
		return "planloop review or planloop approve"
	case "question_waits":
		return "planloop review or planloop answer"
	case "step_failed":
		return "planloop step retry or planloop step skip"
	case "run_ended":
		return "planloop status"
	case "reply_came":
		return "planloop review or planloop comment"
	}
	return ""
}

func (n Notice) sentence() string {
	text := cmp.Or(safetext.Line(n.Title), "(no title)")
	if n.Event == "plan_waits" {
		text = "A plan is waiting for you: " + text
	}
	if details := safetext.Line(n.Text); details != "" && strings.TrimSuffix(details, ".") != strings.TrimSuffix(n.Title, ".") {
		text += ": " + details
	}
	text = plan.Shorten(text, maxTitle)
	if len(n.Steps) > 0 {
		text += " (" + plan.Pluralize(len(n.Steps), "step") + n.highestRisk() + ")"
	}
	if name := path.Base(strings.ReplaceAll(safetext.Line(n.Workspace), `\`, "/")); name != "." {
		text += " [" + plan.Shorten(name, maxTitle/4) + "]"
	}
	if how := n.how(); how != "" {
		text += " - " + how
	}
	return plan.Shorten(inert(text), maxSentence)
}

// inert returns text without mentions, such as @everyone or Slack's <!channel>, and without links with a hidden address.
func inert(text string) string {
	return strings.NewReplacer("@", "@\u200b", "<", "\u2039", ">", "\u203a", "](", "]\u200b(").Replace(text)
}

// highestRisk returns ", highest risk high" or another level, "" if no step has one.
func (n Notice) highestRisk() string {
	for _, risk := range []string{"high", "medium", "low"} {
		if slices.ContainsFunc(n.Steps, func(s Step) bool { return s.Risk == risk }) {
			return ", highest risk " + risk
		}
	}
	return ""
}
