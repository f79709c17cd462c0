package gates

import (
	"context"
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
)

func checkReversible(_ context.Context, e *examination, i int) []flaw {
	t := e.New[i]
	if t.Risk != plan.HighRisk || slices.ContainsFunc(slices.Concat([]string{t.Title, t.Details, t.Verify, t.Pause}, t.AcceptanceCriteria, t.ContextHints), wayBack) {
		return nil
	}
	return []flaw{{message: "is of high risk and names no way back.", fix: "say how it is undone or tried first: a backup, a revert, a flag, a dry run"}}
}

// wayBack reports whether a text mentions a way to undo or to try.
func wayBack(text string) bool {
	text = strings.NewReplacer("-", " ", "_", " ").Replace(strings.ToLower(text))
	for _, way := range []string{"backup", "back up", "backed up", "revert", "roll back", "rollback", "rolls back", "rolled back", "restore", "undo", "flag", "dry run", "snapshot",
		"toggle", "canary", "kill switch", "down migration", "reversible", "staging", "transaction", "copy first", "keep a copy", "way back", "fallback", "fall back", "git stash"} {
		if strings.Contains(text, way) {
			return true
		}
	}
	return false
}
