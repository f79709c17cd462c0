package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// trackNeed says how a person's command that names no track gets one.
type trackNeed int

const (
	noNeed       trackNeed = iota // it is about no track, or serves an agent that may begin one
	newPlan                       // begins a plan: on the track that the person switched to, else main
	ownWay                        // decides for itself
	anyTrack                      // shows the only open track, else main with the others
	oneTrack                      // needs the only open track, else asks
	waitingTrack                  // decides: needs the only open or the only waiting track, else asks
	ownerTrack                    // acts on the track that has the plan it names
)

func trackNeedOf(command string) trackNeed {
	switch command {
	case "start", "import", "template apply":
		return newPlan
	case "alert", "check", "doctor", "purge", "review", "suggest", "template save":
		return ownWay
	case "status", "plan list":
		return anyTrack
	case "approve", "reject", "edit", "answer", "reply":
		return waitingTrack
	case "plan restore":
		return ownerTrack
	case "show", "log", "resume", "clear", "replan", "update", "submit", "run", "pause", "comment", "export", "prompt",
		"plan", "plan start", "plan status", "plan cancel", "plan diff":
		return oneTrack
	}
	if strings.HasPrefix(command, "step ") {
		return oneTrack
	}
	return noNeed
}

// noTrack refuses a track that does not exist, and names some that do.
func noTrack(place workspace.Workspace) error {
	var names []string
	all := tracksOf(place)
	for _, track := range all {
		names = append(names, track.TrackName())
	}
	fix := "use one of: " + boundedList(all)
	if near := safetext.Nearest(place.Track, names); near != "" {
		fix = "did you mean " + near + "? Otherwise " + fix
	}
	return plan.Refuse(plan.NotFound, "", "track "+plan.Quote(place.Track)+" does not exist", fix)
}

// chooseTrack puts a person's command on a track: the one that the person switched to, else by the command's need. Agents have their own.
func (a *app) chooseTrack(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed(lineFlag) {
		return nil // see statusLine
	}
	need := trackNeedOf(commandName(cmd))
	mayBegin := need <= newPlan || slices.Contains([]string{"plan", "plan start", "submit", "update"}, commandName(cmd))
	if a.namesTrack() && !mayBegin && !a.flags.ephemeral {
		place, err := a.findWorkspace()
		if _, missing := os.Lstat(place.StateDir); err == nil && place.Track != "" && missing != nil {
			return noTrack(place)
		}
	}
	if need == noNeed || need == ownWay || a.namesTrack() || a.flags.ephemeral || cmd.Flags().Changed(allTracks) {
		return nil
	}
	place, err := a.findWorkspace()
	if err != nil || !place.HasTracks() || workspace.InCI(a.getenv) || a.agentSign() != "" ||
		a.sessionIn(presence.Open(place.SharedDir(), presence.Options{})) != "" {
		return nil // the command reports the error
	}
	if need == ownerTrack && len(args) == 1 {
		a.flags.track, err = a.ownerOf(cmd.Context(), place, args[0])
		return err
	}
	if name := place.Switched(); name != "" && trackExists(place.On(name)) {
		a.note("on track " + name + "; back to main: planloop plan switch " + workspace.MainTrack)
		a.flags.track = name
		return nil
	}
	if need == newPlan {
		return nil
	}
	open := a.summarize(cmd.Context(), slices.DeleteFunc(a.openOverviews(cmd.Context(), place), trackOverview.isIdle))
	open = slices.DeleteFunc(open, func(t trackSummary) bool { // the commands of anyTrack list these themselves
		return t.fault != nil && (need == anyTrack || a.isUnreadable(t.trackOverview))
	})
	choice := open
	if need == waitingTrack && len(open) > 1 {
		choice = slices.DeleteFunc(slices.Clone(open), func(t trackSummary) bool { return t.waiting == 0 })
	}
	switch {
	case len(open) == 0:
		return nil
	case need == anyTrack && len(open) > 1:
		a.shownTrack = workspace.MainTrack
		return nil
	case len(choice) == 1:
		a.flags.track = choice[0].Track
		return nil
	case len(choice) == 0:
		choice = open
	}
	a.flags.track, err = a.askForTrack(cmd.Context(), choice)
	return err
}

const allTracks = "all" // the flag of commands that can act on every track

