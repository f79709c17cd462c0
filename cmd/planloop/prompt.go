package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
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
					return usageError{fmt.Errorf("%s is no argument; write it as NAME=TEXT", plan.Quote(arg))}
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
