// Package exchange writes plans as text and reads them back: our own JSON and YAML, Markdown check lists,
// rawko's YAML and the JSON of the execution specification. It also finds the steps in a Markdown plan
// written for people. Its input is untrusted: it is limited in size, parsed strictly and cleaned before it
// becomes an action. The package knows the plan and its renderings, and must not know files, stores or
// commands.
package exchange

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// Limits on the input: bytes of text, and steps.
const (
	maxBytes = 4 << 20
	maxSteps = plan.DefaultMaxSteps
)

// Imported is an imported plan: the action that sets it up, and a sentence for each loss or change.
type Imported struct {
	Action plan.SetUp
	Notes  []string
}

// ImportOptions add information that the text may lack.
type ImportOptions struct {
	Objective string // replaces the plan's own
	Name      string // the file's name; without its extension it is the objective of an Execution plan
	Guessed   bool   // the format comes from the file's extension, so a parse error also suggests --format
}

// Import reads a plan. Its error is a *plan.ValidationError with the field, or the line in Markdown; the steps that could
// be read then allow further checks.
func Import(data []byte, format Format, o ImportOptions) (Imported, error) {
	c := codecOf(format)
	if c.decode == nil {
		return Imported{}, refuse("/format", plan.Quote(string(format))+" cannot be imported",
			"use one of "+strings.Join(Readable("").Values(), ", "))
	}
	text, err := readable(data)
	if err != nil {
		return Imported{}, err
	}
	source, err := c.decode(text)
	unread := err
	if err == nil {
		unread = source.faults.Err()
	}
	if refusal, ok := errors.AsType[*plan.ValidationError](unread); ok && o.Guessed && format != Markdown {
		offer := *refusal
		offer.Fix += ", or name the file's format: --format md, rawko-yaml or execution"
		if unread = &offer; source != nil {
			source.faults = plan.Faults{}
			source.faults.Add(unread)
		}
	}
	if err != nil {
		return Imported{}, unread
	}
	source.outline.Objective = cmp.Or(o.Objective, source.outline.Objective)
	if format == Execution { // the format has no field for it
		source.outline.Objective = cmp.Or(source.outline.Objective, strings.TrimSuffix(o.Name, path.Ext(o.Name)))
	}
	return source.action()
}

