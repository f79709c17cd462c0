package main

import (
	"context"
	"strings"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// showDraft prints the draft that waits, as it is put before whoever decides.
func (a *app) showDraft(ctx context.Context, opened *opened, format showFormat) error {
	state, former, err := opened.verbs.Draft(ctx)
	if err != nil {
		return err
	}
	if state.Draft == nil {
		return nothingWaits()
	}
	if format != "text" {
		state.Plan, state.Draft = state.Draft, nil
		data, err := rendered(state, format)
		if err != nil {
			return err
		}
		return a.print(data)
	}
	s := a.screen()
	lines := s.shownPlan(verbs.Shown(state.Draft, former))
	lines = append(lines, "", s.faint("This is plan "+short(plan.Digest(state.Draft))+"."))
	return a.print(joined(append(lines, s.nextLines(decideHint(state))...)))
}

func decideHint(state plan.State) string {
	if state.PhaseNow() == plan.PhaseGathering {
		return "It was returned to be edited: wait until it is submitted again, or reject it with planloop reject."
	}
	return "Decide: planloop approve; planloop edit COMMENT has it revised, planloop reject drops it."
}

// showApproved prints the approved plan as guidance for whoever carries it out.
func (a *app) showApproved(ctx context.Context, opened *opened) error {
	state, err := opened.verbs.State(ctx)
	if err != nil {
		return err
	}
	if state.Plan == nil || state.Plan.Approval == nil {
		return &plan.ValidationError{Kind: plan.Conflict, Problem: "no plan is approved", Fix: "see `planloop plan status`"}
	}
	text := verbs.ApprovedPlan(state.Plan, nil)
	if a.flags.json {
		return a.printJSON(struct {
			PlanID   string         `json:"plan_id"`
			Approval *plan.Approval `json:"approval"`
			Text     string         `json:"approved_plan"`
		}{state.Plan.ID, state.Plan.Approval, text})
	}
	return a.print([]byte(strings.TrimSuffix(printable(text), "\n") + "\n"))
}

// stepLine is the first line of a step as it is shown before a decision.
var stepLine = pattern(`^([-+ ]?)(\d+\. )(\[(?:HIGH RISK|medium risk|low risk|risk not said)\])( .*)$`)

// shownPlan puts emphasis on what verbs.Shown wrote: on titles, risks and differences.
// Nothing is cut.
func (s screen) shownPlan(text string) []string {
	lines := strings.Split(strings.TrimSuffix(printable(text), "\n"), "\n")
	diff := false
	for i, line := range lines {
		switch {
		case i == 0 && line == "What has changed since it was shown:":
			diff, lines[i] = true, s.bold(line)
		case diff && line == "The whole plan:":
			diff, lines[i] = false, s.bold(line)
		case diff && strings.HasPrefix(line, "+"):
			lines[i] = s.good(line)
		case diff && strings.HasPrefix(line, "-"):
			lines[i] = s.wrong(line)
		case diff:
			lines[i] = s.faint(line)
		case strings.HasPrefix(line, "Plan: "):
			lines[i] = s.bold(line)
		default:
			lines[i] = s.shownStep(line)
		}
	}
	return lines
}

func (s screen) shownStep(line string) string {
	parts := stepLine().FindStringSubmatch(line)
	if parts == nil {
		return line
	}
	look := s.waiting
	switch parts[3] {
	case "[HIGH RISK]":
		look = s.wrong
	case "[low risk]":
		look = s.good
	}
	return parts[1] + parts[2] + look(parts[3]) + s.bold(parts[4])
}
