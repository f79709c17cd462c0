package gates

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/planloop/planloop/internal/safetext"
)

func checkHintsActionable(_ context.Context, e *examination, i int) []flaw {
	var list []flaw
	for _, hint := range distinct(e.New[i].ContextHints) {
		if isGiven(hint) && !actionable(hint) {
			list = append(list, flaw{message: "has a hint without an action or a place: \"" +
				excerpt(strings.TrimSpace(hint), hintShown) + "\".",
				fix: "start it with a verb and name a place, such as \"Read `file.md`\" or \"See section 2\""})
		}
	}
	return list
}

// actionable reports whether a hint has a verb or a clear reference. Hints in other than Latin letters always pass.
func actionable(hint string) bool {
	for i, w := range words(hint) {
		switch {
		case w.named(), isListed(w.text, "references"), isListed(w.text, "taskVerbs"), strings.ContainsFunc(w.text, foreign):
			return true
		case isListed(w.text, "nounVerbs") && (i == 0 || isListed(w.text, "nounVerbsInside")):
			return true
		}
	}
	return false
}

func foreign(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) }

func checkHintPaths(ctx context.Context, e *examination, i int) []flaw {
	if e.tree == nil {
		return nil
	}
	var list []flaw
	for _, token := range hintPaths(e.New[i].ContextHints) {
		p, fault := locate(token)
		switch {
		case fault != "":
			list = append(list, flaw{message: "has a hint pointing to " + fault + ": " + code(token) + ".",
				fix: "write paths relative to the workspace"})
		case e.isHintValid(ctx, i, p, token):
		default:
			list = append(list, flaw{message: "has a hint pointing to a non-existent file: " + code(token) + ".",
				fix: "correct the path, or name it in `creates` of this task or of one it depends on", verbatim: true})
		}
	}
	return list
}

// isHintValid reports whether a hint's token exists, is the last name of one of the task's own paths, or is not a path
// after all. A pattern too wide to search passes: a hint is read, not opened.
func (e *examination) isHintValid(ctx context.Context, i int, p, token string) bool {
	switch e.find(ctx, i, p) {
	case present, tooWide, ambiguous:
		return true
	case astray:
		return false
	}
	if !strings.Contains(p, "/") {
		return slices.ContainsFunc(slices.Concat(e.New[i].RelevantFilePaths, e.New[i].Creates), func(given string) bool {
			own, fault := locate(given)
			return fault == "" && path.Base(own) == p
		})
	}
	first, _, _ := strings.Cut(p, "/")
	return doubtful(token) && e.find(ctx, i, first) != present
}

// hintPaths returns the tokens in backquotes that look like paths, without line numbers and duplicates.
func hintPaths(hints []string) []string {
	var paths []string
	for _, hint := range hints {
		for _, token := range quoted(hint) {
			if bare := withoutLine(token); LooksLikePath(bare) {
				paths = append(paths, bare)
			}
		}
	}
	return distinct(paths)
}

var backquotes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`+") })

// quoted returns the texts in backquotes, as in Markdown: a span ends at as many backquotes as it began with.
func quoted(text string) []string {
	var tokens []string
	runs := backquotes().FindAllStringIndex(text, -1)
	for len(runs) > 0 {
		begin, end := runs[0][0], runs[0][1]
		runs = runs[1:]
		closing := slices.IndexFunc(runs, func(run []int) bool { return run[1]-run[0] == end-begin })
		if closing < 0 {
			continue // these open no span; later ones may
		}
		tokens = append(tokens, strings.TrimSpace(text[end:runs[closing][0]]))
		runs = runs[closing+1:]
	}
	return tokens
}

// withoutLine cuts a position in a file: a.go:12, a.go:12:5, a.go:12-20, a.go#L10, a.md#usage.
func withoutLine(token string) string {
	if i := strings.IndexByte(token, '#'); i > 0 {
		token = token[:i]
	}
	for range 2 {
		i := strings.LastIndexByte(token, ':')
		if i > 0 && i+1 < len(token) && strings.Trim(token[i+1:], "0123456789-,L") == "" {
			token = token[:i]
		}
	}
	return token
}

// LooksLikePath reports whether a token, such as one in backquotes, means a file or directory of the workspace: it has
// a slash, or a file's extension, and is not another notation of that form.
func LooksLikePath(token string) bool {
	switch {
	case token == "", strings.ContainsFunc(token, unicode.IsSpace), strings.ContainsAny(token, "()<>|;=\"'\\`$&!^:@"):
		return false
	case strings.HasPrefix(token, "-"), strings.HasPrefix(token, "/"), strings.HasPrefix(token, "~"), strings.HasPrefix(token, "%"):
		return false
	case strings.ContainsAny(token, "{}") && !strings.Contains(token, ","): // a template: users/{id}
		return false
	case strings.ContainsAny(token, "?") && strings.Contains(token, "&"), strings.Trim(token, "./*?[]{},") == "":
		return false
	case strings.Contains(token, "/"):
		return slashed(token)
	}
	return fileName(token)
}

func slashed(token string) bool {
	first, rest, _ := strings.Cut(token, "/")
	switch {
	case strings.HasPrefix(token, "../"):
		return fileName(path.Base(token)) // without an extension it is a module import
	case isListed(first, "mediaTypes") && !strings.Contains(rest, "/"), rest != "" && upper(first) && upper(rest):
		return false // text/html, GET/POST
	case strings.Contains(token, "..."), !strings.ContainsFunc(token, unicode.IsLetter):
		return false // ./..., 1/2
	}
	return true
}

func upper(text string) bool {
	return strings.ContainsFunc(text, unicode.IsLetter) && strings.ToUpper(text) == text && path.Ext(text) == ""
}

// doubtful reports whether a token with a slash may well be something else, such as net/http, origin/main or
// github.com/owner/name: it counts as a path only if its first directory exists.
func doubtful(token string) bool {
	first, rest, _ := strings.Cut(token, "/")
	switch {
	case first != "." && strings.Contains(strings.TrimLeft(first, "."), "."):
		return true
	case rest == "", strings.HasSuffix(token, "/"), extension(token) != "":
		return false
	}
	return isListed(first, "notFolders") || len(first) == 1 && first != "." || !strings.Contains(rest, "/") && upper(rest)
}

// fileName reports whether a name has an extension that is rarely anything else: not response.json, which is a method,
// nor Node.js, nor mu.Lock.
func fileName(name string) bool {
	lower := strings.ToLower(name)
	ending := path.Ext(name)
	switch {
	case len(ending) < 2 || ending == name || isListed(lower, "notFiles"):
		return false
	case ending != strings.ToLower(ending) && name != strings.ToUpper(name):
		return false
	}
	return isListed(extension(name), "extensions") || isListed(lower, "files")
}

func extension(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
}

// SplitPaths splits a list of paths that was given as one text.
func SplitPaths(list []string) []string {
	pieces := safetext.SplitList(strings.Join(list, ","))
	if len(list) != 1 || len(pieces) == 0 || slices.ContainsFunc(pieces, func(piece string) bool { return !LooksLikePath(piece) }) {
		return list
	}
	return pieces
}
