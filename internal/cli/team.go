package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/team"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

func newTeamCommand(a *app) *cobra.Command {
	var tokenFile, in string
	var keep bool
	join := newCommand("team join", "URL", exactly(1, "the address of the team's server"), func(cmd *cobra.Command, args []string) error {
		return a.joinTeam(cmd.Context(), args[0], tokenFile)
	})
	join.Flags().StringVar(&tokenFile, "token-file", "-", "read the token from `FILE`; - is standard input")
	share := newCommand("team share", "TRACK", exactly(1, "a track"), func(cmd *cobra.Command, args []string) error {
		return a.shareTrack(cmd.Context(), args[0], in)
	})
	pull := newCommand("team pull", "TRACK", exactly(1, "a track of the team"), func(cmd *cobra.Command, args []string) error {
		return a.pullTrack(cmd.Context(), args[0], in)
	})
	for _, cmd := range []*cobra.Command{share, pull} {
		cmd.Flags().StringVar(&in, "in", "", "the team's workspace, as `TEAM/NAME`")
	}
	leave := newCommand("team leave", "[TEAM]", atMostOne("a team"), func(cmd *cobra.Command, args []string) error {
		return a.leaveTeam(cmd.Context(), strings.Join(args, ""), keep)
	})
	leave.Flags().BoolVar(&keep, "keep", false, "keep the copies of its tracks as tracks of this machine")
	return commandGroup(newCommand("team", "", nil, nil), join, share, pull, leave,
		newCommand("team members", "[TEAM]", atMostOne("a team"), a.teamMembers),
		newCommand("team status", "", noArguments, a.teamStatus))
}

// refuseAgent keeps an agent from sending plans to an address that it was told.
func (a *app) refuseAgent(what string) error {
	if why := a.agentSign(); why != "" {
		return plan.Refuse(plan.Conflict, "", what+" needs the user, and "+why, "ask the user to run it in their own terminal")
	}
	return nil
}

// memberOf returns the membership of a team, or of the only one.
func (a *app) memberOf(name string) (m team.Membership, folder string, err error) {
	if folder, err = workspace.TeamFolder(a.getenv, ""); err != nil {
		return m, folder, err
	}
	all, err := team.All(folder)
	if err != nil {
		return m, folder, err
	}
	var names []string
	for _, one := range all {
		if names = append(names, one.Team); name == "" && len(all) == 1 || one.Team == name {
			m = one
		}
	}
	switch {
	case len(all) == 0:
		err = plan.Refuse(plan.NotFound, "", "this machine is in no team", "join one: planloop team join URL")
	case m.Team == "" && name == "":
		err = plan.Refuse(plan.Conflict, "", "this machine is in several teams", "name one of "+strings.Join(names, ", "))
	case m.Team == "":
		err = plan.Refuse(plan.NotFound, "", "this machine is not in team "+plan.Quote(name), "use one of "+strings.Join(names, ", "))
	}
	return m, folder, err
}

func (a *app) joinTeam(ctx context.Context, address, tokenFile string) error {
	if err := a.refuseAgent("joining a team"); err != nil {
		return err
	}
	if _, err := team.ParseAddress(address); err != nil {
		return err
	}
	folder, err := workspace.TeamFolder(a.getenv, "")
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
	ctx, cancel := context.WithTimeout(ctx, team.CallLimit)
	defer cancel()
	me, err := client.Me(ctx)
	if err != nil {
		return err
	}
	if err := m.Know(me); err != nil {
		return err
	}
	if was, err := team.Load(folder, m.Team); err == nil && was.Address != m.Address {
		return plan.Refuse(plan.Conflict, "", "this machine is in team "+m.Team+" at "+was.Address,
			"leave it first: planloop team leave "+m.Team)
	}
	if err := m.Save(folder); err != nil {
		return err
	}
	return a.printReply(m, "Joined "+m.Team+" as "+m.Member+" ("+string(m.Role)+").\nShare a track: planloop team share main --in "+m.Team+
		"/NAME\nGet one: planloop team pull main --in "+m.Team+"/NAME")
}

// placeIn returns a track of the workspace that the user names as TEAM/NAME, or that another track of this workspace belongs to.
func (a *app) placeIn(here workspace.Workspace, named, track string) (p team.Place, err error) {
	p.Track = track
	if p.Team, p.Workspace, _ = strings.Cut(named, "/"); named != "" {
		return p, cmp.Or(teamwire.CheckName("team", p.Team), teamwire.CheckName("workspace", p.Workspace))
	}
	for _, other := range here.Tracks() {
		if found, ok, err := team.PlaceOf(other.StateDir); ok && err == nil {
			return team.Place{Team: found.Team, Workspace: found.Workspace, Track: track}, nil
		}
	}
	m, _, err := a.memberOf("")
	if err != nil {
		return p, err
	}
	config, _ := safefile.Read(filepath.Join(here.Path, ".git", "config"), 1<<20) // only to suggest a name
	var remotes []string
	for _, found := range regexp.MustCompile(`(?m)^\s*url\s*=\s*(\S+)`).FindAllSubmatch(config, -1) {
		remotes = append(remotes, string(found[1]))
	}
	names := append(team.WorkspaceNames(remotes, here.Path), "NAME")
	return p, plan.Refuse(plan.InvalidInput, "--in", "the team's workspace is not known", "name it, such as --in "+m.Team+"/"+names[0])
}

