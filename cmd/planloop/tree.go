package main

import (
	"context"
	"fmt"
	"io/fs"
	"sync"

	"github.com/planloop/planloop/internal/scan"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// tree is the workspace's files, opened when they are first looked at and closed
// with the process.
type tree struct {
	open func() (*scan.Tree, error)
}

func newTree(workspace string) tree {
	return tree{open: sync.OnceValues(func() (*scan.Tree, error) { return scan.Open(workspace) })}
}

// Files is rooted in the workspace.
func (t tree) Files() (fs.FS, error) {
	opened, err := t.open()
	if err != nil {
		return nil, err
	}
	return opened.FS(), nil
}

// Summary is the tree in a few lines.
func (t tree) Summary(ctx context.Context) (string, error) {
	opened, err := t.open()
	if err != nil {
		return "", err
	}
	return opened.Summary(ctx, scan.SummaryOptions{}), nil
}

// Document is a text file, cut to max bytes.
func (t tree) Document(path string, max int) (string, bool) {
	opened, err := t.open()
	if err != nil {
		return "", false
	}
	return opened.ReadText(path, max)
}

// surveyed bounds the finds of a survey.
const surveyed = 200

// Survey scans the tree.
func (t tree) Survey(ctx context.Context, done func(files int)) (verbs.Survey, error) {
	opened, err := t.open()
	if err != nil {
		return verbs.Survey{}, err
	}
	result, err := opened.Scan(ctx, scan.Options{Progress: done})
	if err != nil {
		return verbs.Survey{}, err
	}
	survey := verbs.Survey{Files: result.Files, Cut: result.Note()}
	for _, f := range result.Top(surveyed) {
		survey.Finds = append(survey.Finds, verbs.Find{
			Kind: f.Kind, Where: fmt.Sprintf("%s:%d", f.Path, f.Line), Why: reason(f),
			Task: plan.Spec{Title: f.Title, Type: plan.StepType(f.Type), ContextHints: f.Hints, RelevantFilePaths: f.Paths, AcceptanceCriteria: f.Criteria},
		})
	}
	return survey, nil
}

func reason(f scan.Finding) string {
	text := f.Kind + " at " + fmt.Sprintf("%s:%d", f.Path, f.Line)
	if f.Count > 1 {
		text += fmt.Sprintf(" and %d more places", f.Count-1)
	}
	return text
}
