package scan

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Result is what a scan found.
type Result struct {
	Findings  []Finding // ranked
	Left      int       // findings beyond the limit, which are not in Findings
	Files     int       // regular files that are not ignored
	Folders   int
	Read      int // files that were read
	Skipped   Skipped
	Languages []Language // the most files first
	Cut       Bound      // what cut the scan short; Whole if nothing did
	Duration  time.Duration
}

// Language counts the files of a language.
type Language struct {
	Name  string
	Files int
}

// Note says in a sentence what the scan did not see, empty when it saw all.
func (r Result) Note() string {
	switch r.Cut {
	case ByFiles:
		return fmt.Sprintf("The scan stopped after %d files in %d folders; the rest of the tree was not read.", r.Files, r.Folders)
	case ByTime:
		return fmt.Sprintf("The scan stopped after %s with %d files read; the rest of the tree was not read.", r.Duration.Round(time.Millisecond), r.Read)
	}
	return ""
}

// Top returns at most n findings, in rank: the best of each kind in turn, so that
// a hundred marks do not hide the one dead link.
func (r Result) Top(n int) []Finding {
	byKind := map[string][]Finding{}
	var kinds []string
	for _, f := range r.Findings {
		if byKind[f.Kind] == nil {
			kinds = append(kinds, f.Kind)
		}
		byKind[f.Kind] = append(byKind[f.Kind], f)
	}
	var top []Finding
	for i := 0; len(top) < min(n, len(r.Findings)); i++ {
		for _, kind := range kinds {
			if i < len(byKind[kind]) && len(top) < n {
				top = append(top, byKind[kind][i])
			}
		}
	}
	slices.SortFunc(top, func(a, b Finding) int { return cmp.Compare(a.Rank, b.Rank) })
	return top
}

func languages(files map[string]int) []Language {
	var list []Language
	for name, n := range files {
		list = append(list, Language{name, n})
	}
	slices.SortFunc(list, func(a, b Language) int { return cmp.Or(-cmp.Compare(a.Files, b.Files), cmp.Compare(a.Name, b.Name)) })
	return list
}
