// Package safetext makes untrusted text safe to show: on a terminal, in a message, to a model. It refuses nothing and
// knows no fields: plan.Text decides which text a plan accepts, and plan.Invisible which characters are invisible.
package safetext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/plan"
)

// Printable reports whether text of several lines can be shown unchanged.
func Printable(text string) bool {
	for i, r := range text {
		if look(text, i, r) != plan.Visible {
			return false
		}
	}
	return true
}

// PrintableLine reports whether text can be shown unchanged on one line, without tabs.
func PrintableLine(text string) bool { return !strings.ContainsAny(text, "\n\t") && Printable(text) }

// Escape returns text with control characters, escape sequences, characters that hide or reorder text and invalid bytes
// written as \xNN, \uNNNN or \UNNNNNNNN. Line breaks and tabs are kept.
func Escape(text string) string {
	return rewrite(text, func(r rune) string {
		switch {
		case r < 0x100:
			return fmt.Sprintf(`\x%02x`, r)
		case r > 0xFFFF:
			return fmt.Sprintf(`\U%08x`, r)
		}
		return fmt.Sprintf(`\u%04x`, r)
	})
}

// EscapeLine is Escape for text that must stay on one line.
func EscapeLine(text string) string {
	return strings.NewReplacer("\n", `\x0a`, "\t", " ").Replace(Escape(text))
}

// EscapeJSON returns a JSON document with the characters that Escape would escape as \uNNNN, which has the same
// meaning. They only occur within strings.
func EscapeJSON(data []byte) []byte {
	text := string(data)
	if Printable(text) {
		return data
	}
	var b bytes.Buffer
	for i, r := range text {
		switch {
		case look(text, i, r) == plan.Visible:
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

// EscapeTags returns text for a section between tags such as <approved_plan>: no part of it can be taken for a tag.
// html.UnescapeString, which models know, gives the text back.
func EscapeTags(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(text)
}

// Replace returns text with U+FFFD for the characters that Escape would escape, and all line ends as newlines.
func Replace(text string) string {
	return rewrite(Newlines(text), func(rune) string { return string(utf8.RuneError) })
}

// Drop returns text without the characters that Escape would escape, and all line ends as newlines.
func Drop(text string) string {
	return rewrite(Newlines(text), func(rune) string { return "" })
}

// Line returns text on one line: runs of white space and control characters become a space; other characters that
// Escape would escape are removed.
func Line(text string) string {
	line := rewrite(Newlines(text), func(r rune) string {
		if unicode.IsControl(r) {
			return " "
		}
		return ""
	})
	return strings.Join(strings.Fields(line), " ")
}

// Mark begins each line of untrusted text, on every face, except a line that follows a label of ours; a margin may precede
// it. None of our own lines begins with it, so text cannot imitate them.
const Mark = "  | "

// Marked returns text with the mark before each line; "" for "".
func Marked(text string) string {
	if text == "" {
		return ""
	}
	return Mark + AfterLabel(text)
}

// AfterLabel returns text for a place after a label or a bullet: the mark is before each line but the first.
func AfterLabel(text string) string { return strings.ReplaceAll(text, "\n", "\n"+Mark) }

// Unmarked undoes AfterLabel, for a face that shows each text apart.
func Unmarked(text string) string { return strings.ReplaceAll(text, "\n"+Mark, "\n") }

// Newlines returns text with all line ends as newlines.
func Newlines(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(text)
}

// rewrite calls instead for each character and invalid byte that cannot be shown. It drops selectors that only choose
// the style of a symbol.
func rewrite(text string, instead func(rune) string) string {
	if Printable(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch look(text, i, r) {
		case plan.Visible:
			b.WriteRune(r)
		case plan.Hiding:
			if r == utf8.RuneError {
				r = rune(text[i])
			}
			b.WriteString(instead(r))
		}
	}
	return b.String()
}

// look is plan.VisibilityAt for unchecked text.
func look(text string, i int, r rune) plan.Visibility {
	switch {
	case r == '\n', r == '\t':
		return plan.Visible
	case r == utf8.RuneError:
		if strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return plan.Visible
		}
		return plan.Hiding
	case unicode.IsControl(r), unicode.Is(unicode.Co, r):
		return plan.Hiding
	}
	return plan.VisibilityAt(text, i)
}

// Keepable makes a program's output acceptable as text of a plan: it keeps the last max characters, without escape
// sequences and invisible characters.
func Keepable(text string, max int) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(ansi.Strip(strings.ToValidUTF8(text, "?")))
	if over := utf8.RuneCountInString(text) - max; over > 0 {
		text = string([]rune(text)[over:])
	}
	rule := plan.Text{Max: max, Multiline: true}
	clean, err := rule.Clean(text)
	if err != nil {
		clean, _ = rule.Clean(strings.Map(func(r rune) rune {
			if r == '\n' || r == '\t' || r >= ' ' && r < 0x7f {
				return r
			}
			return '?'
		}, text)) // "" if nothing remains
	}
	return clean
}

// LastLine returns the last line of a program's output that is not blank, fit for display.
func LastLine(text string) string {
	for {
		text = strings.TrimRight(text, "\r\n\t ")
		start := strings.LastIndexAny(text, "\r\n") + 1
		if line := strings.TrimSpace(ansi.Strip(text[start:])); line != "" || start == 0 {
			return EscapeLine(line)
		}
		text = text[:start]
	}
}

// Escape for values with many texts: Go values of ours, and untrusted JSON documents.

// MapTexts replaces all texts in the value that pointer points to. Pointers and string slices in it may be shared, so
// they are copied before a change.
func MapTexts(pointer any, change func(string) string) {
	mapTexts(reflect.ValueOf(pointer).Elem(), change)
}

func mapTexts(v reflect.Value, change func(string) string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(change(v.String()))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				mapTexts(v.Field(i), change)
			}
		}
	case reflect.Slice:
		if texts, of := v.Interface().([]string); of {
			if !slices.ContainsFunc(texts, func(text string) bool { return change(text) != text }) {
				return
			}
			v.Set(reflect.ValueOf(slices.Clone(texts)))
		}
		for i := range v.Len() {
			mapTexts(v.Index(i), change)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			own := reflect.New(v.Type().Elem())
			own.Elem().Set(v.Elem())
			mapTexts(own.Elem(), change)
			v.Set(own)
		}
	}
}

// EscapeStrings escapes all strings and names in a JSON document, and converts their line ends to newlines. Unlike
// EscapeJSON it changes the meaning of the document.
func EscapeStrings(raw json.RawMessage) json.RawMessage {
	if isPlainJSON(raw) {
		return raw
	}
	var out bytes.Buffer
	in := jsontext.NewDecoder(bytes.NewReader(raw))
	to := jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true)) // two names may become equal
	for {
		token, err := in.ReadToken()
		if err != nil {
			return bytes.TrimSpace(out.Bytes())
		}
		if token.Kind() == '"' {
			token = jsontext.String(Escape(Newlines(token.String())))
		}
		if to.WriteToken(token) != nil {
			return json.RawMessage("null")
		}
	}
}

// isPlainJSON reports whether all strings of a JSON document are printable and without escapes.
func isPlainJSON(raw json.RawMessage) bool {
	return !bytes.Contains(raw, []byte(`\u`)) && !bytes.Contains(raw, []byte(`\b`)) && !bytes.Contains(raw, []byte(`\f`)) &&
		!bytes.Contains(raw, []byte(`\r`)) && Printable(string(raw))
}
