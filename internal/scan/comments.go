package scan

import (
	"bytes"
	"strings"
)

// syntax says where comments and strings begin and end, as well as that can be
// told without parsing. A short string ends with its line at the latest, so that
// a quote taken wrongly costs one line.
type syntax struct {
	line        []string     // what opens a comment to the end of the line
	block       []delimiters // comments over several lines
	quotes      string       // what opens and closes a short string
	long        []string     // what opens and closes a string over several lines
	longEscapes bool         // a backslash in such a string takes away the meaning of what follows
	characters  bool         // ' encloses one character, and stands for other things too
	patterns    bool         // /…/ is a regular expression where a value may begin
	spaced      bool         // a line comment follows white space only
	wordly      bool         // a quote within a word is an apostrophe
}

type delimiters struct{ open, close string }

// lexer goes through source and yields its comments line by line.
type lexer struct {
	syntax syntax
	source []byte
	at     int
	line   int
	value  bool // the last thing seen ends a value: what follows is an operator
	yield  func(line int, text []byte) bool
	done   bool
}

// comments calls yield with every line of comment in source, without what opens
// and closes the comment, until it returns false. Lines count from 1.
func comments(source []byte, s syntax, yield func(line int, text []byte) bool) {
	l := lexer{syntax: s, source: source, line: 1, yield: yield}
	special := s.special()
	for l.at < len(source) && !l.done {
		if !special[source[l.at]] || !l.token() {
			l.plain(source[l.at])
		}
	}
}

// plain takes one byte of code.
func (l *lexer) plain(c byte) {
	l.at++
	switch c {
	case '\n':
		l.line++
	case ' ', '\t':
	default:
		l.value = wordByte(c) || c == ')' || c == ']'
	}
}

// special marks the bytes at which anything but plain code can begin.
func (s syntax) special() (set [256]bool) {
	for _, open := range append(append([]string{}, s.line...), s.long...) {
		set[open[0]] = true
	}
	for _, d := range s.block {
		set[d.open[0]] = true
	}
	for i := range len(s.quotes) {
		set[s.quotes[i]] = true
	}
	set['\''] = set['\''] || s.characters
	set['/'] = set['/'] || s.patterns
	return set
}

// token takes the comment, string or pattern that begins here, if one does.
func (l *lexer) token() bool {
	return l.blockComment() || l.lineComment() || l.longString() || l.shortString() || l.character() || l.pattern()
}

func (l *lexer) blockComment() bool {
	for _, d := range l.syntax.block {
		if !l.has(d.open) {
			continue
		}
		body := l.source[l.at+len(d.open):]
		l.at += len(d.open)
		if end := bytes.Index(body, []byte(d.close)); end >= 0 {
			body = body[:end]
			l.at += len(d.close)
		}
		l.at += len(body)
		l.yieldLines(body)
		return true
	}
	return false
}

func (l *lexer) yieldLines(body []byte) {
	for text := range bytes.Lines(body) {
		if !l.done && !l.yield(l.line, bytes.TrimRight(text, "\r\n")) {
			l.done = true
		}
		if text[len(text)-1] == '\n' {
			l.line++
		}
	}
}

func (l *lexer) lineComment() bool {
	for _, open := range l.syntax.line {
		if !l.has(open) || l.syntax.spaced && l.at > 0 && !blank(l.source[l.at-1]) {
			continue
		}
		end := l.endOfLine()
		text := l.source[l.at+len(open) : end]
		l.at = end
		l.done = !l.yield(l.line, bytes.TrimRight(text, "\r"))
		return true
	}
	return false
}

func (l *lexer) longString() bool {
	for _, quote := range l.syntax.long {
		if !l.has(quote) {
			continue
		}
		l.at += len(quote)
		for l.at < len(l.source) && !l.has(quote) {
			switch {
			case l.source[l.at] == '\n':
				l.line++
			case l.source[l.at] == '\\' && l.syntax.longEscapes && l.at+1 < len(l.source) && l.source[l.at+1] != '\n':
				l.at++
			}
			l.at++
		}
		l.at = min(l.at+len(quote), len(l.source))
		l.value = true
		return true
	}
	return false
}

func (l *lexer) shortString() bool {
	quote := l.source[l.at]
	if strings.IndexByte(l.syntax.quotes, quote) < 0 {
		return false
	}
	if l.syntax.wordly && l.at > 0 && wordByte(l.source[l.at-1]) {
		return false
	}
	l.at = l.closing(l.at+1, func(c byte) bool { return c == quote })
	l.value = true
	return true
}

// character takes 'x' and '\n', and leaves 'a of Rust and 1'000 of C++ alone.
func (l *lexer) character() bool {
	if !l.syntax.characters || l.source[l.at] != '\'' {
		return false
	}
	rest := l.source[l.at+1:]
	rest = rest[:min(len(rest), 12)]
	from := 1
	if len(rest) > 0 && rest[0] == '\\' {
		from = 2
	}
	if len(rest) <= from {
		return false
	}
	end := bytes.IndexByte(rest[from:], '\'')
	if end < 0 || from == 1 && end > 3 || bytes.IndexByte(rest[:from+end], '\n') >= 0 {
		return false
	}
	l.at += 1 + from + end + 1
	l.value = true
	return true
}

// pattern takes a regular expression, so that the quotes in it open no string.
func (l *lexer) pattern() bool {
	if !l.syntax.patterns || l.source[l.at] != '/' || l.value {
		return false
	}
	inClass := false
	l.at = l.closing(l.at+1, func(c byte) bool {
		inClass = c == '[' || inClass && c != ']'
		return c == '/' && !inClass
	})
	l.value = true
	return true
}

// closing returns where the line goes on after the first byte from i that closes,
// or where it ends.
func (l *lexer) closing(i int, closes func(byte) bool) int {
	for ; i < len(l.source) && l.source[i] != '\n'; i++ {
		switch {
		case l.source[i] == '\\' && i+1 < len(l.source) && l.source[i+1] != '\n':
			i++
		case closes(l.source[i]):
			return i + 1
		}
	}
	return i
}

func (l *lexer) has(text string) bool {
	return len(l.source)-l.at >= len(text) && string(l.source[l.at:l.at+len(text)]) == text
}

func (l *lexer) endOfLine() int {
	if end := bytes.IndexByte(l.source[l.at:], '\n'); end >= 0 {
		return l.at + end
	}
	return len(l.source)
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func wordByte(c byte) bool {
	return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
