package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// readObject reads a JSON object from a file, or from standard input for "-".
func readObject[T any](ctx context.Context, a *app, file string) (object T, err error) {
	data, err := a.readInput(ctx, file)
	if err != nil {
		return object, err
	}
	err = verbs.Decode(data, &object)
	return object, err
}

// maxInput is larger than the limit of every verb, so that excess input is refused rather than cut.
const maxInput = 4<<20 + 1

// readInput reads a file, or standard input for "-", until ctx ends. Reading a pipe without a writer cannot be interrupted: then the
// goroutine is abandoned until the process ends.
func (a *app) readInput(ctx context.Context, file string) ([]byte, error) {
	type input struct {
		data []byte
		err  error
	}
	read := make(chan input, 1)
	go func() {
		data, err := a.inputOf(file)
		read <- input{data, err}
	}()
	select {
	case got := <-read:
		return got.data, got.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%s was not read to its end: %w", plan.Quote(file), context.Cause(ctx))
	}
}

func (a *app) inputOf(file string) ([]byte, error) {
	in := a.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, unreadableFile(file, err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxInput))
	switch {
	case err != nil && file == "-":
		return nil, fmt.Errorf("read standard input: %w", err)
	case err != nil:
		return nil, unreadableFile(file, err)
	case len(data) == maxInput:
		return nil, usageError{fmt.Errorf("%s is longer than %d MB, the most that is read", plan.Quote(file), maxInput>>20)}
	}
	return data, nil
}

func unreadableFile(file string, err error) error {
	problem := err.Error()
	if detail := (*fs.PathError)(nil); errors.As(err, &detail) {
		problem = detail.Err.Error()
	}
	return usageError{fmt.Errorf("%s cannot be read: %s; name a file, or - for standard input", plan.Quote(file), problem)}
}
