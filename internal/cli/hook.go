package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// hookPatience bounds a hook's answer, below the time-out of every host. lastLook is the additional time to read the phase after that, or
// after an error.
const (
	hookPatience = 4 * time.Second
	lastLook     = 500 * time.Millisecond
)

func newHookCommand(a *app) *cobra.Command {
	return newCommand("hook", "HOST EVENT", exactly(2, "a host and one of its events"), func(cmd *cobra.Command, args []string) error {
		return a.hook(cmd.Context(), hook.Host(args[0]), args[1])
	})
}

// hook answers a host. In planning mode every error refuses the call; otherwise errors stay silent.
func (a *app) hook(ctx context.Context, host hook.Host, event string) error {
	a.quiet, a.inTerminal = true, false // no person runs a host's hooks, even if one started the host
	a.unwatched("hook " + string(host) + " " + event)
	if unknown := hook.NameProblem(host, event); unknown != "" { // does not stop the host, but a person should see it
		fmt.Fprintln(a.err, unknown)
		a.troubles.Note(unknown)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, hookPatience)
	defer cancel()
	answered := make(chan hookAnswer, 1)
	go func() { answered <- a.answerHook(ctx, host, event) }()
	select {
	case answer := <-answered:
		return a.tellHost(answer)
	case <-ctx.Done():
		call, _ := hook.Read(host, event, nil)
		late := errors.New("that took too long")
		err := a.tellHost(hookAnswer{call, a.whenFailed(call, late, false)})
		noted := make(chan struct{})
		go func() { a.troubles.Note(message(late)); close(noted) }()
		select {
		case <-noted:
		case <-time.After(lastLook):
		}
		os.Exit(a.report(ctx, err)) // the hung goroutine cannot be waited for
		return nil
	}
}

// hookAnswer is an answer with the call that it belongs to.
type hookAnswer struct {
	call hook.Call
	hook.Answer
}

func (a *app) tellHost(answer hookAnswer) error {
	out, errOut, code := answer.call.Write(answer.Answer)
	_, err := a.out.Write(out)
	_, otherwise := a.err.Write(errOut)
	if err = errors.Join(err, otherwise); err != nil {
		return err
	}
	return exitStatus(code)
}

// answerHook reads the host's input and finds the answer. It recovers from panics: a crash would let the tool run.
func (a *app) answerHook(ctx context.Context, host hook.Host, event string) (answer hookAnswer) {
	call, _ := hook.Read(host, event, nil) // all that is known before the input is read
	var err error
	readable := false
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("planloop broke: %v", broken)
		}
		if answer.call = call; err != nil {
			answer.Answer = a.whenFailed(call, err, readable)
			a.troubles.Note(message(err))
		}
	}()
	payload, err := io.ReadAll(io.LimitReader(a.in, hook.MaxPayload+1))
	if err != nil {
		return answer
	}
	call, err = hook.Read(host, event, payload)
	call.Version = cmp.Or(call.Version, hook.HostVersion(host, a.getenv))
	call.Home, _ = a.home() // without a home no path counts as inside it
	answer.call = call
	if readable = err == nil; !readable || call.Moment == hook.OtherMoment {
		return answer
	}
	a.told = workspace.Lookup{Dir: call.Dir, Roots: call.Roots, Hosted: true}
	opened, err := a.open(ctx, nil)
	if err != nil {
		return answer
	}
	answer.Answer, err = a.atMoment(ctx, opened, call)
	if err == nil && !a.insideModel() {
		a.signOfLife(opened, answer)
	}
	return answer
}

// signOfLife records that the host calls its hooks, and that its agent is at work.
func (a *app) signOfLife(opened *opened, answer hookAnswer) {
	call := answer.call
	sign := presence.Hook{Host: string(call.Host), Session: call.Session, Subagent: call.Subagent, Version: call.Version, Event: call.Event,
		ChecksTool: call.Moment == hook.BeforeTool}
	if sign.ChecksTool && call.IsOwn() && answer.Refuse == "" {
		sign.Tool = call.Name
	}
	opened.seen.RecordHook(a.chain, sign)
	if client := opened.client(); client != "" {
		opened.seen.Touch(client)
	}
}

