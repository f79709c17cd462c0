package gates

import (
	"context"
	"strings"
)

func checkPathsExist(ctx context.Context, e *examination, i int) []flaw {
	if e.tree == nil {
		return nil
	}
	var list []flaw
	for _, given := range distinct(e.New[i].RelevantFilePaths) {
		if f, bad := e.listed(ctx, i, given); bad {
			list = append(list, f)
		}
	}
	for _, given := range distinct(e.New[i].Creates) {
		if f, bad := e.created(ctx, given); bad {
			list = append(list, f)
		}
	}
	return list
}

// listed judges an entry of relevant_file_paths.
func (e *examination) listed(ctx context.Context, i int, given string) (flaw, bool) {
	p, fault := locate(given)
	if fault != "" {
		return misplaced(fault, "relevant_file_paths", given), true
	}
	switch e.find(ctx, i, p) {
	case present:
		return flaw{}, false
	case astray:
		return misplaced(outside, "relevant_file_paths", given), true
	case tooWide:
		return flaw{message: "lists a pattern in `relevant_file_paths` that is too wide to search: " + code(given) + ".", fix: "begin it with the directory that is meant"}, true
	case ambiguous:
		return flaw{message: "lists a pattern in `relevant_file_paths` that cannot be read: " + code(given) + ".", fix: "use *, ?, ** and few alternatives such as {a,b}, or name the files"}, true
	}
	return flaw{message: "lists a non-existent path in `relevant_file_paths`: " + code(given) + ".", fix: e.remedy(ctx, p)}, true
}

// created judges an entry of creates: it need not exist, but has to lie in the workspace.
func (e *examination) created(ctx context.Context, given string) (flaw, bool) {
	p, fault := locate(given)
	if fault != "" {
		return misplaced(fault, "creates", given), true
	}
	if !isGlob(p) && e.tree.look(ctx, p) == astray {
		return misplaced(outside, "creates", given), true
	}
	return flaw{}, false
}

// find looks for a path on disk, then among what the plan creates.
func (e *examination) find(ctx context.Context, i int, p string) existence {
	found := e.tree.look(ctx, p)
	if found != present && found != astray && e.made.covers(i, p) {
		return present
	}
	return found
}

func misplaced(fault, field, given string) flaw {
	f := flaw{message: "lists " + fault + " in `" + field + "`", fix: "write paths relative to the workspace, with slashes and without `..`"}
	if strings.TrimSpace(given) == "" {
		f.message += "."
		f.fix = "remove it"
		return f
	}
	f.message += ": " + code(given) + "."
	return f
}

// remedy says what to do about a path that is not there. A line number behind the
// name is the most frequent slip.
func (e *examination) remedy(ctx context.Context, p string) string {
	if bare := withoutLine(p); bare != p && !isGlob(bare) && bare != "" && e.tree.look(ctx, bare) == present {
		return "write " + code(bare) + " without the line"
	}
	return "correct the path, or name it in `creates` of this task or of one it depends on"
}

func distinct(list []string) []string {
	seen := make(map[string]bool, len(list))
	var kept []string
	for _, item := range list {
		if !seen[item] {
			seen[item] = true
			kept = append(kept, item)
		}
	}
	return kept
}
