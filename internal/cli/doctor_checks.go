package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/build"
	"github.com/planloop/planloop/internal/downstream"
	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

type finding struct {
	About  string `json:"about"`
	State  status `json:"state"`
	Text   string `json:"text"`
	Next   string `json:"next,omitempty"`
	Person bool   `json:"for_a_person,omitempty"` // the next action is not for an agent
}

type status string

const (
	fine    status = "fine"
	wrong   status = "wrong"
	unknown status = "unknown" // no answer
	past    status = "past"    // an earlier error
)

func (f finding) line() string {
	switch {
	case f.Next == "":
		return f.Text
	case f.Person:
		return f.Text + "; for a person: " + f.Next
	}
	return f.Text + "; " + f.Next
}

// Time limits of the checks.
const (
	shortTimeout     = 2 * time.Second
	handshakeTimeout = 8 * time.Second
	logTimeout       = time.Minute // for the log
	errorsShown      = 3           // entries shown
)

// check checks one thing and changes nothing. It may hang.
type check struct {
	about string
	limit time.Duration
	look  func(context.Context) []finding
}

// runChecks runs all checks at once and returns their findings in order. A check that hangs is abandoned; this process ends soon.
func runChecks(ctx context.Context, checks []check) []finding {
	found := make([][]finding, len(checks))
	var looking sync.WaitGroup
	for i, p := range checks {
		looking.Go(func() {
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.limit)
			defer cancel()
			var err error
			if found[i], err = await(limited, func() ([]finding, error) { return p.look(ctx), nil }); err != nil {
				found[i] = []finding{{About: p.about, State: unknown, Text: "did not respond within " + p.limit.String(),
					Next: "run `planloop doctor` again"}}
			}
		})
	}
	looking.Wait()
	return slices.Concat(found...)
}

// checks returns the checks other than the log's, in the order in which a user meets problems.
func (a *app) checks(place workspace.Workspace) []check {
	return []check{
		{"program", 2 * shortTimeout, a.checkPath},
		{"host", 2 * shortTimeout, func(ctx context.Context) []finding { return a.checkHosts(ctx, place) }},
		{"state", shortTimeout, func(context.Context) []finding { return []finding{checkState(place)} }},
		{"handshake", handshakeTimeout + shortTimeout, func(ctx context.Context) []finding { return a.checkHandshake(ctx, place) }},
		{"server", shortTimeout, func(context.Context) []finding { return checkServers(place) }},
		{"error", shortTimeout, func(context.Context) []finding { return checkErrors(place) }},
	}
}

func (a *app) checkPath(ctx context.Context) []finding {
	own := ownPath()
	found := finding{About: "program", State: fine, Text: own}
	var all []finding
	seen := []string{own}
	first := ""
	for _, dir := range filepath.SplitList(a.getenv("PATH")) {
		path, err := exec.LookPath(filepath.Join(dir, "planloop"))
		if !filepath.IsAbs(dir) || err != nil {
			continue
		}
		first = cmp.Or(first, path)
		if slices.ContainsFunc(seen, func(other string) bool { return sameFile(other, path) }) {
			continue
		}
		seen = append(seen, path)
		if its, same := a.versionOf(ctx, path); !same {
			all = append(all, finding{About: "program", State: wrong,
				Text: path + " is also on the PATH, " + its + "; this is " + version(),
				Next: "remove the other one, or put the right folder first in PATH", Person: true})
		}
	}
	switch {
	case first == "":
		found.Text += ", which is not on the PATH; hosts start it by its whole path"
	case !sameFile(first, own):
		found.Text += "; `planloop` in a shell starts " + first
	}
	return append([]finding{found}, all...)
}

func (a *app) versionOf(ctx context.Context, path string) (text string, same bool) {
	const max = 16 << 10
	cmd := exec.Command(path, "version", "--json")
	cmd.Env = process.Environment(os.Environ())
	result, err := a.launch().Run(ctx, cmd, process.Options{Timeout: shortTimeout, Output: max})
	var answer build.Info
	switch {
	case result.TimedOut:
		return "which did not report its version within " + shortTimeout.String(), false
	case err != nil || json.Unmarshal([]byte(result.Stdout), &answer) != nil || answer.Version == "":
		return "which did not report its version", false
	}
	return "version " + answer.Version, answer.Version == version()
}

