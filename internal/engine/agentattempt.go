package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
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

const (
	maxVerifying = time.Hour             // for the command that verifies an agent's work, if the step has no timeout
	minWorking   = 20 * time.Second      // an agent that ends earlier without a report counts as unavailable
	lockEvery    = 50 * time.Millisecond // interval of tries to lock
	maxFormer    = 8_000                 // bytes of the previous attempt's output that are handed on
	maxTokens    = 1e9                   // in a report
	maxAgentText = plan.MaxLongText      // characters of an agent's output in the log; the value of the step is complete
)

// agentFor returns the agent that this engine may start for a step, "" if none.
func (r *run) agentFor(s plan.State, step *plan.Step) string {
	if r.opts.Agents == nil || !step.IsForAgents() {
		return ""
	}
	name, ok := r.opts.Agents.For(step.SuggestedAgent)
	if !ok {
		return ""
	}
	switch {
	case !s.MayStartAgent(name, r.opts.Agents.Starts(name)):
		r.exhausted = name + " was started " + plan.Pluralize(s.Run.Starts[name], "time") + ", the limit set by `starts`"
	case r.Starts > 0 && r.agentStarts >= r.Starts:
		r.exhausted = "agents were started " + plan.Pluralize(r.agentStarts, "time") + ", the limit set by --starts"
	default:
		return name
	}
	return ""
}

// lockAgents waits until no other agent works in the workspace: an agent of a replaced plan may still be ending.
func (r *run) lockAgents(ctx context.Context) (unlock func(), err error) {
	if r.opts.StateDir == "" {
		return func() {}, nil
	}
	lock := flock.New(filepath.Join(cmp.Or(r.opts.Shared, r.opts.StateDir), "agent.lock"), flock.SetPermissions(safefile.FileMode))
	_, err = lock.TryLockContext(ctx, lockEvery)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("wait for another agent to end: %w", context.Cause(ctx))
	case err != nil: // not a lock file; the plan still allows only one agent at a time
		r.opts.Logger.Warn("agents of other plans cannot be detected", "error", err)
	}
	return func() { _ = lock.Unlock() }, nil
}

// runAgent has an agent work on a step, and returns the result. It is called in a goroutine of its own; reported is
// closed once the agent has reported to the log.
func (r *run) runAgent(ctx context.Context, j job, reported <-chan struct{}) plan.AttemptResult {
	begun := time.Now()
	order := WorkOrder{Agent: j.Agent, Nonce: strings.ToUpper(rand.Text()[:12]), Attempt: j.attempt.Attempt, Former: r.formerOutput(j)}
	unlock, err := r.lockAgents(ctx)
	if err != nil {
		return r.result(ctx, j, toolbox.Outcome{Error: err.Error()}, err, time.Since(begun))
	}
	defer unlock()
	file, log := r.newStepFile(j, order.Nonce), r.newAgentLog(j.attempt)
	defer file.remove()
	defer log.close()
	report := r.progressOf(j, file)
	w := AgentAssignment{
		Agent: j.Agent, Step: j.step.ID, Attempt: order.Attempt, Nonce: order.Nonce,
		Prompt: r.opts.Prompt(ctx, j.before, j.step.ID, order), Timeout: time.Duration(j.step.Timeout) * time.Second,
		Environment: []string{EnvRun + "=" + environmentOf(j.run, j.attempt, order.Nonce), "PLANLOOP_WORKSPACE=" + r.opts.Workspace,
			"PLANLOOP_TRACK=" + r.opts.Track},
		Log: io.MultiWriter(file, log), Started: file.setProcess, Reported: reported,
		Line: func(line string) { report(0, line) },
	}
	seen, err := r.opts.Agents.Work(ctx, w)
	logged, printed := r.loggedReport(j.attempt), seen.Report
	isContradictory := logged != nil && printed != nil && logged.Status != printed.Status
	if logged != nil { // it came first
		if printed != nil && !isContradictory {
			logged.Output, logged.Tokens = cmp.Or(logged.Output, printed.Output), printed.Tokens
			logged.AffectedFiles = printed.AffectedFiles
		}
		seen.Report = logged
	}
	out := outcomeOf(seen, err)
	if isContradictory {
		out.OK, out.Error = false, "its update reported "+reportText(logged)+", and the last line of its output "+reportText(printed)
	}
	verified := out
	if out.OK && j.step.Verify != "" {
		limited, cancel := context.WithTimeout(ctx, cmp.Or(w.Timeout, maxVerifying))
		verified, err = r.verify(limited, j.step.Verify, out, toolbox.Watch{Log: file, Started: file.setProcess, Dir: j.step.Cwd})
		cancel()
		verified.Error = r.opts.Agents.Hide(j.Agent, verified.Error)
		verified.Text = r.opts.Agents.Hide(j.Agent, verified.Text)
	}
	if verified.OK && (len(out.Text) > maxAgentText || plan.Mask(out.Text) != out.Text) { // the log gets a masked excerpt
		verified.Value, _ = json.Marshal(out.Text)
	}
	if verified.OK && err == nil {
		verified, err = r.readOutputFile(ctx, j.step, verified)
	}
	done := r.result(ctx, j, verified, err, time.Since(begun))
	done.IsContradictory = isContradictory
	done.IsAgentUnavailable = seen.Report == nil && !seen.OtherNonce && seen.Unread == "" &&
		!seen.TimedOut && seen.Took < minWorking && ctx.Err() == nil
	done.IsInterrupted = done.IsInterrupted && ctx.Err() != nil
	addAgentFields(&done, seen, out.Text, j.step)
	return acceptable(done)
}

