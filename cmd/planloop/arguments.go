package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/plan"
)

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError{fmt.Errorf("%s takes no arguments, got %s; see `%s --help`", commandName(cmd), plan.Quote(args[0]),
		cmd.CommandPath())}
}

func atLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return missing(cmd, what)
	}
}

func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == n:
			return nil
		case len(args) < n:
			return missing(cmd, what)
		}
		return usageError{fmt.Errorf("%s needs %s and nothing more, got %s; put text with spaces in quotes", commandName(cmd), what,
			plan.Quote(args[n]))}
	}
}

func atMost(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return usageError{fmt.Errorf("%s takes %s and nothing more, got %s; see `%s --help`", commandName(cmd), what, plan.Quote(args[n]),
			cmd.CommandPath())}
	}
}

func missing(cmd *cobra.Command, what string) error {
	return usageError{fmt.Errorf("%s needs %s; see `%s --help`", commandName(cmd), what, cmd.CommandPath())}
}

// unknownCommand refuses a word where a command was to be.
func unknownCommand(cmd *cobra.Command, word string) error {
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		return usageError{fmt.Errorf("there is no command %s; did you mean `%s %s`?", plan.Quote(cmd.CommandPath()+" "+word),
			cmd.CommandPath(), near[0])}
	}
	return usageError{fmt.Errorf("there is no command %s; see `%s --help`", plan.Quote(cmd.CommandPath()+" "+word), cmd.CommandPath())}
}

// commandGroup makes cmd nothing but a group of commands.
func commandGroup(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return missing(cmd, "a command")
	}
	cmd.AddCommand(commands...)
	return cmd
}

// commandName is how a message begins: the line has planloop's name before it.
func commandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// inJSON has a command of the JSON contract refuse its arguments in JSON, too.
func (a *app) inJSON(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		a.flags.json = true
		return check(cmd, args)
	}
}
