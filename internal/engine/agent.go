package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/gofrs/flock"

	"github.com/planloop/planloop/internal/agents"
	"github.com/planloop/planloop/internal/private"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tail"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// Agents starts agents for the steps that no tool carries out: see agents.Agents.
type Agents interface {
	For(suggested string) (name string, ok bool)
	Starts(name string) int
	Hide(name, text string) string
	Work(context.Context, agents.Assignment) (agents.Outcome, error)
}

// Order is what an agent is started for: an attempt at a step.
type Order struct {
	Agent   string // its name in the configuration
	Nonce   string // by which its report is known
	Attempt int
	Former  string // the end of what the agent of the attempt before printed
}

// mostVerifying bounds the command that verifies an agent's work, where the step has no time of its own.
const mostVerifying = time.Hour

// briefly is how soon an agent ends that had no time to do anything.
const briefly = 20 * time.Second

// EnvRun is the variable by which an agent that was started, and what it starts, is known. Its value is
// the run, the step, the attempt and the nonce, with slashes between them.
const EnvRun = "PLANLOOP_RUN"

// agentFor is the agent that this engine may start for a step, "" for none.
func (r *resolver) agentFor(s plan.State, step *plan.Step) string {
	if r.opts.Agents == nil || !step.ForAgents() {
		return ""
	}
	name, ok := r.opts.Agents.For(step.SuggestedAgent)
	if !ok {
		return ""
	}
	switch {
	case !s.Affords(name, r.opts.Agents.Starts(name)):
		r.spent = fmt.Sprintf("%s was started %s, which is what its `starts` allow", name, times(s.Run.Starts[name]))
	case r.mostStarts > 0 && r.begun >= r.mostStarts:
		r.spent = "agents were started " + times(r.begun) + ", which is what --starts allows"
	default:
		return name
	}
	return ""
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// assigned is an agent that is at work.
type assigned struct {
	attempt  plan.Attempt
	reported chan struct{} // closed when it has reported to the log
	end      context.CancelCauseFunc
}

// Why an agent is ended that has not had its time.
var (
	errHeld = errors.New("planning mode began, in which nothing may be changed")
	errGone = errors.New("the plan it worked for is gone")
)

// attendAgents sees out the agents that have reported to the log, and ends those that have no leave to
// change files any more, or nothing to do it for.
func (r *run) attendAgents() {
	for _, agent := range r.assigned {
		step := agent.attempt.Underway(r.state)
		switch {
		case step == nil:
			agent.end(errGone)
		case r.state.PhaseNow().Restricted():
			agent.end(errHeld)
		case step.Reported() != nil:
			select {
			case <-agent.reported:
			default:
				close(agent.reported)
			}
		}
	}
}

// workAlone waits until no other agent works in the workspace: one of a plan that was replaced may be ending.
func (r *run) workAlone(ctx context.Context) (leave func(), err error) {
	if r.opts.StateDir == "" {
		return func() {}, nil
	}
	lock := flock.New(filepath.Join(r.opts.StateDir, "agent.lock"), flock.SetPermissions(private.FileMode))
	_, err = lock.TryLockContext(ctx, lockEvery)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("wait for another agent to end: %w", context.Cause(ctx))
	case err != nil: // somebody put something else there: the plan still lets one agent work at a time
		r.opts.Logger.Warn("an agent is started without a look at those of other plans", "error", err)
	}
	return func() { _ = lock.Unlock() }, nil
}

const lockEvery = 50 * time.Millisecond

// assigns reports whether an agent can be started for a step.
func (r *run) assigns(s plan.State) func(*plan.Step) bool {
	now := time.Now()
	return func(step *plan.Step) bool { return r.agentFor(s, step) != "" && !r.waiting(s, step, now) }
}

