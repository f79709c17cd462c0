package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/plan"
)

// refusePlaceholders refuses an argument that is a placeholder copied from planloop's own texts. named are the arguments as the help writes
// them.
func refusePlaceholders(named string, run runner) runner {
	return func(cmd *cobra.Command, args []string) error {
		var faults plan.Faults
		see := func(at, text string, names ...string) {
			if slices.ContainsFunc(names, func(name string) bool { return strict.Placeholder(text, strings.Trim(name, ".[]")) }) {
				faults.Add(plan.Refuse(plan.InvalidInput, at, plan.Quote(text)+" is a placeholder", "give the text itself"))
			}
		}
		for _, arg := range args {
			see("", arg, append(strings.Fields(named), "")...)
		}
		cmd.Flags().Visit(func(flag *pflag.Flag) {
			given := []string{flag.Value.String()}
			if several, ok := flag.Value.(*texts); ok {
				given = *several
			}
			shown, _ := pflag.UnquoteUsage(flag)
			for _, text := range given {
				see("/"+flag.Name, text, flag.Name, strings.ToLower(shown))
			}
		})
		if err := faults.Err(); err != nil {
			return err
		}
		return run(cmd, args)
	}
}

func noArguments(cmd *cobra.Command, args []string) error {
	return atMost(0, "no arguments")(cmd, args)
}

func atMostOne(what string) cobra.PositionalArgs { return atMost(1, what+" and nothing more") }

func atMost(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return usageError{fmt.Errorf("%s takes %s, got %s; see `%s --help`", commandName(cmd), what, plan.Quote(args[n]),
			cmd.CommandPath())}
	}
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

func missing(cmd *cobra.Command, what string) error {
	return usageError{fmt.Errorf("%s needs %s; see `%s --help`", commandName(cmd), what, cmd.CommandPath())}
}

// texts is a repeatable flag. The library's own one formats its empty default as CSV, which allocates a buffer for each of the twenty flags
// at every start.
type texts []string

func (t *texts) String() string { return strings.Join(*t, ", ") }

func (t *texts) Set(text string) error { *t = append(*t, text); return nil }

func (t *texts) Type() string { return "stringArray" }
