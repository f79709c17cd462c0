package shell

import "strings"

// scanner reads a command a second time, by rules of its own: it shares no code with the parser. It marks every byte with
// what the shell takes it for, and how many substitutions surround it.
type scanner struct {
	text      string
	at        int
	marks     []mark
	depth     mark
	documents []string // the delimiters, as written, of the here-documents that begin after this line
	backquote bool
	failed    bool
}

// mark is a class plus 16 for each substitution around it.
type mark uint16

const (
	gap        mark = iota // between words: blanks, operators, reserved words
	plain                  // unquoted text
	quoted                 // quoted text, with its quotes
	expansion              // a parameter, up to the end of ${…}
	arithmetic             // (( … ))
	tested                 // [[ … ]]
	comment
	document // the body of a here-document
	regular  // tested, a regular expression; only the parse tells them apart
)

const inner mark = 16

const reserved = " if then elif else fi while until do done for case esac select time { } ! [[ "

// scan marks a text, and reports false for texts that are not certain.
func scan(text string) ([]mark, bool) {
	s := &scanner{text: text, marks: make([]mark, len(text))}
	s.code(0)
	return s.marks, !s.failed && s.at == len(text) && len(s.documents) == 0
}

func (s *scanner) ahead(part string) bool { return strings.HasPrefix(s.text[s.at:], part) }

// next returns the byte after n others, 0 at the end.
func (s *scanner) next(n int) byte {
	if s.at+n >= len(s.text) {
		return 0
	}
	return s.text[s.at+n]
}

func (s *scanner) mark(n int, class mark) {
	for ; n > 0; n-- {
		if s.at == len(s.text) {
			s.failed = true
			return
		}
		s.marks[s.at] = s.depth*inner + class
		s.at++
	}
}

// within marks a part that lies one substitution deeper.
func (s *scanner) within(read func()) {
	s.failed = s.failed || len(s.documents) > 0 || s.depth > maxNesting
	s.depth++
	read()
	s.depth--
	s.failed = s.failed || len(s.documents) > 0 || s.ahead("\\\n")
}

func (s *scanner) more() bool { return !s.failed && s.at < len(s.text) }

// code marks commands up to an end, which the caller marks.
func (s *scanner) code(end byte) {
	brackets, cases, begins, awaited := 0, 0, true, "" // begins: a command may begin here; awaited: of for and case, which await in
	for s.more() {
		c := s.text[s.at]
		switch {
		case c == end && brackets == 0 && cases == 0:
			return
		case c == '\n':
			s.mark(1, gap)
			s.bodies()
			begins, awaited = true, ""
		case c == ' ' || c == '\t':
			s.mark(1, gap)
		case s.ahead("\\\n"):
			s.failed = s.at > 0 && strings.IndexByte(" \t\n", s.text[s.at-1]) < 0
			s.mark(2, gap)
		case c == '#':
			s.failed = s.backquote
			line, _, _ := strings.Cut(s.text[s.at:], "\n")
			s.mark(len(line), comment)
		case s.ahead("<(") || s.ahead(">("):
			s.commands()
			begins = false
		case s.ahead("((") && (begins || awaited == "for"):
			s.compute("((")
		case s.ahead("<<<"):
			s.mark(3, gap)
			begins = false
		case s.ahead("<<"):
			s.document()
		case strings.IndexByte(";&|()<>", c) >= 0:
			switch {
			case c == '(':
				brackets++
			case c == ')' && brackets > 0:
				brackets--
			case c == ')':
				s.failed = cases == 0
			}
			s.mark(1, gap)
			begins, awaited = c != '<' && c != '>', ""
		default:
			from := s.at
			s.word()
			word := s.text[from:s.at]
			switch {
			case word == "in" && awaited != "":
				begins, awaited = awaited == "case", ""
			case !begins || !strings.Contains(reserved, " "+word+" "):
				begins = false
				continue
			case word == "[[":
				s.at = from
				s.test()
				begins = false
				continue
			case word == "for", word == "select", word == "case":
				begins, awaited = false, word
			}
			cases += map[string]int{"case": 1, "esac": -1}[word]
			s.at = from
			s.mark(len(word), gap)
		}
	}
}

// word marks a word, and fails unless it contains something.
func (s *scanner) word() {
	from := s.at
	for s.more() && strings.IndexByte(" \t\n;&|()<>", s.text[s.at]) < 0 && !(s.backquote && s.text[s.at] == '`') {
		s.piece(plain)
	}
	s.failed = s.failed || s.at == from
}

