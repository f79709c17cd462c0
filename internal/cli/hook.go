package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/team"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// hookTimeout bounds a hook's answer, below the time-out of every host. phaseTimeout is the additional time to read the phase after that,
// or after an error.
const (
	hookTimeout  = 4 * time.Second
	phaseTimeout = 500 * time.Millisecond
)

func newHookCommand(a *app) *cobra.Command {
	return newCommand("hook", "HOST EVENT", exactly(2, "a host and one of its events"), func(cmd *cobra.Command, args []string) error {
		return a.hook(cmd.Context(), hook.Host(args[0]), args[1])
	})
}

// hook answers a host. In planning mode every error refuses the call; otherwise errors stay silent.
func (a *app) hook(ctx context.Context, host hook.Host, event string) error {
	a.isHook, a.noWarnings, a.inIsTerminal = true, true, false // no person runs a host's hooks, even if one started the host
	a.recordErrors("hook " + string(host) + " " + event)
	if unknown := hook.NameProblem(host, event); unknown != "" { // does not stop the host, but a person should see it
		fmt.Fprintln(a.err, unknown)
		a.errorLog.record(unknown)
		return nil
	}
	soon, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	answer, err := await(soon, func() (hookAnswer, error) { return a.answerHook(soon, host, event), nil })
	if err == nil {
		if answer.review != nil {
			answer.Answer = a.awaitReview(ctx, answer)
		}
		return a.writeAnswer(answer)
	}
	call, _ := hook.Read(host, event, nil)
	late := errors.New("the hook took too long")
	err = a.writeAnswer(hookAnswer{call: call, Answer: a.failureAnswer(call, late, false)})
	noted := make(chan struct{})
	go func() { a.errorLog.record(message(late)); close(noted) }()
	select {
	case <-noted:
	case <-time.After(phaseTimeout):
	}
	os.Exit(a.report(ctx, err)) // the hung goroutine cannot be waited for
	return nil
}

// hookAnswer is an answer with the call that it belongs to.
type hookAnswer struct {
	call hook.Call
	hook.Answer
	review *verbs.HostReview // that the answer has to wait for; usually nil
}

func (a *app) writeAnswer(answer hookAnswer) error {
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
			answer.Answer = a.failureAnswer(call, err, readable)
			a.errorLog.record(message(err))
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
	a.hookSession, a.isCleared = call.Session, call.IsCleared
	a.hostLookup = workspace.Lookup{Dir: call.Dir, Roots: call.Roots, Hosted: true}
	call.Roots = append(call.Roots, a.lookup().HostDirs()...)
	ws, err := a.open(ctx, nil)
	if err != nil {
		return answer
	}
	answer, err = a.answerCall(ctx, ws, call)
	if answer.call = call; err == nil && !a.isModelProcess() {
		a.recordCall(ws, answer)
	}
	return answer
}

// recordCall records that the host calls its hooks, and that its agent is at work.
func (a *app) recordCall(ws *openWorkspace, answer hookAnswer) {
	call := answer.call
	sign := presence.Hook{Host: string(call.Host), Session: call.Session, Subagent: call.Subagent, Version: call.Version, Event: call.Event,
		ChecksTool: call.Moment == hook.BeforeTool, Call: presence.CallID{Use: call.Use, Arguments: mcpserver.Fingerprint(call.Input)}}
	if sign.ChecksTool && call.IsOwn() && answer.Refuse == "" {
		sign.Tool = call.Name
		sign.Creates = !slices.ContainsFunc(verbs.Table(), func(row verbs.Row) bool { return row.Name == call.Name && row.ReadOnly })
	}
	ws.presence.RecordHook(a.ancestors, sign)
	if call.Moment == hook.SessionStart {
		a.hookSettings(ws.place, string(call.Host)) // notes when they changed, before the session's first call
		if call.Host == hook.Claude && call.IsNew && a.rewriteProblem(ws, call) == "" {
			ws.presence.AllowRewrites(a.ancestors)
		}
	}
	if client := ws.client(); client != "" {
		ws.presence.Touch(client)
	}
}

