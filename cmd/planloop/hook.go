package main

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

// How long a hook takes at most, which is less than any host gives it, and how long once that or the rest has failed,
// to find out in which phase it is.
const (
	hookPatience = 4 * time.Second
	lastLook     = 500 * time.Millisecond
)

func newHookCommand(a *app) *cobra.Command {
	return newCommand("hook", "HOST EVENT", exactly(2, "a host and one of its events"), func(cmd *cobra.Command, args []string) error {
		return a.hook(cmd.Context(), hook.Host(args[0]), args[1])
	})
}

// hook answers a host. Where an agent may only read, whatever goes wrong refuses; elsewhere it says nothing.
func (a *app) hook(ctx context.Context, host hook.Host, event string) error {
	a.quiet, a.inTerminal = true, false // whoever started the host, no person runs its hooks
	if a.insideModel() {
		// The host only answers planloop's prompt; its session is not one that works on the plan.
		call, _ := hook.Read(host, event, nil)
		return a.tellHost(hookAnswer{call: call})
	}
	a.unwatched("hook " + string(host) + " " + event)
	if unknown := hook.Misnamed(host, event); unknown != "" { // which a host is not held up by, and a person is to find
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
		os.Exit(a.report(ctx, err)) // what hangs cannot be waited for
		return nil
	}
}

// hookAnswer is what is said to which call.
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

// answerHook reads what the host tells and finds the answer. It does not panic: that would let the tool run.
func (a *app) answerHook(ctx context.Context, host hook.Host, event string) (answer hookAnswer) {
	call, _ := hook.Read(host, event, nil) // what is known before it tells anything
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
	payload, err := io.ReadAll(io.LimitReader(a.in, hook.Most+1))
	if err != nil {
		return answer
	}
	call, err = hook.Read(host, event, payload)
	call.Version = cmp.Or(call.Version, hook.VersionIn(host, a.getenv))
	call.Home, _ = a.home() // without one nothing is read as being in it
	answer.call = call
	if readable = err == nil; !readable || call.Moment == hook.Elsewhen {
		return answer
	}
	a.told = workspace.Lookup{Dir: call.Dir, Roots: call.Roots, Hosted: true}
	opened, err := a.open(ctx, nil)
	if err != nil {
		return answer
	}
	answer.Answer, err = a.atMoment(ctx, opened, call)
	if err == nil {
		a.signOfLife(opened, answer)
	}
	return answer
}

// signOfLife lets others see that the host calls its hooks, and that its agent is at work.
func (a *app) signOfLife(opened *opened, answer hookAnswer) {
	call := answer.call
	sign := presence.Hook{Host: string(call.Host), Session: call.Session, Subagent: call.Subagent, Version: call.Version, Event: call.Event,
		Judges: call.Moment == hook.BeforeTool}
	if sign.Judges && call.Own() && answer.Refuse == "" {
		sign.Tool = call.Name
	}
	opened.seen.Answered(a.chain, sign)
	if client := opened.client(); client != "" {
		opened.seen.Touch(client)
	}
}

// atMoment is the answer where all goes well.
func (a *app) atMoment(ctx context.Context, opened *opened, call hook.Call) (hook.Answer, error) {
	if call.Dir == "" {
		call.Dir = opened.place.Path
	}
	switch call.Moment {
	case hook.BeforeTool:
		err := a.hookPolicy(opened, call.Host).Judge(ctx, call)
		var refused *plan.ValidationError
		if errors.As(err, &refused) {
			told := *refused
			told.Field = "" // which only planloop's own tools have
			return hook.Answer{Refuse: told.Error()}, nil
		}
		if err == nil {
			a.adopt(ctx, opened, call)
		}
		return hook.Answer{}, err
	case hook.AfterTool:
		a.adopt(ctx, opened, call)
	case hook.SessionStart:
		state, err := opened.verbs.State(ctx)
		return hook.Answer{Context: opened.verbs.Briefing(state, a.hookCaller(opened))}, err
	case hook.Stop:
		return a.atStop(ctx, opened, call)
	}
	return hook.Answer{}, nil
}

