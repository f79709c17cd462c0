package exchange

import "strings"

// textBlock collects the lines of a text.
type textBlock struct {
	heading string
	lines   []string
}

// add adds a line; unless it is raw, what is escaped in it is restored.
func (b *textBlock) add(line string, raw bool) {
	if !raw {
		line = unescape(line)
	}
	b.lines = append(b.lines, strings.TrimRight(line, " \t"))
}

// String returns the text without blank lines around it.
func (b *textBlock) String() string { return strings.Trim(strings.Join(b.lines, "\n"), "\n") }

// measure returns the column at which the text of a line begins, and that text.
func measure(line string) (indent int, body string) {
	for i := range len(line) {
		switch line[i] {
		case ' ':
			indent++
		case '\t':
			indent += 4 - indent%4
		default:
			return indent, strings.TrimRight(line[i:], " \t")
		}
	}
	return indent, ""
}

// dropColumns takes blanks of up to n columns from the beginning of a line.
func dropColumns(line string, n int) string {
	column := 0
	for i := range len(line) {
		switch {
		case column >= n:
			return strings.Repeat(" ", column-n) + line[i:]
		case line[i] == ' ':
			column++
		case line[i] == '\t':
			column += 4 - column%4
		default:
			return line[i:]
		}
	}
	return ""
}

// unescape returns text without the backslashes that Markdown takes for escapes,
// which are those before ASCII punctuation outside of code.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '`':
			n := codeSpan(text[i:])
			b.WriteString(text[i : i+n])
			i += n - 1
		case text[i] == '\\' && i+1 < len(text) && punctuation(text[i+1]):
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// maxCode bounds how far the end of code is looked for.
const maxCode = 4_000

// codeSpan returns the length of the code at the beginning of text, or of the
// backticks alone when nothing closes them.
func codeSpan(text string) int {
	ticks := len(text) - len(strings.TrimLeft(text, "`"))
	text = text[:min(len(text), ticks+maxCode)]
	for i := ticks; i < len(text); {
		at := strings.IndexByte(text[i:], '`')
		if at < 0 {
			break
		}
		i += at
		run := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
		i += run
		if run == ticks {
			return i
		}
	}
	return ticks
}

func punctuation(c byte) bool {
	return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}