// answerCall returns the answer if nothing fails. Inside the model the host only answers planloop's prompt: its session does not work on
// the plan, but planning mode restricts it too, since any program could set the model's mark.
func (a *app) answerCall(ctx context.Context, ws *openWorkspace, call hook.Call) (answer hookAnswer, err error) {
	if call.Dir == "" {
		call.Dir = ws.place.Path
	}
	inside := a.isModelProcess()
	if !inside {
		answer.Context = a.followHostReview(ctx, ws, call)
	}
	switch {
	case call.Moment == hook.BeforeTool:
		policy := a.hookPolicy(ws, call.Host)
		err := policy.Check(ctx, call)
		refused, isRefused := errors.AsType[*plan.ValidationError](err)
		if isRefused || err == nil {
			if answer.Command = a.rewritten(ws, policy, call, isRefused); answer.Command != "" {
				return answer, nil
			}
		}
		if isRefused {
			withoutField := *refused
			withoutField.Field = "" // only planloop's own tools have fields
			answer.Refuse = withoutField.Error()
			return answer, nil
		}
		if err == nil && !inside {
			a.adopt(ctx, ws, call)
			answer = a.submitShownPlan(ctx, ws, call)
		}
		return answer, err
	case inside:
	case call.Moment == hook.AfterTool:
		if answer.Context == "" {
			a.adopt(ctx, ws, call)
		}
	case call.Moment == hook.SessionStart:
		state, err := ws.verbs.State(ctx)
		if err != nil {
			return answer, err
		}
		answer.Context, err = ws.verbs.Briefing(ctx, state, a.hookCaller(ws))
		return answer, err
	case call.Moment == hook.AskUser:
		answer = a.submitShownPlan(ctx, ws, call)
	case call.Moment == hook.Stop:
		if answer = a.submitShownPlan(ctx, ws, call); answer.review == nil && answer.Refuse == "" {
			answer.Answer, err = a.answerStop(ctx, ws, call)
		}
	}
	return answer, err
}

// answerStop reminds an agent of its unfinished work, once for each reminder. Only an agent that is known by its server or its name has
// work here, and in a headless run the reminder would cost the run its answer.
func (a *app) answerStop(ctx context.Context, ws *openWorkspace, call hook.Call) (hook.Answer, error) {
	if call.IsContinued || call.Subagent != "" || ws.config.RemindersOff {
		return hook.Answer{}, nil
	}
	state, err := ws.verbs.State(ctx)
	if err != nil {
		return hook.Answer{}, err
	}
	caller := a.hookCaller(ws)
	left := ws.verbs.UnfinishedWork(state, caller)
	if left == "" || caller.Actor.Kind != plan.Agent || hook.IsHeadless(call.Host, process.Starter(a.ancestors()).Args(), a.getenv) ||
		!ws.presence.IsFirst(call.Session, left) {
		return hook.Answer{}, nil
	}
	return hook.Answer{Continue: left}, nil
}

// hookCaller returns the agent of the calling host, with texts that name its own tools.
func (a *app) hookCaller(ws *openWorkspace) verbs.Caller {
	caller := a.caller()
	caller.Face = mcpserver.Tools{Toolsets: toolsets(ws.config), User: terminal.CommandLine{}}
	return caller
}

func (a *app) hookPolicy(ws *openWorkspace, host hook.Host) hook.Policy {
	home, _ := a.home()
	return hook.Policy{
		Guard:      func(ctx context.Context, path string) (toolbox.Hold, error) { return a.holdForHook(ctx, ws, path) },
		Named:      func(ctx context.Context, places []string) (toolbox.Hold, error) { return a.holdByName(ctx, ws, places) },
		HasTool:    mcpserver.IsTool,
		IsServer:   func(call hook.Call) bool { return a.servesHost(ws.place, call) },
		IsShadowed: func(call hook.Call) bool { return shadowed(ws.place, call) },
		Find:       a.findDefinition, SeesSubagents: func() bool { return ws.presence.SeesSubagents(a.ancestors()) },
		IsHostNote: func(path string) bool { return isHostNote(path, ws.place, hook.PlanFolders(host, home, a.getenv)) },

		Windows: runtime.GOOS == "windows", ReadOnlyTools: ws.config.ReadOnlyTools, Confine: confining(),
		ReadOnlyCommands: ws.config.ReadOnlyCommands,
	}
}