// atMoment returns the answer if nothing fails. Inside the model the host only answers planloop's prompt: its session does not work on the
// plan, but planning mode restricts it too, since any program could set the model's mark.
func (a *app) atMoment(ctx context.Context, opened *opened, call hook.Call) (hook.Answer, error) {
	if call.Dir == "" {
		call.Dir = opened.place.Path
	}
	inside := a.insideModel()
	switch {
	case call.Moment == hook.BeforeTool:
		err := a.hookPolicy(opened, call.Host).Check(ctx, call)
		var refused *plan.ValidationError
		if errors.As(err, &refused) {
			told := *refused
			told.Field = "" // only planloop's own tools have fields
			return hook.Answer{Refuse: told.Error()}, nil
		}
		if err == nil && !inside {
			a.adopt(ctx, opened, call)
		}
		return hook.Answer{}, err
	case inside:
	case call.Moment == hook.AfterTool:
		a.adopt(ctx, opened, call)
	case call.Moment == hook.SessionStart:
		state, err := opened.verbs.State(ctx)
		return hook.Answer{Context: opened.verbs.Briefing(state, a.hookCaller(opened))}, err
	case call.Moment == hook.Stop:
		return a.atStop(ctx, opened, call)
	}
	return hook.Answer{}, nil
}

// atStop reminds an agent of its unfinished work, once for each reminder.
func (a *app) atStop(ctx context.Context, opened *opened, call hook.Call) (hook.Answer, error) {
	if call.IsContinued || call.Subagent != "" || opened.config.RemindersOff {
		return hook.Answer{}, nil
	}
	state, err := opened.verbs.State(ctx)
	if err != nil {
		return hook.Answer{}, err
	}
	left := opened.verbs.UnfinishedWork(state, a.hookCaller(opened))
	if left == "" || !opened.seen.IsFirst(call.Session, left) {
		return hook.Answer{}, nil
	}
	return hook.Answer{Continue: left}, nil
}

// hookCaller returns the agent of the calling host, with texts that name its own tools.
func (a *app) hookCaller(opened *opened) verbs.Caller {
	caller := a.caller()
	caller.Face = mcpserver.Tools{Toolsets: toolsets(opened.config), User: terminal.CommandLine{}}
	return caller
}

func (a *app) hookPolicy(opened *opened, host hook.Host) hook.Policy {
	return hook.Policy{
		Guard:      func(ctx context.Context, path string) (toolbox.Hold, error) { return a.heldForHook(ctx, opened, path) },
		HasTool:    mcpserver.IsTool,
		IsHostNote: func(path string) bool { return aside(path, opened.place, hook.PlanFolders(host, a.getenv)) },

		Windows: runtime.GOOS == "windows", ReadOnlyTools: opened.config.ReadOnlyTools,
	}
}

// heldForHook returns the hold on a path for the agent of the calling host: one that holds for every agent, or the planning mode of a
// workspace that one of its servers serves, although the agent works elsewhere.
func (a *app) heldForHook(ctx context.Context, opened *opened, path string) (toolbox.Hold, error) {
	if hold, err := a.held(ctx, opened, path); err != nil || hold.By != "" {
		return hold, err
	}
	for _, state := range opened.seen.OtherStates(a.chain) {
		if hold, err := a.heldBy(ctx, workspace.FromState(state), "read and ask, then submit a plan"); err != nil || hold.By != "" {
			return hold, err
		}
	}
	return toolbox.Hold{}, nil
}

