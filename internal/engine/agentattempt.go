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

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// AgentStarter starts agents for steps without a tool; Agents implements it.
type AgentStarter interface {
	For(suggested string) (name string, ok bool)
	Starts(name string) int
	Hide(name, text string) string
	Work(context.Context, AgentAssignment) (AgentOutcome, error)
}

// WorkOrder is an attempt at a step that an agent is started for.
type WorkOrder struct {
	Agent   string // its name in the configuration
	Nonce   string // identifies its report
	Attempt int
	Former  string // the end of the previous attempt's output
}

// mostVerifying limits the command that verifies an agent's work, if the step has no timeout.
const mostVerifying = time.Hour

// briefly is the run time below which an agent without a report counts as unavailable: it had no time to do anything.
const briefly = 20 * time.Second

// EnvRun is the environment variable that identifies a started agent and its child processes. Its value is
// run/step/attempt/nonce.
const EnvRun = "PLANLOOP_RUN"

// agentFor returns the agent that this engine may start for a step, "" if none.
func (r *resolver) agentFor(s plan.State, step *plan.Step) string {
	if r.opts.Agents == nil || !step.IsForAgents() {
		return ""
	}
	name, ok := r.opts.Agents.For(step.SuggestedAgent)
	if !ok {
		return ""
	}
	switch {
	case !s.MayStartAgent(name, r.opts.Agents.Starts(name)):
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

// assigned is an agent at work.
type assigned struct {
	attempt  plan.Attempt
	reported chan struct{} // closed once it has reported to the log
	end      context.CancelCauseFunc
}

// The causes for ending an agent early.
var (
	errHeld = errors.New("planning mode began, in which nothing may be changed")
	errGone = errors.New("the plan it worked for is gone")
)

// attendAgents tells agents' goroutines of reports in the log, and ends agents that may no longer change files or work
// for a plan that is gone.
func (r *run) attendAgents() {
	for _, agent := range r.assigned {
		step := agent.attempt.AgentStep(r.state)
		switch {
		case step == nil:
			agent.end(errGone)
		case r.state.PhaseNow().IsRestricted():
			agent.end(errHeld)
		case step.AgentReport() != nil:
			select {
			case <-agent.reported:
			default:
				close(agent.reported)
			}
		}
	}
}

// workAlone waits until no other agent works in the workspace: an agent of a replaced plan may still be ending.
func (r *run) workAlone(ctx context.Context) (leave func(), err error) {
	if r.opts.StateDir == "" {
		return func() {}, nil
	}
	lock := flock.New(filepath.Join(r.opts.StateDir, "agent.lock"), flock.SetPermissions(safefile.FileMode))
	_, err = lock.TryLockContext(ctx, lockEvery)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("wait for another agent to end: %w", context.Cause(ctx))
	case err != nil: // not a lock file; the plan still allows only one agent at a time
		r.opts.Logger.Warn("an agent is started without a look at those of other plans", "error", err)
	}
	return func() { _ = lock.Unlock() }, nil
}

const lockEvery = 50 * time.Millisecond

// assigns returns a function that reports whether an agent can be started for a step now.
func (r *run) assigns(s plan.State) func(*plan.Step) bool {
	now := time.Now()
	return func(step *plan.Step) bool { return r.agentFor(s, step) != "" && !r.waiting(s, step, now) }
}

// work has an agent work on a step, and returns the result. It is called in a goroutine of its own; reported is closed
// once the agent has reported to the log.
func (r *run) work(ctx context.Context, j job, reported <-chan struct{}) plan.AttemptResult {
	begun := time.Now()
	order := WorkOrder{Agent: j.Agent, Nonce: strings.ToUpper(rand.Text()[:12]), Attempt: j.attempt.Attempt, Former: r.former(j)}
	leave, err := r.workAlone(ctx)
	if err != nil {
		return r.finished(ctx, j, toolbox.Outcome{Error: err.Error()}, err, time.Since(begun))
	}
	defer leave()
	file, log := r.follow(j), r.newAgentLog(j.attempt)
	defer file.remove()
	defer log.close()
	file.assign(order)
	w := AgentAssignment{Agent: j.Agent, Run: j.run, Step: j.step.ID, Attempt: order.Attempt, Nonce: order.Nonce,
		Prompt: r.opts.Prompt(ctx, j.before, j.step.ID, order), Timeout: time.Duration(j.step.Timeout) * time.Second,
		Environment: []string{EnvRun + "=" + environmentOf(j.run, j.attempt, order.Nonce),
			"PLANLOOP_WORKSPACE=" + r.opts.Workspace},
		Log: io.MultiWriter(file, log), Started: file.started, Reported: reported, Line: func(line string) {
			file.progressed(0, line)
			select {
			case r.progress <- progress{j.step.ID, 0, line}:
			default: // dropped: the next one is newer
			}
		}}
	seen, err := r.opts.Agents.Work(ctx, w)
	if said := r.reportTo(j.attempt); said != nil { // the report in the log came first and counts
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
	if verified.OK && len(out.Text) > maxAgentOutput { // the log gets an excerpt
		verified.Value, _ = json.Marshal(out.Text)
	}
	done := r.finished(ctx, j, verified, err, time.Since(begun))
	done.IsAgentUnavailable = seen.Report == nil && !seen.OtherNonce && !seen.TimedOut && seen.Took < briefly && ctx.Err() == nil
	done.IsInterrupted = done.IsInterrupted && ctx.Err() != nil
	tellOf(seen, out.Text, j.step, &done)
	return fitting(done)
}

// maxFormer limits how much of the previous attempt's output is handed on, in bytes.
const maxFormer = 8_000

// former returns the end of the previous attempt's output, even if its engine died before recording it.
func (r *run) former(j job) string {
	if r.opts.StateDir == "" || j.attempt.Attempt < 2 {
		return ""
	}
	before := j.attempt
	before.Attempt--
	return safetext.Keepable(AgentLog(r.opts.StateDir, before).End(maxFormer), maxFormer)
}

// reportTo returns the agent's report in the log, nil without one.
func (r *run) reportTo(a plan.Attempt) *AgentReport {
	state, err := r.session.State(r.records)
	if err != nil || state.Plan == nil || state.Plan.Root() != a.Plan {
		return nil
	}
	step, ok := state.Plan.Steps.Get(a.Step)
	if !ok || step.Attempts != a.Attempt || step.AgentReport() == nil {
		return nil
	}
	said := step.AgentReport()
	return &AgentReport{Status: said.Status, Output: step.Output, Note: said.Note}
}

// outcomeOf returns the result of an agent's work before verification. Its text is the output for later steps.
func outcomeOf(seen AgentOutcome, err error, took time.Duration) toolbox.Outcome {
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
	} else if said := lastLine(seen.Tail); said != "" { // usually the reason, such as a login or a quota
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

// maxAgentOutput limits an agent's output in the log, in characters; the value of the step is complete.
const maxAgentOutput = plan.MaxLongText

// tellOf adds the fields that only an agent's result has.
func tellOf(seen AgentOutcome, output string, step *plan.Step, done *plan.AttemptResult) {
	if done.Result.OK {
		done.Output = safetext.Keepable(safetext.ExcerptOf(output, maxAgentOutput), maxAgentOutput)
	}
	if report := seen.Report; report != nil {
		done.IsBlocked = report.Status == plan.Blocked
		if report.Status == plan.Done || done.IsBlocked {
			done.Note = safetext.Keepable(report.Note, maxOutput)
		}
		done.AffectedFiles = paths(report.AffectedFiles)
	}
	done.CommitMoved, done.ChangesUnknown = seen.Committed, seen.Unseen
	changed := paths(seen.Changed)
	for _, file := range changed {
		if !slices.Contains(done.AffectedFiles, file) {
			done.AffectedFiles = append(done.AffectedFiles, file)
		}
		if !names(step, file) {
			done.OutOfScopeFiles = append(done.OutOfScopeFiles, file)
		}
	}
	done.AffectedFiles = done.AffectedFiles[:min(len(done.AffectedFiles), plan.MaxNotes)]
	done.OutOfScopeFiles = done.OutOfScopeFiles[:min(len(done.OutOfScopeFiles), plan.MaxList)]
}

// paths returns the paths in a list that can be recorded.
func paths(list []string) []string {
	var kept []string
	rule := plan.Text{Max: plan.MaxPath}
	for _, file := range list {
		if plan.PathProblem(file) != plan.PathOK {
			continue
		}
		if clean, err := rule.Clean(file); err == nil && clean != "" && !slices.Contains(kept, clean) {
			kept = append(kept, clean)
		}
	}
	return kept
}

// names reports whether a step names a file, its folder, or a pattern that matches it. A step that names no files names
// all.
func names(step *plan.Step, file string) bool {
	named := slices.Concat(step.RelevantFilePaths, step.Creates)
	return len(named) == 0 || slices.ContainsFunc(named, func(name string) bool {
		name = path.Clean(name)
		return name == "." || name == file || strings.HasPrefix(file, name+"/") || doublestar.MatchUnvalidated(name, file)
	})
}

// assignable returns a function that reports whether an agent can be started for a step, now or after a wait.
func (r *run) assignable(s plan.State) func(*plan.Step) bool {
	return func(step *plan.Step) bool { return r.agentFor(s, step) != "" }
}

// goesOn reports whether this engine may still start steps.
func (r *run) goesOn(ctx context.Context) bool { return !r.draining(ctx) && r.state.HasActiveRun() }
