package gates

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

const judgeGate = "judge"

// Judge gives an opinion on a candidate as a whole: whether the tasks are well cut and in a sensible order. It must
// return soon after its context ends. An error means that it has no opinion, which is never taken for approval.
type Judge interface {
	Judge(ctx context.Context, c Candidate, findings []Finding) (Verdict, error)
}

// Verdict is the opinion of a judge.
type Verdict struct {
	Approved bool   `json:"is_approved"`
	Feedback string `json:"feedback"` // requested changes, if not approved
}

const (
	defaultJudgeTimeout = 2 * time.Minute
	feedbackShown       = 2_000
)

// askJudge asks the judge, if no other gate refuses the candidate: an opinion on a plan that must change anyway would be
// about another plan. The candidate must have more tasks than the one that asks for a plan.
func (e *examination) askJudge(ctx context.Context, opts Options, report *Report) error {
	level := opts.level(judgeGate)
	if opts.Judge == nil || level == Off || !report.OK() || !slices.ContainsFunc(e.New, func(t Task) bool { return !e.isMeta(t) }) {
		return nil
	}
	verdict, err := e.ask(ctx, opts, report.Findings)
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	finding := Finding{Gate: judgeGate, Level: level}
	switch {
	case err != nil:
		report.JudgeErr = err
		finding.Message = "The judge did not answer, so the plan is not approved."
		if errors.Is(err, context.DeadlineExceeded) {
			finding.Message = "The judge did not answer in time, so the plan is not approved."
		}
		finding.Fix = "send the same plan again once the judge answers"
	case verdict.Approved:
		return nil
	default:
		finding.Message, finding.Fix = objection(verdict.Feedback)
	}
	report.Findings = append(report.Findings, finding)
	return nil
}

func (e *examination) ask(ctx context.Context, opts Options, findings []Finding) (Verdict, error) {
	timeout := opts.JudgeTimeout
	if timeout <= 0 {
		timeout = defaultJudgeTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return opts.Judge.Judge(ctx, e.Candidate, slices.Clone(findings))
}

func objection(feedback string) (message, fix string) {
	feedback = excerpt(strings.Join(strings.Fields(feedback), " "), feedbackShown)
	if feedback == "" {
		return "The judge did not approve the plan and gave no reason.",
			"check that each task does one thing, and that the order is feasible"
	}
	return "The judge did not approve the plan: " + feedback, ""
}
