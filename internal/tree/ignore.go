package tree

import (
	"bytes"
	"path"
	"strings"
	"sync"
)

// Rules are the patterns of a folder's ignore file, linked to those of the folders above it. A nil *Rules
// ignores nothing.
//
// The folder of a path passed to Ignores must not be ignored itself: git does not enter such a folder, so
// nothing in it can be un-ignored.
type Rules struct {
	above    *Rules
	folder   string
	patterns []pattern // the last match decides
	fold     bool      // ignore case
}

type pattern struct {
	text       string
	plain      int  // number of bytes before the first special one
	negated    bool // un-ignores matches of earlier lines
	folderOnly bool // it ended in a slash
	anywhere   bool // without a slash: it matches the last element of a path
}

// With returns the rules in folder ("." is the root) if its ignore file has the given content. fold makes them ignore
// case.
func (r *Rules) With(folder string, content []byte, fold bool) *Rules {
	var patterns []pattern
	for line := range bytes.Lines(bytes.TrimPrefix(content, []byte("\ufeff"))) {
		if p, ok := parse(string(line)); ok {
			patterns = append(patterns, p)
		}
	}
	if len(patterns) == 0 {
		return r
	}
	return &Rules{above: r, folder: folder, patterns: patterns, fold: fold}
}

// parse reads a line of an ignore file. Like git it removes a carriage return at the end, trailing spaces unless the
// last one is escaped, and everything after a NUL.
func parse(line string) (pattern, bool) {
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	line, _, _ = strings.Cut(line, "\x00")
	if strings.HasPrefix(line, "#") {
		return pattern{}, false
	}
	var p pattern
	p.text, p.negated = strings.CutPrefix(withoutSpaces(line), "!")
	p.text, p.folderOnly = strings.CutSuffix(p.text, "/")
	p.anywhere = !strings.Contains(p.text, "/")
	p.text = strings.TrimPrefix(p.text, "/")
	p.plain = len(p.text)
	if special := strings.IndexAny(p.text, `*?[\`); special >= 0 {
		p.plain = special
	}
	return p, p.text != ""
}

// withoutSpaces removes the spaces at the end of a line, except for an escaped one.
func withoutSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = min(i+1, len(line))
	}
	return line[:end]
}

// Ignores reports whether the rules ignore a path, relative to the root and with slashes. The deepest folder with a
// matching rule decides.
func (r *Rules) Ignores(name string, isDir bool) bool {
	for ; r != nil; r = r.above {
		below := name
		if r.folder != "." {
			below = strings.TrimPrefix(name, r.folder+"/")
		}
		base := path.Base(below)
		for i := len(r.patterns) - 1; i >= 0; i-- {
			if r.patterns[i].matches(below, base, isDir, r.fold) {
				return !r.patterns[i].negated
			}
		}
	}
	return false
}

func (p *pattern) matches(name, base string, isDir, fold bool) bool {
	if p.folderOnly && !isDir {
		return false
	}
	if p.anywhere {
		name = base
	}
	if len(name) < p.plain || !same(p.text[:p.plain], name[:p.plain], fold) {
		return false
	}
	// Matched separately, so that ** after plain text counts as the start of a pattern, as in git.
	return wildmatch(p.text[p.plain:], name[p.plain:], fold)
}

func same(a, b string, fold bool) bool {
	if !fold {
		return a == b
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

// again is a wildcard that may match more text.
type again struct {
	pattern int // position after the wildcard in the pattern; 0: no wildcard
	text    int // position in the text after its match
	folders bool
}

// wildmatch reports whether a pattern matches all of a text, byte by byte, like git's function of that name:
// * and ? do not match a slash, ** does if it is a whole path element. Its time is at most proportional to
// the product of both lengths, because only the last * and the last ** are retried.
func wildmatch(pattern, text string, fold bool) bool {
	var star, deep again
	p, t := 0, 0
	for p < len(pattern) || t < len(text) {
		if p < len(pattern) && pattern[p] == '*' {
			rest := strings.TrimLeft(pattern[p:], "*")
			end := len(pattern) - len(rest)
			switch {
			case end-p == 1 || p > 0 && pattern[p-1] != '/' || rest != "" && rest[0] != '/' && !strings.HasPrefix(rest, `\/`):
				p = end
				star = again{pattern: p, text: t}
			case strings.HasPrefix(rest, "/"):
				p = end + 1
				star, deep = again{}, again{pattern: p, text: t, folders: true}
			default:
				p = end
				star, deep = again{}, again{pattern: p, text: t}
			}
			continue
		}
		if p < len(pattern) && t < len(text) {
			if width := element(pattern[p:], text[t], fold); width > 0 {
				p, t = p+width, t+1
				continue
			}
		}
		switch {
		case star.pattern > 0 && star.text < len(text) && text[star.text] != '/':
			star.text++
			p, t = star.pattern, star.text
		case deep.pattern > 0 && deep.more(text):
			star = again{}
			p, t = deep.pattern, deep.text
		default:
			return false
		}
	}
	return true
}

// more extends the match of ** by one byte, or by one folder.
func (a *again) more(text string) bool {
	step := 1
	if a.folders {
		step = strings.IndexByte(text[a.text:], '/') + 1
	}
	a.text += step
	return step > 0 && a.text <= len(text)
}

// element returns the length of the pattern's first element if it matches a byte, else 0.
func element(pattern string, c byte, fold bool) int {
	if fold {
		c = lower(c)
	}
	switch first := pattern[0]; {
	case first == '[':
		return class(pattern, c, fold)
	case first == '\\' && len(pattern) > 1 && pattern[1] == c:
		return 2
	case first == '?' && c != '/', first != '?' && first != '\\' && (first == c || fold && lower(first) == c):
		return 1
	}
	return 0
}

// class is element for a bracket expression. An unclosed one matches nothing.
func class(pattern string, c byte, fold bool) int {
	rest := pattern[1:]
	negated := strings.HasPrefix(rest, "!") || strings.HasPrefix(rest, "^")
	if negated {
		rest = rest[1:]
	}
	matched, low := false, byte(0)
	for first := true; first || !strings.HasPrefix(rest, "]"); first = false {
		m := memberOf(rest, low, c, fold)
		if m.length == 0 {
			return 0
		}
		matched = matched || m.matches
		rest, low = rest[m.length:], m.low
	}
	if matched == negated || c == '/' {
		return 0
	}
	return len(pattern) - len(rest) + 1
}

// member is a byte, a range or a named class within brackets.
type member struct {
	matches bool
	length  int  // 0 if the brackets are malformed
	low     byte // beginning of a range that may follow; 0 if none can
}

func memberOf(rest string, low, c byte, fold bool) member {
	switch {
	case rest == "", rest == `\`:
		return member{}
	case rest[0] == '\\':
		return member{c == rest[1], 2, rest[1]}
	case rest[0] == '-' && low != 0 && len(rest) > 1 && rest[1] != ']':
		high, length := rest[1], 2
		if high == '\\' {
			if len(rest) < 3 {
				return member{}
			}
			high, length = rest[2], 3
		}
		upper := c - 'a' + 'A'
		return member{low <= c && c <= high || fold && 'a' <= c && c <= 'z' && low <= upper && upper <= high, length, 0}
	case strings.HasPrefix(rest, "[:"):
		name, _, closed := strings.Cut(rest[2:], "]")
		if !closed {
			return member{}
		}
		if named, ok := strings.CutSuffix(name, ":"); ok {
			matches, known := inClass(named, c, fold)
			if !known {
				return member{}
			}
			return member{matches, len("[:") + len(name) + len("]"), 0}
		}
	}
	return member{c == rest[0], 1, rest[0]}
}

// classes are the POSIX classes: pairs of the first and last byte of each range. They are limited to ASCII.
var classes = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"alnum": "09AZaz", "alpha": "AZaz", "blank": "  \t\t", "cntrl": "\x00\x1f\x7f\x7f", "digit": "09", "graph": "!~", "lower": "az",
		"print": " ~", "punct": "!/:@[`{~", "space": "  \t\n\r\r", "upper": "AZ", "xdigit": "09AFaf",
	}
})

// inClass reports whether a byte, in lower case if fold is set, is in a class.
func inClass(name string, c byte, fold bool) (in, known bool) {
	ranges, known := classes()[name]
	for i := 0; i < len(ranges); i += 2 {
		in = in || ranges[i] <= c && c <= ranges[i+1]
	}
	return in || fold && name == "upper" && 'a' <= c && c <= 'z', known
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c - 'A' + 'a'
	}
	return c
}
