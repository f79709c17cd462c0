package main

import (
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
)

func newSuggestCommand(a *app) *cobra.Command {
	var in verbs.Suggest
	cmd := &cobra.Command{
		Use:   "suggest",
		Short: "Look for work the code asks for",
		Long: `Looks for work that is not in the plan yet: TODO, FIXME and XXX marks, files
without tests by the conventions of Go, Python and TypeScript, dead links in
documents, open signals, and tasks that name missing files. .gitignore is
respected. With a configured model the list is refined by it.`,
		Example: `  planloop suggest
  planloop suggest --limit 30 --focus login
  planloop suggest --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			service, err := a.service(cmd.Context())
			if err != nil {
				return err
			}
			caller, finish := a.caller(), func() {}
			if a.errIsTerm {
				caller.Progress, finish = a.bar()
			}
			reply, err := service.Suggest(cmd.Context(), caller, in)
			finish()
			if err != nil {
				return err
			}
			return a.reply(reply)
		},
	}
	cmd.Flags().IntVar(&in.Limit, "limit", 20, "how `MANY` to list, at most 50")
	cmd.Flags().StringVar(&in.Focus, "focus", "", "`TEXT` of what to look for")
	return cmd
}

// bar shows on a terminal how many files were read.
func (a *app) bar() (progress func(done, all int, what string), finish func()) {
	bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(a.err), progressbar.OptionSetDescription("reading"),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionSpinnerType(14))
	// A bar that cannot be drawn is no reason to stop.
	return func(done, _ int, _ string) { _ = bar.Set(done) }, func() { _ = bar.Finish() }
}
