package scan

import (
	"bytes"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/planloop/planloop/internal/tree"
)

const (
	maxLinksPerFile = 2_000
	maxLinkLine     = 16 << 10 // bytes; a longer line is data
	maxDestination  = 1_024
)

// syntax are the forms that are looked for in a document. They are compiled when
// the first is read: that takes longer than all else a program does at its start.
type syntax struct {
	definition, attribute, inline, scheme, codeSpan, comment, backslashed, listItem *regexp.Regexp
}

var forms = sync.OnceValue(func() syntax {
	return syntax{
		definition:  regexp.MustCompile(`^ {0,3}\[[^\]^][^\]]*\]:[ \t]*(<[^<>]*>|\S+)`),
		attribute:   regexp.MustCompile(`(?i)<(?:a|img|source|video)\b[^<>]*?\b(?:href|src)\s*=\s*(?:"([^"]*)"|'([^']*)')`),
		inline:      regexp.MustCompile(`\]\([ \t]*(?:<([^>]*)>|((?:\\.|\((?:\\.|[^()\\ \t])*\)|[^()\\ \t])*)(?:[ \t][^)]*)?\))`),
		scheme:      regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`),
		codeSpan:    regexp.MustCompile("``[^`\n].*?[^`\n]``|`[^`\n]+`"),
		comment:     regexp.MustCompile(`(?s)<!--.*?(?:-->|$)`),
		backslashed: regexp.MustCompile(`\\([!-/:-@\[-\x60{-~])`),
		listItem:    regexp.MustCompile(`^\s{0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)`),
	}
})

// links returns the relative links of a Markdown document whose code blocks are
// blanked.
func links(name string, prose []byte) []sighting {
	var found []sighting
	line := 0
	blank := func(text []byte) []byte { return bytes.Repeat([]byte("\n"), bytes.Count(text, []byte("\n"))) }
	prose = forms().comment.ReplaceAllFunc(forms().codeSpan.ReplaceAll(prose, []byte(" ")), blank)
	for raw := range bytes.Lines(prose) {
		line++
		if len(raw) > maxLinkLine {
			continue
		}
		for _, destination := range destinations(strings.TrimRight(string(raw), "\r\n")) {
			if target, ok := relativeTarget(destination); ok && len(found) < maxLinksPerFile {
				found = append(found, sighting{thing{KindDeadLink, "", target, name}, place{name, line}})
			}
		}
	}
	return found
}

// destinations returns what the links of a line name, as it is written.
func destinations(text string) []string {
	var found []string
	if strings.Contains(text, "]:") {
		if match := forms().definition.FindStringSubmatch(text); match != nil {
			found = append(found, strings.Trim(match[1], "<>"))
		}
	}
	if strings.Contains(text, "<") {
		for _, match := range forms().attribute.FindAllStringSubmatch(text, -1) {
			found = append(found, match[1]+match[2])
		}
	}
	if !strings.Contains(text, "](") {
		return found
	}
	for _, match := range forms().inline.FindAllStringSubmatchIndex(text, -1) {
		before := text[:match[0]]
		escaped := (len(before)-len(strings.TrimRight(before, `\`)))%2 == 1
		if !escaped && strings.Contains(before, "[") {
			destination := max(match[2], match[4]) // one of the two is -1
			found = append(found, text[destination:max(match[3], match[5])])
		}
	}
	return found
}

// relativeTarget returns the path that a destination names, if it is relative and
// says where it leads by itself.
func relativeTarget(destination string) (string, bool) {
	target := strings.TrimSpace(destination)
	if target == "" || strings.IndexByte("#?/@~", target[0]) >= 0 || forms().scheme.MatchString(target) {
		return "", false
	}
	if i := strings.IndexAny(target, "#?"); i >= 0 {
		target = target[:i]
	}
	target = forms().backslashed.ReplaceAllString(target, "$1")
	if decoded, err := url.PathUnescape(target); err == nil {
		target = decoded
	}
	if strings.ContainsAny(target, "{}$*<>|\\`\"") || !tree.Nameable(target) || len(target) > maxDestination {
		return "", false // a template, a pattern, or nothing that a file is called
	}
	return target, strings.Trim(target, " ") != ""
}

// prose returns Markdown with the lines of its code blocks emptied, so that
// every other line keeps its number.
func prose(source []byte) []byte {
	kept := make([]byte, 0, len(source))
	var fence string // what closes the code block the line is in
	afterBlank, inList, inCode := true, false, false
	for line := range bytes.Lines(source) {
		text := strings.TrimRight(string(line), "\r\n")
		indent := indentation(text)
		open, isFence := fenceOf(text)
		switch {
		case fence != "":
			if isFence && closesFence(text, fence) {
				fence = ""
			}
			text = ""
		case isFence:
			fence, text = open, ""
		case strings.TrimSpace(text) == "":
			afterBlank = true
			kept = append(kept, '\n')
			continue
		case indent >= 4 && !inList && (afterBlank || inCode):
			inCode, text = true, ""
		default:
			inCode = false
			inList = forms().listItem.MatchString(text) || inList && (indent > 0 || !afterBlank)
		}
		afterBlank = false
		kept = append(append(kept, text...), '\n')
	}
	return kept
}

// fenceOf returns the run of back quotes or tildes that a line begins with, if
// it can open or close a code block. In a list the run is indented.
func fenceOf(text string) (string, bool) {
	text = strings.TrimLeft(text, " \t>")
	for _, c := range [...]string{"`", "~"} {
		run := text[:len(text)-len(strings.TrimLeft(text, c))]
		if len(run) >= 3 && (c == "~" || !strings.Contains(text[len(run):], "`")) {
			return run, true
		}
	}
	return "", false
}

func closesFence(text, fence string) bool {
	text = strings.TrimSpace(strings.TrimLeft(text, " \t>"))
	return len(text) >= len(fence) && strings.Trim(text, fence[:1]) == ""
}

// indentation is how many columns of white space a line begins with.
func indentation(text string) int {
	space := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
	return len(space) + 3*strings.Count(space, "\t")
}

// dead reports whether a link in the document leads nowhere in the workspace, or
// out of it, which is told from the link alone: nothing outside is looked at.
func dead(t *tree.Tree, document, target string) (dead, outside bool) {
	name := path.Join(path.Dir(document), target)
	if name == ".." || strings.HasPrefix(name, "../") {
		return false, true
	}
	return !slices.ContainsFunc(candidates(name), t.MayHold), false
}

// candidates are the files a link may mean: sites made of Markdown link to pages
// without their extension, or with the one they will have.
func candidates(name string) []string {
	stem := strings.TrimSuffix(name, ".html")
	if stem == name && path.Ext(name) != "" {
		return []string{name}
	}
	return []string{name, stem + ".md", stem + ".mdx"}
}
