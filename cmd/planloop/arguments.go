package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError{fmt.Errorf("%s takes no arguments, got %q; see `%s --help`", cmd.CommandPath(), args[0], cmd.CommandPath())}
}

func atLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return usageError{fmt.Errorf("%s needs %s; see `%s --help`", cmd.CommandPath(), what, cmd.CommandPath())}
	}
}
