package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/team"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

func newTeamCommand(a *app) *cobra.Command {
	var tokenFile, in string
	var keep bool
	// Only a person runs these: an agent must not send plans to an address that it was told.
	person := func(name, argument string, check cobra.PositionalArgs, run func(context.Context, string) error) *cobra.Command {
		return newCommand("team "+name, argument, check, func(cmd *cobra.Command, args []string) error {
			if why := a.agentSign(); why != "" {
				return plan.Refuse(plan.Conflict, "", "planloop team "+name+" needs the user, and "+why,
					"ask the user to run it in their own terminal")
			}
			return run(cmd.Context(), strings.Join(args, ""))
		})
	}
	join := person("join", "URL", exactly(1, "the address of the team's server"), func(ctx context.Context, address string) error {
		return a.joinTeam(ctx, address, tokenFile)
	})
	join.Flags().StringVar(&tokenFile, "token-file", "-", "read the token from `FILE`; - is standard input")
	share := person("share", "TRACK", exactly(1, "a track"), func(ctx context.Context, track string) error {
		return a.shareTrack(ctx, track, in)
	})
	pull := person("pull", "TRACK", exactly(1, "a track of the team"), func(ctx context.Context, track string) error {
		return a.pullTrack(ctx, track, in)
	})
	for _, cmd := range []*cobra.Command{share, pull} {
		cmd.Flags().StringVar(&in, "in", "", "the team's workspace, as `TEAM/NAME`")
	}
	leave := person("leave", "[TEAM]", atMostOne("a team"), func(ctx context.Context, name string) error {
		return a.leaveTeam(ctx, name, keep)
	})
	leave.Flags().BoolVar(&keep, "keep", false, "keep the copies of its tracks as tracks of this machine")
	return commandGroup(newCommand("team", "", nil, nil), join, share, pull, leave,
		newCommand("team members", "[TEAM]", atMostOne("a team"), a.teamMembers),
		newCommand("team status", "", noArguments, a.teamStatus))
}

// inTeam calls do as a member of a team, or of the only one if name is "".
func (a *app) inTeam(name string, do func(*team.Client, team.Membership) error) error {
	folder, _, err := a.teamFolders()
	if err != nil {
		return err
	}
	all, err := team.All(folder)
	if err != nil {
		return err
	}
	var names []string
	for _, m := range all {
		names = append(names, m.Team)
	}
	i := slices.Index(names, name)
	if name == "" && len(all) == 1 {
		i = 0
	}
	switch {
	case len(all) == 0:
		return plan.Refuse(plan.NotFound, "", "this machine is in no team", "join one: planloop team join URL")
	case i < 0 && name == "":
		return plan.Refuse(plan.Conflict, "", "this machine is in several teams: "+strings.Join(names, ", "),
			"name one after the command, or as --in TEAM/NAME for a track")
	case i < 0:
		return plan.Refuse(plan.NotFound, "", "this machine is not in team "+plan.Quote(name), "use one of "+strings.Join(names, ", "))
	}
	client, err := team.NewClient(all[i], a.logger())
	if err != nil {
		return err
	}
	defer client.Close()
	return do(client, all[i])
}

