package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/sandbox"
	"github.com/planloop/planloop/plan"
)

func newConfineCommand(a *app) *cobra.Command {
	var wall, mark string
	cmd := newCommand("confine", "[--wall WALL] -- COMMAND...", nil, func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return missing(cmd, "a command after --")
		}
		return a.confine(cmd, sandbox.Wall(wall), mark, args)
	})
	cmd.Flags().StringVar(&wall, "wall", "", "use only this `WALL`: namespaces or landlock (default: the first that works)")
	cmd.Flags().StringVar(&mark, "mark", "", "the `MARK` by which a hook learns that its host runs the command that the hook gave it")
	_ = cmd.Flags().MarkHidden("mark") // fails only without the flag
	return cmd
}

// confine runs a command so that its effects are dropped, and exits with its code. With a mark a hook may have put it in the place of
// another command; then it says so.
func (a *app) confine(cmd *cobra.Command, wall sandbox.Wall, mark string, command []string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	place, err := a.findWorkspace()
	if err != nil {
		return err
	}
	if mark != "" {
		presence.Open(place.SharedDir(), presence.Options{}).MarkArrived(a.ancestors, mark)
		defer fmt.Fprintln(a.err, "planloop: planning mode; this ran in the sandbox, and its changes were dropped")
	}
	o := sandbox.Options{Dir: dir, Dropped: []string{dir}}
	if !place.Default {
		o.Dropped = []string{place.Path}
	}
	if wall != "" {
		if !slices.Contains(sandbox.Walls(), wall) {
			return usageError{fmt.Errorf("%q is not a wall; use one of namespaces, landlock", wall)}
		}
		o.Walls = []sandbox.Wall{wall}
	}
	confined := exec.Command(command[0], command[1:]...)
	confined.Stdout, confined.Stderr = a.out, a.err
	result, err := sandbox.Run(cmd.Context(), a.launch(), o, confined, process.Options{Timeout: longestConfined, Output: 1})
	switch {
	case errors.Is(err, sandbox.ErrNoWall):
		return plan.Refuse(plan.Conflict, "", err.Error(), "only read the files, or ask the user to run the command")
	case err != nil:
		return err
	case result.TimedOut:
		return fmt.Errorf("the command was stopped after %s", longestConfined)
	case result.ExitCode != 0:
		return exitStatus(result.ExitCode)
	}
	return nil
}

// confining returns the path by which agents call this program to confine a command; "" where no wall can be built.
func confining() string {
	if !slices.ContainsFunc(sandbox.Walls(), sandbox.Has) {
		return ""
	}
	return ownPath()
}

// longestConfined is how long a confined command may run.
const longestConfined = 24 * time.Hour

// rewritten returns the command that the host runs instead of a call's own: the form that runs it in the sandbox, with a one-time mark. A
// host may drop a change in silence, and then the original runs. So a mark first goes to a call that is in the sandbox anyway; a refused
// call is changed only after the last mark of its agent and permission mode has arrived there. "" leaves the decision as it is.
func (a *app) rewritten(ws *openWorkspace, policy hook.Policy, call hook.Call, isRefused bool) string {
	form := policy.Confined(call)
	if form == "" || call.Session == "" || isRefused == (form == call.Command) {
		return ""
	}
	calls := strings.Join([]string{ws.place.StateDir, call.Session, call.Subagent, call.Mode, call.Version}, "\x00")
	if allowed, arrived := ws.presence.Rewrites(a.ancestors, calls); !allowed || arrived != isRefused || a.rewriteProblem(ws, call) != "" {
		return ""
	}
	mark := ws.presence.NewMark(a.ancestors, calls, !isRefused)
	if mark == "" {
		return ""
	}
	begin := policy.Confine + " confine "
	return begin + "--mark " + mark + " " + strings.TrimPrefix(form, begin)
}

// rewriteProblem returns why planloop must not change the call; "" if it may.
func (a *app) rewriteProblem(ws *openWorkspace, call hook.Call) string {
	m, err := a.homeMachine()
	if err != nil {
		return err.Error()
	}
	m.Project = ws.place.Path
	anyOne := hook.Definition{Kind: hook.AnyName, Name: hook.AnyName}
	if problem, _ := a.findDefinition(call, anyOne); problem != "" { // it may have hooks
		return "a skill or a subagent " + problem
	}
	return m.RewriteProblem(call.Command, process.Starter(a.ancestors()).Args())
}