// openTeam returns a client for a place.
func (a *app) openTeam(p team.Place) (*team.Client, team.Membership, error) {
	m, _, err := a.memberOf(p.Team)
	if err != nil {
		return nil, m, err
	}
	client, err := team.NewClient(m, a.logger())
	return client, m, err
}

// shareTrack sends a track's history to the team, and makes the track a copy.
func (a *app) shareTrack(ctx context.Context, name, in string) error {
	if err := a.refuseAgent("sharing a track"); err != nil {
		return err
	}
	ws, err := a.trackNamed(ctx, name)
	if err != nil {
		return err
	}
	if ws.copied.Copy != nil {
		return plan.Refuse(plan.Conflict, "", "this track is shared: "+ws.copied.Place().String(), "leave it as it is")
	}
	if state, err := ws.verbs.State(ctx); err != nil || state.Revision == 0 {
		return cmp.Or(err, error(plan.Refuse(plan.Conflict, "", "track "+name+" has no history to share", "begin a plan on it first")))
	}
	place, err := a.placeIn(ws.place, in, ws.place.TrackName())
	if err != nil {
		return err
	}
	client, m, err := a.openTeam(place)
	if err != nil {
		return err
	}
	defer client.Close()
	n, err := client.ShareAll(ctx, team.NewCopy(m, place, ws.place.StateDir, client), ws.session)
	if err != nil {
		return err
	}
	return a.beginCopy(ctx, m, place, ws.place, client, fmt.Sprintf("Shared %s as %s: %s.", ws.place.TrackName(), place,
		plan.Pluralize(n, "record")))
}

// beginCopy makes a track the copy of a place, and pulls its records.
func (a *app) beginCopy(ctx context.Context, m team.Membership, p team.Place, local workspace.Workspace, client *team.Client,
	text string) error {
	if err := p.Save(local.StateDir); err != nil {
		return err
	}
	c := team.NewCopy(m, p, local.StateDir, client)
	s, _, err := a.openCopy(local.StateDir, c)
	if err == nil {
		err = errors.Join(c.Update(ctx, s), s.Close())
	}
	if err != nil {
		return err
	}
	return a.printReply(p, text+" Agents use it with: planloop --track "+local.TrackName())
}

// pullTrack makes a local track the copy of a team's. The records of a local main continue on a track of their own.
func (a *app) pullTrack(ctx context.Context, name, in string) error {
	if err := a.refuseAgent("pulling a track"); err != nil {
		return err
	}
	here, err := a.findWorkspace()
	if err != nil {
		return err
	}
	if err := workspace.CheckTrackName("the track", name); err != nil {
		return err
	}
	place, err := a.placeIn(here, in, name)
	if err != nil {
		return err
	}
	client, m, err := a.openTeam(place)
	if err != nil {
		return err
	}
	defer client.Close()
	limited, cancel := context.WithTimeout(ctx, team.CallLimit)
	defer cancel()
	known, err := client.Tracks(limited, place.Workspace)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(known, func(t teamwire.Track) bool { return t.Track == name }) {
		var names []string
		for _, t := range known {
			names = append(names, t.Track)
		}
		return plan.Refuse(plan.NotFound, "", place.Team+"/"+place.Workspace+" has no track "+plan.Quote(name),
			"use one of: "+cmp.Or(strings.Join(names, ", "), "none yet"))
	}
	local, text := here.On(name), "Pulled "+place.String()+"."
	if _, isCopy, err := team.PlaceOf(local.StateDir); isCopy || err != nil {
		return cmp.Or(err, error(plan.Refuse(plan.Conflict, "", "this track is a team's copy already", "use it with --track "+name)))
	}
	if trackExists(local) && local.Track != "" {
		return plan.Refuse(plan.Conflict, "", "a track named "+name+" exists here",
			"share that one, or delete it: planloop --track "+name+" purge")
	}
	if moved, err := a.moveMain(ctx, local); err != nil {
		return err
	} else if moved != "" {
		text += " What main held continues on track " + moved + "."
	}
	return a.beginCopy(ctx, m, place, local, client, text)
}

// moveMain copies the records of a local main to a new track, and returns its name; "" if there are none.
func (a *app) moveMain(ctx context.Context, main workspace.Workspace) (string, error) {
	if main.Track != "" || !trackExists(main) {
		return "", nil
	}
	from := sqlite.New(main.StateDir, sqlite.Options{})
	defer from.Close()
	if head, err := from.Head(ctx); err != nil || head.Seq == 0 {
		return "", err
	}
	to, err := main.BeginTrack("former main", sqlite.RemoveUnused)
	if err != nil {
		return "", err
	}
	s := session.New(sqlite.New(to.StateDir, sqlite.Options{}),
		session.Options{Decider: team.LocalFeed{Log: from}, Mark: to, Logger: a.logger()})
	return to.Track, errors.Join(s.Pull(ctx), s.Close(), team.CopyValues(to.StateDir, main.StateDir))
}

