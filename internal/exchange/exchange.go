// Package exchange writes plans for other programs and reads theirs: our own JSON
// and YAML, Markdown check lists, rawko's YAML and the JSON of the execution specification. What it reads is untrusted:
// bounded, parsed strictly and cleaned before it becomes an action. It knows the
// plan and its renderings, and nothing of files, stores or commands.
package exchange

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// What is read: so many bytes of a text, and so many steps.
const (
	maxBytes = 4 << 20
	maxSteps = plan.DefaultMaxSteps
)

// Imported is a plan that was read: the action that sets it up, and in plain sentences
// what was dropped or changed.
type Imported struct {
	Action plan.SetUp
	Notes  []string
}

// ImportOptions say what a text does not.
type ImportOptions struct {
	Objective string // in the place of the plan's own
	Name      string // of the file, without its folder: the objective where the format has none
}

// Import reads a plan. The error is a *plan.ValidationError that names the field,
// or for Markdown the line.
func Import(data []byte, format Format, o ImportOptions) (Imported, error) {
	if err := plan.OneOf("/format", format); err != nil {
		return Imported{}, err
	}
	text, err := readable(data)
	if err != nil {
		return Imported{}, err
	}
	source, err := parse(text, format)
	if err != nil {
		return Imported{}, err
	}
	source.outline.Objective = cmp.Or(o.Objective, source.outline.Objective)
	if format == Execution { // which has no place for one
		source.outline.Objective = cmp.Or(source.outline.Objective, strings.TrimSuffix(o.Name, path.Ext(o.Name)))
	}
	return source.action()
}

func parse(text []byte, format Format) (*source, error) {
	switch format {
	case JSON:
		return parseJSON(text)
	case YAML:
		return parseYAML(text)
	case Markdown:
		return parseMarkdown(string(text))
	case RawkoYAML:
		return parseRawko(text)
	case Execution:
		return parseExecution(text)
	}
	return nil, refuse("/format", "no format is given", "use one of the known formats")
}

// readable returns data without a byte order mark, and with lines that end in \n
// alone, if it is text of a bearable size.
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

// Export returns the current plan of s in a format and, in plain sentences, what
// that has no place for.
func Export(format Format, s plan.State) (data []byte, notes []string, err error) {
	if err := plan.OneOf("/format", format); err != nil {
		return nil, nil, err
	}
	if s.Plan == nil {
		return nil, nil, &plan.ValidationError{Kind: plan.NotFound, Problem: "there is no plan to export", Fix: "set one up first"}
	}
	switch format {
	case YAML:
		data, err = resources.YAML(s)
	case Markdown:
		data, notes = resources.Markdown(s), markdownLosses(s.Plan)
	case RawkoYAML:
		data, err = rawkoYAML(s.Plan)
		notes = rawkoLosses(s.Plan)
	case Execution:
		data, err = executionJSON(s)
		notes = executionLosses(s.Plan)
	default:
		data, err = resources.JSON(s)
		data = append(data, '\n')
	}
	if err != nil {
		return nil, nil, fmt.Errorf("export as %s: %w", format, err)
	}
	return data, notes, nil
}

