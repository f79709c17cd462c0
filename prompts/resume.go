package prompts

import (
	"fmt"
	"strings"

	"github.com/planloop/planloop/internal/tokens"
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
// in tokens.
type budget int

// take returns text on one line within the share and what was left before.
func (b *budget) take(text string, share int) string {
	room := share + int(*b)
	line, cost := shortened(oneLine(text, maxItem), room)
	*b = budget(room - cost)
	return line
}

// quote is take in quotes; nothing is not quoted.
func (b *budget) quote(text string, share int) string {
	if line := b.take(text, share); line != "" {
		return quoted(line)
	}
	return ""
}

func (b *budget) name(s *ResumeStep, share int) string {
	return strings.TrimSpace(oneWord(s.ID) + " " + b.quote(s.Title, share))
}

// list quotes as many texts as have room as they are, the first at any rate, and
// counts the others.
func (b *budget) list(texts []string, share int) string {
	const marks = 3 // two quotes and a comma
	room := share + int(*b)
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

// shortened returns the beginning of text that costs no more than room, ending
// with an ellipsis where something was cut, and what it costs.
func shortened(text string, room int) (short string, cost int) {
	if cost := tokens.CountAtWorst(text); cost <= room {
		return text, cost
	}
	short = text[:tokens.CutAtWorst(text, max(0, room-1))] + ellipsis
	return short, tokens.CountAtWorst(short)
}
