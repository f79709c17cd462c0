package exchange

import (
	"path"
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// Format is a way to write a plan down, as the command line names it.
type Format string

// The formats.
const (
	JSON      Format = "json"       // as plan://current serves it, or a plan alone
	YAML      Format = "yaml"       // the same as YAML
	Markdown  Format = "md"         // a check list
	RawkoYAML Format = "rawko-yaml" // a plan file of rawko
	Execution Format = "execution"  // the JSON of the execution specification
	Mermaid   Format = "mermaid"    // a graph, which is only written
)

// codec reads and writes one format.
type codec struct {
	format Format
	suffix []string // of file names that mean this format

	decode func(text []byte) (*source, error) // nil: the format is only written
	encode func(plan.State) ([]byte, error)
	losses func(*plan.Plan) []string // what the format has no place for; nil: it holds everything
}

// codecs is the table of formats, in the order in which they are listed.
func codecs() []codec {
	return []codec{
		{format: JSON, suffix: []string{".json"}, decode: parseJSON, encode: ownJSON},
		{format: YAML, suffix: []string{".yaml", ".yml"}, decode: parseYAML, encode: resources.YAML},
		{format: Markdown, suffix: []string{".md", ".markdown"}, decode: parseMarkdown, encode: checkList, losses: markdownLosses},
		{format: RawkoYAML, decode: parseRawko, encode: rawkoYAML, losses: rawkoLosses},
		{format: Execution, decode: parseExecution, encode: executionJSON, losses: executionLosses},
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

// codecOf returns the codec of a format, which has no format itself if there is none.
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

// Values lists them in order.
func (Readable) Values() []string {
	return slices.DeleteFunc(Format("").Values(), func(word string) bool { return codecOf(Format(word)).decode == nil })
}

// Named returns the format for a word of the command line, which need not be a known one.
func Named(word string) Format {
	if word == "markdown" {
		return Markdown
	}
	return Format(word)
}

// ForFile returns the format that the extension of a file name means, JSON if it means none.
func ForFile(name string) Format {
	extension := strings.ToLower(path.Ext(name))
	for _, c := range codecs() {
		if slices.Contains(c.suffix, extension) {
			return c.format
		}
	}
	return JSON
}

// IsJSON reports whether f is one JSON value.
func (f Format) IsJSON() bool { return f == JSON || f == Execution }

// HoldsValues reports whether f holds the values of steps.
func (f Format) HoldsValues() bool { return f == JSON || f == YAML || f == Execution }
