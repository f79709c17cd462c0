package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/agentsmd"
	"github.com/planloop/planloop/plan"
)

func newSyncCommand(a *app) *cobra.Command {
	var dry, remove bool
	cmd := newCommand("sync", "", noArguments, func(cmd *cobra.Command, _ []string) error {
		opened, err := a.open(cmd.Context(), nil)
		if err != nil {
			return err
		}
		if opened.place.Default {
			return plan.Refuse(plan.Conflict, "", "this is not a project, so there is no file for agents",
				"run it in a project, or name one with --workspace DIR")
		}
		if !dry {
			file := filepath.Join(opened.place.Path, opened.config.AgentsFile)
			if err := a.mayAct(cmd.Context(), opened, "no file is written", file); err != nil {
				return err
			}
		}
		return a.sync(ruleBook{opened.place.Path, opened.config.AgentsFile}, agentsmd.Options{DryRun: dry}, remove)
	})

	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "say what would be done, without doing it")
	cmd.Flags().BoolVar(&remove, "remove", false, "take planloop's block out of the file")
	return cmd
}

// syncReply describes the change to the file.
type syncReply struct {
	File   string          `json:"file"`
	Target string          `json:"target,omitempty"` // the changed file, if File is a link
	Action agentsmd.Action `json:"action"`
	DryRun bool            `json:"dry_run,omitempty"`
	Lost   string          `json:"lost,omitempty"` // hand-written changes to the block
}

// Text returns the reply in a line or two.
func (r syncReply) Text() string {
	text := r.File
	if r.Target != "" && r.Target != r.File {
		text += " (a link to " + r.Target + ")"
	}
	if r.DryRun {
		text += " would be"
	}
	text += ": " + string(r.Action)
	if r.Lost != "" {
		text += "\nIts block had been changed by hand; this is what it held:\n" + r.Lost
	}
	return text
}

func (a *app) sync(book ruleBook, o agentsmd.Options, remove bool) error {
	var result agentsmd.Result
	var err error
	if remove {
		result, err = agentsmd.Remove(book.workspace, book.file, o)
	} else {
		result, err = agentsmd.Write(book.workspace, book.file, book.canonical(), o)
	}
	var refused *agentsmd.Error
	if errors.As(err, &refused) {
		return plan.Refuse(plan.Conflict, "", placed(refused), refused.Fix)
	}
	if err != nil {
		return err
	}
	return a.reply(syncReply{File: book.file, Target: result.Target, Action: result.Action, DryRun: o.DryRun, Lost: result.Edits})
}

// placed returns a problem with its file and line.
func placed(e *agentsmd.Error) string {
	if e.Line == 0 {
		return e.File + ": " + e.Problem
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Problem)
}
