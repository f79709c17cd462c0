package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

func newPromptCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "prompt [NAME [ARGUMENT=TEXT...]]",
		Short: "Print a prompt, filled in from the workspace",
		Long: `Prints a text to give to a model, filled in with the plan and the files of the
workspace: the prompts that MCP hosts offer as slash commands. Without a name it
lists them.`,
		Example: `  planloop prompt
  planloop prompt decompose_goal goal="Add --json to list" | llm
  planloop prompt judge_plan
  planloop prompt suggest_tasks focus=tests`,
		ValidArgsFunction: completePrompt,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.reply(promptList(verbs.Prompts()))
			}
			given := map[string]string{}
			for _, arg := range args[1:] {
				name, text, ok := strings.Cut(arg, "=")
				if !ok {
					return usageError{fmt.Errorf("%s is not an argument; write it as NAME=TEXT", plan.Quote(arg))}
				}
				given[name] = text
			}
			service, err := a.service(cmd.Context())
			if err != nil {
				return err
			}
			text, err := service.Prompt(cmd.Context(), a.caller(), args[0], given)
			if err != nil {
				return asPromptUsage(err)
			}
			return a.reply(said{text})
		},
	}
}

// promptsReply lists the prompts.
type promptsReply struct {
	Prompts []promptEntry `json:"prompts"`
}

type promptEntry struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Arguments   []string `json:"arguments"`
}

func promptList(all []prompts.Prompt) promptsReply {
	var reply promptsReply
	for _, p := range all {
		entry := promptEntry{Name: p.Name, Description: p.Description, Arguments: []string{}}
		for _, argument := range p.Arguments {
			entry.Arguments = append(entry.Arguments, argument.Name)
		}
		reply.Prompts = append(reply.Prompts, entry)
	}
	return reply
}

// Text is a line for each prompt.
func (r promptsReply) Text() string {
	var lines []string
	for _, p := range r.Prompts {
		name := p.Name
		for _, argument := range p.Arguments {
			name += " [" + argument + "=TEXT]"
		}
		lines = append(lines, fmt.Sprintf("%-44s %s", name, p.Description))
	}
	return strings.Join(lines, "\n")
}

func asPromptUsage(err error) error {
	var bad *prompts.ArgumentError
	if errors.As(err, &bad) {
		return usageError{err}
	}
	return err
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
