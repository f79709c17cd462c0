package cli

import (
	"bytes"
	"encoding/json"
	"fmt"

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
	if opened := a.opened.Load(); opened != nil {
		return opened.verbs.NamesForPeople(known...)(text)
	}
	return text
}

// reply prints a verb's reply: as JSON with --json, else as text.
func (a *app) reply(r interface{ Text() string }) error { return a.tell(r, r.Text()) }

// note prints notes for the user on standard error.
func (a *app) note(notes ...string) {
	for _, text := range notes {
		fmt.Fprintln(a.err, "note: "+safetext.EscapeLine(text))
	}
}

// tell prints a verb's reply as JSON, or otherwise text for the person at the terminal.
func (a *app) tell(reply any, text string) error {
	if a.flags.json {
		return a.printJSON(reply)
	}
	return a.printLines(a.screen().Told(safetext.Escape(text)))
}
