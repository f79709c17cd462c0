package exchange

import (
	"strings"
	"unicode/utf8"

	"github.com/planloop/planloop/plan"
)

// finish puts the texts of the sections where they belong.
func (r *markdownReader) finish() {
	o := &r.src.outline
	for _, name := range r.order {
		text := r.sections[name].String()
		if name == "" {
			text = r.withoutStatus(text)
		}
		if text == "" {
			continue
		}
		switch name {
		case "summary":
			o.Summary = text
		case "context notes", "context":
			o.ContextNotes = joinTexts(o.ContextNotes, text)
		case "reasoning":
			o.Reasoning = text
		case "changes", "final summary":
			r.once("What a former version changed, and the final summary, are left out.")
		case "":
			if utf8.RuneCountInString(text) <= plan.MaxSummary {
				o.Summary = text
			} else {
				o.ContextNotes = joinTexts(o.ContextNotes, text)
			}
		default:
			o.ContextNotes = joinTexts(o.ContextNotes, r.sections[name].heading+"\n\n"+text)
			r.once("Text outside of the list went into the context notes.")
		}
	}
	if o.Objective == "" {
		o.Objective = "Imported check list"
		r.once("There is no heading to take the objective from.")
	}
}

var statusLine = pattern(`^Status: ([a-z]+), \d+ of \d+ done[^\n]*`)

// withoutStatus takes the line off that says where an exported plan stood.
func (r *markdownReader) withoutStatus(text string) string {
	m := statusLine().FindStringSubmatch(text)
	if m == nil {
		return text
	}
	r.src.draft = m[1] == string(plan.StatusDraft)
	return strings.TrimSpace(strings.TrimPrefix(text, m[0]))
}

func joinTexts(a, b string) string { return strings.Trim(a+"\n\n"+b, "\n") }