// work has an agent work on a step, and returns what came of it. It is called from a goroutine of its
// own; reported is closed when the agent has reported to the log.
func (r *run) work(ctx context.Context, j job, reported <-chan struct{}) plan.Finished {
	begun := time.Now()
	order := Order{Agent: j.Agent, Nonce: strings.ToUpper(rand.Text()[:12]), Attempt: j.attempt.Attempt, Former: r.former(j)}
	leave, err := r.workAlone(ctx)
	if err != nil {
		return r.finished(ctx, j, toolbox.Outcome{Error: err.Error()}, err, time.Since(begun))
	}
	defer leave()
	file, log := r.follow(j), r.newAgentLog(j.attempt)
	defer file.remove()
	defer log.close()
	file.assign(order)
	w := agents.Assignment{Agent: j.Agent, Run: j.run, Step: j.step.ID, Attempt: order.Attempt, Nonce: order.Nonce,
		Prompt: r.opts.Prompt(ctx, j.before, j.step.ID, order), Timeout: time.Duration(j.step.Timeout) * time.Second,
		Environment: []string{EnvRun + "=" + environmentOf(j.run, j.attempt, order.Nonce),
			"PLANLOOP_WORKSPACE=" + r.opts.Workspace},
		Log: io.MultiWriter(file, log), Started: file.started, Reported: reported, Line: func(line string) {
			file.progressed(0, line)
			select {
			case r.progress <- progress{j.step.ID, 0, line}:
			default: // the next one tells more
			}
		}}
	seen, err := r.opts.Agents.Work(ctx, w)
	if said := r.reportTo(j.attempt); said != nil { // which came first, and is not taken back
		if first := seen.Report; first != nil && said.Output == "" && said.Status == first.Status {
			said.Output, said.AffectedFiles = first.Output, first.AffectedFiles
		}
		seen.Report = said
	}
	out := outcomeOf(seen, err, time.Since(begun))
	verified := out
	if out.OK && j.step.Verify != "" {
		limited, cancel := context.WithTimeout(ctx, cmp.Or(w.Timeout, mostVerifying))
		verified, err = r.verify(limited, j.step.Verify, out, toolbox.Watch{Log: file, Started: file.started})
		cancel()
		verified.Error = r.opts.Agents.Hide(j.Agent, verified.Error)
		verified.Text = r.opts.Agents.Hide(j.Agent, verified.Text)
	}
	if verified.OK && len(out.Text) > maxAgentOutput { // the log has an excerpt
		verified.Value, _ = json.Marshal(out.Text)
	}
	done := r.finished(ctx, j, verified, err, time.Since(begun))
	done.Unavailable = seen.Report == nil && !seen.OtherNonce && !seen.TimedOut && seen.Took < briefly && ctx.Err() == nil
	done.Interrupted = done.Interrupted && ctx.Err() != nil
	tellOf(seen, out.Text, j.step, &done)
	return fitting(done)
}

// maxFormer bounds what is handed on of the output of a former attempt, in bytes.
const maxFormer = 8_000

// former is the end of what the agent of the attempt before printed, even if its engine did not live to
// record it.
func (r *run) former(j job) string {
	if r.opts.StateDir == "" || j.attempt.Attempt < 2 {
		return ""
	}
	before := j.attempt
	before.Attempt--
	return safetext.Keepable(AgentLog(r.opts.StateDir, before).End(maxFormer), maxFormer)
}

// reportTo is what an agent has reported to the log, nil for nothing.
func (r *run) reportTo(a plan.Attempt) *agents.Report {
	state, err := r.session.State(r.records)
	if err != nil || state.Plan == nil || state.Plan.Root() != a.Plan {
		return nil
	}
	step, ok := state.Plan.Steps.Get(a.Step)
	if !ok || step.Attempts != a.Attempt || step.Reported() == nil {
		return nil
	}
	said := step.Reported()
	return &agents.Report{Status: said.Status, Output: step.Output, Note: said.Note}
}

