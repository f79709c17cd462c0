package shell

import "strings"

// scanner reads a command a second time, by rules of its own: it shares no code with the parser. It marks every byte with
// what the shell takes it for, and how many substitutions surround it.
type scanner struct {
	text      string
	at        int
	marks     []mark
	depth     mark
	documents []string // the here-documents that begin after this line: "-" or "", and the delimiter as written
	backquote bool
	failed    bool
}

// mark is a class plus inner for each substitution around it.
type mark uint16

const (
	gap        mark = iota // between words: blanks, operators, reserved words
	plain                  // unquoted text
	quoted                 // quoted text, with its quotes
	expansion              // a parameter, up to the end of ${…}
	arithmetic             // (( … ))
	tested                 // [[ … ]]
	comment
	document // the body and end of a here-document

	inner mark = 8
)

const (
	blanks    = " \t\n"
	operators = ";&|()<>"
	reserved  = " if then elif else fi while until do done for case esac select time { } ! [[ "
)

// scan marks a text, and reports false for texts that are not certain.
func scan(text string) ([]mark, bool) {
	s := &scanner{text: text, marks: make([]mark, len(text))}
	s.code(0)
	return s.marks, !s.failed && s.at == len(text) && len(s.documents) == 0
}

func (s *scanner) ahead(part string) bool { return strings.HasPrefix(s.text[s.at:], part) }

// in reports whether the byte at a distance is one of some.
func (s *scanner) in(distance int, some string) bool {
	at := s.at + distance
	return at >= 0 && at < len(s.text) && strings.IndexByte(some, s.text[at]) >= 0
}

// must records that the text is not certain without a condition.
func (s *scanner) must(condition bool) { s.failed = s.failed || !condition }

func (s *scanner) more() bool { return !s.failed && s.at < len(s.text) }

func (s *scanner) mark(n int, class mark) {
	for s.must(s.at+n <= len(s.text)); n > 0 && s.more(); n-- {
		s.marks[s.at] = s.depth*inner + class
		s.at++
	}
}

// within marks a part that lies one substitution deeper, after a beginning of n bytes.
func (s *scanner) within(n int, class mark, rest func()) {
	s.must(s.depth < maxNesting)
	s.depth++
	s.mark(n, class)
	rest()
	s.depth--
	s.must(!s.ahead("\\\n"))
}

// until marks a part up to its end.
func (s *scanner) until(end string, class mark) {
	for s.more() && !s.ahead(end) {
		s.piece(class)
	}
	s.mark(len(end), class)
}

// code marks commands, up to an end that the caller marks.
func (s *scanner) code(end byte) {
	brackets, cases, begins, awaits := 0, 0, true, "" // begins: a command may begin here; awaits: for or case, until its in
	for s.more() {
		from, c := s.at, s.text[s.at]
		switch {
		case c == end && brackets == 0 && cases == 0:
			return
		case c == '\n':
			s.mark(1, gap)
			s.bodies()
			begins, awaits = true, ""
		case s.in(0, blanks):
			s.mark(1, gap)
		case s.ahead("\\\n"):
			s.must(s.at == 0 || s.in(-1, blanks))
			s.mark(2, gap)
		case c == '#':
			s.must(!s.backquote)
			line, _, _ := strings.Cut(s.text[s.at:], "\n")
			s.mark(len(line), comment)
		case s.in(0, "<>") && s.in(1, "("):
			s.commands(2, ')')
			begins = false
		case s.ahead("((") && (begins || awaits == "for"):
			s.mark(2, arithmetic)
			s.until("))", arithmetic)
		case s.ahead("<<<"):
			s.mark(3, gap)
			begins = false
		case s.ahead("<<"):
			s.document()
		case s.in(0, operators):
			brackets += map[byte]int{'(': 1, ')': -1}[c]
			if brackets < 0 { // the end of a pattern
				s.must(cases > 0)
				brackets = 0
			}
			s.mark(1, gap)
			begins, awaits = !s.in(-1, "<>"), ""
		default:
			s.word()
			word := s.text[from:s.at]
			isReserved := begins && strings.Contains(reserved, " "+word+" ")
			switch begins = isReserved; {
			case word == "in" && awaits != "":
				isReserved, begins, awaits = true, awaits == "case", ""
			case begins && (word == "for" || word == "select" || word == "case"):
				begins, awaits = false, word
			}
			if !isReserved {
				continue
			}
			cases += map[string]int{"case": 1, "esac": -1}[word]
			if s.at = from; word == "[[" {
				s.until(" ]]", tested)
				begins = false
			} else {
				s.mark(len(word), gap)
			}
			if word == "time" && s.ahead(" -p ") {
				s.mark(3, gap)
			}
		}
	}
}

