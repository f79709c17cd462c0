package prompts

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// WorkData is the data for an agent that planloop starts for one step. The caller limits the texts, which are quoted;
// empty fields are left out.
type WorkData struct {
	ArbiterData
	Agent string // its configured name
	Step  string // id of the step
	Task  string // its number in the calls that report
	Nonce string // of the attempt

	Whole       string   // the fields of the step that the arbiter's text does not have
	Constraints []string // of the plan
	Said        []string // by the user since the plan began, the newest last
	Needed      []string // the outcomes of the steps it depends on
	Done        []string // the outcomes of other steps of the run, the newest last

	Attempt int    // from 1; Error, Output and Changed are from the previous one
	Error   string // why it ended
	Output  string // its last output
	Changed []string

	Verified bool // a command of the step verifies it once it is reported as done
}

// WorkOnStep returns everything an agent needs to do one step in a context of its own. The first line is the id of the
// step.
func WorkOnStep(d WorkData) string {
	nonce, _ := json.Marshal(oneLine(d.Nonce, maxItem)) // a string can always be encoded
	return mustRender("work_on_step", struct {
		WorkData
		Token string
	}{d, string(nonce)})
}

// formerReport matches the rest of a line from a report, or an example of one, also within a JSON string.
var formerReport = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{?[ \t]*\\*"planloop\\*"[ \t]*:[ \t]*\\*"[0-9A-Z]{8,}.*`)
})

// withoutReports removes the nonces of other attempts, since a report with one of them would not count.
func withoutReports(text string) string { return formerReport().ReplaceAllLiteralString(text, "…") }

// itemLines returns the texts as list items, otherwise unchanged.
func itemLines(items []string) string {
	var b strings.Builder
	for _, item := range items {
		b.WriteString("- " + indented(item) + "\n")
	}
	return b.String()
}