// atStop tells an agent what it leaves behind, once for each thing it leaves.
func (a *app) atStop(ctx context.Context, opened *opened, call hook.Call) (hook.Answer, error) {
	if call.Again || call.Subagent != "" || opened.config.Reminders == workspace.RemindersOff {
		return hook.Answer{}, nil
	}
	state, err := opened.verbs.State(ctx)
	if err != nil {
		return hook.Answer{}, err
	}
	left := opened.verbs.LeftBehind(state, a.hookCaller(opened))
	if left == "" || !opened.seen.Once(call.Session, left) {
		return hook.Answer{}, nil
	}
	return hook.Answer{GoOn: left}, nil
}

// hookCaller is the agent whose host calls, as its own tools are worded.
func (a *app) hookCaller(opened *opened) verbs.Caller {
	caller := a.caller()
	caller.Face = mcpserver.Tools{Toolsets: toolsets(opened.config), User: terminal.CommandLine{}}
	return caller
}

func (a *app) hookPolicy(opened *opened, host hook.Host) hook.Policy {
	return hook.Policy{
		Guard: func(ctx context.Context, path string) (toolbox.Hold, error) { return a.heldForHook(ctx, opened, path) },
		Own:   mcpserver.IsTool,
		Aside: func(path string) bool { return aside(path, opened.place, hook.Notes(host, a.getenv)) },

		Windows: runtime.GOOS == "windows", ReadOnlyTools: opened.config.ReadOnlyTools,
	}
}

// heldForHook tells what allows only reading at a path to the agent whose host calls: what does to any, and the
// planning mode of a workspace that a server of its own serves although the agent works elsewhere.
func (a *app) heldForHook(ctx context.Context, opened *opened, path string) (toolbox.Hold, error) {
	if hold, err := a.held(ctx, opened, path); err != nil || hold.By != "" {
		return hold, err
	}
	for _, state := range opened.seen.ServedBeside(a.chain) {
		if hold, err := a.heldBy(ctx, workspace.OfState(state), "read and ask, then submit a plan"); err != nil || hold.By != "" {
			return hold, err
		}
	}
	return toolbox.Hold{}, nil
}

// aside reports whether a file lies in one of some folders, and no link leads out of it. Nothing lies aside in the
// workspace itself, whose own files could say that it does.
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

// whenFailed is the answer where something went wrong: a refusal where nothing may be changed, or where that
// cannot be told. What exactly went wrong is a person's to mend, not the agent's.
func (a *app) whenFailed(call hook.Call, cause error, readable bool) hook.Answer {
	if call.Moment != hook.BeforeTool || !a.mayBeHeld(call, readable) {
		return hook.Answer{}
	}
	return hook.Answer{Refuse: "planning mode may be on, and whether this only reads could not be told. " +
		mcpserver.WayOut(cause, "Call the tool once more; if that fails too, ask the user to run `planloop doctor`.")}
}

// mayBeHeld looks at what is told beside the logs of the phase, wherever the call may change something: anywhere,
// where what the host told of it cannot be read, or no workspace is found. It takes nothing that could be held up.
func (a *app) mayBeHeld(call hook.Call, readable bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), lastLook)
	defer cancel()
	everywhere := workspace.Lookup{Getenv: a.getenv}.States
	if !readable { // or not yet: what looks for the workspace may still be at work
		return a.anyRestricted(ctx, everywhere())
	}
	place, err := a.find(ctx, nil)
	if err != nil {
		return a.anyRestricted(ctx, everywhere())
	}
	call.Dir = cmp.Or(call.Dir, place.Path)
	states := append(presence.Open(place.StateDir, presence.Options{}).ServedBeside(a.chain), place.StateDir)
	for _, at := range call.Places() {
		for _, other := range a.others(place, at) {
			states = append(states, other.StateDir)
		}
		if ctx.Err() != nil {
			return true
		}
	}
	return a.anyRestricted(ctx, states)
}

// anyRestricted reports whether one of some states restricts, or cannot be told not to in time.
func (a *app) anyRestricted(ctx context.Context, states []string) bool {
	return slices.ContainsFunc(states, func(state string) bool {
		head, err := sqlite.New(state, sqlite.Options{}).Glance(ctx)
		return err != nil || head.Phase.Restricted() && a.stillRestricted(ctx, workspace.OfState(state))
	})
}

// stillRestricted reports whether a mode that is on by the last word of it holds still, as far as can be told in time: it may
// have run out without anybody's having looked. What hangs is left behind; this process ends soon.
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