// readToken reads a file, or a line that is typed at the terminal and not shown.
func (a *app) readToken(ctx context.Context, file string) ([]byte, error) {
	if file != "-" || !a.inIsTerminal {
		return a.readInput(ctx, file)
	}
	fmt.Fprint(a.err, "Token (not shown): ")
	defer fmt.Fprintln(a.err)
	fd := int(os.Stdin.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	token, err := await(ctx, func() ([]byte, error) { return term.ReadPassword(fd) })
	if err != nil { // it may still be waiting
		_ = term.Restore(fd, before)
	}
	return token, err
}

func (a *app) joinTeam(ctx context.Context, address, tokenFile string) error {
	_, err := team.ParseAddress(address)
	if err != nil {
		return err
	}
	token, err := a.token(ctx, tokenFile)
	if err != nil {
		return err
	}
	m := team.Membership{Address: strings.TrimRight(address, "/"), Token: outbound.Secret(token)}
	client, err := team.NewClient(m, a.logger())
	if err != nil {
		return err
	}
	defer client.Close()
	me, err := client.Me(ctx)
	if err != nil {
		return err
	}
	folder, _, err := a.teamFolders()
	if err := cmp.Or(err, m.Update(me)); err != nil {
		return err
	}
	if was, err := team.Load(folder, m.Team); err == nil && was.Address != m.Address {
		return plan.Refuse(plan.Conflict, "", "this machine is in team "+m.Team+" at "+was.Address,
			"leave it first: planloop team leave "+m.Team)
	}
	if err := m.Save(folder); err != nil {
		return err
	}
	text := "Joined " + m.Team + " as " + m.Member + " (" + string(m.Role) + ")."
	if m.Role == teamwire.RoleMember || m.Role == teamwire.RoleAdmin {
		text += "\nShare a track: planloop team share main --in " + m.Team + "/NAME"
	}
	return a.printReply(m, text+"\nGet one: planloop team pull main --in "+m.Team+"/NAME")
}

// placeIn returns a track of the workspace that the user names as TEAM/NAME, or that another track of this workspace belongs to.
func (a *app) placeIn(here workspace.Workspace, named, track string) (p team.Place, err error) {
	p.Track = track
	if p.Team, p.Workspace, _ = strings.Cut(named, "/"); named != "" {
		if p.Workspace == "" {
			return p, plan.Refuse(plan.InvalidInput, "--in", plan.Quote(named)+" does not name a workspace", "write TEAM/NAME")
		}
		return p, cmp.Or(teamwire.CheckName("team", p.Team), teamwire.CheckName("workspace", p.Workspace))
	}
	for _, other := range here.Tracks() {
		if found, ok, err := team.PlaceOf(other.StateDir); ok && err == nil {
			found.Track = track
			return found, nil
		}
	}
	return p, a.inTeam("", func(_ *team.Client, m team.Membership) error {
		config, _ := safefile.Read(filepath.Join(here.Path, ".git", "config"), 1<<20) // only to suggest a name
		remotes := regexp.MustCompile(`(?m)^\s*url\s*=\s*\S+`).FindAllString(string(config), -1)
		return plan.Refuse(plan.InvalidInput, "--in", "which workspace of the team is not clear",
			"name it, such as --in "+m.Team+"/"+team.SuggestWorkspace(remotes, here.Path))
	})
}

// shareTrack sends a track's history to the team, and makes the track a copy.
func (a *app) shareTrack(ctx context.Context, name, in string) error {
	ws, err := a.trackNamed(ctx, name)
	if err != nil {
		return err
	}
	if ws.copied != nil {
		return plan.Refuse(plan.Conflict, "", "this track is already shared as "+ws.copied.Place.String(), "use it with --track "+name)
	}
	if state, err := ws.verbs.State(ctx); err != nil || state.Revision == 0 {
		return cmp.Or(err, error(plan.Refuse(plan.Conflict, "", "track "+name+" has no history to share", "begin a plan on it first")))
	}
	place, err := a.placeIn(ws.place, in, ws.place.TrackName())
	if err := cmp.Or(err, a.checkNoEngine(ws.place)); err != nil {
		return err
	}
	return a.inTeam(place.Team, func(client *team.Client, m team.Membership) error {
		c := team.NewCopy(m, place, ws.place.StateDir, client)
		log := sqlite.New(ws.place.StateDir, sqlite.Options{})
		n, err := c.Share(ctx, log)
		if err := errors.Join(err, log.Close()); err != nil {
			return err
		}
		return a.beginCopy(ctx, c, ws.place, fmt.Sprintf("Shared %s as %s: %s.", ws.place.TrackName(), place, plan.Pluralize(n, "record")))
	})
}

// checkNoEngine refuses to share or replace a track while an engine of this machine runs its plan: it would record on the former log.
func (a *app) checkNoEngine(place workspace.Workspace) error {
	seen := presence.Open(place.StateDir, presence.Options{Logger: a.logger(), Shared: place.SharedDir()})
	if !engine.IsRunning(place.StateDir, seen) {
		return nil
	}
	return plan.Refuse(plan.Conflict, "", "the plan of track "+place.TrackName()+" of "+safetext.EscapeLine(place.Path)+" is being run",
		"wait until the run ends, or stop it: planloop pause --track "+place.TrackName())
}

// beginCopy pulls the records of a copy for the first time. text says how it became one.
func (a *app) beginCopy(ctx context.Context, c *team.Copy, local workspace.Workspace, text string) error {
	s, _ := a.look(local, c, plan.Limits{})
	if err := errors.Join(c.Update(ctx, s), s.Close()); err != nil {
		return fmt.Errorf("%s Its records were not pulled, and the next command tries it again: %w", text, err)
	}
	return a.printReply(c.Place, text+" Agents use it with: planloop --track "+local.TrackName())
}

// pullTrack makes a local track the copy of a team's. The records that it had continue on another track.
func (a *app) pullTrack(ctx context.Context, name, in string) error {
	here, err := a.findWorkspace()
	if err := cmp.Or(err, workspace.CheckTrackName("the track", name)); err != nil {
		return err
	}
	place, err := a.placeIn(here, in, name)
	if err != nil {
		return err
	}
	return a.inTeam(place.Team, func(client *team.Client, m team.Membership) error {
		known, err := client.Tracks(ctx, place.Workspace)
		if err != nil {
			return err
		}
		var names []string
		for _, t := range known {
			names = append(names, t.Track)
		}
		local, text := here.On(name), "Track "+name+" is now a copy of "+place.String()+"."
		copied, isCopy, err := team.PlaceOf(local.StateDir)
		switch {
		case len(names) == 0:
			return plan.Refuse(plan.NotFound, "", place.Team+"/"+place.Workspace+" has no tracks",
				"share one first: planloop team share TRACK")
		case !slices.Contains(names, name):
			return plan.Refuse(plan.NotFound, "", place.Team+"/"+place.Workspace+" has no track "+plan.Quote(name),
				"use one of: "+strings.Join(names, ", "))
		case err != nil:
			return err
		case isCopy:
			return plan.Refuse(plan.Conflict, "", "track "+name+" is already a copy of "+copied.String(), "use it with --track "+name)
		}
		moved, err := a.moveAside(ctx, local, place)
		if err != nil {
			return err
		}
		if moved != "" {
			text += " The local track " + name + " continues as " + moved + "."
		}
		return a.beginCopy(ctx, team.NewCopy(m, place, local.StateDir, client), local, text)
	})
}

// moveAside makes a local track the copy of a team's, and returns the name of the new track with its former records; "" if it had none.
// Until then it holds the track's lock: a change by another process is either among these records, or refused by checkNotShared.
func (a *app) moveAside(ctx context.Context, local workspace.Workspace, place team.Place) (moved string, err error) {
	log := sqlite.New(local.StateDir, sqlite.Options{})
	from := session.New(log, session.Options{Mark: local, Logger: a.logger()})
	// The log is purged because a log of the team's own chain, kept from before, could not be replaced.
	err = from.PurgeAfter(ctx, plan.NewActor(plan.ChannelTerminal, a.login()), func() (err error) {
		if err := cmp.Or(checkNotShared(local.StateDir), a.checkNoEngine(local)); err != nil {
			return err
		}
		if hasHistory(log.Read(ctx, 0)) {
			if moved, err = a.copyTrack(ctx, local, log); err != nil {
				return err
			}
		}
		return place.Save(local.StateDir)
	})
	return moved, errors.Join(err, from.Close())
}

// copyTrack copies the log of a track to a new one, and returns its name.
func (a *app) copyTrack(ctx context.Context, local workspace.Workspace, from store.Log) (string, error) {
	to, err := local.BeginTrack("former "+local.TrackName(), sqlite.RemoveUnused)
	if err != nil {
		return "", err
	}
	err = team.CopyLog(ctx, from, sqlite.New(to.StateDir, sqlite.Options{}), session.Options{Mark: to, Logger: a.logger()})
	if err != nil {
		return "", errors.Join(err, to.Mark(false), to.ListOpen(false), os.RemoveAll(to.StateDir))
	}
	return to.Track, nil
}

// leaveTeam ends the membership. The copies become tracks of this machine, or are deleted.
func (a *app) leaveTeam(ctx context.Context, name string, keep bool) error {
	return a.inTeam(name, func(_ *team.Client, m team.Membership) error {
		folder, home, err := a.teamFolders()
		copies := team.Copies(home)
		maps.DeleteFunc(copies, func(_ string, p team.Place) bool { return p.Team != m.Team })
		for dir := range copies {
			err = cmp.Or(err, a.checkNoEngine(workspace.FromState(dir)))
		}
		if err != nil {
			return err
		}
		for dir, place := range copies {
			err = errors.Join(err, a.endCopy(ctx, place, workspace.FromState(dir), keep))
		}
		if err == nil {
			err = team.Remove(folder, m.Team)
		}
		if err != nil {
			return err
		}
		n := len(copies)
		what := map[bool]string{true: "kept as tracks of this machine", false: "deleted"}[keep]
		return a.printReply(map[string]any{"team": m.Team, "copies": n, "kept": keep},
			fmt.Sprintf("Left %s; %s %s. Its token may still be valid: an admin can revoke it.", m.Team, plan.Pluralize(n, "copy"), what))
	})
}

// endCopy makes a copy a track of this machine, or deletes it with the agents' output. A copy that cannot be deleted stays one.
func (a *app) endCopy(ctx context.Context, of team.Place, local workspace.Workspace, keep bool) error {
	if err := os.Remove(filepath.Join(local.StateDir, team.PlaceFile)); err != nil || keep { // first, so that no process fills it again
		return err
	}
	s, _ := a.look(local, nil, plan.Limits{})
	err := errors.Join(s.Purge(ctx, plan.NewActor(plan.ChannelTerminal, a.login())), s.Close(), engine.RemoveLogs(local.StateDir))
	if err != nil {
		return errors.Join(err, of.Save(local.StateDir))
	}
	if local.Track == "" {
		return nil
	}
	return os.RemoveAll(local.StateDir)
}

func (a *app) teamMembers(cmd *cobra.Command, args []string) error {
	return a.inTeam(strings.Join(args, ""), func(client *team.Client, m team.Membership) error {
		members, err := client.Members(cmd.Context())
		if err != nil {
			return err
		}
		var lines []string
		for _, member := range members {
			lines = append(lines, fmt.Sprintf("%s (%s), %s", member.Name, member.Role, lastTime("seen", member.SeenAt)))
		}
		return a.printReply(members, strings.Join(lines, "\n"))
	})
}

// lastTime says when something was last so.
func lastTime(what string, at time.Time) string {
	if at.IsZero() {
		return "never " + what
	}
	return what + " at " + at.Local().Format("2006-01-02 15:04")
}

// teamReply is the connection to one team, with the copies of its tracks.
type teamReply struct {
	team.Membership
	Problem string     `json:"problem,omitempty"` // why its server does not answer
	Copies  []copyView `json:"copies"`
}

type copyView struct {
	team.Place
	Path      string    `json:"path"`
	Local     string    `json:"local_track"`
	Confirmed time.Time `json:"confirmed,omitzero"`
}

func (a *app) teamStatus(cmd *cobra.Command, _ []string) error {
	folder, home, err := a.teamFolders()
	if err != nil {
		return err
	}
	all, err := team.All(folder)
	if err != nil {
		return err
	}
	copies, replies := team.Copies(home), []teamReply{}
	var lines []string
	for _, m := range all {
		reply, connection := teamReply{Membership: m, Copies: []copyView{}}, "connected"
		if err := a.inTeam(m.Team, func(client *team.Client, _ team.Membership) error {
			return client.Learn(cmd.Context(), folder, m)
		}); err != nil {
			reply.Problem = message(err)
			connection = "not connected: " + reply.Problem
		}
		lines = append(lines, fmt.Sprintf("%s at %s as %s (%s): %s", m.Team, m.Address, m.Member, m.Role, connection))
		for _, dir := range slices.Sorted(maps.Keys(copies)) {
			if place := copies[dir]; place.Team == m.Team {
				at := workspace.FromState(dir)
				c := copyView{place, at.Path, at.TrackName(), team.NewCopy(m, place, dir, nil).Confirmed()}
				reply.Copies = append(reply.Copies, c)
				lines = append(lines, fmt.Sprintf("  %s: track %s of %s, %s", place, c.Local, c.Path, lastTime("current", c.Confirmed)))
			}
		}
		replies = append(replies, reply)
	}
	return a.printReply(replies, cmp.Or(strings.Join(lines, "\n"), "This machine is in no team. Join one: planloop team join URL"))
}

// decidePlace says where people decide about a shared track; "" for a track of this machine.
func (ws *openWorkspace) decidePlace() string {
	if ws.copied == nil {
		return ""
	}
	if page := ws.copied.DecidePage(); page != "" {
		return "on the team's page: " + page
	}
	return "on the team's page, which its server does not have yet; ask the team's admin to start it with --address URL"
}

// checkDecidedHere refuses a command that decides about a shared track. It opens the team's page for a person.
func (a *app) checkDecidedHere(ctx context.Context) error {
	ws, err := a.open(ctx, nil)
	if err != nil || ws.copied == nil {
		return err
	}
	fix, page, failed := "decide "+ws.decidePlace(), ws.copied.DecidePage(), make(chan struct{})
	if page != "" && a.isReadByPerson() && a.openBrowser(page, func() { close(failed) }) {
		select {
		case <-failed:
		case <-time.After(time.Second): // a command that cannot open a browser ends sooner
			fix = "decide in your browser, which opens " + page
		}
	}
	return plan.Refuse(plan.Conflict, "", "track "+ws.copied.Place.String()+" is a team's, so nothing was changed", fix)
}
