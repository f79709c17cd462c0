package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// hostAgent returns the agent of a hook call: it comes from the host's agent, even if a person's process runs the hook.
func (a *app) hostAgent(ws *openWorkspace, call hook.Call) verbs.Caller {
	caller := a.hookCaller(ws)
	if caller.Actor.Kind != plan.Agent {
		caller = ws.verbs.As(verbs.Caller{Actor: plan.NewActor(plan.ChannelAgentShell, string(call.Host)), Face: terminal.CommandLine{}})
	}
	return caller
}

// followHostReview handles an event after the host showed its user a plan. The tool's own answer approves the plan; any other event of the
// session's agent means that the user answered otherwise. It returns the note for the agent after an approval.
func (a *app) followHostReview(ctx context.Context, ws *openWorkspace, call hook.Call) (note string) {
	isShown := call.Moment == hook.AskUser || call.Moment == hook.BeforeTool && call.IsPlanShown() // it may be the same plan again
	isMarked := call.Subagent == "" && !isShown && ws.presence.HasHostReview(a.ancestors, call.Session)
	if isMarked {
		ws.presence.EndHostReview(a.ancestors, call.Session)
	}
	isAnswer := call.IsPlanAccepted() && call.Subagent == "" || call.Moment == hook.UserPrompt && isMarked
	if !isMarked && !isAnswer {
		return ""
	}
	var err error
	caller, host := a.hostAgent(ws, call), string(call.Host)
	if isAnswer && isStartedByHost(call, a.ancestors()) {
		note, err = ws.verbs.HostAnswered(ctx, caller, host, call.Session, call.PlanText(a.hostFiles(call)))
	}
	if isMarked && note == "" && err == nil {
		err = ws.verbs.LeaveHostReview(ctx, caller, plan.LeaveHostReview{Host: host, Session: call.Session})
	}
	if err != nil {
		a.logger().Debug("the answer to a host's plan was not recorded", "host", call.Host, "error", err)
	}
	return note
}

// isStartedByHost reports whether the host itself started this hook: at most one shell is between them, which runs only the hook's command.
// The shell of an agent has more to do, unless the agent imitates the host on purpose: see docs/security.md.
func isStartedByHost(call hook.Call, chain []process.Ancestor) bool {
	var script []string
	for i, p := range chain[min(1, len(chain)):] {
		switch {
		case !p.Shell():
			return i == 0 || len(script) <= 8 && strings.Contains(strings.Join(script, " "), " hook "+string(call.Host)+" "+call.Event)
		case i > 0:
			return false
		}
		script = strings.Fields(strings.Join(p.Args(), " ")) // such as: -c 'planloop' hook claude stop || exit 1
	}
	return false
}

// submitShownPlan submits the plan that the host is about to show its user. The answer has a review to wait for, unless the call shows no
// plan, or the hook must not wait.
func (a *app) submitShownPlan(ctx context.Context, ws *openWorkspace, call hook.Call) (answer hookAnswer) {
	if !call.MayShowPlan() || call.Moment != hook.AskUser && !a.waitsBeforePrompt(ctx, ws, call) {
		return answer
	}
	shown := call.ReviewedPlan(a.hostFiles(call))
	if shown == nil {
		return answer
	}
	review, err := ws.verbs.SubmitHostPlan(ctx, a.hostAgent(ws, call), *shown)
	if refused, is := errors.AsType[*verbs.RefusedPlan](err); is {
		answer.Answer = refusal(call, refused.Error())
		return answer
	}
	if err != nil {
		a.logger().Debug("a host's plan was not submitted", "host", call.Host, "error", err)
		return answer
	}
	ws.presence.BeginHostReview(a.ancestors, call.Session)
	answer.review = review
	return answer
}

// waitsBeforePrompt reports whether a hook waits for a decision although the host shows its own prompt only later: in Claude Code where
// only a person's own decision counts, in the other hosts while a page in the background can show the plan.
func (a *app) waitsBeforePrompt(ctx context.Context, ws *openWorkspace, call hook.Call) bool {
	if call.Host != hook.Claude {
		_, err := a.background()
		return err == nil && !hook.IsHeadless(call.Host, process.Starter(a.ancestors()).Args(), a.getenv)
	}
	state, err := ws.verbs.State(ctx)
	return err == nil && ws.verbs.PersonOnly(state)
}

// awaitReview waits for a person's decision about the host's plan. Without one the host's own prompt decides.
func (a *app) awaitReview(ctx context.Context, answer hookAnswer) hook.Answer {
	ctx, stop := whileRunning(ctx, process.Starter(a.ancestors()))
	defer stop()
	decided, err := answer.review.Await(ctx)
	if err != nil {
		return hook.Answer{}
	}
	isToldLater := decided.IsApproved && answer.call.Moment == hook.Stop // with the user's answer in the host
	if ws := a.ws.Load(); ws != nil && decided != (verbs.HostAnswer{}) && !isToldLater {
		ws.presence.EndHostReview(a.ancestors, answer.call.Session)
	}
	if decided.IsApproved {
		return hook.Answer{Approval: &hook.Approval{Edited: decided.Edited, AcceptsEdits: decided.AcceptsEdits}}
	}
	return refusal(answer.call, decided.Refusal)
}

// refusal returns the answer with which the agent has to revise its plan.
func refusal(call hook.Call, why string) hook.Answer {
	if call.Moment == hook.Stop {
		return hook.Answer{Continue: why}
	}
	return hook.Answer{Refuse: why}
}

const hostCheck = 5 * time.Second

// whileRunning returns a context that ends with a process. Its goroutine ends with the context.
func whileRunning(ctx context.Context, p process.Ancestor) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		for waitFor(ctx, hostCheck) {
			if p.Started != 0 && !p.Runs() {
				stop()
			}
		}
	}()
	return ctx, stop
}

const maxHostFile = 64 << 20 // bytes: a file of Codex contains a whole session

// hostFiles returns a function that reads files of the call's host.
func (a *app) hostFiles(call hook.Call) func(path string) string {
	return func(path string) string { return a.readHostFile(call.Host, path) }
}

// readHostFile returns the text of a host's file, "" if it cannot be read. A relative path is one in the host's folder for plans.
func (a *app) readHostFile(host hook.Host, path string) string {
	if home, _ := a.home(); !filepath.IsAbs(path) {
		for _, folder := range hook.PlanFolders(host, home, a.getenv) {
			path = filepath.Join(folder, filepath.Base(path))
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, _ := io.ReadAll(io.LimitReader(file, maxHostFile)) // a part is not a plan, and is refused
	return string(text)
}
