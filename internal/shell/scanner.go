package shell

import "strings"

// scanner reads a command a second time, by rules of its own: it shares no code with the parser. It marks every byte with
// what the shell takes it for, and how many substitutions surround it. Texts beyond simple commands fail.
type scanner struct {
	text      string
	at        int
	marks     []mark
	depth     mark
	documents []string // the delimiters of here-documents that begin after this line
	failed    bool
}

// mark is a class plus inner for each substitution around it.
type mark uint16

const (
	gap    mark = iota // between words: blanks, operators
	plain              // unquoted text
	quoted             // quoted text, with its quotes
	comment
	document // the body and end of a here-document

	inner mark = 8
)

const (
	blanks    = " \t\n"
	operators = ";&|()<>"
	reserved  = " if then elif else fi while until do done for case esac select time function coproc { } ! [[ "
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

// code marks commands, up to an end that the caller marks.
func (s *scanner) code(end byte) {
	begins := true // a command may begin here
	for s.more() {
		from, c := s.at, s.text[s.at]
		switch {
		case c == end:
			return
		case c == '\n':
			s.mark(1, gap)
			s.bodies()
			begins = true
		case s.in(0, blanks):
			s.mark(1, gap)
		case s.ahead("\\\n"):
			s.must(s.at == 0 || s.in(-1, blanks))
			s.mark(2, gap)
		case c == '#':
			line, _, _ := strings.Cut(s.text[s.at:], "\n")
			s.mark(len(line), comment)
		case s.ahead("<<"):
			s.mark(2, gap)
			for s.in(0, " \t") {
				s.mark(1, gap)
			}
			s.must(s.in(0, "'"))
			from := s.at + 1
			s.word()
			s.documents = append(s.documents, strings.TrimSuffix(s.text[min(from, s.at):s.at], "'"))
		case s.in(0, operators):
			s.must(!s.in(0, "()"))
			s.mark(1, gap)
			begins = !s.in(-1, "<>")
		default:
			s.word()
			s.must(!begins || !strings.Contains(reserved, " "+s.text[from:s.at]+" "))
			begins = false
		}
	}
}

func (s *scanner) word() {
	from := s.at
	for s.more() && !s.in(0, blanks+operators) {
		s.piece(plain)
	}
	s.must(s.at > from)
}

// piece marks the next character, or the quotes or substitution that begin there.
func (s *scanner) piece(class mark) {
	switch c := s.text[s.at]; {
	case c == '\\':
		s.must(!s.in(1, "\n"))
		s.mark(2, class)
	case c == '\'' && class == plain:
		text, _, _ := strings.Cut(s.text[s.at+1:], "'")
		s.mark(len(text)+2, quoted)
	case c == '"' && class == plain:
		for s.mark(1, quoted); s.more() && !s.ahead(`"`); {
			s.piece(quoted)
		}
		s.mark(1, quoted)
	case s.ahead("$(") && !s.ahead("$(("):
		s.must(len(s.documents) == 0 && s.depth < maxNesting)
		s.depth++
		s.mark(2, gap)
		s.code(')')
		s.mark(1, gap)
		s.depth--
		s.must(len(s.documents) == 0)
	case c == '$':
		s.must(s.at+1 == len(s.text) || s.in(1, blanks+"|;)/") || class == quoted && s.in(1, `"`))
		s.mark(1, class)
	default:
		s.must(c != '`')
		s.mark(1, class)
	}
}

// bodies marks the here-documents that begin on this line, with their ends.
func (s *scanner) bodies() {
	delimiters := s.documents
	s.documents = nil
	for _, delimiter := range delimiters {
		for isEnd := false; !isEnd && !s.failed; {
			line, _, more := strings.Cut(s.text[s.at:], "\n")
			isEnd = line == delimiter
			s.must(more || isEnd)
			s.mark(len(line), document)
			if !isEnd {
				s.mark(1, document)
			}
		}
		s.mark(min(1, len(s.text)-s.at), gap)
	}
}
