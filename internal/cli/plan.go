package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

func newPlanCommand(a *app) *cobra.Command {
	cmd := newCommand("plan", "[TASK...]", cobra.ArbitraryArgs, func(cmd *cobra.Command, args []string) error {
		if err := refuseMisspelled(cmd, args); err != nil {
			return err
		}
		return a.enterMode(cmd, verbs.PlanFor{Task: strings.Join(args, " ")})
	})
	cancel := func(s *verbs.Service, ctx context.Context, c verbs.Caller, _ string) (verbs.ModeReply, error) {
		return s.CancelPlanMode(ctx, c)
	}
	cancelled := func(reply verbs.ModeReply) string {
		if reply.Phase == plan.PhaseExecuting {
			return "The waiting change is dropped, and the approved plan continues. Agents see that on their next status check." +
				reply.StillEnding
		}
		return "Planning mode is off. Agents see that on their next status check." + reply.StillEnding
	}
	cmd.AddCommand(
		newPlanStartCommand(a),
		newCommand("plan status", "", noArguments, a.modeStatus),
		newCommand("plan cancel", "", noArguments, runAsPerson(a, "cancelling planning mode", cancel, joinedText, cancelled)),
		newCommand("plan allows", "-- 'COMMAND'", exactly(1, "one command in quotes"), a.allows),
		newCommand("plan list", "", noArguments, a.listPlans), newPlanDiffCommand(a), a.replacing(newPlanRestoreCommand(a)),
		withTracks(a, newCommand("plan switch", "NAME", exactly(1, "the name of a track"), a.switchTrack)),
		a.replacing(withTracks(a, newCommand("plan close", "NAME", exactly(1, "the name of a track"), a.closeTrack))),
	)
	return cmd
}

func newPlanStartCommand(a *app) *cobra.Command {
	var all bool
	cmd := newCommand("plan start", "[TASK...]", cobra.ArbitraryArgs, func(cmd *cobra.Command, args []string) error {
		if all && !a.namesTrack() {
			a.flags.track = workspace.MainTrack
		}
		return a.enterMode(cmd, verbs.PlanFor{Task: strings.Join(args, " "), All: all})
	})
	cmd.Flags().BoolVar(&all, "all", false, "hold the sessions of all tracks, on the track main")
	return cmd
}

func withTracks(a *app, cmd *cobra.Command) *cobra.Command {
	cmd.ValidArgsFunction = firstArgument(a.completeTracks)
	return cmd
}

func (a *app) enterMode(cmd *cobra.Command, in verbs.PlanFor) error {
	ws, before, err := a.state(cmd.Context())
	if err != nil {
		return err
	}
	reply, err := ws.verbs.EnterPlanModeFor(cmd.Context(), a.caller(), in)
	if err != nil {
		return err
	}
	if before.PhaseNow() != plan.PhaseInactive {
		if !a.flags.json {
			a.note("planning mode is already on")
		}
		return a.printMode(ws, reply, before)
	}
	if a.whyNoPerson() != "" {
		return a.reply(reply)
	}
	return a.printReply(reply, "Planning mode is on. Agents can read, ask and submit a plan; "+
		"nothing can be changed until you approve one.\n"+
		"Wait for the plan: planloop status --wait 10m. Leave the mode: planloop plan cancel")
}

// refuseMisspelled refuses a word like a subcommand: as a topic it would begin planning mode, which keeps every agent from writing.
func refuseMisspelled(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return nil
	}
	if likely := likelyCommand(cmd, args[0]); likely != "" {
		return usageError{fmt.Errorf("%s is not a task to plan for; did you mean `%s`? To plan for it anyway: %s start %s",
			plan.Quote(args[0]), likely, cmd.CommandPath(), safetext.QuoteWord(args[0]))}
	}
	return nil
}

func (a *app) modeStatus(cmd *cobra.Command, _ []string) error {
	ws, state, err := a.state(cmd.Context())
	if err != nil {
		return err
	}
	reply, err := ws.verbs.PlanModeStatus(cmd.Context(), a.caller())
	if err != nil {
		return err
	}
	return a.printMode(ws, reply, state)
}

func (a *app) printMode(ws *openWorkspace, reply verbs.ModeReply, state plan.State) error {
	if a.flags.json {
		return a.printJSON(reply)
	}
	v := terminal.ModeView{Screen: a.screen(), State: state, Limits: ws.config.Limits(), Next: reply.NextAction, Now: time.Now(),
		Hooks: verbs.EnforcementLine(reply.Enforcement), OnPage: ws.copied != nil}
	return a.printLines(v.Lines())
}

func (a *app) allows(_ *cobra.Command, args []string) error {
	place, err := a.findWorkspace()
	if err != nil {
		return err
	}
	config, err := a.configure(place)
	if err != nil {
		return err
	}
	verdict := toolbox.HostVerdict(args[0], confining(), config.ReadOnlyCommands...)
	if a.flags.json {
		reply := struct {
			Allowed bool   `json:"allowed"`
			Reason  string `json:"reason,omitempty"`
			Instead string `json:"instead,omitempty"`
		}{verdict.Allowed, verdict.Reason, verdict.Instead}
		if err := a.printJSON(reply); err != nil || verdict.Allowed {
			return err
		}
		return exitStatus(exitRefused)
	}
	if verdict.Allowed {
		return a.print([]byte("allowed: it only reads\n"))
	}
	text := verdict.Reason
	if verdict.Instead != "" {
		text += "; instead: " + verdict.Instead
	}
	return usageError{fmt.Errorf("not allowed in planning mode: %s", text)}
}

