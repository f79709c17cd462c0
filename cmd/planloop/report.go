package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// Exit codes, part of the contract with scripts.
const (
	exitOK      = 0
	exitFault   = 1 // something broke: the disk, the log, planloop itself
	exitRefused = 2 // the input or the state does not allow it; nothing was changed
)

// usageError is a command line that cannot be understood.
type usageError struct{ error }

// exitCode is the one table from errors to exit codes.
func exitCode(err error) int {
	var (
		refused *plan.ValidationError
		usage   usageError
		place   *workspace.PlaceError
		config  *workspace.ConfigError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &refused), errors.As(err, &usage), errors.As(err, &place), errors.As(err, &config):
		return exitRefused
	}
	return exitFault
}

// report shows an error, if there is one, and returns the exit code: as JSON on
// standard output with --json, else as a line on standard error.
func (a *app) report(err error) int {
	code := exitCode(err)
	if err == nil {
		return code
	}
	if a.flags.json {
		a.printJSON(errorReply(err))
		return code
	}
	fmt.Fprintln(a.err, "planloop: "+printable(err.Error()))
	return code
}

// errorJSON is an error in the shape of planloop's JSON contract.
type errorJSON struct {
	Status    string   `json:"status"`
	ErrorType string   `json:"error_type"`
	Message   string   `json:"message"`
	Details   []string `json:"details"`
}

func errorReply(err error) errorJSON {
	reply := errorJSON{Status: "error", ErrorType: "fault", Message: err.Error(), Details: []string{}}
	var refused *plan.ValidationError
	switch {
	case errors.As(err, &refused):
		reply.ErrorType = string(refused.Kind)
		if refused.Fix != "" {
			reply.Details = []string{refused.Fix}
		}
	case exitCode(err) == exitRefused:
		reply.ErrorType = string(plan.InvalidInput)
	}
	return reply
}

func (a *app) printJSON(v any) {
	encoder := json.NewEncoder(a.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		fmt.Fprintln(a.err, "planloop: "+err.Error())
	}
}

// show prints a verb's reply: as JSON with --json, else as text.
func (a *app) show(reply interface{ Text() string }) error {
	if a.flags.json {
		a.printJSON(reply)
		return nil
	}
	_, err := fmt.Fprintln(a.out, printable(reply.Text()))
	return err
}
