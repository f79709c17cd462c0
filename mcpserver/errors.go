package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// result turns the reply or error of a call into the client's result.
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
		text := "Nothing was changed. " + refusalText(err, refused, c.row.Name, c.row.Example)
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
	if config := (*workspace.ConfigError)(nil); errors.As(err, &config) {
		return "The workspace cannot be opened; nothing was changed. Tell the user: " + err.Error() + "."
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
