package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/model"
	"github.com/planloop/planloop/internal/notify"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// engines is the set of engines that work in a workspace, in any process.
type engines struct {
	stateDir string
	presence engine.Presence
	session  *session.Session
	actor    func(plan.Actor) plan.Actor
}

func (c engines) Lives() bool { return engine.IsRunning(c.stateDir, c.presence) }

func (c engines) SettleLost(ctx context.Context) error {
	return engine.New(c.session, nil, c.presence, engine.Options{StateDir: c.stateDir, Actor: c.actor}).SettleLost(ctx)
}

func (c engines) Running() []verbs.RunningStep {
	return plan.Map(engine.ReadRunningSteps(c.stateDir), func(step engine.RunningStep) verbs.RunningStep {
		return verbs.RunningStep{Step: step.Step, Percent: step.Percent, What: step.What, Log: step.Log}
	})
}

// lockHolder returns the step of any track that runs with a lock, "" without one.
func lockHolder(place workspace.Workspace, lock string) string {
	for _, track := range place.OpenTracks() {
		for _, step := range engine.ReadRunningSteps(track.StateDir) {
			if step.Lock == lock {
				return step.Step.String() + " of track " + track.TrackName()
			}
		}
	}
	return ""
}

type stepEngine struct{ *app }

func (e stepEngine) Run(ctx context.Context, o verbs.EngineOptions) (plan.StopReason, error) {
	if e.getenv("GOGC") == "" {
		debug.SetGCPercent(75) // a plan of 10,000 steps stays below 100 MiB, at no measurable cost in time
	}
	ws, err := e.open(ctx, nil)
	if err != nil {
		return "", err
	}
	box, err := e.box()
	if err != nil {
		return "", err
	}
	defer func() { _ = box.Close() }()
	state, err := ws.verbs.State(ctx)
	if err != nil {
		return "", err
	}
	ws.servers.refreshFor(ctx, state.Plan) // so that the run uses the tools as offered now
	if err := refuseGone(ws.place.Path); err != nil {
		return "", err
	}
	options := engine.Options{Parallel: ws.config.Parallel, Logger: e.logger(), Files: box.Files, Workspace: ws.place.Path,
		Notice: ws.verbs.NotifyRun, Actor: ws.copied.Actor}
	if !e.flags.ephemeral {
		options.StateDir, options.Shared = ws.place.StateDir, ws.place.SharedDir()
	}
	if o.Agents {
		agents, err := e.configuredAgents(ws.place, ws.config)
		if err != nil {
			return "", err
		}
		if agents != nil {
			options.Agents, options.Track = agents, ws.place.TrackName()
			options.Prompt = func(ctx context.Context, state plan.State, id plan.StepID, o engine.WorkOrder) string {
				step, _ := state.Plan.Steps.Get(id)
				return ws.verbs.WorkPrompt(ctx, state, step, verbs.WorkOrder(o))
			}
		}
	}
	return engine.New(ws.session, box.Tools(), signsOn(ws.copied, ws.presence), options).Run(ctx, engine.RunOptions{
		Parallel: o.Parallel, Wait: o.Wait, Drain: o.Drain, Begin: o.Begin, Listener: o.Listener, OnWait: o.OnWait, Starts: o.Starts,
		For: o.For, Only: o.Only})
}

// refuseGone refuses to run the plan of a workspace without its folder.
func refuseGone(folder string) error {
	if gone := engine.WorkspaceGone(folder); gone != "" {
		return plan.Refuse(plan.Conflict, "", gone, "bring the folder back, or run planloop in another one")
	}
	return nil
}

// reportsFile is the file to which a detached process writes why it cannot begin.
const reportsFile = 3

// startDetached starts planloop in a process that outlives this one, and returns once that process closes its reports. Its error is the
// text of the reports.
func (a *app) startDetached(environment []string, args ...string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	reads, reports, err := os.Pipe()
	if err != nil {
		return err
	}
	defer reads.Close()
	cmd := exec.Command(program, args...)
	cmd.Args[0], cmd.ExtraFiles = os.Args[0], []*os.File{reports}
	cmd.Env = append(cmd.Environ(), environment...)
	process.Detach(cmd)
	if err := errors.Join(cmd.Start(), reports.Close()); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // ends with either process; a zombie would count as an engine that lives
	text, err := io.ReadAll(reads)
	if text := strings.TrimSpace(string(text)); text != "" {
		err = errors.New(strings.TrimPrefix(text, "planloop: "))
	}
	return err
}

// reportToStarter makes a detached process write its errors to the one that started it, until began is called, and to the error log.
func (a *app) reportToStarter(who string) (began func() error) {
	a.recordErrors(who)
	reports := os.NewFile(reportsFile, "reports")
	a.err = reports
	return reports.Close
}