// readable returns data without a byte order mark and with lines that end in \n. It refuses
// data that is not text, is blank, or has more than maxBytes.
func readable(data []byte) ([]byte, error) {
	if len(data) > maxBytes {
		return nil, refuse("", fmt.Sprintf("the text has %d bytes; at most %d are read", len(data), maxBytes), "split the plan")
	}
	if !utf8.Valid(data) {
		return nil, refuse("", "the text is not valid UTF-8", "save it as UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, refuse("", "the text is empty", "give a plan to import")
	}
	return data, nil
}

// Export returns the current plan of s in a format, and a sentence for each loss.
func Export(format Format, s plan.State) (data []byte, notes []string, err error) {
	c := codecOf(format)
	switch {
	case c.encode == nil:
		return nil, nil, refuse("/format", plan.Quote(string(format))+" is not known", "use one of "+strings.Join(format.Values(), ", "))
	case s.Plan == nil:
		return nil, nil, &plan.ValidationError{Kind: plan.NotFound, Problem: "no plan to export", Fix: "set one up first"}
	}
	if data, err = c.encode(s); err != nil {
		return nil, nil, fmt.Errorf("export as %s: %w", format, err)
	}
	if c.losses != nil {
		notes = c.losses(s.Plan)
	}
	return data, notes, nil
}

// Inlined returns s with the values of steps that are kept separately copied into the plan, as in an
// export. kept reads such a value by its name. Values that are missing, have a secret, or are too large to be imported again,
// are left out, and the note names their steps.
func Inlined(s plan.State, kept func(name string) (json.RawMessage, error)) (plan.State, []string) {
	if s.Plan == nil {
		return s, nil
	}
	body, out := s.Plan.Body(), []plan.StepID(nil)
	for i, step := range body.Steps {
		if step.Result == nil || step.Result.StoredName == "" {
			continue
		}
		whole, result := *step, *step.Result
		value, err := kept(result.StoredName)
		result.Value, result.StoredName = value, ""
		whole.Result = &result
		if err == nil && plan.Mask(string(value)) != string(value) {
			err = errSecret
		}
		if err == nil {
			_, err = plan.CleanStep("", plan.NewStep{Spec: plan.Spec{Title: step.Title}, Progress: plan.Progress{Result: &result}})
		}
		if err != nil {
			result.Value, out = nil, append(out, step.ID)
		}
		body.Steps[i] = &whole
	}
	s.Plan = body.Build()
	if out == nil {
		return s, nil
	}
	return s, []string{"Values are left out that are too large to be read back, gone or secret: " + plan.ListIDs(out) + "."}
}

var errSecret = errors.New("it has a secret")

func refuse(field, problem, fix string) error {
	return &plan.ValidationError{Kind: plan.InvalidInput, Field: field, Problem: problem, Fix: fix}
}

// countLoss adds a sentence about a number of steps, unless it is 0.
func countLoss(notes []string, n int, noun, loss string) []string {
	if n == 0 {
		return notes
	}
	return append(notes, plan.Pluralize(n, noun)+" "+loss+".")
}

// losses returns a sentence with the fields that p uses and a format does not keep, and with the number of
// steps for the fields of steps. It returns nil if nothing is lost.
func losses(lead string, p *plan.Plan, keepsOfPlan func(plan.Field[plan.Plan]) bool,
	keepsOfStep func(plan.Field[plan.Step], *plan.Step) bool) []string {
	var names []string
	for _, f := range plan.PlanFields() {
		if !keepsOfPlan(f) && len(f.Texts(p)) > 0 {
			names = append(names, f.Name)
		}
	}
	for _, f := range plan.StepFields() {
		if f.Name == "lease_until" { // reported with claimed_by
			continue
		}
		n := 0
		for step := range p.Steps.All() {
			if !keepsOfStep(f, step) && len(f.Texts(step)) > 0 {
				n++
			}
		}
		if n > 0 {
			names = append(names, fmt.Sprintf("%s (%s)", f.Name, plan.Pluralize(n, "step")))
		}
	}
	if names == nil {
		return nil
	}
	slices.Sort(names)
	return []string{lead + ": " + strings.Join(names, ", ") + "."}
}

// Format is a text format for plans, by its name on the command line.
type Format string

// The formats.
const (
	JSON      Format = "json"       // as plan://current serves it, or only its plan
	YAML      Format = "yaml"       // the same as YAML
	Markdown  Format = "md"         // a check list
	RawkoYAML Format = "rawko-yaml" // a plan file of rawko
	Execution Format = "execution"  // the JSON of the execution specification
	Mermaid   Format = "mermaid"    // a graph; export only
)

// codec reads and writes one format.
type codec struct {
	format Format
	suffix []string // file extensions of the format

	decode func(text []byte) (*source, error) // nil: export only
	encode func(plan.State) ([]byte, error)
	losses func(*plan.Plan) []string // sentences for the parts that cannot be exported; nil: nothing is lost

	isJSON      bool // a text is one JSON value
	holdsValues bool // keeps the values of steps
}

func codecs() []codec {
	return []codec{
		{format: JSON, suffix: []string{".json"}, decode: parseJSON, encode: ownJSON, isJSON: true, holdsValues: true},
		{format: YAML, suffix: []string{".yaml", ".yml"}, decode: parseYAML, encode: resources.YAML, holdsValues: true},
		{format: Markdown, suffix: []string{".md", ".markdown"}, decode: parseMarkdown, encode: checkList, losses: markdownLosses},
		{format: RawkoYAML, decode: parseRawko, encode: rawkoYAML, losses: rawkoLosses},
		{format: Execution, decode: parseExecution, encode: executionJSON, losses: executionLosses, isJSON: true, holdsValues: true},
		{format: Mermaid, suffix: []string{".mmd", ".mermaid"}, encode: mermaid, losses: graphLosses},
	}
}

func ownJSON(s plan.State) ([]byte, error) {
	data, err := resources.JSON(s)
	return append(data, '\n'), err
}

func checkList(s plan.State) ([]byte, error) { return resources.Markdown(s), nil }

func mermaid(s plan.State) ([]byte, error) { return resources.Mermaid(s), nil }

func graphLosses(*plan.Plan) []string {
	return []string{"A graph holds the titles, shortened, the statuses and the dependencies of the steps, and nothing else."}
}

func codecOf(f Format) codec {
	for _, c := range codecs() {
		if c.format == f {
			return c
		}
	}
	return codec{}
}

// Values lists the formats in order.
func (Format) Values() []string {
	var list []string
	for _, c := range codecs() {
		list = append(list, string(c.format))
	}
	return list
}

// Readable is a format that can be imported.
type Readable Format

// Values lists the formats in order.
func (Readable) Values() []string {
	return slices.DeleteFunc(Format("").Values(), func(word string) bool { return codecOf(Format(word)).decode == nil })
}

// Named returns the format for a word of the command line. The word need not be valid.
func Named(word string) Format {
	if word == "markdown" {
		return Markdown
	}
	return Format(word)
}

// ForFile returns the format for a file's extension; the default is JSON.
func ForFile(name string) Format {
	extension := strings.ToLower(path.Ext(name))
	for _, c := range codecs() {
		if slices.Contains(c.suffix, extension) {
			return c.format
		}
	}
	return JSON
}

// Extension returns the extension of files in format f, "" if it has none of its own.
func (f Format) Extension() string { return cmp.Or(codecOf(f).suffix...) }

// IsJSON reports whether a text in format f is one JSON value.
func (f Format) IsJSON() bool { return codecOf(f).isJSON }

// HoldsValues reports whether f keeps the values of steps.
func (f Format) HoldsValues() bool { return codecOf(f).holdsValues }
