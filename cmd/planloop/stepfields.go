package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/plan"
)

// stepFields are the flags for what a step asks for, beside its title.
type stepFields struct {
	details, kind, risk, agent, verify string
	tool, args, pause, when, forEach   string

	dependsOn, hints, paths, creates, criteria, tools []string

	critical, idempotent, approval bool
	timeout                        time.Duration
}

func (f *stepFields) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false // they stand by what they are about
	flags.StringVar(&f.details, "details", "", "the `TEXT` one has to know to do it")
	flags.StringVar(&f.kind, "type", "", "its `TYPE`: feature, bugfix, chore or test")
	flags.StringSliceVar(&f.dependsOn, "depends-on", nil, "the `STEPS` that must be done before, such as S001,S002")
	flags.StringArrayVar(&f.hints, "hint", nil, "`TEXT` on where to look first; may be given again, like the next four")
	flags.StringArrayVar(&f.paths, "path", nil, "a `FILE` it is about, relative to the workspace")
	flags.StringArrayVar(&f.creates, "creates", nil, "a `FILE` it brings into being")
	flags.StringArrayVar(&f.criteria, "criterion", nil, "the `TEXT` of what must hold for it to be done")
	flags.StringArrayVar(&f.tools, "may-use", nil, "a `TOOL` that may be used for it")
	flags.StringVar(&f.risk, "risk", "", "its `RISK`: low, medium or high")
	flags.StringVar(&f.agent, "suggested-agent", "", "the `NAME` of who should do it")
	flags.StringVar(&f.verify, "verify", "", "a `COMMAND` that shows that it is done")
	flags.BoolVar(&f.critical, "critical", false, "the plan must be revised if it fails")
	flags.BoolVar(&f.idempotent, "idempotent", false, "doing it twice does no harm")
	flags.BoolVar(&f.approval, "requires-approval", false, "a person must agree before it is run")
	flags.DurationVar(&f.timeout, "timeout", 0, "the `TIME` it may run, such as 90s or 5m")
	flags.StringVar(&f.tool, "tool", "", "the `TOOL` that carries it out, with --args")
	flags.StringVar(&f.args, "args", "", "the tool's arguments, a `JSON` object")
	flags.StringVar(&f.pause, "pause", "", "`TEXT` to ask a person before it starts")
	flags.StringVar(&f.when, "when", "", "the `CONDITION` under which it is run")
	flags.StringVar(&f.forEach, "for-each", "", "the `LIST` it is run for")
	complete(cmd, "type", words(plan.StepType("")))
	complete(cmd, "risk", words(plan.Risk("")))
}

// spec returns what the flags say for a step of that title, cleaned.
func (f *stepFields) spec(title string) (plan.Spec, error) {
	dependsOn, err := stepIDs(f.dependsOn)
	if err != nil {
		return plan.Spec{}, err
	}
	if f.timeout%time.Second != 0 {
		return plan.Spec{}, usageError{fmt.Errorf("--timeout %s is not a number of seconds; give one such as 90s", f.timeout)}
	}
	step, err := plan.CleanStep("", plan.NewStep{Spec: plan.Spec{
		Title: title, Details: f.details, Type: plan.StepType(f.kind), DependsOn: dependsOn,
		ContextHints: notBlank(f.hints), RelevantFilePaths: notBlank(f.paths), Creates: notBlank(f.creates),
		AcceptanceCriteria: notBlank(f.criteria), SuggestedAgent: f.agent, Risk: plan.Risk(f.risk), Tools: notBlank(f.tools),
		Tool: f.tool, Args: json.RawMessage(f.args), Critical: f.critical, Idempotent: f.idempotent, RequiresApproval: f.approval,
		Timeout: int(f.timeout / time.Second), Pause: f.pause, When: f.when, ForEach: f.forEach, Verify: f.verify,
	}})
	return step.Spec, err
}

// patch returns the fields of spec whose flags were given. An empty value
// erases.
func patch(cmd *cobra.Command, spec plan.Spec) plan.Patch {
	var p plan.Patch
	given(cmd, "title", &p.Title, spec.Title)
	given(cmd, "details", &p.Details, spec.Details)
	given(cmd, "type", &p.Type, spec.Type)
	given(cmd, "depends-on", &p.DependsOn, orEmpty(spec.DependsOn))
	given(cmd, "hint", &p.ContextHints, orEmpty(spec.ContextHints))
	given(cmd, "path", &p.RelevantFilePaths, orEmpty(spec.RelevantFilePaths))
	given(cmd, "creates", &p.Creates, orEmpty(spec.Creates))
	given(cmd, "criterion", &p.AcceptanceCriteria, orEmpty(spec.AcceptanceCriteria))
	given(cmd, "suggested-agent", &p.SuggestedAgent, spec.SuggestedAgent)
	given(cmd, "risk", &p.Risk, spec.Risk)
	given(cmd, "may-use", &p.Tools, orEmpty(spec.Tools))
	given(cmd, "tool", &p.Tool, spec.Tool)
	given(cmd, "args", &p.Args, spec.Args)
	given(cmd, "critical", &p.Critical, spec.Critical)
	given(cmd, "idempotent", &p.Idempotent, spec.Idempotent)
	given(cmd, "requires-approval", &p.RequiresApproval, spec.RequiresApproval)
	given(cmd, "timeout", &p.Timeout, spec.Timeout)
	given(cmd, "pause", &p.Pause, spec.Pause)
	given(cmd, "when", &p.When, spec.When)
	given(cmd, "for-each", &p.ForEach, spec.ForEach)
	given(cmd, "verify", &p.Verify, spec.Verify)
	return p
}

func given[T any](cmd *cobra.Command, flag string, field **T, value T) {
	if cmd.Flags().Changed(flag) {
		*field = &value
	}
}

func stepIDs(texts []string) ([]plan.StepID, error) {
	var ids []plan.StepID
	for i, text := range notBlank(texts) {
		id, err := plan.ParseStepID(text)
		if err != nil {
			return nil, fmt.Errorf("depends_on/%d: %w", i, err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func notBlank(texts []string) []string {
	var kept []string
	for _, text := range texts {
		if strings.TrimSpace(text) != "" {
			kept = append(kept, text)
		}
	}
	return kept
}
