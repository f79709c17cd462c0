package prompts

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How much of a plan [Resume] repeats, in tokens. With the words around them the
// shares stay below 300 tokens of any text.
const (
	resumeAction    = 60
	resumeObjective = 24
	resumeTitle     = 20
	resumeNext      = 16
	resumePaths     = 24
	resumeHints     = 30
	resumeBlockers  = 22
)

// ResumeData is what an agent needs to go on after its context was lost. Texts
// may be of any length: the result is short all the same.
type ResumeData struct {
	Objective   string
	Status      string // of the plan
	Phase       string // of planning mode; empty or "inactive" when there is none
	Done, Total int    // steps
	Current     *ResumeStep
	Next        *ResumeStep // the one after the current, of which id and title are told
	Blockers    []string    // messages of the open signals that block
	Questions   int         // open ones
	NextAction  string
}

// ResumeStep is a step as [Resume] tells it.
type ResumeStep struct {
	ID, Title    string
	Hints, Paths []string
}

// Resume returns a summary to go on by, at most 300 tokens long. What one field
// leaves of its share of them serves the next; the next action comes first.
func Resume(d ResumeData) string {
	phase := oneWord(d.Phase)
	if phase == "inactive" {
		phase = ""
	}
	type step struct{ Name, Hints, Paths string }
	data := struct {
		Objective, Status, Phase, Next, Blockers, NextAction string
		Done, Total, Questions                               int
		Current                                              *step
	}{Status: oneWord(d.Status), Phase: phase, Done: d.Done, Total: d.Total, Questions: d.Questions}

	var b budget
	data.NextAction = b.take(d.NextAction, resumeAction)
	data.Objective = b.quote(d.Objective, resumeObjective)
	if d.Current != nil {
		data.Current = &step{Name: b.name(d.Current, resumeTitle)}
	}
	if d.Next != nil {
		data.Next = b.name(d.Next, resumeNext)
	}
	if d.Current != nil {
		data.Current.Paths = b.list(d.Current.Paths, resumePaths)
		data.Current.Hints = b.list(d.Current.Hints, resumeHints)
	}
	data.Blockers = b.list(d.Blockers, resumeBlockers)
	return mustRender("resume", data)
}

// budget shortens texts one after the other. It holds what the former ones left,
// in parts of a token.
type budget int

// take returns text on one line within the share and what was left before.
func (b *budget) take(text string, tokens int) string {
	room := tokens*tokenUnit + int(*b)
	line, cost := shortened(oneLine(text, maxItem), room)
	*b = budget(room - cost)
	return line
}

// quote is take in quotes; nothing is not quoted.
func (b *budget) quote(text string, tokens int) string {
	if line := b.take(text, tokens); line != "" {
		return quoted(line)
	}
	return ""
}

func (b *budget) name(s *ResumeStep, tokens int) string {
	return strings.TrimSpace(oneWord(s.ID) + " " + b.quote(s.Title, tokens))
}

// list quotes as many texts as have room as they are, the first at any rate, and
// counts the others.
func (b *budget) list(texts []string, tokens int) string {
	const marks = 3 * tokenUnit // two quotes and a comma
	room := tokens*tokenUnit + int(*b)
	var shown []string
	left := 0
	for _, text := range texts {
		if left > 0 { // what is only counted needs no care
			left++
			continue
		}
		line := oneLine(text, maxItem)
		if line == "" {
			continue
		}
		short, cost := shortened(line, room-marks)
		if short != line && len(shown) > 0 {
			left++
			continue
		}
		shown = append(shown, quoted(short))
		room -= cost + marks
	}
	*b = budget(max(0, room))
	list := strings.Join(shown, ", ")
	if left > 0 {
		list += fmt.Sprintf(" and %d more", left)
	}
	return list
}

// oneWord returns a word of a vocabulary or an id: nothing else is repeated.
func oneWord(word string) string {
	const longest = len("awaiting_approval")
	if len(word) > longest {
		return ""
	}
	for _, r := range word {
		if r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return ""
		}
	}
	return word
}

// ellipsis stands for what was cut. It is ASCII, for what it is put into may be.
const ellipsis = "..."

// Costs are counted in parts of a token.
const tokenUnit = 6

// shortened returns the beginning of text that costs no more than room, ending
// with an ellipsis where something was cut, and what it costs.
func shortened(text string, room int) (short string, cost int) {
	fits, atFit := 0, 0 // the end, and the cost, of what leaves room for the ellipsis
	before := ' '
	for i, r := range text {
		cost += runeCost(r, before)
		if cost <= room-tokenUnit {
			fits, atFit = i+utf8.RuneLen(r), cost
		}
		if cost > room {
			return text[:fits] + ellipsis, atFit + tokenUnit
		}
		before = r
	}
	return text, cost
}

// runeCost estimates what a character adds to the tokens of a text, rather too
// much than too little, for a limit that text without meaning must not break:
// two letters of a word in lower case share a token at worst; digits, signs and
// changes of case cost one each, other scripts almost one a byte.
func runeCost(r, before rune) int {
	switch {
	case r >= 'a' && r <= 'z' && before <= unicode.MaxASCII && unicode.IsLetter(before):
		return tokenUnit / 2
	case r == ' ' && before != ' ':
		return 0
	case r <= unicode.MaxASCII:
		return tokenUnit
	case r < 0x0800: // two bytes: Latin with accents, Greek, Cyrillic, Hebrew, Arabic
		return tokenUnit + 1
	case r < 0x0E80, r >= 0x3000 && r < 0xD800: // Indic scripts and Thai, Chinese, Japanese, Korean
		return tokenUnit * 5 / 2
	}
	return tokenUnit * utf8.RuneLen(r)
}
