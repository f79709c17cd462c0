package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func (a *app) printJSON(v any) error { return a.printIndented(v, "  ") }

func (a *app) printIndented(v any, indent string) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return a.print(safetext.EscapeJSON(b.Bytes()))
}

// indented returns a JSON document in its printed form, unless making it failed.
func indented(data []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(data), "", "  "); err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	b.WriteByte('\n')
	return safetext.EscapeJSON(b.Bytes()), nil
}

// printed prints data, unless making it failed.
func (a *app) printed(data []byte, err error) error {
	if err != nil {
		return err
	}
	return a.print(data)
}

func (a *app) print(data []byte) error {
	if _, err := a.out.Write(data); err != nil {
		return fmt.Errorf("write to standard output: %w", err)
	}
	return nil
}

// printLines prints lines for people, with agents' names as people see them.
func (a *app) printLines(lines []string) error { return a.print(a.joined(lines)) }

func (a *app) joined(lines []string) []byte {
	return []byte(a.forPeople(string(terminal.Joined(lines))))
}

// forPeople returns a text with agents' names as people see them; see verbs.Service.NamesForPeople.
func (a *app) forPeople(text string, known ...string) string {
	if opened := a.ws.Load(); opened != nil {
		return opened.verbs.NamesForPeople(known...)(text)
	}
	return text
}

func (a *app) reply(r verbs.Reply) error { return a.printReply(r, r.Text()) }

// replyOf prints the reply of a verb that did not fail.
func (a *app) replyOf(r verbs.Reply, err error) error {
	if err != nil {
		return err
	}
	return a.reply(r)
}

func (a *app) note(notes ...string) {
	for _, text := range notes {
		fmt.Fprintln(a.err, "note: "+safetext.EscapeLine(text))
	}
}

func (a *app) printReply(reply any, text string) error {
	if a.flags.json {
		return a.printJSON(reply)
	}
	return a.printLines(a.screen().Told(safetext.Escape(text)))
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// warn prints a warning for the user, once per text.
func (a *app) warn(text string) {
	if a.parent != nil {
		a.parent.warn(text)
		return
	}
	if _, known := a.warned.LoadOrStore(text, true); known {
		return
	}
	if a.serving || a.noWarnings {
		a.logger().Warn(text)
		return
	}
	fmt.Fprintln(a.err, "warning: "+safetext.EscapeLine(text))
}

// logger returns a logger on standard error: standard output of a server belongs to the protocol.
func (a *app) logger() *slog.Logger {
	if a.noWarnings {
		return slog.New(slog.DiscardHandler)
	}
	level := slog.LevelWarn
	if a.flags.verbose {
		level = slog.LevelDebug
	}
	return slog.New(a.errorLog.handler(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level})))
}

func readObject[T any](ctx context.Context, a *app, file string) (object T, err error) {
	data, err := a.readInput(ctx, file)
	if err != nil {
		return object, err
	}
	err = verbs.Decode(data, &object)
	return object, err
}

const maxInput = 4<<20 + 1 // over the limit of every verb, so that excess input is refused rather than cut

// readInput reads a file, or standard input for "-", until ctx ends. Reading a pipe without a writer cannot be interrupted.
func (a *app) readInput(ctx context.Context, file string) ([]byte, error) {
	data, err := await(ctx, func() ([]byte, error) { return a.inputOf(file) })
	if errors.Is(err, errAbandoned) {
		return nil, fmt.Errorf("%s was not read completely: %w", plan.Quote(file), context.Cause(ctx))
	}
	return data, err
}

var errAbandoned = errors.New("not finished in time") // by await, after its context has ended

// await returns do's results, or errAbandoned if ctx ends first: then the goroutine of do is abandoned until the process ends.
func await[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type results struct {
		value T
		err   error
	}
	done := make(chan results, 1)
	go func() {
		value, err := do()
		done <- results{value, err}
	}()
	select {
	case got := <-done:
		return got.value, got.err
	case <-ctx.Done():
		return results{}.value, errAbandoned
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
		return nil, usageError{fmt.Errorf("%s is longer than the limit of %d MB", plan.Quote(file), maxInput>>20)}
	}
	return data, nil
}

func unreadableFile(file string, err error) error {
	return usageError{fmt.Errorf("%s cannot be read: %v; name a file, or - for standard input", plan.Quote(file), safefile.Cause(err))}
}
