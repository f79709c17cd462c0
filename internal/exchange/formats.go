package exchange

import (
	"path"
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

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

// codecs is the table of formats, in the order of lists.
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

// codecOf returns the codec of a format, or the zero codec if the format is unknown.
func codecOf(f Format) codec {
	all := codecs()
	if i := slices.IndexFunc(all, func(c codec) bool { return c.format == f }); i >= 0 {
		return all[i]
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

// IsJSON reports whether a text in format f is one JSON value.
func (f Format) IsJSON() bool { return codecOf(f).isJSON }

// HoldsValues reports whether f keeps the values of steps.
func (f Format) HoldsValues() bool { return codecOf(f).holdsValues }
