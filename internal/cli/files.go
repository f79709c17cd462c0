package cli

import (
	"context"
	"fmt"
	"io/fs"
	"sync"

	"github.com/planloop/planloop/internal/tree"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// files gives access to the workspace's files, opened on first use and closed with the process.
type files struct {
	open func() (*tree.Tree, error)
}

func newFiles(workspace string) files {
	return files{open: sync.OnceValues(func() (*tree.Tree, error) { return tree.Open(workspace) })}
}

// Files returns a file system rooted in the workspace.
func (t files) Files() (fs.FS, error) {
	ws, err := t.open()
	if err != nil {
		return nil, err
	}
	return ws.FS(), nil
}

// Summary returns the tree in a few lines.
func (t files) Summary(ctx context.Context) (string, error) {
	ws, err := t.open()
	if err != nil {
		return "", err
	}
	return tree.Summary(ctx, ws, tree.SummaryOptions{}), nil
}

// Document returns a text file, cut to max bytes.
func (t files) Document(path string, max int) (string, bool) {
	ws, err := t.open()
	if err != nil {
		return "", false
	}
	return ws.ReadText(path, max)
}

// maxFindings limits the findings of a survey.
const maxFindings = 200

// Survey scans the tree.
func (t files) Survey(ctx context.Context, done func(files int)) (found []verbs.Suggestion, cut string, err error) {
	ws, err := t.open()
	if err != nil {
		return nil, "", err
	}
	result, err := tree.Scan(ctx, ws, tree.ScanOptions{Progress: done})
	if err != nil {
		return nil, "", err
	}
	for _, f := range result.Findings[:min(len(result.Findings), maxFindings)] {
		found = append(found, verbs.Suggestion{Title: f.Title, Type: plan.StepType(f.Type), ContextHints: f.Hints,
			RelevantFilePaths: f.Paths, Reason: reason(f), Line: f.Line})
	}
	return found, result.Note(), nil
}

func reason(f tree.Finding) string {
	text := fmt.Sprintf("mark at %s:%d", f.Path, f.Line)
	if f.Count > 1 {
		text += fmt.Sprintf(" and %d more places", f.Count-1)
	}
	return text
}