// Inlined returns s with the values of its plan's steps that are kept apart written into the
// plan, as an export has them. kept reads one by its name. Those that are gone, or that nobody
// would read back, are left out and named.
func Inlined(s plan.State, kept func(name string) (json.RawMessage, error)) (plan.State, []string) {
	if s.Plan == nil {
		return s, nil
	}
	body, out := s.Plan.Body(), []plan.StepID(nil)
	for i, step := range body.Steps {
		if step.Result == nil || step.Result.Kept == "" {
			continue
		}
		whole, result := *step, *step.Result
		value, err := kept(result.Kept)
		result.Value, result.Kept = value, ""
		whole.Result = &result
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
	return s, []string{"Values are left out that are too large to be read back, or gone: " + plan.ListIDs(out) + "."}
}

func refuse(field, problem, fix string) error {
	return &plan.ValidationError{Kind: plan.InvalidInput, Field: field, Problem: problem, Fix: fix}
}

// losses is a sentence, or none, that names the fields that p uses and a format does
// not keep, with the number of steps for the fields of steps.
func losses(lead string, p *plan.Plan, keepsOfPlan func(plan.Field[plan.Plan]) bool,
	keepsOfStep func(plan.Field[plan.Step], *plan.Step) bool) []string {
	var names []string
	for _, f := range plan.PlanFields() {
		if !keepsOfPlan(f) && len(f.Texts(p)) > 0 {
			names = append(names, f.Name)
		}
	}
	for _, f := range plan.StepFields() {
		if f.Name == "lease_until" { // goes with claimed_by
			continue
		}
		n := 0
		for step := range p.Steps.All() {
			if !keepsOfStep(f, step) && len(f.Texts(step)) > 0 {
				n++
			}
		}
		if n > 0 {
			names = append(names, fmt.Sprintf("%s (%s)", f.Name, plan.Counted(n, "step")))
		}
	}
	if names == nil {
		return nil
	}
	slices.Sort(names)
	return []string{lead + ": " + strings.Join(names, ", ") + "."}
}

// Format is a way to write a plan down.
type Format string

// The formats.
const (
	JSON      Format = "json"       // as plan://current serves it, or a plan alone
	YAML      Format = "yaml"       // the same as YAML
	Markdown  Format = "markdown"   // a check list
	RawkoYAML Format = "rawko-yaml" // a plan file of rawko
	Execution Format = "execution"  // the JSON of the execution specification
)

// Values lists the formats in order.
func (Format) Values() []string {
	return []string{"json", "yaml", "markdown", "rawko-yaml", "execution"}
}

var (
	checkItem = regexp.MustCompile(`(?m)^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[[ xX/!~>-]\](?:[ \t]|$)`)
	listOrTop = regexp.MustCompile(`(?m)^(?:# |[*+] |- |\d{1,9}[.)] )`)
	topKey    = regexp.MustCompile(`(?m)^["']?([A-Za-z_]+)["']?[ \t]*:(?:[ \t]|$)`)
)

// Detect tells the format of a plan from the name of its file, or from what
// stands in it. filename may be empty.
func Detect(data []byte, filename string) (Format, error) {
	switch strings.ToLower(path.Ext(filename)) {
	case ".md", ".markdown":
		return Markdown, nil
	case ".json":
		return ownOr(JSON, jsonKeys(withoutComments(data))), nil
	case ".yaml", ".yml":
		return ownOr(YAML, yamlKeys(data)), nil
	}
	return detectContent(data)
}

func detectContent(data []byte) (Format, error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	trimmed := bytes.TrimSpace(data)
	if bytes.HasPrefix(trimmed, []byte("{")) {
		if keys := jsonKeys(withoutComments(trimmed)); keys != nil {
			return ownOr(JSON, keys), nil
		}
		return YAML, nil
	}
	if checkItem.Match(data) {
		return Markdown, nil
	}
	if keys := yamlKeys(data); keys["plan"] || keys["steps"] || keys["objective"] || keys["task"] {
		return ownOr(YAML, keys), nil
	}
	if listOrTop.Match(data) {
		return Markdown, nil
	}
	return "", refuse("/format", "the format cannot be recognised from the text", "name it: "+strings.Join(Format("").Values(), ", "))
}

// ownOr returns own, or the format that alone has such keys.
func ownOr(own Format, keys map[string]bool) Format {
	switch {
	case keys["objective"], keys["plan"]:
		return own
	case keys["task"]:
		return RawkoYAML
	case own == JSON && keys["steps"]:
		return Execution
	}
	return own
}

func yamlKeys(data []byte) map[string]bool {
	keys := map[string]bool{}
	for _, m := range topKey.FindAllSubmatch(data, -1) {
		keys[string(m[1])] = true
	}
	return keys
}

// jsonKeys returns the keys of a JSON object, nil when data is none.
func jsonKeys(data []byte) map[string]bool {
	in := jsontext.NewDecoder(bytes.NewReader(data))
	if token, err := in.ReadToken(); err != nil || token.Kind() != jsontext.KindBeginObject {
		return nil
	}
	keys := map[string]bool{}
	for in.PeekKind() != jsontext.KindEndObject {
		key, err := in.ReadToken()
		if err != nil {
			return nil
		}
		keys[key.String()] = true
		if err := in.SkipValue(); err != nil {
			return nil
		}
	}
	return keys
}
