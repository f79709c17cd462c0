package notify

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/outbound"
)

// webhook is an endpoint that is told.
type webhook struct {
	client  *outbound.Client
	headers http.Header
	secrets []string
	events  []Event
	encode  func(envelope) ([]byte, error)
}

func newWebhook(w Webhook, getenv func(string) string, timeout time.Duration, opts Options) (*webhook, *outbound.ConfigError) {
	address, problem := w.address(getenv)
	if problem != nil {
		return nil, problem
	}
	headers, problem := w.headers(getenv)
	if problem != nil {
		return nil, problem
	}
	secrets := []string{address.RequestURI()}
	for _, values := range headers {
		secrets = append(secrets, values...)
	}
	encode := jsonBody
	if w.Format == Discord || w.Format == "" && ofDiscord(address) {
		encode = discordBody
	}
	limits := outbound.Limits{
		Timeout: timeout, Total: 30 * time.Second, Tries: 4, FirstWait: time.Second, LongestAsked: 15 * time.Second,
	}
	return &webhook{outbound.New(address, limits, opts.HTTPClient, opts.Logger), headers, secrets, slices.Clone(w.Events), encode}, nil
}

// ofDiscord reports whether an address is one of Discord's own.
func ofDiscord(u *url.URL) bool {
	host := "." + strings.ToLower(u.Hostname())
	return strings.HasSuffix(host, ".discord.com") || strings.HasSuffix(host, ".discordapp.com")
}

func (w *webhook) name() string { return w.client.Origin() }

func (w *webhook) wants(e Event) bool { return len(w.events) == 0 || slices.Contains(w.events, e) }

// deliver sends a notice until the endpoint took it or it is given up. What the
// endpoint said about it is not shown.
func (w *webhook) deliver(ctx context.Context, e envelope) error {
	body, err := w.encode(e)
	if err != nil {
		return &failure{problem: "the notice cannot be encoded"}
	}
	err = w.client.Post(ctx, outbound.Message{Header: w.headers, Body: body, Secrets: w.secrets})
	var refusal *outbound.Error
	switch {
	case errors.Is(err, errClosed) && errors.As(err, &refusal):
		return &failure{problem: "it was cut off because planloop was shutting down", tries: refusal.Tries}
	case errors.As(err, &refusal):
		return &failure{problem: "it " + refusal.Problem + advice(refusal), tries: refusal.Tries}
	}
	return err
}

// advice says what to look at where an answer says who is to blame.
func advice(e *outbound.Error) string {
	switch {
	case e.Reason == outbound.Redirected:
		return "; write the final address if that is to be trusted"
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		return "; check headers_env, and the address"
	case e.Status == http.StatusNotFound, e.Status == http.StatusGone:
		return "; check the address: the webhook may have been deleted"
	case e.Status == http.StatusBadRequest:
		return "; check format"
	case e.Status >= 300 && e.Status <= 399:
		return "; write the final address"
	}
	return ""
}

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