// detachEngine starts an engine for the open run in a process that outlives this one. It starts tools and no agents, and no process below
// it counts as a person's.
func (a *app) detachEngine(ctx context.Context, o verbs.EngineOptions) error {
	if runtime.GOOS == "windows" {
		return plan.Refuse(plan.Conflict, "", "on Windows a run ends with its terminal or host", "leave out --detach")
	}
	ws, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	environment := []string{process.EnvFamily + "=" + rand.Text()}
	for key, value := range a.settings {
		environment = append(environment, workspace.Variable(key)+"="+value)
	}
	if err := refuseGone(ws.place.Path); err != nil {
		return err
	}
	args := []string{"run", "--detached", "--parallel", strconv.Itoa(o.Parallel), "--workspace", ws.place.Path,
		"--track", ws.place.TrackName()}
	if o.For > 0 {
		args = append(args, "--for", o.For.String())
	}
	if o.From != 0 {
		args = append(args, "--from", o.From.String())
	}
	for _, step := range o.Only {
		args = append(args, step.String())
	}
	return a.startDetached(environment, args...)
}

// runDetached is the engine that detachEngine starts.
func (a *app) runDetached(ctx context.Context, o verbs.EngineOptions) error {
	began := a.reportToStarter("run")
	ws, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	ctx, drain, over := a.interrupts(ctx)
	defer over()
	o.Joins, o.Drain, o.Begin = true, drain, func(context.Context) error { return began() }
	_, err = ws.verbs.Run(ctx, a.caller(), o)
	return err
}

// installed reports whether a program of that name is on the PATH.
func installed(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// verify runs a step's verify command in the workspace.
func (a *app) verify(ctx context.Context, step *plan.Step) (plan.Evidence, error) {
	box, err := a.box()
	if err != nil {
		return plan.Evidence{}, err
	}
	defer func() { _ = box.Close() }()
	return engine.Verify(ctx, box.Tools(), step)
}

// configuredAgents returns the agents of the user's configuration, nil if none.
func (a *app) configuredAgents(place workspace.Workspace, c workspace.Config) (*engine.Agents, error) {
	if !c.Agents.Given() {
		return nil, nil
	}
	var config engine.AgentConfig
	if err := c.Agents.Decode(&config); err != nil {
		return nil, err
	}
	return engine.NewAgents(config, engine.AgentOptions{Workspace: place.Path, Mirror: mirrorFile(c.Mirror, place.Track),
		Launcher: a.launch(), Logger: a.logger()})
}

type notices struct {
	notifier  *notify.Notifier // nil: none is configured
	workspace string
}

func (a *app) notices(place workspace.Workspace, section workspace.Section) notices {
	if !section.Given() {
		return notices{}
	}
	var config notify.Config
	err := section.Decode(&config)
	var notifier *notify.Notifier
	if err == nil {
		notifier, err = notify.New(config, notify.Options{Logger: a.logger(), Launcher: a.launch()})
	}
	if err != nil { // the plan matters more than its notices
		a.warn("no notices are sent: " + err.Error())
		return notices{}
	}
	return notices{notifier, place.Path}
}

// tell sends a notice without waiting for its delivery.
func (n notices) tell(notice verbs.Notice) {
	if n.notifier == nil {
		return
	}
	sent := notify.Notice{Event: notice.Event, Workspace: n.workspace, Title: notice.Title, Text: notice.Text,
		PlanID: notice.PlanID, Questions: notice.Questions}
	for _, step := range notice.Steps {
		sent.Steps = append(sent.Steps, notify.Step{ID: step.ID, Title: step.Title, Risk: string(step.Risk)})
	}
	n.notifier.Notify(sent)
}

// close waits a few seconds at most for pending notices.
func (n notices) close(a *app) {
	if n.notifier == nil {
		return
	}
	if err := n.notifier.Close(context.Background()); err != nil {
		a.logger().Warn("some notices were not delivered", "error", err)
	}
}

// configuredModel returns the model of the user's configuration, nil if it is missing or cannot be used. It starts no program.
func (a *app) configuredModel(section workspace.Section) verbs.Model {
	asked, err := a.modelIn(section)
	if err != nil {
		a.warn("the model is not used: " + err.Error())
	}
	if asked == nil {
		return nil
	}
	return asked
}

func (a *app) modelIn(section workspace.Section) (*model.Model, error) {
	if !section.Given() {
		return nil, nil
	}
	var config model.Config
	if err := section.Decode(&config); err != nil {
		return nil, err
	}
	return model.New(config, a.launch())
}

// modelFault returns why the configured model cannot be asked; nil if it can, or if none is configured.
func (a *app) modelFault(section workspace.Section) error {
	asked, err := a.modelIn(section)
	if err != nil || asked == nil {
		return err
	}
	_, err = asked.Program()
	return err
}
