package resources

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns the page as text: a line for each step, with details and notes
// below it, and says the same as the structure.
func (v PageView) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s, %d of %d done", v.Objective, v.Status, v.Progress.Done, v.Progress.Total)
	b.WriteByte('\n')
	if len(v.Folded) > 0 {
		b.WriteString("folded: " + strings.Join(v.Folded, ", ") + "\n")
	}
	for _, s := range v.Steps {
		b.WriteString(s.Line() + "\n")
		s.writeBelow(&b)
	}
	if v.More.Left > 0 {
		b.WriteString(v.More.line() + "\n")
	}
	return b.String()
}

// Line returns the step in one line: id, status, title and what it waits for.
func (s PageStep) Line() string {
	line := s.StepID + " " + s.Status
	if s.ClaimedBy != "" {
		line += " (" + s.ClaimedBy + ")"
	}
	line += ": " + s.Title
	if len(s.WaitingOn) == 0 {
		return line
	}
	line += " (waits for " + strings.Join(s.WaitingOn, ", ")
	if s.MoreWaiting > 0 {
		line += fmt.Sprintf(" and %d more", s.MoreWaiting)
	}
	return line + ")"
}

func (s PageStep) writeBelow(b *strings.Builder) {
	const margin = "  "
	below := func(label, text string) {
		b.WriteString(margin + label + strings.ReplaceAll(text, "\n", "\n"+margin) + "\n")
	}
	if s.Details != "" {
		below("", s.Details)
	}
	if s.EarlierNotes > 0 {
		below("", fmt.Sprintf("earlier notes: %d", s.EarlierNotes))
	}
	for _, note := range s.Notes {
		below("note: ", note)
	}
}

func (m PageMore) line() string {
	line := fmt.Sprintf("%d more: read from %s", m.Left, m.From)
	if m.Status != "" {
		line += " with status " + m.Status
	}
	return line
}

// tokens estimates what the step costs in its structured form.
func (s PageStep) tokens() int {
	const frame, perNote, perID = 24, 4, 5
	n := frame + estimateTokens(s.Title) + estimateTokens(s.Details) + perID*len(s.WaitingOn)
	for _, note := range s.Notes {
		n += perNote + estimateTokens(note)
	}
	return n
}

// estimateTokens estimates how many tokens a model's vocabulary needs for text,
// rather too high than too low. Words in lower case are cheap; digits, signs and
// changes of case cost a token each, scripts that vocabularies know well half a
// token a byte, everything else a token a byte.
func estimateTokens(text string) int {
	const token, half, third = 6, 3, 2
	cost, inWord := 0, false
	for _, r := range text {
		lower := r >= 'a' && r <= 'z'
		upper := r >= 'A' && r <= 'Z'
		switch {
		case lower && inWord:
			cost += third
		case r == ' ':
		case r <= unicode.MaxASCII:
			cost += token
		case r < 0x0E80, r >= 0x3000 && r < 0xD800: // Latin to Thai, Chinese, Japanese, Korean
			cost += half * utf8.RuneLen(r)
		default:
			cost += token * utf8.RuneLen(r)
		}
		inWord = lower || upper
	}
	return cost / token
}
