package shell

import "strings"

// sed allows scripts that only print: w and W write, e runs, s has flags for both, and -i writes in place. A script
// from a file is unknown.
func sed(_ *classifier, _ call, a arguments) *refusal {
	if a.has("--version", "--help") && len(a.flags)+len(a.operands) == 1 {
		return nil
	}
	var script []string
	for _, f := range a.flags {
		if f.name == "-e" || f.name == "--expression" {
			if !f.value.whole {
				return unknownScript()
			}
			script = append(script, f.value.text)
		}
	}
	if script == nil {
		if len(a.operands) == 0 {
			return refuse("sed has no script")
		}
		if !a.operands[0].whole || !a.operands[0].one() {
			return unknownScript()
		}
		script = append(script, a.operands[0].text)
	}
	return sedScript(strings.Join(script, "\n"))
}

// unknownLine prints the line of an unknown number.
const unknownLine = `awk -v n="$n" 'NR == n' FILE`

func unknownScript() *refusal {
	return refuse("the script of sed is not known before it runs; write it out, or give values to awk").or(unknownLine)
}

// sedScript classifies a script. Versions differ in whether a delimiter inside brackets ends a pattern, so every reading
// must be harmless.
func sedScript(script string) *refusal {
	usual := (&sedReader{text: script, brackets: true}).script()
	for _, reader := range []*sedReader{{text: script}, {text: script, brackets: true, escapes: true}} {
		if usual == sedWrites || reader.script() == sedWrites {
			return refuse("the script of sed writes a file or runs a command (w, W, e, s///w, s///e)")
		}
	}
	if usual == sedUnknown {
		return refuse("the script of sed is not understood, and may write or run")
	}
	return nil
}

type sedOutcome int

const (
	sedReads sedOutcome = iota
	sedUnknown
	sedWrites
)

type sedReader struct {
	text     string
	at       int
	brackets bool // a delimiter inside [...] is a plain character
	escapes  bool // and so is a ] after a backslash
}

func (s *sedReader) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// take returns the next byte, 0 at the end, and passes it.
func (s *sedReader) take() byte {
	c := s.peek()
	s.at++
	return c
}

func (s *sedReader) rest() string { return s.text[min(s.at, len(s.text)):] }

func (s *sedReader) skip(set string) { s.at = len(s.text) - len(strings.TrimLeft(s.rest(), set)) }

func (s *sedReader) script() sedOutcome {
	for {
		s.skip(" \t\n;")
		if s.at >= len(s.text) {
			return sedReads
		}
		if outcome := s.command(); outcome != sedReads {
			return outcome
		}
	}
}

func (s *sedReader) command() sedOutcome {
	if !s.addresses() {
		return sedUnknown
	}
	s.skip(" \t!")
	switch c := s.take(); {
	case c == 0:
		return sedUnknown
	case c == 'w' || c == 'W' || c == 'e':
		return sedWrites
	case c == '{':
		return sedReads
	case strings.IndexByte("}=dDgGhHnNpPxFz", c) >= 0:
		return s.ended()
	case strings.IndexByte("qQlL", c) >= 0:
		s.skip(" \t0123456789")
		return s.ended()
	case c == '#' || c == 'r' || c == 'R':
		s.line()
		return sedReads
	case strings.IndexByte("btT:", c) >= 0:
		s.skip(" \t")
		s.skip(wordLetters) // in some versions a label extends to the end of the line, so it must end the same way in both
		return s.ended()
	case strings.IndexByte("aic", c) >= 0:
		return s.insert()
	case c == 's':
		return s.substitute()
	case c == 'y' && s.halves(false):
		return s.ended()
	}
	return sedUnknown
}

// ended skips to the end of a command.
func (s *sedReader) ended() sedOutcome {
	s.skip(" \t")
	switch s.peek() {
	case 0, '\n', ';', '}', '#':
		return sedReads
	}
	return sedUnknown
}

// line returns the rest of the line and passes it.
func (s *sedReader) line() string {
	line, after, _ := strings.Cut(s.rest(), "\n")
	s.at = len(s.text) - len(after)
	return line
}

// insert reads the text of a, i and c: the rest of the line, or the line after a lone backslash. Versions differ in how
// further backslashes continue it.
func (s *sedReader) insert() sedOutcome {
	s.skip(" \t")
	if strings.HasPrefix(s.rest(), "\\\n") {
		s.at += 2
	}
	if strings.HasSuffix(s.line(), "\\") {
		return sedUnknown
	}
	return sedReads
}

// addresses reads up to two addresses.
func (s *sedReader) addresses() bool {
	found, ok := s.address()
	if !ok || !found {
		return ok
	}
	s.skip(" \t")
	if s.peek() != ',' {
		return true
	}
	s.at++
	s.skip(" \t+~")
	found, ok = s.address()
	return ok && found
}

func (s *sedReader) address() (found, ok bool) {
	switch c := s.peek(); {
	case c >= '0' && c <= '9':
		s.skip("0123456789")
		if s.peek() == '~' {
			s.at++
			s.skip("0123456789")
		}
		return true, true
	case c == '$':
		s.at++
		return true, true
	case c == '/' || c == '\\':
		s.at++
		if c == '\\' {
			c = s.take()
		}
		if !s.delimited(c, true) {
			return false, false
		}
		s.skip("IM")
		return true, true
	}
	return false, true
}

func (s *sedReader) substitute() sedOutcome {
	if !s.halves(true) {
		return sedUnknown
	}
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == 'w' || c == 'e':
			return sedWrites
		case strings.IndexByte("gpiImM0123456789", c) >= 0:
			s.at++
		default:
			return s.ended()
		}
	}
	return sedReads
}

// halves reads the two texts of s and y, of which the first may be a pattern.
func (s *sedReader) halves(pattern bool) bool {
	delimiter := s.take()
	return s.delimited(delimiter, pattern) && s.delimited(delimiter, false)
}

// delimited reads up to the next delimiter.
func (s *sedReader) delimited(delimiter byte, pattern bool) bool {
	if delimiter == 0 || delimiter == '\n' || delimiter == '\\' || delimiter == ' ' || delimiter == ';' || delimiter >= 0x80 ||
		delimiter == '[' || delimiter == ']' || delimiter >= '0' && delimiter <= '9' || delimiter|0x20 >= 'a' && delimiter|0x20 <= 'z' {
		return false
	}
	for s.at < len(s.text) {
		switch c := s.take(); {
		case c == '\\':
			s.at++
		case c == delimiter:
			return true
		case c == '[' && pattern && s.brackets:
			s.bracket()
		}
	}
	return false
}

// bracket reads to the end of a bracket expression, and does nothing if there is no end.
func (s *sedReader) bracket() {
	i := s.at
	if i < len(s.text) && s.text[i] == '^' {
		i++
	}
	if i < len(s.text) && s.text[i] == ']' {
		i++
	}
	for i < len(s.text) && s.text[i] != ']' && s.text[i] != '\n' {
		if s.escapes && s.text[i] == '\\' {
			i += 2
			continue
		}
		if s.text[i] == '[' && i+1 < len(s.text) && strings.IndexByte(":.=", s.text[i+1]) >= 0 {
			if end := strings.Index(s.text[i+2:], s.text[i+1:i+2]+"]"); end >= 0 {
				i += 2 + end + 1
			}
		}
		i++
	}
	if i < len(s.text) && s.text[i] == ']' {
		s.at = i + 1
	}
}
