// Package team makes this machine a member of a team: its server decides about the tracks that its members share. It keeps the
// membership with its token, the client of the server's API, the copies of shared tracks, and the process that keeps them current.
// It must not know what a verb or a command is, and takes no address from a workspace's files.
package team

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// Membership is this machine's membership of a team, as the user's folder of memberships keeps it.
type Membership struct {
	Address string          `json:"address"`
	Token   outbound.Secret `json:"-"` // only in the file, see membershipFile
	Team    string          `json:"team"`
	Member  string          `json:"member"`
	Machine string          `json:"machine"`
	Role    teamwire.Role   `json:"role"`
	Page    string          `json:"page,omitempty"`    // where people decide
	Offline string          `json:"offline,omitempty"` // closed: hooks refuse changes while the server does not answer
}

// membershipFile is the written form: only there is the token readable.
type membershipFile struct {
	Membership `json:",inline"`
	Token      string `json:"token"`
}

// Update fills the membership from the server's answer about the holder of the token.
func (m *Membership) Update(me teamwire.Me) error {
	m.Team, m.Member, m.Machine, m.Role, m.Page, m.Offline = me.Team, me.Member, me.Machine, me.Role, me.Page, me.Offline
	err := cmp.Or(teamwire.CheckName("team", m.Team), teamwire.CheckName("member", m.Member))
	if _, wrong := ParseAddress(m.Page); m.Page != "" && err == nil {
		err = wrong
	}
	if err != nil || !slices.Contains(m.Role.Values(), string(m.Role)) || me.Format > teamwire.Format {
		return errors.Join(errors.New("this server's answer is not for this version of planloop; update planloop"), err)
	}
	return nil
}

const maxFile = 16 << 10 // of this package's files

// ParseAddress checks a server's address.
func ParseAddress(text string) (*url.URL, error) {
	address, wrong := outbound.Rules{Example: "https://plans.example.com", Credentials: "give the token with --token-file",
		Unencrypted: "use https://"}.Parse(strings.TrimSuffix(text, "/"))
	switch {
	case wrong != nil:
		return nil, plan.Refuse(plan.InvalidInput, "", "the server's address "+wrong.Problem, wrong.Want)
	case address.RawQuery != "" || address.ForceQuery:
		return nil, plan.Refuse(plan.InvalidInput, "", "the server's address has a part after ?", "leave it out")
	}
	return address, nil
}

// Save writes the membership into a folder that only the user can read.
func (m Membership) Save(folder string) error {
	return save(folder, m.Team+".json", membershipFile{m, string(m.Token)}, teamwire.CheckName("team", m.Team))
}

// Remove deletes the membership of a team from a folder.
func Remove(folder, team string) error { return os.Remove(filepath.Join(folder, team+".json")) }

// Load reads the membership of a team from a folder. The error wraps fs.ErrNotExist without one.
func Load(folder, team string) (m Membership, err error) {
	if err := cmp.Or(teamwire.CheckName("team", team), safefile.CheckFolder(folder)); err != nil {
		return m, err
	}
	var file membershipFile
	path := filepath.Join(folder, team+".json")
	err = load(path, &file)
	if m = file.Membership; err == nil && m.Team != team {
		err = fmt.Errorf("%s does not belong to this team; delete it and join again", path)
	}
	m.Token = outbound.Secret(file.Token)
	return m, err
}

// All reads the memberships of a folder, by the team's name.
func All(folder string) (all []Membership, err error) {
	paths, _ := fs.Glob(os.DirFS(folder), "*.json") // the pattern is valid
	for _, path := range paths {
		m, wrong := Load(folder, strings.TrimSuffix(path, ".json"))
		if err = errors.Join(err, wrong); wrong == nil {
			all = append(all, m)
		}
	}
	return all, err
}

// Place is the track of a team that a local track is the copy of.
type Place struct {
	Team      string `json:"team"`
	Workspace string `json:"workspace"`
	Track     string `json:"track"`
}

