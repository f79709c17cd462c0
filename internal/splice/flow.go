package splice

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// flow is how values in brackets, with commas between their entries, are written: all of
// JSON, the arrays and inline tables of TOML, the flow collections of YAML.
type flow struct {
	newline, unit string // line break, indentation of one level
	colon, comma  string // with the blanks around them
	pad           string // inside the brackets of an object in one line
	compact       bool   // new values take one line
	key           func(string) string
	comment       func(text []byte, at int) (end int, problem string) // where the comment ends that begins there
}

// gap is what stands between two values: blanks, comments, a comma.
type gap struct {
	start, end int
	comma      int  // where it is; -1
	tail       int  // behind the last thing that is no blank
	inLine     int  // behind the last thing that is no blank in the line that the gap begins in
	lineNote   bool // the last thing is a comment that ends with its line
}

// gapAt reads the gap that begins at an offset of a text which was read.
func (f flow) gapAt(text []byte, start int) gap {
	g := gap{start: start, end: start, comma: -1, tail: start, inLine: start}
	for sameLine := true; g.end < len(text); {
		switch c := text[g.end]; {
		case strings.IndexByte(blanks, c) >= 0:
			sameLine = sameLine && c != '\n'
			g.end++
			continue
		case c == '/', c == '#':
			end, problem := f.comment(text, g.end)
			if problem != "" {
				return g
			}
			g.lineNote = c == '#' || text[g.end+1] == '/'
			g.end = end
		case c == ',' && g.comma < 0:
			g.comma, g.lineNote = g.end, false
			g.end++
		default:
			return g
		}
		if g.tail = g.end; sameLine {
			g.inLine = g.end
		}
	}
	return g
}

func (f flow) replace(text []byte, old, value *node) []edit {
	short := inLine(text, old.parent) && !bytes.Contains(text[old.start:old.end], []byte("\n"))
	return []edit{{old.start, old.end, f.write(value, indent(text, old.begin), short)}}
}

func (f flow) insert(text []byte, into, value *node) []edit {
	outer := indent(text, into.start)
	if len(into.children) == 0 {
		inside := f.gapAt(text, into.start+1)
		own := f.newline + outer + f.unit + f.entry(into.kind, value, outer+f.unit, false)
		switch {
		case inside.tail == inside.start && f.compact:
			pad := f.padOf(into)
			return []edit{{inside.start, inside.end, pad + f.entry(into.kind, value, "", true) + pad}}
		case inside.tail == inside.start:
			return []edit{{inside.start, inside.end, own + f.newline + outer}}
		case bytes.Contains(text[inside.tail:inside.end], []byte("\n")):
			return []edit{{inside.tail, inside.tail, own}}
		}
		return []edit{{inside.tail, inside.tail, " " + f.entry(into.kind, value, "", true)}}
	}
	last := into.children[len(into.children)-1]
	behind := f.gapAt(text, last.end)
	if inLine(text, into) {
		written := f.entry(into.kind, value, outer, !bytes.Contains(text[last.start:last.end], []byte("\n")))
		if behind.comma >= 0 {
			return []edit{{behind.comma + 1, behind.comma + 1, f.comma[1:] + written + ","}}
		}
		return []edit{{last.end, last.end, f.comma + written}}
	}
	inner := indent(text, last.begin)
	written := f.newline + inner + f.entry(into.kind, value, inner, false)
	if behind.comma < 0 {
		return []edit{{last.end, last.end, ","}, {behind.inLine, behind.inLine, written}}
	}
	at := max(behind.inLine, f.gapAt(text, behind.comma+1).inLine)
	return []edit{{at, at, written + ","}}
}

