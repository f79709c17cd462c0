package gates_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/gates"
)

// opinion is a judge with a fixed opinion.
type opinion struct {
	verdict gates.Verdict
	err     error
	hangs   bool
	asked   int
	heard   []gates.Finding
}

func (o *opinion) Judge(ctx context.Context, _ gates.Candidate, findings []gates.Finding) (gates.Verdict, error) {
	o.asked++
	o.heard = findings
	if o.hangs {
		<-ctx.Done()
		return gates.Verdict{Approved: true}, ctx.Err()
	}
	return o.verdict, o.err
}

func TestJudge(t *testing.T) {
	for name, test := range map[string]struct {
		judge opinion
		want  []string
	}{
		"approves": {opinion{verdict: gates.Verdict{Approved: true, Feedback: "fine"}}, nil},
		"refuses": {opinion{verdict: gates.Verdict{Feedback: "split the\x1b first\ntask"}},
			[]string{`judge: The judge did not approve the plan: split the\x1b first task`}},
		"says nothing": {opinion{}, []string{"judge: The judge did not approve the plan and gave no reason."}},
		"fails": {opinion{err: errors.New("key sk-123 refused")},
			[]string{"judge: The judge did not answer, so the plan is not approved."}},
		"fails, approving": {opinion{verdict: gates.Verdict{Approved: true}, err: errors.New("cut off")},
			[]string{"judge: The judge did not answer, so the plan is not approved."}},
		"does not come back": {opinion{hangs: true}, []string{"judge: The judge did not answer in time, so the plan is not approved."}},
	} {
		t.Run(name, func(t *testing.T) {
			report := check(t, gates.Options{Judge: &test.judge, JudgeTimeout: time.Millisecond}, tasks(whole(1,
				"Improve the API and add tests", func(t *gates.Task) { t.AcceptanceCriteria = nil })))
			if diff := cmp.Diff(test.want, messages(report.Errors())); diff != "" {
				t.Error(diff)
			}
			if report.OK() != (test.want == nil) || len(test.judge.heard) != len(report.Warnings()) || len(test.judge.heard) == 0 {
				t.Errorf("the judge heard %v of %v", test.judge.heard, report.Findings)
			}
			failed := test.judge.err != nil || test.judge.hangs
			if (report.JudgeErr != nil) != failed || strings.Contains(strings.Join(report.Details(), " "), "sk-123") {
				t.Errorf("error %v, details %v", report.JudgeErr, report.Details())
			}
		})
	}
}

func TestJudgeIsNotAskedInVain(t *testing.T) {
	judge := &opinion{}
	off := func(gate string) gates.Level { return gates.Off }
	for name, report := range map[string]gates.Report{
		"refused already": check(t, gates.Options{Judge: judge}, tasks(whole(1, "stuff"))),
		"off":             check(t, gates.Options{Judge: judge, Level: off}, tasks(whole(1, "Print the version"))),
		"empty":           check(t, gates.Options{Judge: judge}, tasks()),
	} {
		if judge.asked != 0 {
			t.Errorf("%s: asked %d times, %v", name, judge.asked, report)
		}
	}
}

// A caller that cancels while the judge thinks gets no report.
func TestJudgeAndCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	_, err := gates.Check(ctx, tasks(whole(1, "Print the version")), gates.Options{Judge: leaving{cancel}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

type leaving struct{ cancel context.CancelFunc }

func (l leaving) Judge(context.Context, gates.Candidate, []gates.Finding) (gates.Verdict, error) {
	l.cancel()
	return gates.Verdict{Approved: true}, nil
}