// String returns the place as people write it.
func (p Place) String() string { return p.Team + "/" + p.Workspace + " " + p.Track }

// PlaceFile is the name of the file beside a log that makes it the copy of a team's track.
const PlaceFile = "team.json"

// PlaceOf returns the track that the log in a state folder is the copy of; false if it is not a copy.
func PlaceOf(stateDir string) (p Place, ok bool, err error) {
	err = load(filepath.Join(stateDir, PlaceFile), &p)
	if errors.Is(err, fs.ErrNotExist) {
		return p, false, nil
	}
	return p, true, cmp.Or(err, p.check())
}

// Save makes the log in a state folder a copy.
func (p Place) Save(stateDir string) error { return save(stateDir, PlaceFile, p, p.check()) }

func (p Place) check() error {
	return cmp.Or(teamwire.CheckName("team", p.Team), teamwire.CheckName("workspace", p.Workspace), teamwire.CheckTrack(p.Track))
}

// path returns the path of something of the workspace, or with a track of that.
func (p Place) path(rest string) string {
	path := "/v1/w/" + p.Workspace + "/"
	if p.Track != "" {
		path += "t/" + p.Track + "/"
	}
	return path + rest
}

// Copies returns the state folders of all copies in a state home, with the place of each.
func Copies(stateHome string) map[string]Place {
	all := map[string]Place{}
	for _, pattern := range []string{"*/" + PlaceFile, "*/tracks/*/" + PlaceFile} {
		paths, _ := fs.Glob(os.DirFS(stateHome), pattern) // the pattern is valid
		for _, path := range paths {
			dir := filepath.Dir(filepath.Join(stateHome, filepath.FromSlash(path)))
			if p, ok, err := PlaceOf(dir); ok && err == nil {
				all[dir] = p
			}
		}
	}
	return all
}

// Actor returns an actor of this machine as its team names it.
func (m Membership) Actor(a plan.Actor) plan.Actor {
	switch {
	case strings.HasPrefix(a.Name, m.Member+"/"):
	case (a.Kind == plan.Agent || a.Kind == plan.Planloop) && m.Role != teamwire.RoleCI:
		a.Name = m.Member + "/" + teamwire.Label(a.Name)
	case a.Kind == plan.CI || m.Role == teamwire.RoleCI:
		a.Name = m.Member + "/ci"
	case a.Kind == plan.Person:
		a.Name = m.Member
	}
	return a
}

// Local returns the name of an agent of this machine without its member's; false for the names of others.
func (m Membership) Local(name string) (string, bool) {
	local, ok := strings.CutPrefix(name, m.Member+"/")
	return local, ok || !strings.Contains(name, "/") && name != m.Member
}

func (m Membership) label(name string) string {
	name, _ = m.Local(name)
	return teamwire.Label(name)
}

func load(path string, into any) error {
	if err := safefile.CheckUnread(path); err != nil {
		return err
	}
	data, err := safefile.Read(path, maxFile)
	if err == nil && json.Unmarshal(data, into, json.RejectUnknownMembers(true)) != nil {
		err = fmt.Errorf("%s is not valid; delete it, then join or pull again", path) // not its content, which may be a token
	}
	return err
}

func save(folder, name string, value any, wrong error) error {
	data, err := json.Marshal(value)
	if err := cmp.Or(wrong, err); err != nil {
		return err
	}
	if err := safefile.MakeFolder(folder); err != nil {
		return err
	}
	return safefile.WriteFile(filepath.Join(folder, name), append(data, '\n'), safefile.Options{Mode: safefile.FileMode})
}

// SuggestWorkspace returns a name for a workspace: from the address of one of its git remotes, else from its directory.
func SuggestWorkspace(remotes []string, dir string) string {
	for _, from := range append(remotes, dir) {
		base := strings.TrimSuffix(strings.TrimRight(from, "/"), ".git")
		name := teamwire.Label(base[strings.LastIndexAny(base, "/:\\")+1:])
		if teamwire.CheckName("workspace", name) == nil {
			return name
		}
	}
	return "NAME"
}
