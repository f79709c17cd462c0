// Package exchange writes plans for other programs and reads theirs: our own JSON
// and YAML, Markdown check lists and rawko's YAML. What it reads is untrusted:
// bounded, parsed strictly and cleaned before it becomes an action. It knows the
// plan and its renderings, and nothing of files, stores or commands.
package exchange

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// Limits bounds what is read. The zero value of a field means its default.
type Limits struct {
	Bytes int // of the text; default 4 MB
	Steps int // default plan.DefaultMaxSteps
}

const defaultBytes = 4 << 20

func (l Limits) withDefaults() Limits {
	if l.Bytes == 0 {
		l.Bytes = defaultBytes
	}
	if l.Steps == 0 {
		l.Steps = plan.DefaultMaxSteps
	}
	return l
}

// Imported is a plan that was read: the action that sets it up, with ids as they
// will be minted, and in plain sentences what was dropped or changed.
type Imported struct {
	Action plan.SetUp
	Notes  []string
}

// Import reads a plan. The error is a *plan.ValidationError that names the field,
// or for Markdown the line.
func Import(data []byte, format Format, limits Limits) (Imported, error) {
	limits = limits.withDefaults()
	if err := plan.OneOf("/format", format); err != nil {
		return Imported{}, err
	}
	text, err := readable(data, limits)
	if err != nil {
		return Imported{}, err
	}
	source, err := parse(text, format, limits)
	if err != nil {
		return Imported{}, err
	}
	return source.action(limits)
}

func parse(text []byte, format Format, limits Limits) (*source, error) {
	switch format {
	case JSON:
		return parseJSON(text)
	case YAML:
		return parseYAML(text)
	case Markdown:
		return parseMarkdown(string(text), limits)
	case RawkoYAML:
		return parseRawko(text)
	}
	return nil, refuse("/format", "no format is given", "use one of the known formats")
}

// readable returns data without a byte order mark, and with lines that end in \n
// alone, if it is text of a bearable size.
func readable(data []byte, limits Limits) ([]byte, error) {
	if len(data) > limits.Bytes {
		return nil, refuse("", fmt.Sprintf("the text has %d bytes, at most %d are read", len(data), limits.Bytes), "split the plan")
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

// Export writes the current plan of s and returns, in plain sentences, what the
// format has no place for.
func Export(w io.Writer, format Format, s plan.State) ([]string, error) {
	if err := plan.OneOf("/format", format); err != nil {
		return nil, err
	}
	if s.Plan == nil {
		return nil, &plan.ValidationError{Kind: plan.NotFound, Problem: "there is no plan to export", Fix: "set one up first"}
	}
	data, notes, err := render(format, s)
	if err != nil {
		return nil, fmt.Errorf("export as %s: %w", format, err)
	}
	if _, err := w.Write(data); err != nil {
		return nil, fmt.Errorf("write the export: %w", err)
	}
	return notes, nil
}

func render(format Format, s plan.State) (data []byte, notes []string, err error) {
	switch format {
	case YAML:
		data, err = resources.YAML(s)
	case Markdown:
		return resources.Markdown(s, resources.MarkdownOptions{}), markdownLosses(s.Plan), nil
	case RawkoYAML:
		data, err = rawkoYAML(s.Plan)
		notes = rawkoLosses(s.Plan)
	default:
		data, err = resources.JSON(s)
		data = append(data, '\n')
	}
	return data, notes, err
}

func refuse(field, problem, fix string) error {
	return &plan.ValidationError{Kind: plan.InvalidInput, Field: field, Problem: problem, Fix: fix}
}

// losses names the fields that p uses and a format does not keep, with the number
// of steps for the fields of steps.
func losses(p *plan.Plan, keepsOfPlan func(plan.Field[plan.Plan]) bool, keepsOfStep func(plan.Field[plan.Step]) bool) []string {
	var names []string
	for _, f := range plan.PlanFields() {
		if !keepsOfPlan(f) && len(f.Texts(p)) > 0 {
			names = append(names, f.Name)
		}
	}
	for _, f := range plan.StepFields() {
		if keepsOfStep(f) || f.Name == "lease_until" { // goes with claimed_by
			continue
		}
		n := 0
		for step := range p.Steps.All() {
			if len(f.Texts(step)) > 0 {
				n++
			}
		}
		if n > 0 {
			names = append(names, fmt.Sprintf("%s (%s)", f.Name, plan.Counted(n, "step")))
		}
	}
	slices.Sort(names)
	return names
}
