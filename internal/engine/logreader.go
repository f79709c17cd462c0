package engine

import (
	"errors"
	"io"
	"os"

	"github.com/planloop/planloop/internal/safefile"
)

// Open returns a reader that starts at the oldest kept part.
func (l Log) Open() *LogReader { return &LogReader{log: l} }

// LogReader reads a log while it grows: at the end it returns io.EOF, and more later. It skips parts that were
// overwritten before it read them.
type LogReader struct {
	log  Log
	file *os.File // nil: nothing read yet
}

// Read reads from the current file, and continues in the newer file once the current one has been rotated.
func (r *LogReader) Read(p []byte) (int, error) {
	for range 3 { // at most 3 files: it may rotate in between
		next, err := r.next() // before the current file is read: once it has a successor, nothing is added to it
		if err != nil {
			return 0, err
		}
		if r.file != nil {
			n, err := r.file.Read(p)
			if n > 0 || !errors.Is(err, io.EOF) {
				if next != nil {
					_ = next.Close()
				}
				return n, err
			}
		}
		if next == nil {
			return 0, io.EOF
		}
		_ = r.Close()
		r.file = next
	}
	return 0, io.EOF
}

// next opens the file after the current one; nil if the current one is the newest.
func (r *LogReader) next() (next *os.File, err error) {
	for _, ending := range logEndings() { // from the newest file back to the current one
		file, err := safefile.Open(r.log.base+ending, os.O_RDONLY)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil && r.isCurrent(file) {
			return next, file.Close()
		}
		if next != nil {
			_ = next.Close()
		}
		if err != nil {
			return nil, err
		}
		next = file
	}
	return next, nil
}

func (r *LogReader) isCurrent(file *os.File) bool {
	if r.file == nil {
		return false
	}
	current, err := r.file.Stat()
	other, wrong := file.Stat()
	return err == nil && wrong == nil && os.SameFile(current, other)
}

// Close closes the current file.
func (r *LogReader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
