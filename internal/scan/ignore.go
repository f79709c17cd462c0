package scan

import (
	"bytes"
	"strings"

	"github.com/git-pkgs/gitignore"
)

// maxIgnoreBytes bounds a .gitignore; git itself has no use for larger ones.
const maxIgnoreBytes = 256 << 10

// ignoreRules are the rules of one folder's .gitignore, above those of the
// folders it is in. A nil *ignoreRules ignores nothing.
type ignoreRules struct {
	above   *ignoreRules
	folder  string
	matcher *gitignore.Matcher
}

// with returns the rules that hold in folder once those in content are added.
func (r *ignoreRules) with(folder string, content []byte) *ignoreRules {
	var exact bytes.Buffer
	for line := range strings.Lines(strings.TrimPrefix(string(content), "\uFEFF")) {
		if pattern := exactPattern(strings.TrimRight(line, "\r\n")); pattern != "" {
			exact.WriteString(pattern)
			exact.WriteByte('\n')
		}
	}
	if exact.Len() == 0 {
		return r
	}
	matcher := gitignore.New("") // of an empty root it reads no files and asks no git
	matcher.AddPatterns(exact.Bytes(), "")
	return &ignoreRules{above: r, folder: folder, matcher: matcher}
}

// ignores reports whether name in a folder that is itself not ignored is. The
// deepest .gitignore with a rule for it decides, and in it the last such rule.
func (r *ignoreRules) ignores(name string, isDir bool) bool {
	for ; r != nil; r = r.above {
		relative := name
		if r.folder != "." {
			relative = strings.TrimPrefix(name, r.folder+"/")
		}
		if result := r.matcher.MatchDetail(relative + endOf(isDir)); result.Matched {
			return result.Ignored
		}
	}
	return false
}

// The library lets a pattern match whatever lies below what it names, too. Git
// does not: it leaves out a folder as a whole, so that after *.txt a line !docs
// brings back the folder and not the texts in it, and data/** names what is in
// data but not data itself, so that !data/keep can bring a file back. Therefore
// every path gets a last element that no file can be called by, one for folders
// and one for all else, and every pattern asks for it.
const (
	endFolder = "/\x00d"
	endFile   = "/\x00f"
	endAny    = "/\x00?"
)

func endOf(isDir bool) string {
	if isDir {
		return endFolder
	}
	return endFile
}

// exactPattern rewrites a line of a .gitignore so that it matches what it names
// and nothing below; empty for lines that are no pattern.
func exactPattern(line string) string {
	line = trimSpaces(line)
	if line == "" || line[0] == '#' {
		return ""
	}
	body, negated := strings.CutPrefix(line, "!")
	body, folderOnly := strings.CutSuffix(body, "/")
	if strings.Trim(body, "/") == "" {
		return ""
	}
	if !strings.Contains(body, "/") {
		body = "**/" + body
	} else if strings.HasSuffix(body, "/**") {
		body += "/*"
	}
	if folderOnly {
		body += endFolder
	} else {
		body += endAny
	}
	if negated {
		return "!" + body
	}
	return body
}

// trimSpaces cuts the spaces at the end of a line, but for one that is escaped.
func trimSpaces(line string) string {
	trimmed := strings.TrimRight(line, " ")
	backslashes := len(trimmed) - len(strings.TrimRight(trimmed, `\`))
	if backslashes%2 == 1 && len(trimmed) < len(line) {
		return trimmed + " "
	}
	return trimmed
}
