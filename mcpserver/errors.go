package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

func (c toolCall) result(ctx context.Context, reply verbs.Reply, err error) *mcp.CallToolResult {
	if err != nil {
		return mcp.NewToolResultError(c.errorText(ctx, err))
	}
	return mcp.NewToolResultStructured(reply, reply.Text())
}

// errorText returns the text for a failed call that the model reads: the reason, and the next action. An
// internal fault is logged, and the text has only the part that helps.
func (c toolCall) errorText(ctx context.Context, err error) string {
	var invalid *verbs.RefusedPlan
	if errors.As(err, &invalid) {
		return refusedPlanText(c.row.Name, invalid)
	}
	var refused *plan.ValidationError
	if errors.As(err, &refused) {
		text := "Nothing was changed. " + refusalText(err, refused, c.row.Name, c.row.Example) + verbs.FailingLines(refused)
		if refused.Kind != plan.InvalidInput {
			text += c.nextLine(ctx)
		}
		return text
	}
	return c.internalError(c.row.Name, err)
}

// nextLine returns a line with the caller's next action, or "" if it is unknown.
func (c toolCall) nextLine(ctx context.Context) string {
	action, err := c.service.NextAction(ctx, c.caller)
	if err != nil {
		return ""
	}
	return "\nNext: " + action.For(c.caller)
}

// refusalText writes a refusal as a sentence. After invalid input it adds a correct call, made from the caller's
// own arguments if they can be fixed.
func refusalText(err error, refused *plan.ValidationError, tool, example string) string {
	text := strings.TrimSuffix(fmt.Sprintf("%s: %s", refused.Kind, refused), ".")
	if !strings.HasSuffix(text, "?") {
		text += "."
	}
	var bad *verbs.BadCall
	errors.As(err, &bad)
	switch {
	case bad != nil && bad.InWords != "" && bad.Instead == "":
		return text + "\nTo correct it: " + bad.InWords + "."
	case bad != nil && bad.Instead != "":
		return text + "\nA correct call: " + bad.Instead
	case refused.Kind != plan.InvalidInput:
		return text
	case bad != nil && bad.Mended != "":
		example = bad.Mended
	}
	return text + "\nA correct call: " + tool + " " + example
}

// detailsShown limits how many problems of a plan a model reads at once.
const detailsShown = 40

func refusedPlanText(tool string, invalid *verbs.RefusedPlan) string {
	details := invalid.Details()
	text := "Nothing was changed. " + verbs.RefusedPlanType + ": " + invalid.Message() + "\n- " +
		strings.Join(details[:min(len(details), detailsShown)], "\n- ")
	if more := len(details) - detailsShown; more > 0 {
		text += fmt.Sprintf("\n- and %d more", more)
	}
	if invalid.Next != "" {
		return text + "\nNext: " + invalid.Next + "."
	}
	if invalid.Instead != "" {
		return text + "\nA correct call: " + invalid.Instead
	}
	if invalid.Mended != "" {
		return text + "\nA correct call: " + tool + " " + invalid.Mended
	}
	return text + "\nNext: fix these problems and call " + tool + " again with the whole list."
}

// internalError logs the error and tells the model how to proceed.
func (s *Server) internalError(what string, err error) string {
	s.opts.Logger.Error("call failed", "of", what, "error", err)
	return Advice(err, "planloop failed: an internal error, or a problem in the plan's folder. Read the plan to check its "+
		"state. If that fails too, ask the user to run `planloop doctor`.")
}