// formerOutput returns the end of the previous attempt's output, even if its engine died before recording it.
func (r *run) formerOutput(j job) string {
	if r.opts.StateDir == "" || j.attempt.Attempt < 2 {
		return ""
	}
	former := j.attempt
	former.Attempt--
	return safetext.Keepable(AgentLog(r.opts.StateDir, former).End(maxFormer), maxFormer)
}

// loggedReport returns the agent's report in the log, nil without one.
func (r *run) loggedReport(a plan.Attempt) *AgentReport {
	state, err := r.session.State(r.records)
	if err != nil {
		return nil
	}
	step := a.AgentStep(state)
	if step == nil || step.AgentReport() == nil {
		return nil
	}
	return &AgentReport{Status: step.AgentReport().Status, Output: step.Output, Note: step.AgentReport().Note}
}

// reportText returns a report's status with its note, to show a contradiction.
func reportText(report *AgentReport) string {
	if report.Note == "" {
		return string(report.Status)
	}
	return string(report.Status) + " (" + plan.Quote(plan.Shorten(plan.Mask(report.Note), maxGoodOutput)) + ")"
}

// outcomeOf returns the result of an agent's work before verification. Its text is the output for later steps.
func outcomeOf(seen AgentOutcome, err error) toolbox.Outcome {
	out := toolbox.Outcome{Text: seen.Tail}
	switch report := seen.Report; {
	case report != nil:
		if out.Text, out.OK = report.Output, report.Status == plan.Done; !out.OK {
			firstLine, _, _ := strings.Cut(strings.TrimSpace(report.Output), "\n")
			out.Error = cmp.Or(report.Note, firstLine, "it reported "+string(report.Status)+" without a reason")
		}
		return out
	case seen.TimedOut:
		out.Error = fmt.Sprintf("the agent timed out after %s without a report", seen.Took.Round(time.Second))
	case err != nil:
		out.Error = err.Error()
		return out
	case seen.Unread != "":
		out.Error = fmt.Sprintf("the agent's report could not be read: %s (exit code %d)", seen.Unread, seen.ExitCode)
	case seen.OtherNonce:
		out.Error = fmt.Sprintf("it reported with the key of another attempt (exit code %d)", seen.ExitCode)
	default:
		out.Error = fmt.Sprintf("the agent ended without a report (exit code %d)", seen.ExitCode)
		if line := safetext.LastLine(seen.Tail); line != "" { // usually the reason, such as a login or a quota
			out.Error += "; its last output: " + plan.Shorten(line, maxGoodOutput)
		}
	}
	out.Transient = true
	return out
}

// addAgentFields adds the fields that only an agent's result has.
func addAgentFields(done *plan.AttemptResult, seen AgentOutcome, output string, step *plan.Step) {
	if done.Result.OK {
		done.Output = recordable(output, maxAgentText)
	}
	if report := seen.Report; report != nil {
		done.IsBlocked, done.Tokens = report.Status == plan.Blocked && !done.IsContradictory, min(report.Tokens, maxTokens)
		if report.Status == plan.Done || done.IsBlocked {
			done.Note = safetext.Keepable(plan.Mask(report.Note), maxOutput)
		}
		done.AffectedFiles = recordablePaths(report.AffectedFiles)
	}
	done.CommitMoved, done.ChangesUnknown = seen.Committed, seen.Unseen
	for _, file := range recordablePaths(seen.Changed) {
		if !slices.Contains(done.AffectedFiles, file) {
			done.AffectedFiles = append(done.AffectedFiles, file)
		}
		if !namesFile(step, file) {
			done.OutOfScopeFiles = append(done.OutOfScopeFiles, file)
		}
	}
	done.AffectedFiles = done.AffectedFiles[:min(len(done.AffectedFiles), plan.MaxNotes)]
	done.OutOfScopeFiles = done.OutOfScopeFiles[:min(len(done.OutOfScopeFiles), plan.MaxList)]
}

// recordablePaths returns the paths in a list that can be recorded.
func recordablePaths(list []string) []string {
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

// namesFile reports whether a step names a file, its folder, or a pattern that matches it. A step that names no files
// names all.
func namesFile(step *plan.Step, file string) bool {
	named := slices.Concat(step.RelevantFilePaths, step.Creates)
	return len(named) == 0 || slices.ContainsFunc(named, func(name string) bool {
		name = path.Clean(name)
		return name == "." || name == file || strings.HasPrefix(file, name+"/") || doublestar.MatchUnvalidated(name, file)
	})
}
