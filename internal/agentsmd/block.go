package agentsmd

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	blockVersion = "1"
	endMarker    = "<!-- planloop:end -->"
)

// ErrCanonical says that a text cannot be in a block: it is empty, not plain text, or contains a line that looks like a
// marker.
var ErrCanonical = errors.New("the text cannot go into a block")

var (
	// Four blanks would make the line a code block, and so a quotation.
	markerLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^ {0,3}<!--[ \t]*planloop:(begin|end)(?:$|[^0-9A-Za-z_-])`)
	})
	beginLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^<!-- planloop:begin v=1 sha256=([0-9a-f]{64}) -->$`)
	})
	versionOf = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[ \t]v=([0-9A-Za-z.]+)`) })
)

type markerKind int

const (
	noMarker markerKind = iota
	beginMarker
	endingMarker
)

// marker is the result of reading a line.
type marker struct {
	kind    markerKind
	isAlone bool   // the line has no other text
	version string // of a begin marker, "" if missing
	hash    string // of a begin marker in exactly the form we write, else ""
}

// parseMarker reads a line without its line ending.
func parseMarker(line string) marker {
	found := markerLine().FindStringSubmatch(line)
	if found == nil {
		return marker{}
	}
	trimmed := strings.Trim(line, " \t\r")
	inner, rest, closed := strings.Cut(trimmed, "-->")
	m := marker{kind: endingMarker, isAlone: closed && rest == ""}
	if found[1] == "end" {
		return m
	}
	m.kind = beginMarker
	if version := versionOf().FindStringSubmatch(inner); version != nil {
		m.version = version[1]
	}
	if own := beginLine().FindStringSubmatch(trimmed); own != nil {
		m.hash = own[1]
	}
	return m
}

// hashOf returns the hash of a block's content, with a line feed after each line.
func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// renderBlock returns the block around a content, with line ending eol, except after the last line.
func renderBlock(content, eol string) string {
	text := "<!-- planloop:begin v=" + blockVersion + " sha256=" + hashOf(content) + " -->\n" + content + endMarker
	if eol == "\n" {
		return text
	}
	return strings.ReplaceAll(text, "\n", eol)
}

// contentOf returns the canonical text as the content of a block: each line ends in a line feed, also the last one.
func contentOf(canonical string) (string, error) {
	text := strings.TrimRight(strings.ReplaceAll(canonical, "\r\n", "\n"), "\n")
	if strings.TrimSpace(text) == "" {
		return "", fmt.Errorf("%w: it is empty", ErrCanonical)
	}
	if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\r") {
		return "", fmt.Errorf("%w: it is not UTF-8 text, or it has a NUL or a lone carriage return", ErrCanonical)
	}
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if parseMarker(line).kind != noMarker {
			return "", fmt.Errorf("%w: line %d looks like a marker; indent it by four spaces", ErrCanonical, n)
		}
	}
	return text + "\n", nil
}

// with returns the whole file with a block of this content, replaced or added.
func (d document) with(content string) string {
	own := renderBlock(content, d.eol())
	if d.block == nil {
		return d.mark + d.add(own, d.eol())
	}
	return d.mark + d.text[:d.block.start] + own + d.text[d.block.end:]
}

// add puts a block into the text after one blank line. If the text's last line has no line ending, neither has the
// file's last line afterwards. So the former text can always be restored, and a file without text (which has no line
// ending either) differs from a missing file.
func (d document) add(own, eol string) string {
	before, after := d.text[:d.insertAt], d.text[d.insertAt:]
	switch {
	case d.text == "":
		return own
	case !strings.HasSuffix(before, "\n") && before != "":
		return before + eol + eol + own
	case before != "":
		before += eol
	}
	return before + own + eol + after
}

// without returns the file without its block; isCreated means that there was no file before the block was written. If the
// text around the block is unchanged, the result is exactly the former text, else all of the current text.
func (d document) without() (text string, isCreated bool) {
	if d.block == nil {
		return d.mark + d.text, false
	}
	own := d.text[d.block.start:d.block.end]
	eol := "\n"
	if first := strings.IndexByte(own, '\n'); first > 0 && own[first-1] == '\r' {
		eol = "\r\n"
	}
	before, after := d.text[:d.block.start], d.text[d.block.end:]
	rest := strings.TrimPrefix(strings.TrimPrefix(after, "\r"), "\n")
	if before == "" && rest == "" && after != "" && d.mark == "" {
		return "", true
	}
	former := strings.TrimSuffix(before, eol)
	if after == "" {
		former = strings.TrimSuffix(former, eol)
	}
	if former += rest; d.comesFrom(former, own, eol) {
		return d.mark + former, false
	}
	return d.mark + before + rest, false
}

// comesFrom reports whether adding the block to a former text results in d.
func (d document) comesFrom(former, own, eol string) bool {
	f, wrong := parseText(former)
	return wrong == nil && f.add(own, eol) == d.text
}

// eol returns the prevalent line ending of the user's text, or the block's if the text has none.
func (d document) eol() string {
	outside := d.text
	if d.block != nil {
		outside = d.text[:d.block.start] + d.text[d.block.end:]
	}
	if !strings.Contains(outside, "\n") {
		outside = d.text
	}
	if windows := strings.Count(outside, "\r\n"); 2*windows > strings.Count(outside, "\n") {
		return "\r\n"
	}
	return "\n"
}