// Advice returns the text for a fault: advice to the model for a fault of the store, or advice to the user
// for a cause that must be removed before the workspace can be opened. For any other fault it returns
// otherwise.
func Advice(err error, otherwise string) string {
	if known, ok := errors.AsType[interface { // of a team's server
		error
		ForCaller() string
	}](err); ok {
		return known.ForCaller()
	}
	if config := (*workspace.ConfigError)(nil); errors.As(err, &config) {
		return "The workspace cannot be opened; nothing was changed. Tell the user: " + strings.TrimSuffix(err.Error(), ".") + "."
	}
	for _, known := range []struct {
		kind error
		text string
	}{
		{errRootsFirst, "The workspace is unknown until a tool is called. Call planloop_status or planning_read_plan first, " +
			"then try again."},
		{store.ErrBusy, "The workspace is busy; nothing was changed. Try the call again."},
		{store.ErrDamaged, "The plan's log is damaged; nothing was changed. Ask the user to run `planloop doctor`."},
		{store.ErrNewer, "The plan was written by a newer planloop than this server; nothing was changed. Ask the user to reconnect this " +
			"server, or to update planloop if that does not help."},
		{process.ErrGone, "planloop was updated or removed while this server ran; nothing was run. Ask the user to reconnect this server."},
		{store.ErrReadOnly, "The plan's folder cannot be written; nothing was changed. Ask the user to run `planloop doctor`."},
		{store.ErrIO, "The disk failed under the plan. Try the call again; if it fails again, ask the user to run `planloop doctor`."},
		{store.ErrFull, "The disk is full; nothing was changed. Ask the user to free space, then try again."},
		{context.Canceled, "The call was cancelled."},
		{context.DeadlineExceeded, "The call took too long; read the plan to see whether it took effect."},
	} {
		if errors.Is(err, known.kind) {
			return known.text
		}
	}
	return otherwise
}

// toolWords maps each tool to words that models use in names for it.
func toolWords() map[string]string {
	return map[string]string{
		"planning_setup_plan":      "create new make init begin setup set start write todos",
		"planning_add_step":        "add append insert create step steps task tasks todo",
		"planning_update_step":     "edit change rename modify update step",
		"planning_mark_step":       "mark done complete finish start progress status set step task check verify",
		"planning_clear_plan":      "clear delete remove abandon reset cancel",
		"planning_read_plan":       "read get show view list steps plan tasks todos",
		"planloop_start":           "create new begin init start session",
		"planloop_status":          "status next current now resume get show what",
		"planloop_update":          "update report add done complete finish summary task tasks note delete remove skip cancel drop step",
		"planloop_alert":           "alert signal block blocker warn raise",
		"planning_enter_plan_mode": "enter mode",
		"planning_submit_plan":     "submit propose approve approval exit plan mode",
		"planning_ask_user":        "ask user question",
	}
}

// explainUnknown adds a suggestion to the protocol's error for a tool that is not offered. The library's
// message is: tool 'NAME' not found. So the text goes into the request's name, and the transport drops the library's words after it.
func (s *Server) explainUnknown(_ context.Context, _ any, request *mcp.CallToolRequest) {
	name := request.Params.Name
	quoted := strings.Trim(plan.Quote(name), `"`)
	text := quoted + "' not found"
	for _, row := range verbs.Table() {
		if row.Name == name {
			text = quoted + "' belongs to the toolset " + row.Toolset + ", which is off"
		}
	}
	if s.otherTools != nil {
		if why := s.otherTools.Missing(name); why != "" && s.nearestServerTool(name) == "" {
			request.Params.Name = quoted + "' is unavailable: " + why + ": '" + quoted
			return
		}
	}
	if s.otherTools == nil && s.opts.Servers != nil && strings.Contains(name, "__") {
		text = quoted + "' is not offered: turn on the toolset " + serversToolset + " for tools of other servers"
	}
	end := "."
	if near := cmp.Or(s.nearestServerTool(name), s.nearestTool(name)); near != "" {
		end = ": did you mean " + near + "?"
	}
	request.Params.Name = text + end + " Tools: " + strings.Join(slices.Concat(s.offered, s.serverNames()), ", ") + ": '" + quoted
}

// nearestTool returns the offered tool that shares the most words with a name, or "" if none is near.
func (s *Server) nearestTool(name string) string {
	best, bestScore := "", 0
	if at := strings.LastIndex(name, "__"); at >= 0 { // drop a host's prefix
		name = name[at+2:]
	}
	apart := regexp.MustCompile(`[A-Z]`).ReplaceAllString(plan.Shorten(name, 80), "_$0")
	words := strings.FieldsFunc(strings.ToLower(apart), func(r rune) bool { return strings.ContainsRune("_-. /", r) })
	known := toolWords()
	for _, tool := range s.offered {
		score := 0
		for _, word := range words {
			if slices.Contains(strings.Fields(known[tool]), word) {
				score += 2
			}
		}
		prefix, own, _ := strings.Cut(tool, "_")
		if score > 0 && len(words) > 0 && words[0] == prefix {
			score++
		}
		if strings.HasSuffix(name, "_"+own) {
			score += 2
		}
		if score > bestScore {
			best, bestScore = tool, score
		}
	}
	if best == "" {
		return safetext.Nearest(name, s.offered)
	}
	return best
}
