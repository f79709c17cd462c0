package agentsmd

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const byteOrderMark = "\ufeff"

// document is the parsed text of a file.
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

// line has the offsets of a line without its ending.
type line struct{ start, end int }

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
	s := newScan(text)
	if wrong := s.run(); wrong != nil {
		return document{}, wrong
	}
	own, wrong := s.ownBlock()
	return document{text: text, block: own, insertAt: s.insertPosition()}, wrong
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

func newScan(text string) *scan {
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
	return s
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

// insertPosition returns the position for a new block: the end, or before an unclosed code block.
func (s *scan) insertPosition() int {
	if s.fence.open() {
		return s.lines[s.opener].start
	}
	return len(s.text)
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
