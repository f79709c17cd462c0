package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/agentsmd"
	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/notify"
	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/runnable"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/tree"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// ruleBook is the rule book in the workspace's file for agents.
type ruleBook struct {
	workspace string
	file      string // relative path, with slashes
}

func (r ruleBook) canonical() string { return resources.AgentsMD(r.file) }

// Inspect reads the file on disk.
func (r ruleBook) Inspect() verbs.Rules {
	found, err := agentsmd.Inspect(r.workspace, r.file, r.canonical())
	rules := verbs.Rules{File: r.file, Exists: found.State != agentsmd.Absent, Content: string(found.Content)}
	known := false
	rules.State, known = map[agentsmd.State]string{agentsmd.InSync: "", agentsmd.Absent: "missing", agentsmd.Outdated: "outdated",
		agentsmd.NoBlock: "without planloop's rules", agentsmd.Edited: "changed within planloop's block"}[found.State]
	if !known || err != nil {
		rules.State = "not usable"
	}
	switch {
	case err != nil:
		rules.Problem = err.Error()
	case found.Refusal != nil:
		rules.Problem = found.Refusal.Error()
	}
	return rules
}

// settled is how long a file must be unchanged before it is read.
const settled = 50 * time.Millisecond

// Changed receives when the file may have changed.
func (r ruleBook) Changed(ctx context.Context) <-chan struct{} {
	changed, err := agentsmd.Watch(ctx, r.workspace, r.file, settled)
	if err != nil {
		return nil // a status reads the file anyway
	}
	return changed
}

// files gives access to the workspace's files, opened on first use and closed with the process.
type files struct {
	open func() (*tree.Tree, error)
}

func newFiles(workspace string) files {
	return files{open: sync.OnceValues(func() (*tree.Tree, error) { return tree.Open(workspace) })}
}

// Files returns a file system rooted in the workspace.
func (t files) Files() (fs.FS, error) {
	opened, err := t.open()
	if err != nil {
		return nil, err
	}
	return opened.FS(), nil
}

// Summary returns the tree in a few lines.
func (t files) Summary(ctx context.Context) (string, error) {
	opened, err := t.open()
	if err != nil {
		return "", err
	}
	return tree.Summary(ctx, opened, tree.SummaryOptions{}), nil
}

// Document returns a text file, cut to max bytes.
func (t files) Document(path string, max int) (string, bool) {
	opened, err := t.open()
	if err != nil {
		return "", false
	}
	return opened.ReadText(path, max)
}

// surveyed limits the findings of a survey.
const surveyed = 200

// Survey scans the tree.
func (t files) Survey(ctx context.Context, done func(files int)) (found []verbs.Suggestion, cut string, err error) {
	opened, err := t.open()
	if err != nil {
		return nil, "", err
	}
	result, err := tree.Scan(ctx, opened, tree.ScanOptions{Progress: done})
	if err != nil {
		return nil, "", err
	}
	for _, f := range result.Findings[:min(len(result.Findings), surveyed)] {
		found = append(found, verbs.Suggestion{Title: f.Title, Type: plan.StepType(f.Type), ContextHints: f.Hints,
			RelevantFilePaths: f.Paths, Reason: reason(f), Line: f.Line})
	}
	return found, result.Note(), nil
}

func reason(f tree.Finding) string {
	text := fmt.Sprintf("mark at %s:%d", f.Path, f.Line)
	if f.Count > 1 {
		text += fmt.Sprintf(" and %d more places", f.Count-1)
	}
	return text
}

// attested lists the hooks that have called, and their agents.
type attested struct{ *presence.Registry }

// Agents returns the agents at work.
func (a attested) Agents() []verbs.ActiveAgent {
	var all []verbs.ActiveAgent
	for _, one := range a.Registry.Agents() {
		work := verbs.ActiveAgent{Agent: one.Client, Self: one.IsSelf, HTTP: one.HTTP, Host: one.Sign.Host, Answered: one.Sign.ToolChecked}
		for _, call := range one.Unseen {
			work.Unseen = append(work.Unseen, verbs.UnseenCall(call))
		}
		all = append(all, work)
	}
	return all
}

// notices sends notices to the configured targets.
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

// toolInfos describes the tools that steps can name.
func toolInfos(others *otherServers) []verbs.ToolInfo {
	var tools []verbs.ToolInfo
	for _, row := range toolbox.Table() {
		input, _, err := row.Schemas()
		if err != nil {
			continue // the schemas are embedded, and a test reads them all
		}
		tools = append(tools, verbs.ToolInfo{Name: row.Name, Description: row.Description, Schema: input})
	}
	for _, tool := range others.listed() {
		tools = append(tools, verbs.ToolInfo{Name: tool.Name, Description: mcpserver.LabelDescription(tool.Server, tool.Description),
			Schema: tool.Schema})
	}
	return tools
}