// aside reports whether a file lies in one of the folders without a link that leads elsewhere. No file of the workspace counts: its own
// files could claim to be aside.
func aside(path string, place workspace.Workspace, folders []string) bool {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return false
	}
	real, err := filepath.EvalSymlinks(filepath.Dir(path))
	if inside, wrong := filepath.Rel(place.Path, real); err != nil || wrong != nil || !place.Default && filepath.IsLocal(inside) {
		return false
	}
	return slices.ContainsFunc(folders, func(folder string) bool {
		at, err := filepath.EvalSymlinks(folder)
		return err == nil && at == real
	})
}

// whenFailed returns the answer after an error: a refusal if planning mode may be on. The cause is for a person to fix, not for the agent.
func (a *app) whenFailed(call hook.Call, cause error, readable bool) hook.Answer {
	if call.Moment != hook.BeforeTool || !a.mayBeHeld(call, readable) {
		return hook.Answer{}
	}
	return hook.Answer{Refuse: "planning mode may be on, and whether this only reads could not be told. " +
		mcpserver.Advice(cause, "Call the tool once more; if that fails too, ask the user to run `planloop doctor`.")}
}

// mayBeHeld reports whether planning mode may restrict the call, by the phases recorded next to the logs. It checks all workspaces if the
// host's input is unreadable or no workspace is found. It takes no lock that could block.
func (a *app) mayBeHeld(call hook.Call, readable bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), lastLook)
	defer cancel()
	everywhere := workspace.Lookup{Getenv: a.getenv}.States
	if !readable { // or not read yet, while another goroutine may still search for the workspace
		return a.anyRestricted(ctx, everywhere())
	}
	place, err := a.find(ctx, nil)
	if err != nil {
		return a.anyRestricted(ctx, everywhere())
	}
	call.Dir = cmp.Or(call.Dir, place.Path)
	states := append(presence.Open(place.StateDir, presence.Options{}).OtherStates(a.chain), place.StateDir)
	for _, at := range call.PossiblePaths() {
		for _, other := range a.others(place, at) {
			states = append(states, other.StateDir)
		}
		if ctx.Err() != nil {
			return true
		}
	}
	return a.anyRestricted(ctx, states)
}

// anyRestricted reports whether one of the states is restricted, or could not be read in time.
func (a *app) anyRestricted(ctx context.Context, states []string) bool {
	return slices.ContainsFunc(states, func(state string) bool {
		head, err := sqlite.New(state, sqlite.Options{}).CachedHead(ctx)
		return err != nil || head.Phase.IsRestricted() && a.stillRestricted(ctx, workspace.FromState(state))
	})
}

// stillRestricted reports whether a mode that was last recorded as on is still on; true if that takes too long. The mode may have expired
// unrecorded. A hung goroutine is abandoned; this process ends soon.
func (a *app) stillRestricted(ctx context.Context, place workspace.Workspace) bool {
	told := make(chan bool, 1)
	go func() {
		still, err := a.restricted(ctx, place)
		told <- err != nil || still
	}()
	select {
	case still := <-told:
		return still
	case <-ctx.Done():
		return true
	}
}

// adopt drafts the plan that an agent keeps in its host, if no plan is open. It reports nothing: the agent did not ask for the draft, and
// any shell can fake a hook call, so the draft has no effect until a person decides.
func (a *app) adopt(ctx context.Context, opened *opened, call hook.Call) {
	adopted := call.HostPlan()
	if adopted == nil {
		return
	}
	caller := a.hookCaller(opened)
	if caller.Actor.Kind != plan.Agent { // the call comes from the host's agent, even if a person's process runs the hook
		caller = verbs.Caller{Actor: plan.NewActor(plan.ChannelAgentShell, string(call.Host)), Face: terminal.CommandLine{}}
	}
	if _, err := opened.verbs.AdoptHostPlan(ctx, caller, *adopted); err != nil {
		a.logger().Debug("a host's plan was not adopted", "host", call.Host, "error", err)
	}
}