// outcomeOf is what came of an agent's work, before it is verified. Its text is the output for the steps
// that follow.
func outcomeOf(seen agents.Outcome, err error, took time.Duration) toolbox.Outcome {
	failed := func(why, output string) toolbox.Outcome { return toolbox.Outcome{Text: output, Error: why} }
	report := seen.Report
	switch {
	case report != nil && report.Status == plan.Done:
		return toolbox.Outcome{OK: true, Text: report.Output}
	case report != nil:
		why := cmp.Or(report.Note, firstLine(report.Output), "it reported "+string(report.Status)+" and did not say why")
		return failed(why, report.Output)
	case seen.TimedOut:
		out := failed(fmt.Sprintf("the agent was ended after %s without a report: its time was up", took.Round(time.Second)), seen.Tail)
		out.Transient = true
		return out
	case err != nil:
		return failed(err.Error(), seen.Tail)
	}
	why := fmt.Sprintf("the agent ended without a report (exit code %d)", seen.ExitCode)
	if seen.OtherNonce {
		why = fmt.Sprintf("it reported with the key of another attempt (exit code %d)", seen.ExitCode)
	} else if said := lastLine(seen.Tail); said != "" { // mostly the reason: a login, a quota
		why += "; it said: " + said
	}
	out := failed(why, seen.Tail)
	out.Transient = true
	return out
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return plan.Shorten(text[strings.LastIndexByte(text, '\n')+1:], maxGoodOutput)
}

// maxAgentOutput bounds an agent's output that stands in the log; the value of the step is whole.
const maxAgentOutput = plan.MaxLongText

// tellOf adds what only an agent's result has.
func tellOf(seen agents.Outcome, output string, step *plan.Step, done *plan.Finished) {
	if done.Result.OK {
		done.Output = safetext.Keepable(tail.GistOf(output, maxAgentOutput), maxAgentOutput)
	}
	if report := seen.Report; report != nil {
		done.Blocked = report.Status == plan.Blocked
		if report.Status == plan.Done || done.Blocked {
			done.Note = safetext.Keepable(report.Note, maxOutput)
		}
		done.AffectedFiles = paths(report.AffectedFiles)
	}
	done.Moved, done.Unseen = seen.Committed, seen.Unseen
	changed := paths(seen.Changed)
	for _, file := range changed {
		if !slices.Contains(done.AffectedFiles, file) {
			done.AffectedFiles = append(done.AffectedFiles, file)
		}
		if !names(step, file) {
			done.Outside = append(done.Outside, file)
		}
	}
	done.AffectedFiles = done.AffectedFiles[:min(len(done.AffectedFiles), plan.MaxNotes)]
	done.Outside = done.Outside[:min(len(done.Outside), plan.MaxList)]
}

// paths are those of a list that can be kept.
func paths(list []string) []string {
	var kept []string
	rule := plan.Text{Max: plan.MaxPath}
	for _, file := range list {
		if plan.PathProblem(file) != plan.PathWithin {
			continue
		}
		if clean, err := rule.Clean(file); err == nil && clean != "" && !slices.Contains(kept, clean) {
			kept = append(kept, clean)
		}
	}
	return kept
}

// names reports whether a step names a file, the folder it is in, or a pattern of it. One that names no
// files names all.
func names(step *plan.Step, file string) bool {
	named := slices.Concat(step.RelevantFilePaths, step.Creates)
	return len(named) == 0 || slices.ContainsFunc(named, func(name string) bool {
		name = path.Clean(name)
		return name == "." || name == file || strings.HasPrefix(file, name+"/") || doublestar.MatchUnvalidated(name, file)
	})
}

// assignable reports whether an agent can be started for a step, now or in a while.
func (r *run) assignable(s plan.State) func(*plan.Step) bool {
	return func(step *plan.Step) bool { return r.agentFor(s, step) != "" }
}

// goesOn reports whether this engine still starts steps.
func (r *run) goesOn(ctx context.Context) bool { return !r.draining(ctx) && r.state.Runs() }
