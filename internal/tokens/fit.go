package tokens

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"slices"

	"github.com/planloop/planloop/plan"
)

// Part is one kind of texts in a reply, some of which may be left out.
type Part struct {
	Name   string // singular for counting: "hint"; for Long a name of the whole: "details"
	Texts  []string
	Long   bool // cut at a line end if room is scarce; others are shown whole or left out
	Newest bool // the last texts matter most
}

// Fit splits parts into those that fit into room tokens, and the rest. If not everything fits, the parts take turns
// with one text each, in their order. A long text gets at most half of the remaining room, and is cut at a line end
// with the number of missing lines; a second pass gives it the room that the others left.
func Fit(parts []Part, room int) (shown, left []Part) {
	f := fitting{parts: parts, pieces: make([][]piece, len(parts)), room: room}
	all, most := 0, 0
	for i, p := range parts {
		if len(p.Texts) > 0 {
			f.room -= perPart
		}
		for _, text := range p.Texts {
			f.pieces[i] = append(f.pieces[i], piece{cost: cost(text), tail: text})
			all += cost(text)
		}
		most = max(most, len(p.Texts))
	}
	if all <= f.room {
		return parts, make([]Part, len(parts))
	}
	for round := range most {
		f.round(round, func(room int) int { return room / 2 })
	}
	for round := range most { // the room that the others left
		f.round(round, func(room int) int { return room })
	}
	return f.split()
}

// The overhead of a text and of a part's first text, in tokens.
const (
	perText = 3
	perPart = 6
)

func cost(text string) int { return CountCautiously(escaped(text)) + perText }

// escaped returns text as encoded in JSON.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(text)
}

type fitting struct {
	parts  []Part
	pieces [][]piece
	room   int
}

// piece is a text that is shown up to a position.
type piece struct {
	head, tail string
	cost       int // of the whole
	inLine     bool
}

// round offers the room to the nth text of each part.
func (f *fitting) round(n int, share func(room int) int) {
	for i, part := range f.parts {
		if n >= len(part.Texts) {
			continue
		}
		at := n
		if part.Newest {
			at = len(part.Texts) - 1 - n
		}
		p, text := &f.pieces[i][at], part.Texts[at]
		before := 0
		if p.head != "" {
			before = cost(p.head)
		}
		switch room := f.room + before; {
		case p.tail == "":
		case p.cost <= room && (!part.Long || p.cost <= share(room)):
			p.head, p.tail = text, ""
			f.room = room - p.cost
		case part.Long:
			if head, tail, inLine := cut(text, share(room)-markTokens-perText); len(head) > len(p.head) {
				p.head, p.tail, p.inLine = head, tail, inLine
				f.room = room - cost(head) - markTokens
			}
		}
	}
}

func (f *fitting) split() (shown, left []Part) {
	for i, part := range f.parts {
		s, l := part, part
		s.Texts, l.Texts = nil, nil
		for _, p := range f.pieces[i] {
			if p.head != "" {
				s.Texts = append(s.Texts, p.head+p.mark())
			}
			if p.tail != "" {
				l.Texts = append(l.Texts, p.tail)
			}
		}
		shown, left = append(shown, s), append(left, l)
	}
	return shown, left
}

// markTokens is the cost of the note that text was cut.
const markTokens = 10

// Block returns a text, or as many of its lines as fit with the number of missing ones; of a single long line its
// beginning.
func Block(text string, room int) string {
	if cost(text) <= room {
		return text
	}
	room -= markTokens + perText
	head, tail, inLine := cut(text, room)
	if head == "" {
		end := meter{cautious: true}.cut(text, room)
		head, tail, inLine = trimmed(text[:end]), text[end:], true
	}
	return head + piece{tail: tail, inLine: inLine}.mark()
}

// mark returns the note about the missing rest of a text.
func (p piece) mark() string {
	switch {
	case p.tail == "":
		return ""
	case p.inLine:
		return fmt.Sprintf(" (%s)", plan.Pluralize(utf8.RuneCountInString(p.tail), "more character"))
	}
	return fmt.Sprintf("\n(%s)", plan.Pluralize(lines(p.tail), "more line"))
}

func lines(text string) int { return strings.Count(text, "\n") + 1 }

// cut returns as many lines of a text as fit, and the rest; if the first line is too long, its first words. It cuts no
// word.
func cut(text string, room int) (head, tail string, inLine bool) {
	end, spent := 0, 0
	for line := range strings.Lines(text) {
		if spent += CountCautiously(escaped(line)); spent > room {
			break
		}
		end += len(line)
	}
	if end > 0 {
		return strings.TrimRight(text[:end], "\n"), text[end:], false
	}
	for i, r := range text[:meter{cautious: true}.cut(text, room)] {
		if c := classOf(r); unicode.IsSpace(r) || c == kana || c == han {
			end = i + utf8.RuneLen(r)
		}
	}
	return trimmed(text[:end]), strings.TrimSpace(text[end:]), true
}

// trimmed removes blanks and joiners from the end of text.
func trimmed(text string) string {
	return strings.TrimRightFunc(text, func(r rune) bool { return unicode.IsSpace(r) || plan.IsInvisible(r) })
}

// Left describes the rest that Fit left, "" without a rest.
func Left(parts []Part) string {
	type kind struct {
		name string
		long bool
	}
	var kinds []kind
	counts := map[kind]int{}
	for _, p := range parts {
		k := kind{p.Name, p.Long}
		if len(p.Texts) > 0 && counts[k] == 0 {
			kinds = append(kinds, k)
		}
		for _, text := range p.Texts {
			counts[k]++
			if p.Long {
				counts[k] += lines(text) - 1
			}
		}
	}
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = plan.Pluralize(counts[k], "more "+k.name)
		if k.long {
			words[i] = plan.Pluralize(counts[k], "more line") + " of " + k.name
		}
	}
	return strings.Join(words, ", ")
}

// Page returns one of several pages of parts, from 1, and the rest after it. Each page shows the rest of the previous
// one, at least one text.
func Page(parts []Part, room, page int) (shown, left []Part) {
	left = parts
	says := func(p Part) bool { return len(p.Texts) > 0 }
	for range page {
		if !slices.ContainsFunc(left, says) { // for any page number beyond the last
			return left, left
		}
		shown, left = Fit(left, room)
		nothing := !slices.ContainsFunc(shown, says)
		for i := range left {
			if texts := left[i].Texts; nothing && len(texts) > 0 {
				shown[i].Texts, left[i].Texts, nothing = texts[:1], texts[1:], false
			}
		}
	}
	return shown, left
}

// First returns how many of n items, from the first on, fit into room tokens: at least one, if there are any. A page of a
// list is that many; the next page starts after it.
func First(n, room int, cost func(i int) int) int {
	for i := range n {
		if room -= cost(i); i > 0 && room < 0 {
			return i
		}
	}
	return n
}
