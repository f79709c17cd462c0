package notify

import (
	"encoding/json"
	"time"
)

// bodyVersion changes when a field of the body changes its meaning.
const bodyVersion = 1

// Bounds of the body, in units of text and in entries.
const (
	bodyTitle     = 500
	bodyText      = 4000
	bodyPlace     = 1024
	bodyID        = 256
	bodySteps     = 100
	bodyQuestions = 20
)

// body is what a webhook of format json is sent.
type body struct {
	Version   int        `json:"version"`
	ID        string     `json:"id"`
	Event     Event      `json:"event"`
	Workspace string     `json:"workspace,omitempty"`
	Title     string     `json:"title,omitempty"`
	Text      string     `json:"text,omitempty"`
	PlanID    string     `json:"plan_id,omitempty"`
	Steps     []bodyStep `json:"steps,omitempty"`
	StepCount int        `json:"step_count,omitempty"`
	Questions []string   `json:"questions,omitempty"`
	How       string     `json:"how,omitempty"`
	Time      string     `json:"time"`
}

type bodyStep struct {
	ID    string `json:"step_id"`
	Title string `json:"title"`
	Risk  string `json:"risk,omitempty"`
}

func jsonBody(e envelope) ([]byte, error) {
	b := body{
		Version: bodyVersion, ID: e.id, Event: e.Event,
		Workspace: cut(line(e.Workspace), bodyPlace),
		Title:     cut(line(e.Title), bodyTitle),
		Text:      cut(paragraph(e.Text), bodyText),
		PlanID:    cut(line(e.PlanID), bodyID),
		StepCount: len(e.Steps),
		How:       cut(e.how(), bodyPlace),
		Time:      e.Time.UTC().Format(time.RFC3339),
	}
	for _, s := range e.Steps[:min(len(e.Steps), bodySteps)] {
		b.Steps = append(b.Steps, bodyStep{cut(line(s.ID), bodyID), cut(line(s.Title), bodyTitle), cut(line(s.Risk), bodyID)})
	}
	for _, question := range e.Questions[:min(len(e.Questions), bodyQuestions)] {
		b.Questions = append(b.Questions, cut(line(question), bodyTitle))
	}
	return json.Marshal(b)
}
