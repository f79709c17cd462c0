package resources

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/plan"
)

// YAML returns what JSON returns, as YAML.
func YAML(s plan.State) ([]byte, error) {
	data, err := JSON(s)
	if err != nil {
		return nil, err
	}
	return YAMLOf(data)
}

// YAMLOf writes a JSON document as YAML 1.2, keys in the same order. Text stands
// bare only where every YAML reader takes it for text, else in double quotes or,
// where it has lines, as a block. YAML libraries write some texts in a way that
// they read back differently (leading and trailing blanks, tabs, "? a"), so the
// choice is made here.
func YAMLOf(data []byte) ([]byte, error) {
	w := yamlWriter{in: jsontext.NewDecoder(bytes.NewReader(data))}
	if err := w.value(0, false); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return bytes.TrimLeft(w.out.Bytes(), "\n "), nil
}

type yamlWriter struct {
	in  *jsontext.Decoder
	out bytes.Buffer
}

// value writes the next value after "key:" or "-". An object in a list starts on
// the line of its dash.
func (w *yamlWriter) value(indent int, inList bool) error {
	token, err := w.in.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case jsontext.KindBeginObject:
		return w.object(indent, inList)
	case jsontext.KindBeginArray:
		return w.array(indent)
	case jsontext.KindString:
		w.out.WriteByte(' ')
		w.out.WriteString(yamlText(token.String(), indent))
	default:
		w.out.WriteString(" " + token.String())
	}
	w.out.WriteByte('\n')
	return nil
}

func (w *yamlWriter) object(indent int, inList bool) error {
	if w.in.PeekKind() == jsontext.KindEndObject {
		w.out.WriteString(" {}\n")
		_, err := w.in.ReadToken()
		return err
	}
	if !inList {
		w.out.WriteByte('\n')
	}
	for first := inList; ; first = false {
		key, err := w.in.ReadToken()
		if err != nil || key.Kind() == jsontext.KindEndObject {
			return err
		}
		if first {
			w.out.WriteByte(' ')
		} else {
			w.indent(indent)
		}
		w.out.WriteString(yamlKey(key.String()) + ":")
		if err := w.value(indent+2, false); err != nil {
			return err
		}
	}
}

func (w *yamlWriter) array(indent int) error {
	if w.in.PeekKind() == jsontext.KindEndArray {
		w.out.WriteString(" []\n")
		_, err := w.in.ReadToken()
		return err
	}
	w.out.WriteByte('\n')
	for w.in.PeekKind() != jsontext.KindEndArray {
		w.indent(indent)
		w.out.WriteByte('-')
		if err := w.value(indent+2, true); err != nil {
			return err
		}
	}
	_, err := w.in.ReadToken()
	return err
}

func (w *yamlWriter) indent(n int) { w.out.WriteString(strings.Repeat(" ", n)) }

var bareKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func yamlKey(key string) string {
	if bareKey.MatchString(key) && !reserved(key) {
		return key
	}
	return yamlQuote(key)
}

// yamlText returns the scalar for text; indent is that of a block's lines.
func yamlText(text string, indent int) string {
	switch {
	case bare(text):
		return text
	case strings.Contains(text, "\n") && blockable(text):
		return "|-" + indented(text, strings.Repeat(" ", max(indent, 2)))
	}
	return yamlQuote(text)
}

// bare reports whether text without quotes is nothing but text to every reader.
func bare(text string) bool {
	for i, r := range text {
		letter := unicode.IsLetter(r) && !plan.Invisible(r)
		if !letter && (i == 0 || !unicode.IsDigit(r) && !strings.ContainsRune(" _./()+=;'\"@,!?-", r)) {
			return false
		}
	}
	return text != "" && !strings.HasSuffix(text, " ") && !reserved(text)
}

// readable reports whether a character may stand as it is: a reader sees it, and
// YAML takes it.
func readable(r rune) bool { return unicode.IsPrint(r) && !plan.Invisible(r) }

// indented returns the lines of text, each on a new line behind margin; blank
// lines stay empty.
func indented(text, margin string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteByte('\n')
		if line != "" {
			b.WriteString(margin + line)
		}
	}
	return b.String()
}

// reserved reports the words that some YAML version reads as something else.
func reserved(text string) bool {
	return slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(text))
}

// blockable reports whether text survives as a literal block without an
// indentation indicator: its lines neither begin the text with a blank nor end
// with one, and hold nothing unprintable.
func blockable(text string) bool {
	for i, line := range strings.Split(text, "\n") {
		if strings.HasSuffix(line, " ") || i == 0 && (line == "" || strings.HasPrefix(line, " ")) {
			return false
		}
	}
	hidden := func(r rune) bool { return r != '\n' && !readable(r) }
	return !strings.HasSuffix(text, "\n") && !strings.ContainsFunc(text, hidden)
}

func yamlQuote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case readable(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