// piece marks the next character, or the quotes or substitution that begin there.
func (s *scanner) piece(class mark) {
	quotes := class == plain || class == tested || class == expansion
	switch c := s.text[s.at]; {
	case c == '\\':
		s.failed = s.failed || s.backquote || s.next(1) == '\n' && class != quoted || class == arithmetic
		s.mark(2, class)
	case c == '\'' && quotes:
		s.mark(1+len(upTo(s.text[s.at+1:], "'")), quoted)
		s.mark(1, quoted)
	case c == '"' && class != quoted && class != document:
		s.mark(1, quoted)
		for s.more() && s.text[s.at] != '"' {
			s.piece(quoted)
		}
		s.mark(1, quoted)
	case c == '`':
		s.failed = s.failed || s.backquote
		s.within(func() {
			s.backquote = true
			s.mark(1, gap)
			s.code('`')
			s.mark(1, gap)
			s.backquote = false
		})
	case c == '$':
		s.dollar(class, quotes)
	case class == expansion && s.next(1) == '(' && strings.IndexByte("<>=", c) >= 0:
		s.commands()
	default:
		s.mark(1, class)
	}
}

// upTo returns the text before a part, or all of it.
func upTo(text, part string) string {
	before, _, _ := strings.Cut(text, part)
	return before
}

// commands marks a substitution of commands, which begins with two characters.
func (s *scanner) commands() {
	s.within(func() {
		s.mark(2, gap)
		s.code(')')
		s.mark(1, gap)
	})
}

// dollar marks what a dollar begins.
func (s *scanner) dollar(class mark, quotes bool) {
	names := "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	n := len(s.text[s.at+1:]) - len(strings.TrimLeft(s.text[s.at+1:], names))
	switch c := s.next(1); {
	case s.ahead("$(("):
		s.within(func() { s.compute("$((") })
	case c == '(':
		s.commands()
	case c == '{':
		s.within(func() {
			s.mark(2, expansion)
			for s.more() && s.text[s.at] != '}' {
				s.failed = !quotes && strings.IndexByte("'\"", s.text[s.at]) >= 0 || s.text[s.at] == '\n'
				s.piece(expansion)
			}
			s.mark(1, expansion)
		})
	case c == '\'' && quotes:
		for s.mark(2, quoted); s.more() && s.text[s.at] != '\''; {
			s.mark(1+strings.Count(s.text[s.at:s.at+1], "\\"), quoted)
		}
		s.mark(1, quoted)
	case c == '[' || c == '"' && class != quoted && class != document || s.ahead("$\\\n"):
		s.failed = true // forms that shells read in different ways
	case n > 0 && c <= '9', n == 0 && c > 0 && strings.IndexByte("@*#?$!-", c) >= 0:
		s.mark(2, expansion+inner)
		s.failed = s.failed || s.ahead("\\\n")
	case n > 0:
		s.mark(1+n, expansion+inner)
		s.failed = s.failed || s.ahead("\\\n")
	default:
		s.mark(1, class)
	}
}

// compute marks (( … )) and $(( … )).
func (s *scanner) compute(start string) {
	s.mark(len(start), arithmetic)
	for brackets := 0; s.more() && !(brackets == 0 && s.ahead("))")); {
		brackets += map[byte]int{'(': 1, ')': -1}[s.text[s.at]]
		s.failed = brackets < 0
		s.piece(arithmetic)
	}
	s.mark(2, arithmetic)
}

// test marks [[ … ]].
func (s *scanner) test() {
	for s.mark(2, tested); s.more(); {
		blank := strings.IndexByte(" \t\n", s.text[s.at-1]) >= 0
		switch {
		case blank && s.ahead("]]") && strings.IndexByte(" \t\n;&|()<>\x00", s.next(2)) >= 0:
			s.mark(2, tested)
			return
		case blank && s.ahead("#"):
			s.failed = true
		case s.ahead("<(") || s.ahead(">("):
			s.commands()
		default:
			s.piece(tested)
		}
	}
	s.failed = true
}

// document marks << and the delimiter of a here-document.
func (s *scanner) document() {
	s.mark(2, gap)
	dash := ""
	if s.ahead("-") {
		s.mark(1, gap)
		dash = "-"
	}
	for s.ahead(" ") || s.ahead("\t") {
		s.mark(1, gap)
	}
	from := s.at
	s.word()
	s.documents = append(s.documents, dash+s.text[from:s.at])
}

// bodies marks the here-documents that begin on this line.
func (s *scanner) bodies() {
	delimiters := s.documents
	s.documents = nil
	for _, written := range delimiters {
		delimiter := strings.NewReplacer("'", "", `"`, "", `\`, "").Replace(strings.TrimPrefix(written, "-"))
		for {
			line := upTo(s.text[s.at:], "\n")
			if line == delimiter || written[0] == '-' && strings.TrimLeft(line, "\t") == delimiter {
				s.mark(len(line), document)
				break
			}
			end := s.at + len(line)
			if s.failed = s.failed || end == len(s.text); s.failed { // the end of the document is missing
				return
			}
			for s.at < end && !s.failed && strings.Trim(written, wordLetters+"-") == "" {
				s.piece(document)
			}
			s.mark(end+1-s.at, document)
		}
		if s.at < len(s.text) {
			s.mark(1, gap)
		}
	}
}
