package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// initOptions are the flags of init.
type initOptions struct {
	hosts.Request
	scope           string
	dry, check, yes bool
}

func newInitCommand(a *app) *cobra.Command {
	var o initOptions
	cmd := newCommand("init", "[HOST...]", nil, func(cmd *cobra.Command, args []string) error {
		return a.connect(cmd.Context(), o, args)
	})
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return described(hosts.Titles(), func(t hosts.Title) (string, string) { return t.Name, t.Title })
	}
	cmd.Flags().BoolVarP(&o.dry, "dry-run", "n", false, "show the changes without making them")
	cmd.Flags().BoolVar(&o.check, "check", false, "list missing and outdated entries, and exit with 2 if there are any")
	cmd.Flags().BoolVar(&o.Remove, "remove", false, "remove the entries that init has written")
	cmd.Flags().BoolVar(&o.NoHooks, "no-hooks", false, "write only the server, not the hooks")
	cmd.Flags().StringVar(&o.scope, "scope", string(hosts.User), "write the files of the `user`, or of the project")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	complete(cmd, "scope", cobra.FixedCompletions([]string{string(hosts.User), string(hosts.Project)},
		cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// connect adds planloop to the files of hosts, removes it, or reports the changes without making them.
func (a *app) connect(ctx context.Context, o initOptions, names []string) error {
	if o.Scope = hosts.Scope(o.scope); o.Scope != hosts.User && o.Scope != hosts.Project {
		return usageError{fmt.Errorf("--scope is %s; write user or project", plan.Quote(o.scope))}
	}
	if o.check && (o.Remove || o.dry) {
		return usageError{errors.New("--check cannot be used with --remove or --dry-run; give one of them")}
	}
	if o.Remove && o.NoHooks {
		return usageError{errors.New("--remove removes server and hooks; leave out --no-hooks")}
	}
	machine, err := a.machine(ctx, o.Scope)
	if err != nil {
		return unrelatedToPlan{err}
	}
	chosen, err := chosenHosts(machine, o, names)
	if err != nil {
		return unrelatedToPlan{err}
	}
	if o.check || o.dry {
		return a.printInit(machine, o, chosen)
	}
	if err := a.refuseInit(ctx, o, chosen); err != nil {
		return err
	}
	if own := filepath.ToSlash(machine.Program); !o.Remove && (strings.Contains(own, "/_npx/") || strings.Contains(own, "/go-build")) {
		a.note("this program is in a cache that may be emptied; install planloop, and run init with the installed program")
	}
	if agreed, err := a.confirmInit(ctx, machine, o, chosen); err != nil || !agreed {
		return err
	}
	for i, host := range chosen {
		chosen[i] = write(machine, host, o.Request)
	}
	return a.printInit(machine, o, chosen)
}

// homeMachine returns the machine with the user's home directory and no project.
func (a *app) homeMachine() (hosts.Machine, error) {
	home, err := a.home()
	if err != nil {
		return hosts.Machine{}, plan.Refuse(plan.Conflict, "", "the home directory is unknown", "set HOME")
	}
	state, err := workspace.StateHome(a.getenv, "")
	if err != nil {
		return hosts.Machine{}, err
	}
	return hosts.Machine{GOOS: runtime.GOOS, Home: home, Getenv: a.getenv, LookPath: exec.LookPath, Program: ownPath(),
		Ledger: filepath.Join(state, "installed")}, nil
}

// machine returns the machine with the project of the scope: the workspace, or the working directory for the scope user.
func (a *app) machine(ctx context.Context, scope hosts.Scope) (hosts.Machine, error) {
	m, err := a.homeMachine()
	if err != nil {
		return m, err
	}
	if m.Project, err = os.Getwd(); err != nil || scope == hosts.User {
		return m, err
	}
	ws, err := a.open(ctx, nil)
	switch {
	case err != nil:
		return m, err
	case ws.place.Default:
		return m, plan.Refuse(plan.Conflict, "", "this folder is not a project", "run it in a project, or leave out --scope project")
	}
	m.Project = ws.place.Path
	return m, nil
}

// chosenHosts returns the named hosts. Without names it returns the hosts found on the machine, or
// for --remove those whose files have a part of planloop.
func chosenHosts(m hosts.Machine, o initOptions, names []string) ([]hosts.Host, error) {
	if len(names) == 0 {
		chosen := slices.DeleteFunc(m.InspectAll(o.Request), func(h hosts.Host) bool {
			return len(h.Edits) == 0 || o.Remove && !h.IsConfigured() || !o.Remove && h.Found == ""
		})
		if len(chosen) == 0 && !o.Remove {
			return nil, plan.Refuse(plan.NotFound, "", "no host was found on this machine",
				"name the one you use: planloop init HOST, where HOST is one of "+strings.Join(hosts.Names(), ", "))
		}
		return chosen, nil
	}
	var chosen []hosts.Host
	for i, name := range names {
		host, ok := m.Inspect(name, o.Request)
		switch {
		case slices.Contains(names[:i], name):
		case !ok:
			fix := "name one of " + strings.Join(hosts.Names(), ", ")
			if near := safetext.Nearest(name, hosts.Names()); near != "" {
				fix = "did you mean " + near + "?"
			}
			return nil, plan.Refuse(plan.NotFound, "", plan.Quote(name)+" is not a known host", fix)
		case len(host.Edits) == 0:
			return nil, plan.Refuse(plan.Conflict, "", host.Title+" has no project files for servers or hooks",
				"leave out --scope project")
		default:
			chosen = append(chosen, host)
		}
	}
	return chosen, nil
}

// refuseInit refuses changes that would weaken planning mode, or that it does not allow now. An
// agent may connect a host but not disconnect one, because the hooks enforce planning mode for it.
func (a *app) refuseInit(ctx context.Context, o initOptions, chosen []hosts.Host) error {
	var files []string
	for _, host := range chosen {
		for _, edit := range host.Edits {
			if edit.HasChanges() {
				files = append(files, edit.Target)
			}
		}
	}
	why := a.agentSign()
	if a.flags.agent != "" {
		why = "--agent marks this caller as an agent"
	}
	if why == "" && o.Scope == hosts.User && !o.Remove {
		return nil
	}
	ws, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	if why == "" && a.caller().Actor.Kind == plan.Agent {
		why = "this command runs under an agent's host"
	}
	if o.Remove && why != "" {
		return unrelatedToPlan{plan.Refuse(plan.Conflict, "", "only a person may disconnect a host, and "+why,
			"run it in your own terminal")}
	}
	if why != "" {
		files = append(files, string(filepath.Separator)) // the user's files count in every workspace
	} else if o.Scope == hosts.User {
		return nil
	}
	return a.refuseWhilePlanning(ctx, ws, "no file may be written", files...)
}

// confirmInit asks a person at a terminal for consent. Elsewhere it assumes consent.
func (a *app) confirmInit(ctx context.Context, m hosts.Machine, o initOptions, chosen []hosts.Host) (bool, error) {
	changes := slices.ContainsFunc(chosen, hosts.Host.HasChanges)
	if o.yes || !changes || a.flags.json || !a.outIsTerminal || a.whyNoPerson() != "" {
		return true, nil
	}
	o.dry = true
	if err := a.printInit(m, o, chosen); err != nil && !errors.As(err, new(exitStatus)) {
		return false, err
	}
	if err := a.print([]byte("\nWrite these changes? [y/N] ")); err != nil {
		return false, err
	}
	answer, err := readLine(ctx, a.in)
	if err != nil {
		return false, err
	}
	if !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		return false, errors.Join(a.print([]byte("nothing was written\n")), exitStatus(exitRefused))
	}
	return true, nil
}

// write carries out the edits of a host. If a running host changed a file since, it computes the
// edit again.
func write(m hosts.Machine, host hosts.Host, want hosts.Request) hosts.Host {
	const tries = 5
	for i, edit := range host.Edits {
		err := m.Write(edit)
		for try := 1; errors.Is(err, hosts.ErrChanged) && try < tries; try++ {
			again, _ := m.Inspect(host.Name, want)
			edit = again.Edits[i]
			err = m.Write(edit)
		}
		if host.Edits[i] = edit; err != nil {
			host.Edits[i].Fault = err
		}
	}
	return host
}