func (a *app) listPlans(cmd *cobra.Command, _ []string) error {
	ws, state, err := a.state(cmd.Context())
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printed(indented(resources.Plans(state)))
	}
	lines := []string{"There are no plans yet. Start one: planloop start GOAL --step TITLE"}
	if rows := terminal.PlanRows(state); len(rows) > 0 {
		lines = a.screen().PlanTable(rows)
	}
	others := a.otherTracks(cmd.Context(), ws.place)
	for _, other := range others {
		lines = append(lines, a.screen().Hang("Other track ", a.screen().Plain, safetext.EscapeLine(other.line()))...)
	}
	if closed := a.closedTracks(ws.place, others); len(closed) > 0 {
		text := boundedList(closed) + "; planloop --track NAME plan list"
		lines = append(lines, a.screen().Hang("Closed tracks: ", a.screen().Plain, text)...)
	}
	return a.printLines(lines)
}

func newPlanRestoreCommand(a *app) *cobra.Command {
	cmd := newCommand("plan restore", "ID", atMostOne("the id of a plan"), runVerb(a, (*verbs.Service).Restore, a.formerPlan))
	cmd.ValidArgsFunction = firstArgument(a.completeFormer)
	return cmd
}

// formerPlan returns the id of the plan to restore; without an argument its error suggests the latest one.
func (a *app) formerPlan(cmd *cobra.Command, args []string) (string, error) {
	_, state, err := a.state(cmd.Context())
	if err != nil {
		return "", err
	}
	former := state.FormerPlans()
	switch {
	case len(args) > 0:
		return formerID(state, args[0])
	case len(former) == 0:
		return "", plan.Refuse(plan.NotFound, "", "no former plan can be restored", "replaced and cleared plans can be restored")
	}
	return "", usageError{fmt.Errorf("planloop plan restore needs the id of a plan; the latest former one is %s: planloop plan restore %s",
		plan.Quote(former[0].Objective), former[0].ID)}
}

// planID returns the id of the plan named by its id, a unique prefix of it, or a version of the current plan, such as v2.
func planID(s plan.State, named string) (string, error) {
	return oneOf(s, s.PlanIDs(), named, "list them with `planloop plan list`")
}

// formerID is planID for plans that can be restored.
func formerID(s plan.State, named string) (string, error) {
	var ids []string
	for _, head := range s.FormerPlans() {
		ids = append(ids, head.ID)
	}
	if s.Plan != nil && s.Plan.ID == named {
		return named, nil // the verb reports that it is the current one
	}
	if s.Draft != nil {
		ids = append(ids, s.Draft.ID) // or that it waits
	}
	return oneOf(s, ids, named, "list the former plans with `planloop plan list`")
}

func oneOf(s plan.State, ids []string, named, fix string) (string, error) {
	if slices.Contains(ids, named) {
		return named, nil
	}
	id, noVersion := verbs.VersionID(s, named)
	if noVersion == nil {
		return id, nil
	}
	found := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return named == "" || !strings.HasPrefix(id, named) })
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if verbs.IsVersion(named) {
			return "", noVersion
		}
		return "", plan.Refuse(plan.NotFound, "/plan_id", "plan "+plan.Quote(named)+" does not exist", fix)
	}
	const shown = 5
	list := strings.Join(found[:min(len(found), shown)], ", ")
	if len(found) > shown {
		list += ", …"
	}
	return "", plan.Refuse(plan.InvalidInput, "/plan_id", plan.Quote(named)+" matches the ids of several plans",
		"give more of the id: "+list)
}

func newPlanDiffCommand(a *app) *cobra.Command {
	in := func(cmd *cobra.Command, args []string) (in verbs.ComparePlans, err error) {
		_, state, err := a.state(cmd.Context())
		if err != nil {
			return in, err
		}
		for i, name := range args {
			if name != "draft" && name != "current" && name != "approved" { // here the beginning of an id is enough
				if name, err = planID(state, name); err != nil {
					return in, err
				}
			}
			*[]*string{&in.From, &in.To}[i] = name
		}
		return in, nil
	}
	cmd := newCommand("plan diff", "[V1] [V2]", atMost(2, "two plans at most"), func(cmd *cobra.Command, args []string) error {
		c, err := callVerb(cmd, args, a, (*verbs.Service).ComparePlans, in)
		if err != nil {
			return err
		}
		if a.flags.json {
			return a.printJSON(c)
		}
		if c.IsUnrelated {
			return a.showUnrelated(cmd.Context(), c)
		}
		return a.print(terminal.Joined(a.screen().Comparison(c.Text())))
	})
	cmd.ValidArgsFunction = a.completePlans
	return cmd
}

// showUnrelated shows two plans one after the other: their differences would say nothing.
func (a *app) showUnrelated(ctx context.Context, c verbs.Comparison) error {
	ws, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	lines := a.screen().Told(safetext.EscapeLine(c.From.PlanID + " and " + c.To.PlanID + " are not versions of one plan. Both follow."))
	for _, id := range []string{c.From.PlanID, c.To.PlanID} {
		state, err := ws.verbs.PlanState(ctx, id)
		if err != nil {
			return err
		}
		v := terminal.PlanView{Screen: a.screen(), State: plan.State{Plan: state.Plan}, All: true, Now: time.Now()}
		lines = append(append(lines, ""), v.Page().Lines()...)
	}
	return a.printLines(lines)
}
