package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// showStep prints one step of a state in full.
func (a *app) showStep(opened *opened, state plan.State, former *plan.PastPlan, format showFormat, named string) error {
	id, err := plan.ParseStepID(named)
	if err != nil {
		return err
	}
	document, err := resources.Step(state, id) // says whether there is such a step
	if err != nil {
		return err
	}
	switch format {
	case "json":
		data, err := indented(document)
		if err != nil {
			return err
		}
		return a.print(data)
	case "yaml":
		data, err := resources.YAMLOf(document)
		if err != nil {
			return err
		}
		return a.print([]byte(printable(string(data))))
	case "text":
		step, _ := state.Plan.Steps.Get(id)
		v := planView{screen: a.screen(), state: state, former: former, all: true, now: time.Now(), lapsed: lapsing(opened.verbs, former)}
		return a.print(joined(v.whole(step)))
	}
	return usageError{fmt.Errorf("one step is shown as text, yaml or json, not as %s", format)}
}

// lapsing is whether a claim has passed over, which no claim of a former plan has.
func lapsing(service *verbs.Service, former *plan.PastPlan) func(*plan.Step) bool {
	if former != nil {
		return nil
	}
	return service.Lapsed
}

// whole lays out everything that is known of a step, a row for each field.
func (v planView) whole(step *plan.Step) []string {
	lines, _ := v.title(step, len(step.ID.String()))
	lines = append(lines, "")
	row := func(label string, texts ...string) {
		for _, text := range texts {
			if text == "" {
				continue
			}
			for _, line := range v.screen.wrap(printable(text), rowMargin) {
				lines = append(lines, strings.TrimRight(v.screen.faint(pad(label, rowMargin))+line, " "))
				label = ""
			}
		}
	}
	v.asked(step, row)
	v.become(step, row)
	return lines
}

// rowMargin is the width of the labels.
const rowMargin = 12

// asked writes what a step asks for.
func (v planView) asked(step *plan.Step, row func(string, ...string)) {
	yes := func(is bool) string {
		if is {
			return "yes"
		}
		return ""
	}
	row("details", step.Details)
	row("type", string(step.Type))
	row("risk", string(step.Risk))
	row("depends on", joinIDs(step.DependsOn))
	row("needed by", joinIDs(v.state.Plan.Steps.Dependents(step.ID)))
	row("hints", step.ContextHints...)
	row("paths", step.RelevantFilePaths...)
	row("creates", step.Creates...)
	row("criteria", step.AcceptanceCriteria...)
	row("verify", step.Verify)
	row("for", step.SuggestedAgent)
	row("may use", step.Tools...)
	row("tool", strings.TrimSpace(step.Tool+" "+string(step.Args)))
	row("critical", yes(step.Critical))
	row("idempotent", yes(step.Idempotent))
	row("approval", yes(step.RequiresApproval))
	if step.Timeout > 0 {
		row("timeout", (time.Duration(step.Timeout) * time.Second).String())
	}
	row("asks first", step.Pause)
	row("when", step.When)
	row("for each", step.ForEach)
}

// become writes what has become of a step.
func (v planView) become(step *plan.Step, row func(string, ...string)) {
	status := strings.ReplaceAll(string(step.Status), "_", " ")
	if about, _ := v.about(step); about != "" && about != "("+status+")" {
		status += " " + about
	}
	row("status", status)
	if step.Attempts > 1 {
		row("attempts", strconv.Itoa(step.Attempts))
	}
	if !step.StartedAt.IsZero() {
		row("started", v.clock(step.StartedAt))
	}
	if !step.CompletedAt.IsZero() {
		row("completed", strings.TrimSpace(v.clock(step.CompletedAt)+" "+bywhom(step.ExecutedBy)))
	}
	row("notes", step.Notes...)
	row("error", step.Error)
	for i, e := range step.Evidence {
		label := "evidence"
		if i > 0 {
			label = ""
		}
		row(label, v.proof(e))
		row("", e.Output)
	}
	row("output", step.Output)
	row("files", step.AffectedFiles...)
	for _, signal := range v.state.Signals {
		if signal.Open && v.state.Concerns(signal) == step.ID && v.former == nil {
			row("signal", fmt.Sprintf("%s %s: %s", signal.Level, plan.Quote(signal.ID), signal.Message))
		}
	}
}

func bywhom(name string) string {
	if name == "" {
		return ""
	}
	return "by " + name
}

func joinIDs(ids []plan.StepID) string {
	if len(ids) == 0 {
		return ""
	}
	return plan.IDs(ids)
}
