package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
)

// frame is one line of input, or the error that ended it.
type frame struct {
	data    []byte
	tooLong bool // data is empty: the line was skipped
	err     error
}

// readFrames reads lines until in or ctx ends; the last frame carries the error. The goroutine owns in and outlives ctx
// while a Read blocks.
func readFrames(ctx context.Context, in io.Reader, maxFrame int) <-chan frame {
	frames := make(chan frame)
	go func() {
		lines := bufio.NewReaderSize(in, 16<<10)
		for {
			f := nextFrame(lines, maxFrame)
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

// nextFrame reads one line of any length, keeping at most limit bytes of it.
func nextFrame(in *bufio.Reader, limit int) frame {
	var line []byte
	tooLong := false
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > limit+len("\r\n") {
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
		if tooLong || len(line) > limit {
			return frame{tooLong: true}
		}
		return frame{data: line}
	}
}