func (f flow) remove(text []byte, entry *node) []edit {
	siblings := entry.parent.children
	before := f.gapAt(text, entry.parent.start+1)
	for i, s := range siblings[1:] {
		if s == entry {
			before = f.gapAt(text, siblings[i].end)
		}
	}
	behind := f.gapAt(text, entry.end)
	rest := text[entry.end : entry.parent.end-1]
	if len(siblings) == 1 && before.tail == before.start && len(bytes.Trim(rest, blanks+",")) == 0 {
		return []edit{{before.start, entry.parent.end - 1, ""}} // nothing else is in it
	}
	var edits []edit
	end := entry.end
	switch {
	case behind.comma >= 0 && len(bytes.Trim(text[end:behind.comma], blanks)) == 0:
		end = behind.comma + 1
	case behind.comma >= 0:
		edits = append(edits, edit{behind.comma, behind.comma + 1, ""})
	case before.comma >= 0:
		edits = append(edits, edit{before.comma, before.comma + 1, ""})
	}
	next := end + len(text[end:]) - len(bytes.TrimLeft(text[end:], blanks))
	lead, trail := string(text[before.tail:entry.begin]), string(text[end:next])
	closes := next == entry.parent.end-1
	if begins := strings.Contains(lead, "\n") && !strings.Contains(trail, "\n"); begins && (!closes || before.lineNote) ||
		lead == "" && entry != siblings[len(siblings)-1] {
		if closes {
			next = end
		}
		return append(edits, edit{entry.begin, next, ""})
	}
	return append(edits, edit{before.tail, end, ""})
}

// inLine reports whether the entries of an object or list go on in one line.
func inLine(text []byte, n *node) bool {
	return len(n.children) > 0 && !beginsLine(text, n.children[len(n.children)-1].begin)
}

// entry writes a member with its name, or an element.
func (f flow) entry(in kind, n *node, outer string, inLine bool) string {
	if in == object {
		return f.key(n.key) + f.colon + f.write(n, outer, inLine)
	}
	return f.write(n, outer, inLine)
}

// padOf returns what stands inside the brackets of a value that takes one line.
func (f flow) padOf(n *node) string {
	if n.kind == object {
		return f.pad
	}
	return ""
}

// write writes a value that begins in a line with an indentation. Lists of single values take one line.
func (f flow) write(n *node, outer string, inLine bool) string {
	brackets := "{}"
	switch n.kind {
	case null:
		return "null"
	case scalar:
		return single(n.value)
	case list:
		brackets = "[]"
		inLine = inLine || !slices.ContainsFunc(n.children, func(e *node) bool { return len(e.children) > 0 })
	}
	if len(n.children) == 0 {
		return brackets
	}
	if inLine || f.compact {
		var entries []string
		for _, child := range n.children {
			entries = append(entries, f.entry(n.kind, child, outer, true))
		}
		pad := f.padOf(n)
		return brackets[:1] + pad + strings.Join(entries, f.comma) + pad + brackets[1:]
	}
	out := brackets[:1]
	for i, child := range n.children {
		if i > 0 {
			out += ","
		}
		out += f.newline + outer + f.unit + f.entry(n.kind, child, outer+f.unit, false)
	}
	return out + f.newline + outer + brackets[1:]
}

// single writes a single value as JSON, TOML and YAML all read it.
func single(value any) string {
	switch v := value.(type) {
	case string:
		return quoted(v)
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return text
	}
	return fmt.Sprint(value)
}

// quoted writes a text in double quotes as JSON, TOML and YAML all read it.
func quoted(text string) string {
	inQuotes, err := jsontext.AppendQuote(nil, text)
	if err != nil { // it is not UTF-8, which was checked; what comes of it would be refused
		return ""
	}
	var out strings.Builder
	for _, r := range string(inQuotes) {
		if r >= 0x7f && r < 0xa0 || r >= 0x2028 && r <= 0x202e || r == 0xfeff || r == 0xfffe || r == 0xffff {
			fmt.Fprintf(&out, `\u%04x`, r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

func number(raw string) any {
	if i, err := strconv.ParseInt(raw, 10, 64); err == nil {
		return i
	}
	f, _ := strconv.ParseFloat(raw, 64) // beyond what a float64 holds: infinite
	return f
}