// stepTools are the tools that steps of plans may name, opened on first use.
type stepTools struct {
	box    func() (*toolbox.Box, error)
	others *otherServers
}

// Await waits for servers that have not listed their tools yet.
func (t stepTools) Await(ctx context.Context) { t.others.refresh(ctx) }

// Missing explains why a tool is missing.
func (t stepTools) Missing(name string) string { return t.others.missing(name) }

func (t stepTools) Tool(name string) (runnable.Tool, bool) {
	box, err := t.box()
	if err != nil {
		return nil, false
	}
	tool, known := box.Tools().Lookup(name)
	return tool, known
}

func (t stepTools) Names() []string {
	box, err := t.box()
	if err != nil {
		return nil
	}
	return box.Tools().Names()
}

// box opens the tools on the workspace's files, read-only while planning mode requires it.
func (a *app) box() (*toolbox.Box, error) {
	opened, err := a.open(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	if opened.place.Default {
		return nil, plan.Refuse(plan.Conflict, "", "this is not a project, so there are no files to work on",
			"start planloop in a project, or with --workspace DIR")
	}
	wall := a.wall(opened)
	return toolbox.Open(opened.place.Path, toolbox.Options{Launcher: a.launch(), Changed: wall.Changed, Guard: wall.Guard,
		Others: opened.others.forSteps})
}

// launcher returns a launcher that starts commands and ends all their descendants.
func (a *app) launcher() *process.Launcher {
	program, err := os.Executable()
	if err != nil {
		a.logger().Warn("commands run without a keeper that ends everything they start", "error", err)
	}
	return &process.Launcher{Program: program}
}

// crew is the set of engines that work in a workspace, in any process.
type crew struct {
	stateDir string
	seen     *presence.Registry
}

// Lives reports whether an engine takes part in the run.
func (c crew) Lives() bool { return engine.IsRunning(c.stateDir, c.seen) }

// Running returns the progress of the running steps.
func (c crew) Running() []verbs.RunningStep {
	var steps []verbs.RunningStep
	for _, step := range engine.ReadRunningSteps(c.stateDir) {
		steps = append(steps, verbs.RunningStep{Step: step.Step, Percent: step.Percent, What: step.What, Log: step.Log})
	}
	return steps
}

// stepEngine runs the steps of the plan with the workspace's tools.
type stepEngine struct{ *app }

// Run joins the run.
func (e stepEngine) Run(ctx context.Context, o verbs.EngineOptions) (plan.StopReason, error) {
	opened, err := e.open(ctx, nil)
	if err != nil {
		return "", err
	}
	box, err := e.box()
	if err != nil {
		return "", err
	}
	defer func() { _ = box.Close() }()
	state, err := opened.verbs.State(ctx)
	if err != nil {
		return "", err
	}
	opened.others.refreshFor(ctx, state.Plan) // so that the run uses the tools as offered now
	options := engine.Options{Parallel: opened.config.Parallel, Logger: e.logger(), Files: box.Files}
	if !e.flags.ephemeral {
		options.StateDir = opened.place.StateDir
	}
	if o.Agents {
		if err := e.startsAgents(opened, &options); err != nil {
			return "", err
		}
	}
	return engine.New(opened.session, box.Tools(), opened.seen, options).Run(ctx, engine.RunOptions{
		Parallel: o.Parallel, Wait: o.Wait, Drain: o.Drain, Begin: o.Begin, Listener: o.Listener, Starts: o.Starts, For: o.For})
}

// staff returns the agents of the user's configuration, nil if none.
func (a *app) staff(place workspace.Workspace, section workspace.Section) (*engine.Agents, error) {
	if !section.Given() {
		return nil, nil
	}
	var config engine.AgentConfig
	if err := section.Decode(&config); err != nil {
		return nil, err
	}
	return engine.NewAgents(config, engine.AgentOptions{Workspace: place.Path, Launcher: a.launch(), Logger: a.logger()})
}

// startsAgents lets the engine start the agents of the user's configuration.
func (e stepEngine) startsAgents(opened *opened, options *engine.Options) error {
	staff, err := e.staff(opened.place, opened.config.Agents)
	if err != nil || staff == nil {
		return err
	}
	options.Agents, options.Workspace = staff, opened.place.Path
	options.Prompt = func(ctx context.Context, state plan.State, id plan.StepID, o engine.WorkOrder) string {
		step, _ := state.Plan.Steps.Get(id)
		return opened.verbs.WorkPrompt(ctx, state, step, verbs.WorkOrder(o))
	}
	return nil
}
