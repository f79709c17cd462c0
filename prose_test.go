package planloop_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// construction is a turn of phrase that plain English rarely uses.
type construction struct {
	name    string
	pattern *regexp.Regexp
	instead string
}

// constructions are those that other projects use less than 0.3 times per 1,000 words.
var constructions = sync.OnceValue(func() []construction {
	row := func(name, pattern, instead string) construction {
		return construction{name, regexp.MustCompile(`(?i)` + pattern), instead}
	}
	return []construction{
		row("what is/was/it/...", `\bwhat (?:is|was|were|are|has|have|it|they|a|an|the|he|she|somebody|nobody|people|others|else|can|`+
			`may|of|stands|comes|follows|waits|there)\b`, "name the thing: the unfinished steps"),
		row("who/whoever/whose", `\bwho(?:ever|m|se)?\b`, "name the role: the caller, the agent, the reviewer"),
		row("is no/none, of none", `\b(?:is|are) (?:none|no [a-z]+)\b|\bof none\b`, "not a valid status, empty without steps"),
		row("nobody/somebody/anybody", `\b(?:nobody|somebody|anybody)\b`, "name the role: another session, no caller"),
		row("told/said/heard of", `\b(?:told|tells|said|says|heard|hears) of\b`, "reported, listed, seen"),
		row("stands", `\bstands?\b`, "is, is written, is listed"),
		row("goes on", `\b(?:goes|gone|went) on\b`, "continues"),
		row("is to be", `\b(?:is|are|was) to (?:be|have)\b`, "must, should, will"),
		row("meanwhile/besides/anew/behind", `\b(?:meanwhile|besides|anew|behind)\b`, "until then, also, again, after"),
	}
})

// Limits of each construction. Comments may use it at a fixed rate. Messages and documents have limits in testdata/prose.txt, which
// only fall; the goal for messages is the same rate.
const (
	proseRate  = 0.5 // uses per 1,000 words
	proseSlack = 4   // uses below a limit before it must be lowered
	proseTable = "testdata/prose.txt"
)

// kindsOfProse are the kinds of text that are counted on their own.
func kindsOfProse() []string { return []string{"comment", "message", "document"} }

// usage counts a kind of text.
type usage struct {
	words int
	found map[string][]string // file:line of each use, by the construction's name
}

// TestPlainEnglish fails where comments, messages or documents use a construction more often than they may.
func TestPlainEnglish(t *testing.T) {
	counted := countProse(t)
	limits := proseLimits(t, counted)
	for _, kind := range kindsOfProse() {
		u := counted[kind]
		if u.words < 10000 {
			t.Fatalf("only %d words of %ss were found: the test reads too little", u.words, kind)
		}
		t.Logf("%s: %d words", kind, u.words)
		for _, c := range constructions() {
			uses := u.found[c.name]
			rate := 1000 * float64(len(uses)) / float64(u.words)
			t.Logf("%6.2f per 1,000 words, %4d times: %s", rate, len(uses), c.name)
			limit := int(proseRate * float64(u.words) / 1000)
			if kind != "comment" {
				limit = limits[kind+" "+c.name]
			}
			switch {
			case len(uses) > limit:
				t.Errorf("%ss use %q %d times (%.2f per 1,000 words), more than %d; better: %s; see CONTRIBUTING.md. Some uses:\n\t%s",
					kind, c.name, len(uses), rate, limit, c.instead, strings.Join(uses[:min(len(uses), 8)], "\n\t"))
			case kind != "comment" && len(uses) < limit-proseSlack:
				t.Errorf("%ss use %q %d times: lower the limit to %d, with go test . -run TestPlainEnglish -update", kind, c.name,
					len(uses), len(uses))
			}
		}
	}
}

