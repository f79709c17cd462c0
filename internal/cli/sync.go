package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/agentsmd"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

func newSyncCommand(a *app) *cobra.Command {
	var dry, remove bool
	cmd := newCommand("sync", "", noArguments, func(cmd *cobra.Command, _ []string) error {
		ws, err := a.open(cmd.Context(), nil)
		if err != nil {
			return err
		}
		if ws.place.Default {
			return plan.Refuse(plan.Conflict, "", "this folder is not a project, so it has no file for agents",
				"run it in a project, or name one with --workspace DIR")
		}
		if !dry {
			file := filepath.Join(ws.place.Path, ws.config.AgentsFile)
			if err := a.refuseWhilePlanning(cmd.Context(), ws, "no file may be written", file); err != nil {
				return err
			}
		}
		return a.sync(ruleBook{ws.place.Path, ws.config.AgentsFile}, dry, remove)
	})
	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "show the change without making it")
	cmd.Flags().BoolVar(&remove, "remove", false, "remove planloop's block from the file")
	return cmd
}

type syncReply struct {
	File   string          `json:"file"`
	Target string          `json:"target,omitempty"` // the changed file, if File is a link
	Action agentsmd.Action `json:"action"`
	DryRun bool            `json:"dry_run,omitempty"`
	Lost   string          `json:"lost,omitempty"` // hand-written changes to the block
}

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
		text += "\nThe block had been edited by hand. Its former text:\n" + r.Lost
	}
	return text
}

func (a *app) sync(book ruleBook, dry, remove bool) error {
	var result agentsmd.Result
	var err error
	if remove {
		result, err = agentsmd.Remove(book.workspace, book.file, dry)
	} else {
		result, err = agentsmd.Write(book.workspace, book.file, book.canonical(), dry)
	}
	if refused, ok := errors.AsType[*agentsmd.Error](err); ok {
		return plan.Refuse(plan.Conflict, "", strings.TrimSuffix(refused.Error(), "; "+refused.Fix), refused.Fix)
	}
	if err != nil {
		return err
	}
	return a.reply(syncReply{File: book.file, Target: result.Target, Action: result.Action, DryRun: dry, Lost: result.Edits})
}

type ruleBook struct {
	workspace string
	file      string // relative path, with slashes
}

func (r ruleBook) canonical() string { return resources.AgentsMD(r.file) }

func (r ruleBook) Inspect() verbs.Rules {
	found, err := agentsmd.Inspect(r.workspace, r.file, r.canonical())
	rules := verbs.Rules{File: r.file, Exists: found.State != agentsmd.Absent, Content: string(found.Content)}
	known := false
	rules.State, known = map[agentsmd.State]string{agentsmd.InSync: "", agentsmd.Absent: "missing", agentsmd.Outdated: "outdated",
		agentsmd.NoBlock: "without planloop's rules", agentsmd.Edited: "changed within planloop's block"}[found.State]
	if !known || err != nil {
		rules.State = "not usable"
	}
	switch {
	case err != nil:
		rules.Problem = err.Error()
	case found.Refusal != nil:
		rules.Problem = found.Refusal.Error()
	}
	return rules
}

const fileSettleTime = 50 * time.Millisecond // unchanged for that long, a file is read

func (r ruleBook) Changed(ctx context.Context) <-chan struct{} {
	changed, err := agentsmd.Watch(ctx, r.workspace, r.file, fileSettleTime)
	if err != nil {
		return nil // a status reads the file anyway
	}
	return changed
}
