package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

func newSuggestCommand(a *app) *cobra.Command {
	var in verbs.Suggest
	suggest := func(s *verbs.Service, ctx context.Context, c verbs.Caller, in verbs.Suggest) (verbs.SuggestReply, error) {
		if a.errIsTerminal {
			fmt.Fprintln(a.err, "planloop: searching the workspace")
		}
		return s.Suggest(ctx, c, in)
	}
	cmd := newCommand("suggest", "", noArguments, runVerb(a, suggest, func(*cobra.Command, []string) (verbs.Suggest, error) {
		return in, nil
	}))
	cmd.Flags().IntVar(&in.Limit, "limit", 20, "how `MANY` to list, at most 50")
	cmd.Flags().StringVar(&in.Focus, "focus", "", "`TEXT` that narrows the search")
	return cmd
}

func newPromptCommand(a *app) *cobra.Command {
	cmd := newCommand("prompt", "[NAME [ARGUMENT=TEXT...]]", nil, func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return a.reply(promptList(verbs.Prompts()))
		}
		values := map[string]string{}
		for _, arg := range args[1:] {
			name, text, ok := strings.Cut(arg, "=")
			if !ok {
				return usageError{fmt.Errorf("%s is not an argument; write it as NAME=TEXT", plan.Quote(arg))}
			}
			values[name] = text
		}
		fill := func(s *verbs.Service, ctx context.Context, c verbs.Caller, name string) (textReply, error) {
			text, err := s.Prompt(ctx, c, name, values)
			if errors.As(err, new(*prompts.ArgumentError)) {
				err = usageError{err}
			}
			return textReply{text}, err
		}
		return runVerb(a, fill, constant(args[0]))(cmd, args)
	})
	cmd.ValidArgsFunction = completePrompt
	return cmd
}

type promptsReply struct {
	Prompts []promptEntry `json:"prompts"`
}

type promptEntry struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Arguments   []string `json:"arguments"`
	Required    []string `json:"required,omitempty"` // the required arguments
}

func promptList(all []prompts.Prompt) promptsReply {
	var reply promptsReply
	for _, p := range all {
		entry := promptEntry{Name: p.Name, Description: p.Description, Arguments: []string{}}
		for _, argument := range p.Arguments {
			entry.Arguments = append(entry.Arguments, argument.Name)
			if argument.Required {
				entry.Required = append(entry.Required, argument.Name)
			}
		}
		reply.Prompts = append(reply.Prompts, entry)
	}
	return reply
}

func (r promptsReply) Text() string {
	var lines []string
	for _, p := range r.Prompts {
		name := p.Name
		for _, argument := range p.Arguments {
			if slices.Contains(p.Required, argument) {
				name += " " + argument + "=TEXT"
			} else {
				name += " [" + argument + "=TEXT]"
			}
		}
		lines = append(lines, fmt.Sprintf("%-44s %s", name, p.Description))
	}
	return strings.Join(lines, "\n")
}

func completePrompt(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, p := range verbs.Prompts() {
		if len(args) == 0 {
			names = append(names, p.Name)
		} else if p.Name == args[0] {
			for _, argument := range p.Arguments {
				names = append(names, argument.Name+"=")
			}
			return names, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