// askForTrack lets a person at the terminal choose one of several tracks.
func (a *app) askForTrack(ctx context.Context, open []trackSummary) (string, error) {
	const shown = 20
	var list strings.Builder
	for i, track := range open[:min(len(open), shown)] {
		fmt.Fprintf(&list, "\n  %d  %s", i+1, safetext.EscapeLine(track.line()))
	}
	if more := len(open) - shown; more > 0 {
		fmt.Fprintf(&list, "\n  and %d more: planloop plan list", more)
	}
	if !a.inIsTerminal || !a.errIsTerminal || a.flags.json {
		return "", usageError{errors.New("several tracks are open; choose one with --track NAME or planloop plan switch NAME:" +
			list.String())}
	}
	fmt.Fprintf(a.err, "Several tracks are open:%s\nType the number of one.\n> ", list.String())
	answer, err := readLine(ctx, a.in)
	n, noNumber := strconv.Atoi(strings.TrimSpace(answer))
	if err != nil || noNumber != nil || n < 1 || n > min(len(open), shown) {
		return "", cmp.Or(err, error(usageError{errors.New("no track was chosen, and nothing was done; type a number of the list")}))
	}
	return open[n-1].Track, nil
}

// ownerOf returns the name of the track that has a plan, "" if none has. It looks at main first.
func (a *app) ownerOf(ctx context.Context, place workspace.Workspace, id string) (string, error) {
	for _, track := range tracksOf(place) {
		if overviewOf(track).lastActivity.IsZero() {
			continue // no log
		}
		ws, state, err := a.readTrack(ctx, track)
		if err != nil {
			a.warn(err.Error())
			continue
		}
		if err := ws.release(); err != nil {
			return "", err
		}
		if _, err := formerID(state, id); err == nil {
			return track.Track, nil
		}
	}
	return "", nil
}

// trackNamed opens a track that exists.
func (a *app) trackNamed(ctx context.Context, name string) (*openWorkspace, error) {
	place, err := a.find(ctx, nil)
	if err != nil {
		return nil, err
	}
	if name == "" || !trackExists(place.On(name)) {
		return nil, noTrack(place.On(name))
	}
	return a.openTrack(ctx, place.On(name))
}

// switchTrack remembers the track of the user's commands in this workspace.
func (a *app) switchTrack(cmd *cobra.Command, args []string) error {
	if err := a.requirePerson("switching to a track"); err != nil {
		return err
	}
	ws, err := a.trackNamed(cmd.Context(), args[0])
	if err != nil {
		return err
	}
	if err := ws.place.Switch(); err != nil {
		return err
	}
	text := "Your commands in this workspace use track " + ws.place.TrackName() + ". Agents stay on theirs."
	return a.printReply(map[string]string{"track": ws.place.TrackName()}, text)
}

// closeTrack abandons the work of a track, so that it is no longer open. Its history stays.
func (a *app) closeTrack(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	if err := a.requirePerson("closing a track"); err != nil {
		return err
	}
	ws, err := a.trackNamed(ctx, args[0])
	if err != nil {
		return err
	}
	state, err := ws.verbs.State(ctx)
	if err == nil && state.Plan.IsUnfinished() {
		_, err = confirmed(ctx, a, func(c verbs.Caller) (verbs.ClearPlanReply, error) {
			return ws.verbs.ClearPlan(ctx, c, verbs.ClearPlan{})
		})
		if err == nil {
			state, err = ws.verbs.State(ctx) // clearing may have ended planning mode
		}
	}
	if err != nil {
		return err
	}
	if state.HasProposal() || state.PhaseNow() != plan.PhaseInactive {
		_, err = ws.verbs.CancelPlanMode(ctx, a.caller())
	} else if state.Draft != nil {
		_, err = ws.verbs.Decide(ctx, a.caller(), plan.DecideDraft{Outcome: plan.Rejected, Request: requestOf(state),
			Digest: plan.Digest(state.Draft)})
	}
	if err != nil {
		return err
	}
	name := ws.place.TrackName()
	text := "Track " + name + " is closed. Its plans can be restored: planloop --track " + name + " plan list"
	return a.printReply(map[string]string{"track": name, "status": "closed"}, text)
}

// completeTracks offers the tracks, those with work first.
func (a *app) completeTracks(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	place, err := a.findWorkspace()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	open := place.OpenTracks()
	others := slices.DeleteFunc(tracksOf(place), func(w workspace.Workspace) bool { return slices.Contains(open, w) })
	return described(append(open, others...), func(w workspace.Workspace) (string, string) { return w.TrackName(), "" })
}
