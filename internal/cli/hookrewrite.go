package cli

import (
	"strings"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/process"
)

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
	for _, kind := range []string{"skill", "subagent"} {
		if problem, _ := a.findDefinition(call, hook.Definition{Kind: kind, Name: hook.AnyName, MayFork: true}); problem != "" {
			return "a " + kind + " " + problem // it may have hooks
		}
	}
	return m.RewriteProblem(call.Command, process.Starter(a.ancestors()).Args())
}