// proseLimits reads the limits of messages and documents. An update lowers them, and never raises one.
func proseLimits(t *testing.T, counted map[string]*usage) map[string]int {
	t.Helper()
	limits := map[string]int{}
	table, err := os.ReadFile(proseTable)
	if err != nil && !(*update && errors.Is(err, fs.ErrNotExist)) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		var limit int
		count, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if _, err := fmt.Sscan(count, &limit); !ok || err != nil {
			t.Fatalf("%s: %q is not a number and a name", proseTable, line)
		}
		limits[name] = limit
	}
	if !*update {
		return limits
	}
	var b strings.Builder
	for _, kind := range kindsOfProse()[1:] {
		for _, c := range constructions() {
			name, uses := kind+" "+c.name, len(counted[kind].found[c.name])
			if old, ok := limits[name]; !ok || uses < old {
				limits[name] = uses
			}
			fmt.Fprintln(&b, limits[name], name)
		}
	}
	if err := os.WriteFile(proseTable, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return limits
}

// countProse counts the constructions in the texts of the project, except tests and test data.
func countProse(t *testing.T) map[string]*usage {
	t.Helper()
	counted := map[string]*usage{}
	for _, kind := range kindsOfProse() {
		counted[kind] = &usage{found: map[string][]string{}}
	}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "node_modules", "testdata", "dist"}, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || strings.HasSuffix(path, "_test.go") ||
			!slices.Contains([]string{".go", ".ts", ".tsx", ".md", ".txt"}, filepath.Ext(path)):
			return nil
		}
		eachText(path, readDoc(t, path), func(kind string, line int, text string) {
			counted[kind].add(fmt.Sprintf("%s:%d", filepath.ToSlash(path), line), text)
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return counted
}

func (u *usage) add(place, text string) {
	u.words += len(strings.Fields(text))
	for _, c := range constructions() {
		for range c.pattern.FindAllStringIndex(text, -1) {
			u.found[c.name] = append(u.found[c.name], place)
		}
	}
}

// eachText yields the texts of a file line by line: all of a document but its code, the comments of a program, and its literals of
// four words or more.
func eachText(path, body string, yield func(kind string, line int, text string)) {
	literal := regexp.MustCompile("\"((?:[^\"\\\\]|\\\\.)*)\"|`([^`]*)`")
	document := slices.Contains([]string{".md", ".txt"}, filepath.Ext(path))
	if document {
		body = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`").ReplaceAllStringFunc(body, func(code string) string {
			return " " + strings.Repeat("\n", strings.Count(code, "\n"))
		})
	}
	for i, line := range strings.Split(body, "\n") {
		line = strings.TrimSpace(line)
		isComment := slices.ContainsFunc([]string{"//", "*", "/*", "#"}, func(mark string) bool { return strings.HasPrefix(line, mark) })
		switch {
		case document:
			yield("document", i+1, line)
		case isComment:
			yield("comment", i+1, line)
		default:
			for _, found := range literal.FindAllStringSubmatch(line, -1) {
				if text := found[1] + found[2]; len(strings.Fields(text)) >= 4 {
					yield("message", i+1, text)
				}
			}
		}
	}
}

func TestProseThatIsCounted(t *testing.T) {
	for _, test := range []struct{ path, body, want string }{
		{"a.go", "\t// Said is what was said.\nx := 1 // what is\n", "comment:1:what is/was/it/..."},
		{"a.go", "f(\"status is no status\", \"is no word\")", "message:1:is no/none, of none"},
		{"a.go", "f(`the plan of nobody`)", "message:1:nobody/somebody/anybody"},
		{"a.ts", "/* told of it */", "comment:1:told/said/heard of"},
		{"a.md", "It stands.\n```\nIt stands.\n```\nIt `stands`, and goes on", "document:1:stands document:5:goes on"},
		{"a.txt", "is to be\nMeanwhile, whoever",
			"document:1:is to be document:2:who/whoever/whose document:2:meanwhile/besides/anew/behind"},
		{"a.md", "whole, understand, what we do, is not, going on", ""},
	} {
		var got []string
		eachText(test.path, test.body, func(kind string, line int, text string) {
			u := usage{found: map[string][]string{}}
			u.add("", text)
			for _, c := range constructions() {
				for range u.found[c.name] {
					got = append(got, fmt.Sprintf("%s:%d:%s", kind, line, c.name))
				}
			}
		})
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s %q: %q, want %q", test.path, test.body, got, test.want)
		}
	}
}