// holdForHook returns the hold on a path for the agent of the calling host: one that holds for every agent, or the planning mode of a
// workspace that one of its servers serves, although the agent works elsewhere.
func (a *app) holdForHook(ctx context.Context, ws *openWorkspace, path string) (toolbox.Hold, error) {
	if hold, err := a.holdOn(ctx, ws, path); err != nil || hold.By != "" {
		return hold, err
	}
	for _, state := range ws.presence.OtherStates(a.ancestors) {
		for _, track := range tracksToCheck(workspace.FromState(state)) {
			if hold, err := a.holdOf(ctx, track); err != nil || hold.By != "" {
				return hold, err
			}
		}
	}
	return toolbox.Hold{}, nil
}

// tracksToCheck returns the tracks of a workspace that may be in planning mode: main, and the marked ones.
func tracksToCheck(place workspace.Workspace) []workspace.Workspace {
	marked := slices.DeleteFunc(place.MarkedTracks(), func(w workspace.Workspace) bool { return w.Track == "" })
	return append(marked, place.On(workspace.MainTrack))
}

// holdByName returns the hold of a workspace that a command names, although the agent works elsewhere.
func (a *app) holdByName(ctx context.Context, ws *openWorkspace, places []string) (toolbox.Hold, error) {
	_, isClosed, err := a.refreshCopies(ctx, ws.place, places...)
	if err != nil || isClosed {
		return toolbox.Hold{By: toolbox.ServerAway}, err
	}
	for _, named := range (workspace.Lookup{Getenv: a.getenv}).MarkedAt(places...) {
		if named.SharedDir() == ws.place.SharedDir() {
			continue // there it depends on the session's track: see holdIn
		}
		if hold, err := a.holdOf(ctx, named); err != nil || hold.By != "" {
			return hold, err
		}
	}
	return toolbox.Hold{}, nil
}

// isHostNote reports whether a file lies in one of the folders without a link that leads elsewhere. No file of the workspace counts: its
// own files could claim to be aside.
func isHostNote(path string, place workspace.Workspace, folders []string) bool {
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

// failureAnswer returns the answer after an error: a refusal if planning mode may be on. The cause is for a person to fix, not for the
// agent.
func (a *app) failureAnswer(call hook.Call, cause error, readable bool) hook.Answer {
	if call.Moment != hook.BeforeTool || !a.mayBeRestricted(call, readable) {
		return hook.Answer{}
	}
	return hook.Answer{Refuse: "planning mode may be on, and planloop could not check whether this call only reads. " +
		mcpserver.Advice(cause, "Call the tool again; if that also fails, ask the user to run `planloop doctor`.")}
}

// mayBeRestricted reports whether planning mode may restrict the call, by the phases recorded next to the logs. It checks all workspaces if
// the host's input is unreadable or no workspace is found. It takes no lock that could block.
func (a *app) mayBeRestricted(call hook.Call, readable bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), phaseTimeout)
	defer cancel()
	everywhere := func() []string {
		lookup := workspace.Lookup{Getenv: a.getenv}
		states := lookup.States()
		for _, marked := range lookup.Marks() {
			states = append(states, marked.StateDir)
		}
		return states
	}
	if !readable { // or not read yet, while another goroutine may still search for the workspace
		return a.anyRestricted(ctx, everywhere())
	}
	place, err := a.find(ctx, nil)
	if err != nil {
		return a.anyRestricted(ctx, everywhere())
	}
	call.Dir = cmp.Or(call.Dir, place.Path)
	var states []string
	for _, state := range append(presence.Open(place.SharedDir(), presence.Options{}).OtherStates(a.ancestors), place.SharedDir()) {
		for _, track := range tracksToCheck(workspace.FromState(state)) {
			states = append(states, track.StateDir)
		}
	}
	for _, at := range call.PossiblePaths() {
		for _, other := range a.overlapping(place, at) {
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
		_, isMarked := workspace.FromState(state).Marked()
		return err != nil || head.Seq == 0 && isMarked || head.Phase.IsRestricted() && a.stillRestricted(ctx, workspace.FromState(state))
	})
}

// stillRestricted reports whether a mode that was last recorded as on is still on; true if that takes too long. The mode may have expired
// unrecorded.
func (a *app) stillRestricted(ctx context.Context, place workspace.Workspace) bool {
	hold, err := await(ctx, func() (toolbox.Hold, error) { return a.holdOf(ctx, place) })
	return err != nil || hold.By != ""
}

