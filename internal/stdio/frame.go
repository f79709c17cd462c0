package stdio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/planloop/planloop/internal/transport"
)

// defaultMaxFrame is the longest message that is accepted, in bytes without the
// line end, where the options do not say otherwise.
const defaultMaxFrame = transport.MaxMessage

// frame is one line of input, or the error that ended it.
type frame struct {
	data    []byte
	tooLong bool // data is empty: the line was skipped
	err     error
}

// readFrames reads lines until in or ctx ends; the last frame carries the error.
// The goroutine owns in and outlives ctx while a Read blocks.
func readFrames(ctx context.Context, in io.Reader, maxFrame int) <-chan frame {
	frames := make(chan frame)
	go func() {
		r := &lineReader{in: bufio.NewReaderSize(in, 16<<10), max: maxFrame}
		for {
			f := r.next()
			select {
			case frames <- f:
			case <-ctx.Done():
				return
			}
			if f.err != nil {
				return
			}
		}
	}()
	return frames
}

type lineReader struct {
	in  *bufio.Reader
	max int
}

// next reads one line of any length, keeping at most max bytes of it.
func (r *lineReader) next() frame {
	var line []byte
	tooLong := false
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line)+len(part) > r.max+len("\r\n") {
			tooLong, line = true, nil
		}
		if !tooLong {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		atEnd := errors.Is(err, io.EOF) && (tooLong || len(line) > 0)
		if err != nil && !atEnd {
			return frame{err: err}
		}
		line = bytes.Trim(line, " \t\r\n")
		if tooLong || len(line) > r.max {
			return frame{tooLong: true}
		}
		return frame{data: line}
	}
}