// commands marks a substitution of commands.
func (s *scanner) commands(n int, end byte) {
	s.must(len(s.documents) == 0)
	s.within(n, gap, func() {
		s.code(end)
		s.mark(1, gap)
	})
	s.must(len(s.documents) == 0)
}

func (s *scanner) word() {
	from := s.at
	for s.more() && !s.in(0, blanks+operators) && !(s.backquote && s.ahead("`")) {
		s.piece(plain)
	}
	s.must(s.at > from)
}

// piece marks the next character, or the quotes or substitution that begin there.
func (s *scanner) piece(class mark) {
	unquoted := class == plain || class == tested || class == expansion
	switch c := s.text[s.at]; {
	case c == '\\':
		s.must(!s.backquote && class != arithmetic && (class == quoted || !s.in(1, "\n")))
		s.mark(2, class)
	case c == '\'' && unquoted:
		text, _, _ := strings.Cut(s.text[s.at+1:], "'")
		s.mark(len(text)+2, quoted)
	case c == '"' && class != quoted && class != document:
		s.mark(1, quoted)
		s.until(`"`, quoted)
	case c == '`':
		s.must(!s.backquote)
		s.backquote = true
		s.commands(1, '`')
		s.backquote = false
	case c == '$':
		s.dollar(class, unquoted)
	case class == expansion && s.in(0, "<>=") && s.in(1, "("), class == tested && s.in(0, "<>") && s.in(1, "("):
		s.commands(2, ')')
	case class == arithmetic && c == '(':
		s.mark(1, class)
		s.until(")", class)
	default:
		s.must(!(class == tested && c == '#' && s.in(-1, blanks)) && !(class == expansion && c == '\n'))
		s.mark(1, class)
	}
}

// dollar marks what a dollar begins.
func (s *scanner) dollar(class mark, unquoted bool) {
	name := len(s.text) - s.at - 1 - len(strings.TrimLeft(s.text[s.at+1:], wordLetters))
	if name == 0 && s.in(1, "@*#?$!-") || s.in(1, "0123456789") {
		name = 1
	}
	switch {
	case s.ahead("$(("):
		s.within(3, arithmetic, func() { s.until("))", arithmetic) })
	case s.in(1, "("):
		s.commands(2, ')')
	case s.in(1, "{"):
		from := s.at
		s.within(2, expansion, func() { s.until("}", expansion) })
		s.must(unquoted || !strings.ContainsAny(strings.ReplaceAll(s.text[from:s.at], `\/`, ""), `'"\`)) // shells disagree on these
	case s.in(1, "'") && unquoted:
		for s.mark(2, quoted); s.more() && !s.ahead("'"); {
			s.mark(1+strings.Count(s.text[s.at:s.at+1], `\`), quoted)
		}
		s.mark(1, quoted)
	case s.in(1, "[") || s.in(1, `"`) && unquoted || s.ahead("$\\\n"):
		s.failed = true // shells disagree on these
	case name > 0:
		s.within(1+name, expansion, func() {})
	default:
		s.mark(1, class)
	}
}

// document marks << and the delimiter of a here-document.
func (s *scanner) document() {
	s.mark(2, gap)
	dash := ""
	if s.ahead("-") {
		s.mark(1, gap)
		dash = "-"
	}
	for s.in(0, " \t") {
		s.mark(1, gap)
	}
	from := s.at
	s.word()
	s.documents = append(s.documents, dash+s.text[from:s.at])
}

// bodies marks the here-documents that begin on this line, with their ends.
func (s *scanner) bodies() {
	delimiters := s.documents
	s.documents = nil
	for _, written := range delimiters {
		delimiter := strings.NewReplacer("'", "", `"`, "", `\`, "").Replace(strings.TrimPrefix(written, "-"))
		for isEnd := false; !isEnd && !s.failed; {
			line, rest, more := strings.Cut(s.text[s.at:], "\n")
			isEnd = line == delimiter || written[0] == '-' && strings.TrimLeft(line, "\t") == delimiter
			for end := len(s.text) - len(rest); !isEnd && s.at < end-1 && strings.Trim(written, wordLetters+"-") == "" && !s.failed; {
				s.piece(document)
			}
			if isEnd {
				s.mark(len(line), document)
				continue
			}
			s.must(more)
			s.mark(max(0, len(s.text)-len(rest)-s.at), document)
		}
		s.mark(min(1, len(s.text)-s.at), gap)
	}
}