// leaveTeam ends the membership. The copies become tracks of this machine, or are deleted.
func (a *app) leaveTeam(ctx context.Context, name string, keep bool) error {
	if err := a.refuseAgent("leaving a team"); err != nil {
		return err
	}
	m, folder, err := a.memberOf(name)
	if err != nil {
		return err
	}
	home, err := workspace.StateHome(a.getenv, "")
	if err != nil {
		return err
	}
	var failed error
	n := 0
	for dir, place := range team.Copies(home) {
		if place.Team != m.Team {
			continue
		}
		n++
		err := os.Remove(filepath.Join(dir, team.PlaceFile))
		if err == nil && !keep {
			err = a.deleteCopy(ctx, workspace.FromState(dir))
		}
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		return failed
	}
	if err := team.Remove(folder, m.Team); err != nil {
		return err
	}
	what := "deleted"
	if keep {
		what = "kept as tracks of this machine"
	}
	return a.printReply(map[string]any{"team": m.Team, "copies": n, "kept": keep},
		fmt.Sprintf("Left %s; %s %s. The token stays valid until an "+
			"admin revokes it.", m.Team, plan.Pluralize(n, "copy"), what))
}

// deleteCopy deletes the log of a former copy.
func (a *app) deleteCopy(ctx context.Context, place workspace.Workspace) error {
	s := session.New(sqlite.New(place.StateDir, sqlite.Options{}), session.Options{Mark: place, Logger: a.logger()})
	err := errors.Join(s.Purge(ctx, plan.NewActor(plan.ChannelTerminal, a.login())), s.Close())
	if err != nil || place.Track == "" {
		return err
	}
	return os.RemoveAll(place.StateDir)
}

func (a *app) teamMembers(cmd *cobra.Command, args []string) error {
	client, m, err := a.openTeam(team.Place{Team: strings.Join(args, "")})
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), team.CallLimit)
	defer cancel()
	members, err := client.Members(ctx)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, member := range members {
		seen := "never seen"
		if !member.SeenAt.IsZero() {
			seen = "seen " + member.SeenAt.Local().Format("2006-01-02 15:04")
		}
		fmt.Fprintf(&b, "%s (%s), %s\n", member.Name, member.Role, seen)
	}
	return a.printReply(members, cmp.Or(strings.TrimSpace(b.String()), m.Team+" has no members."))
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
	folder, err := workspace.TeamFolder(a.getenv, "")
	if err != nil {
		return err
	}
	home, err := workspace.StateHome(a.getenv, "")
	if err != nil {
		return err
	}
	all, err := team.All(folder)
	if err != nil {
		return err
	}
	copies, replies := team.Copies(home), []teamReply{}
	var b strings.Builder
	for _, m := range all {
		reply := teamReply{Membership: m, Copies: []copyView{}}
		client, err := team.NewClient(m, a.logger())
		if err == nil {
			ctx, cancel := context.WithTimeout(cmd.Context(), team.CallLimit)
			_, err = client.Me(ctx)
			cancel()
			client.Close()
		}
		connection := "connected"
		if err != nil {
			reply.Problem = message(err)
			connection = "not connected: " + reply.Problem
		}
		fmt.Fprintf(&b, "%s at %s as %s (%s): %s\n", m.Team, m.Address, m.Member, m.Role, connection)
		for dir, place := range copies {
			if place.Team == m.Team {
				at := workspace.FromState(dir)
				reply.Copies = append(reply.Copies, copyView{place, at.Path, at.TrackName(), team.Confirmed(dir)})
			}
		}
		slices.SortFunc(reply.Copies, func(x, y copyView) int { return cmp.Or(cmp.Compare(x.Path, y.Path), cmp.Compare(x.Local, y.Local)) })
		for _, c := range reply.Copies {
			fmt.Fprintf(&b, "  %s: track %s of %s, current at %s\n", c.Place, c.Local, c.Path,
				c.Confirmed.Local().Format("2006-01-02 15:04"))
		}
		replies = append(replies, reply)
	}
	return a.printReply(replies, cmp.Or(strings.TrimSpace(b.String()), "This machine is in no team. Join one: planloop team join URL"))
}

// decideInTeam shows the team's page, where people decide, if the command is about a shared track.
func (a *app) decideInTeam(ctx context.Context) (isDecided bool, err error) {
	ws, err := a.open(ctx, nil)
	if err != nil || ws.copied.Copy == nil {
		return false, err
	}
	page := cmp.Or(ws.copied.Page, ws.copied.Address)
	if _, err := team.ParseAddress(page); err != nil || page == "" {
		return true, plan.Refuse(plan.Conflict, "", "only a signed-in person can decide about this team's plans", "join the team again")
	}
	reply := map[string]string{"page": page, "track": ws.copied.Place().String()}
	return true, a.printReply(reply, "This is a team's plan: decide on the team's page, "+page+", about "+ws.copied.Place().String()+".")
}
