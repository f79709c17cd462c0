package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/terminal"
)

// printJSON prints v as an indented JSON document.
func (a *app) printJSON(v any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return a.print(safetext.EscapeJSON(b.Bytes()))
}

// indented returns a JSON document in its printed form.
func indented(data []byte) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(data), "", "  "); err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	b.WriteByte('\n')
	return safetext.EscapeJSON(b.Bytes()), nil
}

// printDocument prints a JSON document of package resources.
func (a *app) printDocument(data []byte, err error) error {
	if err != nil {
		return err
	}
	if data, err = indented(data); err != nil {
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

// reply prints a verb's reply: as JSON with --json, else as text.
func (a *app) reply(r interface{ Text() string }) error { return a.printReply(r, r.Text()) }

// note prints notes for the user on standard error.
func (a *app) note(notes ...string) {
	for _, text := range notes {
		fmt.Fprintln(a.err, "note: "+safetext.EscapeLine(text))
	}
}

// printReply prints a verb's reply as JSON, or otherwise text for the person at the terminal.
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
	a.warning.Lock()
	defer a.warning.Unlock()
	if a.warned[text] {
		return
	}
	if a.warned == nil {
		a.warned = map[string]bool{}
	}
	a.warned[text] = true
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
