package verbs

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/planloop/planloop/plan"
)

// noticeText is the most characters of a notice's text.
const noticeText = 1_000

// NotifyRun informs a person of the questions, failures and the end of a run among the events that an engine has recorded. Only
// that engine's process calls it, so each notice is sent once.
func (s *Service) NotifyRun(state plan.State, events []plan.Event) {
	p := state.Plan
	if p == nil || s.opts.Notify == nil {
		return
	}
	lines := map[string][]string{}
	add := func(event string, id plan.StepID, what, why string) {
		if step, ok := p.Steps.Get(id); ok {
			lines[event] = append(lines[event], named(step)+" "+what+prefixed(": ", plan.Shorten(oneLine(plan.Mask(why)), noticeText)))
		}
	}
	for _, e := range events {
		switch e := e.(type) {
		case plan.StepAsked:
			what := map[plan.AskKind]string{plan.AskApproval: "asks for your approval", plan.AskPause: "asks you"}[e.Ask.Kind]
			add("question_waits", e.Step, what, cmp.Or(e.Ask.Text, string(e.Ask.Args)))
		case plan.StepLost:
			if e.Unknown {
				add("question_waits", e.Step, "was started, and its outcome is unknown", e.Error)
			}
		case plan.StepFinished:
			if e.Blocked {
				add("question_waits", e.Step, "was reported blocked", e.Note)
			} else if !e.Result.OK {
				add("step_failed", e.Step, "failed", e.Result.Error)
			}
		case plan.StepMarked:
			if e.Status == plan.Failed {
				add("step_failed", e.Step, "failed", e.Note)
			}
		}
	}
	for _, event := range []string{"question_waits", "step_failed"} {
		if all := lines[event]; len(all) > 0 {
			s.notify(Notice{Event: event, PlanID: p.ID, Title: all[0], Text: strings.Join(firstOf(all[1:], fewShown, "and %d more"), "\n")})
		}
	}
	s.notifyRunEnd(p, events)
}

func (s *Service) notifyRunEnd(p *plan.Plan, events []plan.Event) {
	for _, e := range events {
		var reason plan.StopReason
		note := ""
		switch e := e.(type) {
		case plan.RunPaused:
			reason, note = e.Reason, e.Note
		case plan.RunEnded:
			reason = e.Reason
		}
		if reason == "" {
			continue
		}
		counts := fmt.Sprintf("%d of %d steps are done", p.Steps.Count(plan.Done), p.Steps.Len())
		if failed := p.Steps.Count(plan.Failed); failed > 0 {
			counts += fmt.Sprintf(", %d failed", failed)
		}
		title := "The run of " + plan.QuoteWhole(plan.Shorten(p.Objective, titleShown)) + " is over (" +
			strings.ReplaceAll(string(reason), "_", " ") + ")"
		s.notify(Notice{Event: "run_ended", PlanID: p.ID, Title: title,
			Text: counts + prefixed("; ", plan.Shorten(oneLine(plan.Mask(note)), noticeText))})
	}
}
