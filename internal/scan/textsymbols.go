package scan

import (
	"bytes"
	"regexp"
	"strings"
)

var (
	pythonDefinition = pattern(`^(?:async[ \t]+)?(?:def|class)[ \t]+([A-Za-z][A-Za-z0-9_]*)`)
	scriptExport     = pattern(`^export[ \t]+(?:default[ \t]+)?(?:declare[ \t]+)?(?:abstract[ \t]+)?(?:async[ \t]+)?(?:function[ \t]*\*?|class|const)[ \t]+(?:enum[ \t]+)?([A-Za-z_$][A-Za-z0-9_$]*)`)
)

// pythonSymbols returns the public functions and classes at the top of a module.
func pythonSymbols(source []byte) []symbol {
	return textSymbols(source, pythonDefinition(), python())
}

// scriptSymbols returns what a TypeScript or JavaScript module exports by name.
func scriptSymbols(source []byte) []symbol {
	return textSymbols(source, scriptExport(), script())
}

// textSymbols finds symbols that begin a line. The code of one goes on until
// another statement begins a line.
func textSymbols(source []byte, form *regexp.Regexp, s syntax) []symbol {
	var found []symbol
	open := false // the last symbol found goes on
	line := 0
	for raw := range bytes.Lines(withoutText(source, s)) {
		line++
		text := strings.TrimRight(string(raw), " \t\r\n")
		if text == "" {
			continue
		}
		var match []string
		if !blank(text[0]) {
			match = form.FindStringSubmatch(text)
		}
		switch {
		case match != nil && len(found) < maxSymbols:
			found = append(found, symbol{name: match[1], line: line, lines: 1})
			open = true
		case open && (blank(text[0]) || strings.IndexByte(")]}", text[0]) >= 0):
			found[len(found)-1].lines = line - found[len(found)-1].line + 1
		default:
			open = false
		}
	}
	return found
}

// withoutText returns source with its comments and long strings blanked, and its
// lines where they were.
func withoutText(source []byte, s syntax) []byte {
	code := bytes.Clone(source)
	l := lexer{syntax: s, source: source, line: 1, yield: func(int, []byte) bool { return true }}
	special := s.special()
	for l.at < len(source) {
		from := l.at
		if !special[source[from]] || !l.token() {
			l.plain(source[from])
			continue
		}
		blankOut(code[from:l.at])
	}
	return code
}

func blankOut(text []byte) {
	for i, c := range text {
		if c != '\n' {
			text[i] = ' '
		}
	}
}
