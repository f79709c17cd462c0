package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// Exit codes, part of the contract with scripts.
const (
	exitOK      = 0
	exitFault   = 1 // a failure of the disk, the log, or planloop itself
	exitRefused = 2 // the input or the state does not allow it; nothing changed

	exitRunFailed  = 3 // of run: a step failed, or nothing can start
	exitRunWaits   = 4 // of run: it waits for a person or an agent
	exitRunStopped = 5 // of run: it was paused, stopped or cancelled, or no agent is available
)

// runStatus returns the exit status of a run that has ended for a reason, nil if the plan is complete.
func runStatus(reason plan.StopReason) error {
	switch reason {
	case plan.StopCompleted:
		return nil
	case plan.StopFailed, plan.StopDeadlocked:
		return exitStatus(exitRunFailed)
	case plan.StopWaitingForPerson, plan.StopWaitingForAgent:
		return exitStatus(exitRunWaits)
	}
	return exitStatus(exitRunStopped)
}

// exitStatus is the exit code of a command that planloop ran, or of one that has printed its own outcome.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("the command exited with %d", int(e)) }

type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// unrelatedToPlan is a refusal unrelated to the plan: it does not print the plan's next action.
type unrelatedToPlan struct{ error }

func (e unrelatedToPlan) Unwrap() error { return e.error }

// exitCode is the only table from errors to exit codes.
func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, new(*plan.ValidationError)), errors.As(err, new(*verbs.RefusedPlan)), errors.As(err, new(usageError)),
		errors.As(err, new(*workspace.ConfigError)), errors.Is(err, outbound.ErrConfig):
		return exitRefused
	}
	return exitFault
}

// report prints an error, if any, and returns the exit code: as JSON on standard output with --json, otherwise as a line on standard error.
func (a *app) report(ctx context.Context, err error) int {
	if again, ok := errors.AsType[*verbs.ChangeProposed](err); ok {
		return a.report(ctx, a.reply(again.Reply))
	}
	if own, ok := errors.AsType[exitStatus](err); ok {
		return int(own)
	}
	code := exitCode(err)
	if err == nil || errors.Is(err, errReported) {
		return code
	}
	next := a.nextAfter(ctx, err)
	if a.flags.json {
		if printing := a.printJSON(errorReply(err, next)); printing == nil {
			return code
		}
	}
	fmt.Fprintln(a.err, "planloop: "+safetext.Escape(a.forPeople(message(err))))
	if refused, ok := errors.AsType[*plan.ValidationError](err); ok && refused.Output != "" {
		fmt.Fprintln(a.err, safetext.Marked(refused.Output))
	}
	if next != "" {
		fmt.Fprintln(a.err, "Next: "+safetext.Escape(a.forPeople(next)))
	}
	return code
}

// message returns the error's text, with a field written as on the command line: without the slash of a JSON pointer.
func message(err error) string {
	if refused, ok := errors.AsType[*plan.ValidationError](err); ok && refused.Field != "" {
		return strings.TrimPrefix(err.Error(), "/")
	}
	return err.Error()
}

func (a *app) nextAfter(ctx context.Context, err error) string {
	var refused *plan.ValidationError
	var invalid *verbs.RefusedPlan
	var bad *verbs.BadCall
	switch {
	case errors.As(err, &invalid):
		return invalid.Next
	case errors.As(err, &bad) && bad.Instead != "":
		return bad.Instead
	}
	ws := a.ws.Load()
	if !errors.As(err, &refused) || refused.Kind == plan.InvalidInput || ws == nil || errors.As(err, new(unrelatedToPlan)) ||
		refused.Field == "/plan_id" || refused.Field == "/template" {
		return ""
	}
	next, err := ws.verbs.NextAction(ctx, a.caller())
	if err != nil {
		return "" // the refusal is enough
	}
	return next.For(a.caller())
}

// errorJSON is an error in the shape of planloop's JSON contract.
type errorJSON struct {
	Status     string    `json:"status"`
	ErrorType  errorType `json:"error_type"`
	Message    string    `json:"message"`
	Details    []string  `json:"details"`
	NextAction string    `json:"next_action,omitempty"`
}

// errorType classifies an error in that contract; a refusal by its kind.
type errorType string

const (
	faultType       errorType = "fault"       // a failure, not a refusal
	interruptedType errorType = "interrupted" // an interrupt ended a command that planloop ran
)

// Values lists the types.
func (errorType) Values() []string {
	return append(plan.ErrorKind("").Values(), verbs.RefusedPlanType, string(faultType), string(interruptedType))
}

func errorReply(err error, next string) errorJSON {
	reply := errorJSON{Status: "error", ErrorType: faultType, Message: err.Error(), Details: []string{}, NextAction: next}
	var refused *plan.ValidationError
	var invalid *verbs.RefusedPlan
	switch {
	case errors.As(err, &invalid):
		reply.ErrorType, reply.Message, reply.Details = verbs.RefusedPlanType, invalid.Message(), invalid.Details()
	case errors.As(err, &refused):
		reply.ErrorType = errorType(refused.Kind)
		if len(refused.Others) > 0 {
			reply.Details = refused.Details()
		} else if refused.Fix != "" {
			reply.Details = []string{refused.Fix}
		}
		if refused.Output != "" {
			reply.Details = append(reply.Details, safetext.Marked(refused.Output))
		}
	case exitCode(err) == exitRefused:
		reply.ErrorType = errorType(plan.InvalidInput)
	}
	return reply
}
