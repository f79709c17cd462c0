package toolbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
)

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
