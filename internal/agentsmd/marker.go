package agentsmd

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	blockVersion = "1"
	endMarker    = "<!-- planloop:end -->"
)

// ErrCanonical says that a text cannot stand in a block: it is empty, not plain
// text, or holds a line that would be taken for a marker.
var ErrCanonical = errors.New("the text cannot stand in a block")

var (
	// Four blanks would make the line a code block, and so a quotation.
	markerLine = pattern(`^ {0,3}<!--[ \t]*planloop:(begin|end)(?:$|[^0-9A-Za-z_-])`)
	beginLine  = pattern(`^<!-- planloop:begin v=1 sha256=([0-9a-f]{64}) -->$`)
	versionOf  = pattern(`[ \t]v=([0-9A-Za-z.]+)`)
)

type markerKind int

const (
	noMarker markerKind = iota
	beginMarker
	endingMarker
)

// marker is what a line says about the block.
type marker struct {
	kind    markerKind
	alone   bool   // nothing else stands on its line
	version string // of a begin marker, "" when it names none
	hash    string // of a begin marker in exactly the form we write, else ""
}

// markerIn reads a line without its ending.
func markerIn(line string) marker {
	found := markerLine().FindStringSubmatch(line)
	if found == nil {
		return marker{}
	}
	trimmed := strings.Trim(line, " \t\r")
	inner, rest, closed := strings.Cut(trimmed, "-->")
	m := marker{kind: endingMarker, alone: closed && rest == ""}
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

// hashOf returns the hash of the content of a block, whose lines all end in a
// line feed.
func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// rendered returns the block around a content, with the given line ending, but
// without one after the last line.
func rendered(content, eol string) string {
	text := "<!-- planloop:begin v=" + blockVersion + " sha256=" + hashOf(content) + " -->\n" + content + endMarker
	if eol == "\n" {
		return text
	}
	return strings.ReplaceAll(text, "\n", eol)
}

// contentOf returns the canonical text as it stands in a block: lines that end
// in a line feed, the last one included.
func contentOf(canonical string) (string, error) {
	text := strings.TrimRight(strings.ReplaceAll(canonical, "\r\n", "\n"), "\n")
	if strings.TrimSpace(text) == "" {
		return "", fmt.Errorf("%w: it is empty", ErrCanonical)
	}
	if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\r") {
		return "", fmt.Errorf("%w: it is not UTF-8 text, or holds a NUL or a lone carriage return", ErrCanonical)
	}
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if markerIn(line).kind != noMarker {
			return "", fmt.Errorf("%w: line %d would be taken for a marker; indent it by four blanks", ErrCanonical, n)
		}
	}
	return text + "\n", nil
}