// adopt drafts the plan that an agent keeps in its host, or marks the steps of the plan in force that it names. It reports nothing: the
// agent did not ask for it. Any shell can fake a hook call, so a draft has no effect until a person decides, and marks are no evidence.
func (a *app) adopt(ctx context.Context, ws *openWorkspace, call hook.Call) {
	adopted := call.HostPlan(a.hostFiles(call))
	if adopted == nil {
		return
	}
	adopted.IsActorGuessed = a.hookCaller(ws).Actor.Kind != plan.Agent
	if _, err := ws.verbs.AdoptHostPlan(ctx, a.hostAgent(ws, call), *adopted); err != nil {
		a.logger().Debug("a host's plan was not adopted", "host", call.Host, "error", err)
	}
}

// hookReports lists the hooks that have called, and their agents.
type hookReports struct {
	*presence.Registry
	app    *app
	place  workspace.Workspace
	copied *team.Copy
}

// Agents returns the agents at work.
func (h hookReports) Agents() []verbs.ActiveAgent {
	var all []verbs.ActiveAgent
	for _, one := range h.Registry.Agents() {
		work := verbs.ActiveAgent{Agent: h.copied.Actor(plan.NewActor(plan.ChannelMCP, one.Client)).Name, Self: one.IsSelf,
			HTTP: one.HTTP, Host: one.Sign.Host, Answered: one.Sign.ToolChecked}
		for _, call := range one.Unseen {
			work.Unseen = append(work.Unseen, verbs.UnseenCall(call))
		}
		work.Elsewhere = h.otherTrack(one.Sessions)
		host, _ := hosts.OfClient(cmp.Or(one.Sign.Host, one.Client))
		work.Title, work.Settings = host.Title, func() verbs.HookSettings {
			if work.Elsewhere != "" {
				return verbs.HookSettings{Fix: "planloop plan start --all, which holds the sessions of all tracks"}
			}
			return h.app.hookSettings(h.place, host.Name)
		}
		all = append(all, work)
	}
	return all
}

// otherTrack returns the track that all of the sessions are on, if it is another one than this; else "".
func (h hookReports) otherTrack(sessions []string) (other string) {
	for _, session := range sessions {
		on := h.Bound(session).Track
		if on == "" || on == h.place.TrackName() {
			return ""
		}
		other = on
	}
	return other
}

// hookSettings returns what the settings of a host, "" if it is unknown, say about planloop's hooks.
func (a *app) hookSettings(place workspace.Workspace, host string) verbs.HookSettings {
	found := verbs.HookSettings{Fix: "planloop init, then start a new session"}
	m, err := a.homeMachine()
	if err != nil || host == "" {
		return found
	}
	if m.Project = place.Path; place.Default {
		m.Project = m.Home
	}
	coverage := m.Coverage(host)
	if found.Changed = coverage.Changed; len(coverage.Problems) == 0 {
		found.Fix = "start a new session"
		return found
	}
	problem, fix, _ := strings.Cut(coverage.Problems[0], "; ")
	found.Problem, found.Fix = problem, cmp.Or(fix, found.Fix)
	return found
}

// servesHost reports whether this program is the server that a host calls planloop: the host says that it starts this program, or no file
// of the project gives the name to another one and the host has a living server of planloop.
func (a *app) servesHost(place workspace.Workspace, call hook.Call) bool {
	if call.Program != "" {
		program, err := exec.LookPath(call.Program) // a path of the workspace is an error, or not this program
		return err == nil && filepath.IsAbs(program) && sameFile(program, ownPath())
	}
	m, err := a.homeMachine()
	if err != nil {
		return false
	}
	for _, m.Project = range slices.Compact(append([]string{place.Path, call.Dir}, call.Roots...)) {
		if found, _ := m.Inspect(string(call.Host), hosts.Request{Scope: hosts.Project, NoHooks: true}); found.Server == hosts.Foreign {
			return false
		}
	}
	return presence.HasServer(place.SharedDir(), a.ancestors())
}

// shadowed reports whether the command names planloop while the PATH finds a program of that name in the workspace.
func shadowed(place workspace.Workspace, call hook.Call) bool {
	if !strings.Contains(call.Command, hook.OwnServer) {
		return false
	}
	program, err := exec.LookPath(hook.OwnServer)
	inside, wrong := filepath.Rel(place.Path, program)
	return program != "" && (err != nil || wrong == nil && filepath.IsLocal(inside) && !sameFile(program, ownPath()))
}
