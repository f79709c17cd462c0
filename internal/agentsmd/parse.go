package agentsmd

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

const byteOrderMark = "\ufeff"

type document struct {
	mark     string // the byte order mark, or ""
	text     string // the rest
	block    *block // our block, or nil
	insertAt int    // position in text for a new block
}

// block is the position and content of our block in a document's text.
type block struct {
	start, end int    // from the begin marker's line to the end marker's, without that line's ending
	line       int    // of the begin marker, counted from 1
	content    string // the lines between the markers, each ended by a line feed
	intact     bool   // the hash is valid: the block is unedited
	fenced     bool   // it is in a code block
}

// fault is the reason not to trust the markers of a file.
type fault struct {
	line         int
	problem, fix string
}

type line struct{ start, end int } // offsets, without the line's ending

func linesOf(text string) (lines []line) {
	at := 0
	for whole := range strings.Lines(text) {
		l, ended := strings.CutSuffix(whole, "\n")
		if ended {
			l = strings.TrimSuffix(l, "\r")
		}
		lines = append(lines, line{at, at + len(l)})
		at += len(whole)
	}
	return lines
}

// parse parses a file's text, or returns the reason why it cannot.
func parse(raw string) (document, *fault) {
	text, marked := strings.CutPrefix(raw, byteOrderMark)
	d, wrong := parseText(text)
	if marked {
		d.mark = byteOrderMark
	}
	return d, wrong
}

func parseText(text string) (document, *fault) {
	s := &scan{text: text, lines: linesOf(text)}
	s.markers = make([]marker, len(s.lines))
	s.next = make([]int, len(s.lines))
	following := len(s.lines)
	for i := len(s.lines) - 1; i >= 0; i-- {
		s.next[i] = following
		s.markers[i] = parseMarker(s.at(i))
		if s.markers[i].kind != noMarker {
			following = i
		}
	}
	if wrong := s.run(); wrong != nil {
		return document{}, wrong
	}
	own, wrong := s.ownBlock()
	d := document{text: text, block: own, insertAt: len(text)}
	if s.fence.open() {
		d.insertAt = s.lines[s.opener].start // before the unclosed code block
	}
	return d, wrong
}

// scan searches the lines of a text for blocks.
type scan struct {
	text    string
	lines   []line
	markers []marker
	next    []int // for each line the index of the next line with a marker
	fence   fence
	opener  int // the line that opened the fence
	blocks  []block
}

func (s *scan) at(i int) string { return s.text[s.lines[i].start:s.lines[i].end] }

// run finds all blocks. It skips their contents, so that fences in them do not affect the text around them.
func (s *scan) run() *fault {
	for i := 0; i < len(s.lines); i++ {
		if found, ok := s.intact(i); ok {
			s.blocks = append(s.blocks, found)
			i = s.next[i]
			continue
		}
		if s.fence.open() {
			if s.fence.closedBy(s.at(i)) {
				s.fence = fence{}
			}
			continue
		}
		if s.markers[i].kind == noMarker {
			s.fence, s.opener = opens(s.at(i)), i
			continue
		}
		if wrong := s.unpaired(i); wrong != nil {
			return wrong
		}
		s.blocks = append(s.blocks, s.between(i))
		i = s.next[i]
	}
	return nil
}

// intact returns the block that begins on line i, if its hash is valid. Our text contains no markers, so the next
// marker must be the end, and each line is hashed for at most one begin marker.
func (s *scan) intact(i int) (block, bool) {
	j := s.next[i]
	if s.markers[i].hash == "" || j == len(s.lines) || s.markers[j].kind != endingMarker || !s.markers[j].isAlone {
		return block{}, false
	}
	b := s.between(i)
	b.intact = hashOf(b.content) == s.markers[i].hash
	return b, b.intact
}

// between returns the block from line i to the next marker.
func (s *scan) between(i int) block {
	j := s.next[i]
	var content strings.Builder
	for _, l := range s.lines[i+1 : j] {
		content.WriteString(s.text[l.start:l.end])
		content.WriteByte('\n')
	}
	return block{start: s.lines[i].start, end: s.lines[j].end, line: i + 1, content: content.String(), fenced: s.fence.open()}
}

const faultFix = "remove the planloop markers and planloop's text between them, then write the block again"

// unpaired returns the fault of the marker on line i and the next one, nil if they enclose a block.
func (s *scan) unpaired(i int) *fault {
	j := s.next[i]
	switch m := s.markers[i]; {
	case !m.isAlone:
		return &fault{i + 1, "a planloop marker shares its line with other text, or is not closed by -->",
			"give the marker a line of its own"}
	case m.kind == endingMarker:
		return &fault{i + 1, "the end marker has no begin marker before it", faultFix}
	case m.version != "" && m.version != blockVersion:
		return &fault{i + 1, "this planloop does not know the block's version", "use the planloop that wrote it, or a newer one"}
	case j == len(s.lines):
		return &fault{i + 1, "the begin marker has no end marker after it",
			"add the line " + endMarker + " where the block ends, or " + faultFix}
	case s.markers[j].kind == beginMarker:
		return &fault{j + 1, fmt.Sprintf("a second begin marker comes before the end of the block that begins on line %d", i+1), faultFix}
	case !s.markers[j].isAlone:
		return &fault{j + 1, "the end marker shares its line with other text, or is not closed by -->", "give the marker a line of its own"}
	}
	return nil
}

// ownBlock returns our block: the only one outside fences, else the only one inside.
func (s *scan) ownBlock() (*block, *fault) {
	own := slices.DeleteFunc(slices.Clone(s.blocks), func(b block) bool { return b.fenced })
	if len(own) == 0 {
		own = s.blocks
	}
	switch len(own) {
	case 0:
		return nil, nil
	case 1:
		return &own[0], nil
	}
	return nil, &fault{own[1].line, fmt.Sprintf("a second block begins; the first begins on line %d", own[0].line),
		"keep one of the two blocks and delete the other with its markers"}
}

// listMarkers matches the list markers in front of a fence.
var listMarkers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[ \t]*(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+|$))*[ \t]*`)
})

// fence is the line of backticks or tildes that opened a code block; the zero value means no fence.
//
// The indentation does not matter: a fence indented too far by the rules of Markdown is usually in a list, and its end
// is indented as far.
type fence struct {
	char   byte
	length int
}

func (f fence) open() bool { return f.length > 0 }

// opens returns the fence that a line opens, if any.
func opens(line string) fence {
	if !strings.Contains(line, "```") && !strings.Contains(line, "~~~") {
		return fence{}
	}
	line = line[len(listMarkers().FindString(line)):]
	if line == "" || line[0] != '`' && line[0] != '~' {
		return fence{}
	}
	info := strings.TrimLeft(line, line[:1])
	f := fence{char: line[0], length: len(line) - len(info)}
	if f.length < 3 || f.char == '`' && strings.Contains(info, "`") {
		return fence{} // three backticks may also begin inline code
	}
	return f
}

func (f fence) closedBy(line string) bool {
	line = strings.Trim(line, " \t\r")
	return len(line) >= f.length && strings.Trim(line, string(rune(f.char))) == ""
}

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
	former += rest
	if f, wrong := parseText(former); wrong == nil && f.add(own, eol) == d.text {
		return d.mark + former, false
	}
	return d.mark + before + rest, false
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
