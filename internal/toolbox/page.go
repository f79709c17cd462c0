package toolbox

import (
	"bufio"
	"bytes"
	"context"
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
		return invalid("/from", plan.Quote(reply.Path)+" has "+counted(p.passed, "line", "lines"),
			"give a line up to "+strconv.Itoa(p.passed))
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

// chunk is how much of a file is read at once.
const chunk = 64 << 10

// watched is a reader that ends with the context's error when that is done.
type watched struct {
	ctx context.Context
	r   io.Reader
}

func (w watched) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.r.Read(p)
}

// lines reads a file line by line, and of each line no more than max bytes into
// memory.
type lines struct {
	r    *bufio.Reader
	max  int
	text []byte
	left int  // bytes of the line behind text
	crlf bool // it ended with CR LF
	open bool // it did not end with a newline
	read int64
}

func newLines(ctx context.Context, r io.Reader, max int) *lines {
	return &lines{r: bufio.NewReaderSize(watched{ctx, r}, chunk), max: max}
}

// next goes to the next line, whose text is without its ending and good until
// the call after. At the end it returns io.EOF.
func (l *lines) next() error {
	l.text, l.left, l.crlf, l.open = l.text[:0], 0, false, false
	var last byte
	for {
		part, err := l.r.ReadSlice('\n')
		l.read += int64(len(part))
		ended := err == nil
		if ended {
			part = part[:len(part)-1]
		}
		if len(part) > 0 {
			last = part[len(part)-1]
		}
		l.take(part)
		switch {
		case ended:
			l.trim(last)
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(l.text) > 0:
			l.open = true
			return nil
		default:
			return err
		}
	}
}

func (l *lines) take(part []byte) {
	n := min(len(part), l.max-len(l.text))
	l.text = append(l.text, part[:n]...)
	l.left += len(part) - n
}

// trim takes the CR off a line that ended with CR LF.
func (l *lines) trim(last byte) {
	if last != '\r' {
		return
	}
	l.crlf = true
	if l.left > 0 {
		l.left--
		return
	}
	l.text = l.text[:len(l.text)-1]
}

// rest counts the lines that are left.
func (l *lines) rest() (n int, err error) {
	var last byte = '\n'
	for {
		part, err := l.r.Peek(1)
		if err == nil {
			part, err = l.r.Peek(l.r.Buffered())
		}
		if len(part) > 0 {
			n += bytes.Count(part, []byte{'\n'})
			last = part[len(part)-1]
			_, _ = l.r.Discard(len(part)) // what was peeked is there
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			if last != '\n' {
				n++
			}
			return n, nil
		default:
			return n, err
		}
	}
}
