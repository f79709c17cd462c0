package toolbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// page collects the lines of a file that are shown at once.
type page struct {
	limits Limits
	lines  *lines

	text     strings.Builder
	from, to int // lines in text; none when to is zero
	passed   int // lines read, of which the last may be one that found no room
	full     bool
	over     bool // the file's end was reached

	cut, crlf, lf int // lines that were cut, and that ended in each way
	foreign, mark bool
	open          bool
}

// fill reads the lines from through to (0: as many as there is room for).
func (p *page) fill(from, to int) error {
	for !p.full {
		err := p.lines.next()
		if errors.Is(err, io.EOF) {
			p.over = true
			return nil
		}
		if err != nil {
			return err
		}
		p.passed++
		if p.passed >= from {
			p.take(from)
		}
		p.full = p.full || p.to > 0 && (p.to == to || p.to-from+1 >= p.limits.PageLines)
	}
	return nil
}

// take adds the line that was read, unless there is no room for it.
func (p *page) take(from int) {
	raw := p.lines.text
	if p.passed == 1 && bytes.HasPrefix(raw, []byte(bom)) {
		p.mark = true
		raw = raw[len(bom):]
	}
	shown := strconv.Itoa(p.passed) + "\t" + p.shown(raw)
	if p.text.Len()+len(shown)+1 > p.limits.PageBytes && p.to > 0 {
		p.full = true
		return
	}
	if p.to > 0 {
		p.text.WriteByte('\n')
	}
	p.text.WriteString(shown)
	p.from, p.to = from, p.passed
	p.foreign = p.foreign || notUTF8(raw, p.lines.left > 0)
	switch {
	case p.lines.crlf:
		p.crlf++
	case p.lines.open:
		p.open = true
	default:
		p.lf++
	}
}

// shown is a line as it is shown. One that ended with CR LF among others that
// did not shows the CR.
func (p *page) shown(raw []byte) string {
	text := safetext.Escape(string(raw))
	if p.lines.crlf && p.lf > 0 {
		text += `\x0d`
	}
	left := p.lines.left
	if most := min(p.limits.LineBytes, p.limits.PageBytes-40); len(text) > most {
		left += len(text) - most
		text = head(text, most)
	}
	if left > 0 {
		p.cut++
		text += fmt.Sprintf(" … +%d bytes", left)
	}
	return text
}

// tell fills in the reply.
func (p *page) tell(reply *ViewReply) error {
	reply.Content, reply.From, reply.To = p.text.String(), p.from, p.to
	if p.to == 0 && p.passed > 0 {
		return invalid("/from", plan.Quote(reply.Path)+" has "+counted(p.passed, "line", "lines"), "give a line up to "+strconv.Itoa(p.passed))
	}
	reply.Note = p.note()
	switch {
	case p.over:
		reply.Total = p.passed
		return nil
	case reply.Bytes > counting:
		if p.lines.read < reply.Bytes || p.passed > p.to {
			reply.Next = p.to + 1
		}
		return nil
	}
	rest, err := p.lines.rest()
	if err != nil {
		return err
	}
	reply.Total = p.passed + rest
	if reply.Total > p.to {
		reply.Next = p.to + 1
	}
	return nil
}

func (p *page) note() string {
	var notes []string
	if p.foreign {
		notes = append(notes, "not UTF-8, other bytes shown as \\xNN")
	}
	if p.mark {
		notes = append(notes, "begins with a byte order mark")
	}
	switch {
	case p.crlf > 0 && p.lf > 0:
		notes = append(notes, `line endings are mixed: \x0d marks CR LF behind the first LF`)
	case p.crlf > 0:
		notes = append(notes, "lines end with CR LF")
	}
	if p.open && p.over {
		notes = append(notes, "no newline at the end")
	}
	if p.cut > 0 {
		notes = append(notes, "long lines cut")
	}
	return strings.Join(notes, "; ")
}