func (a *app) checkHosts(ctx context.Context, place workspace.Workspace) []finding {
	known, err := a.hostStates(ctx, place)
	if err != nil {
		return []finding{{About: "host", State: wrong, Text: err.Error()}}
	}
	var all []finding
	var idle []string
	connected := false
	for _, k := range known {
		states := []hosts.State{k.Server, k.Hooks, k.Project.Server, k.Project.Hooks}
		installed := slices.ContainsFunc(states, hosts.State.IsInstalled)
		connected = connected || installed
		switch {
		case installed, k.Found != "" && len(k.Faults) > 0:
			all = append(all, a.hostFindings(ctx, k)...)
			for _, rival := range k.rivals {
				all = append(all, finding{About: "host", State: fine, Text: k.Title + ": " + rival + ", and the first answer counts",
					Next: "remove that hook if planloop should review plans", Person: true})
			}
		case k.Found != "":
			idle = append(idle, k.Host)
		}
	}
	if len(idle) > 0 {
		f := finding{About: "host", State: fine, Text: "not connected: " + strings.Join(idle, ", "),
			Next: "`planloop init " + strings.Join(idle, " ") + "` would", Person: true}
		if !connected {
			f.State, f.Text = wrong, "no host is connected; found here: "+strings.Join(idle, ", ")
			f.Next = "run `planloop init`"
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		all = []finding{{About: "host", State: fine, Text: "no host was found on this machine",
			Next: "`planloop init HOST` connects one anyway", Person: true}}
	}
	return all
}

func (a *app) hostFindings(ctx context.Context, k hostState) []finding {
	var all []finding
	about := func(text, next string) {
		all = append(all, finding{About: "host", State: wrong, Text: k.Title + " " + text, Next: next, Person: true})
	}
	for _, fault := range k.Faults {
		about("cannot be checked: "+fault, "")
	}
	again := "run `planloop init " + k.Host + "`, then start a new session"
	if k.Project.isConfigured() && !k.Server.IsInstalled() {
		again = "run `planloop init " + k.Host + " --scope project`, then start a new session"
	}
	if k.Twice != "" {
		all = append(all, finding{About: "host", State: wrong, Text: k.Title + ": " + k.Twice, Person: true})
	}
	again = cmp.Or(k.remedy, again)
	for _, program := range k.Starts {
		if problem := a.startProblem(ctx, k, program); problem != "" {
			about("starts "+program+", "+problem, again)
		}
	}
	if len(all) == 0 {
		switch {
		case !k.Server.IsInstalled() && !k.Project.Server.IsInstalled():
			about("does not start the server", again)
		case slices.Contains([]hosts.State{k.Server, k.Hooks, k.Project.Server, k.Project.Hooks}, hosts.Old):
			about("is out of date: its files differ from what this version writes", again)
		case k.Hooks == hosts.Missing && !k.Project.Hooks.IsInstalled():
			about("does not ask planloop's hooks, so that planning mode is not enforced for its own tools", again)
		}
	}
	for _, obstacle := range k.Obstacles {
		about("does not call its hooks: "+obstacle, "")
	}
	if len(all) > 0 {
		return all
	}
	text := k.Title + ": connected"
	switch {
	case k.Hooks == hosts.None && k.Project.Hooks == hosts.None:
		text += ", without hooks: planning mode is not enforced for its own tools"
	case k.Heard == nil:
		text += "; its hooks are installed, without a call in 24 h"
	default:
		text += "; its hooks are installed, last call " + k.Heard.lastHeard()
	}
	return []finding{{About: "host", State: fine, Text: text}}
}

// startProblem returns why a host cannot start a program, or "". It runs none that only the project's files name: they are untrusted.
func (a *app) startProblem(ctx context.Context, k hostState, program string) string {
	if sameFile(program, ownPath()) {
		return ""
	}
	info, err := os.Stat(program)
	switch {
	case !filepath.IsAbs(program) && k.Plugin != "":
		return "which is not on the PATH"
	case !filepath.IsAbs(program):
		return "which is not an absolute path, and may not be found"
	case errors.Is(err, fs.ErrNotExist):
		return "which does not exist"
	case err != nil:
		return "which cannot be read"
	case info.IsDir():
		return "which is a folder"
	}
	if _, err := exec.LookPath(program); err != nil {
		return "which cannot be executed"
	}
	if !slices.Contains(k.userPrograms, program) {
		return "which is not this planloop"
	}
	if its, same := a.versionOf(ctx, program); !same {
		return its + "; this is " + version()
	}
	return ""
}

// checkState checks whether the state is writable, and leaves no files.
func checkState(place workspace.Workspace) finding {
	folder := place.StateDir
	for folder != filepath.Dir(folder) {
		if _, err := os.Stat(folder); err == nil {
			break
		}
		folder = filepath.Dir(folder)
	}
	var file *os.File
	err := safefile.CheckFolder(place.StateDir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		file, err = os.CreateTemp(folder, ".planloop-doctor-*")
	}
	if err == nil {
		_, err = file.WriteString("written by planloop doctor, which removes it\n")
		err = errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	if err != nil {
		return finding{About: "state", State: wrong, Text: "cannot be written: " + err.Error(),
			Next: "make " + folder + " writable, or set XDG_STATE_HOME to a folder of your own", Person: true}
	}
	head, err := sqlite.New(place.StateDir, sqlite.Options{}).CachedHead(context.Background())
	if _, isMarked := place.Marked(); isMarked && err == nil && head.Seq == 0 {
		return finding{About: "state", State: wrong, Text: session.ErrDeleted.Error(),
			Next: "put the folder back, or run `planloop purge` to end planning mode", Person: true}
	}
	return finding{About: "state", State: fine, Text: "can be written"}
}

// checkHandshake starts this program the way clients do, with both protocol versions.
func (a *app) checkHandshake(ctx context.Context, place workspace.Workspace) []finding {
	server := downstream.Server{Command: ownPath(), Args: []string{"serve", "--ephemeral"}}
	if !place.Default {
		server.Args = append(server.Args, "--workspace", place.Path)
	}
	options := downstream.Options{Launcher: a.launch(), Dir: place.Path, Getenv: a.getenv, Version: version()}
	greet := func(era string, stateless bool) check {
		return check{"handshake", handshakeTimeout + shortTimeout, func(ctx context.Context) []finding {
			answer, err := downstream.Greet(ctx, "planloop", server, options, stateless, handshakeTimeout)
			if err != nil {
				return []finding{{About: "handshake", State: wrong, Text: "a client of " + era + " gets no tools: " + err.Error(),
					Next: "run `planloop serve` in a terminal to see its messages"}}
			}
			return []finding{{About: "handshake", State: fine, Text: fmt.Sprintf("a client of %s gets %s, in %d ms", answer.Version,
				plan.Pluralize(answer.Tools, "tool"), answer.Took.Milliseconds())}}
		}}
	}
	return runChecks(ctx, []check{greet("2025-11-25", false), greet("2026-07-28", true)})
}

func checkServers(place workspace.Workspace) []finding {
	var all []finding
	for _, s := range presence.Open(place.SharedDir(), presence.Options{}).Servers() {
		f := finding{About: "server", State: fine,
			Text: fmt.Sprintf("%s is served by process %d", cmp.Or(s.Client, "a client"), s.Process.PID)}
		if s.Version != version() {
			f.State, f.Text = wrong, f.Text+", which is planloop "+cmp.Or(s.Version, "of an older version")+"; this is "+version()
			f.Next, f.Person = "start a new session of that host when convenient", true
		}
		all = append(all, f)
	}
	return all
}

func checkErrors(place workspace.Workspace) []finding {
	var all []finding
	for _, e := range lastErrors(errorsShown, place.SharedDir(), place.StateHome()) {
		text := e.At.Local().Format("2006-01-02 15:04") + " " + e.Who + ": " + e.Text
		if e.Version != version() {
			text += " (planloop " + e.Version + ")"
		}
		if e.Times > 1 {
			text += fmt.Sprintf(" (%d times)", e.Times)
		}
		all = append(all, finding{About: "error", State: past, Text: text})
	}
	return all
}
