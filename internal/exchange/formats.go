package exchange

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// Format is a way to write a plan down.
type Format string

// The formats.
const (
	JSON       Format = "json"       // as plan://current serves it, or a plan alone
	YAML       Format = "yaml"       // the same as YAML
	Markdown   Format = "markdown"   // a check list
	RawkoYAML  Format = "rawko-yaml" // a plan file of rawko
	Execution  Format = "execution"  // the JSON of the execution specification
	TaskMaster Format = "taskmaster" // tasks.json of Task Master
	Backlog    Format = "backlog"    // a folder of Backlog.md's task files
	Beads      Format = "beads"      // the issues of beads, one in a line
	SpecKit    Format = "speckit"    // tasks.md of spec-kit
	OpenSpec   Format = "openspec"   // tasks.md of OpenSpec

	ClaudePlan  Format = "claude-plan"  // a Markdown plan, as Claude Code's plan mode writes
	ClaudeTasks Format = "claude-tasks" // the tasks of Claude Code
	TodoWrite   Format = "todowrite"    // the inputs of hosts' tools
	UpdatePlan  Format = "update-plan"
	WriteTodos  Format = "write-todos"
	ACP         Format = "acp" // session updates of the Agent Client Protocol
	ACP2        Format = "acp-v2"

	Mermaid Format = "mermaid" // graphs
	DOT     Format = "dot"
)

// row is what is known of a format.
type row struct {
	format Format
	about  string   // what it is, in a few words
	files  []string // how its files are called, from the folders that tell it: patterns of path.Match
	ending []string // of a file's name that asks for an export in this format
	text   string   // the objective of what does not say one

	is    func(shape) bool                                 // JSON of this format; nil: it is none, or not told from it
	read  func(input) (*source, error)                     // nil: it is only written
	write func(*row, plan.State) ([]byte, []string, error) // nil: it is only read, or it is a folder
	parts func(*row, plan.State) ([]File, []string, error) // of a folder
	json  bool                                             // it is one JSON value
	apart bool                                             // it may be read from several files
	whole bool                                             // it holds everything, values of steps too
	words vocabulary                                       // for the statuses of a step
	plan  []string                                         // the plan's fields that it keeps
	steps []string                                         // the fields of steps that it keeps
	keeps func(f plan.Field[plan.Step], s *plan.Step) bool // of this step, where it depends; nil: as steps says
}

// input is what is read.
type input struct {
	row     *row
	text    []byte
	files   []File // of a folder
	options ImportOptions
}

// File is a file of a folder that a format consists of.
type File struct {
	Name string // in the folder, with slashes
	Data []byte
}

// rows is the table of formats, in the order in which they are told.
func rows() []row { return slices.Concat(ownRows(), listRows(), graphRows()) }

func ownRows() []row {
	return []row{
		{format: JSON, json: true, about: "planloop's own JSON", ending: []string{".json"}, whole: true, read: ofText(parseJSON),
			write: func(_ *row, s plan.State) ([]byte, []string, error) {
				data, err := resources.JSON(s)
				return append(data, '\n'), nil, err
			}},
		{format: YAML, about: "the same as YAML", ending: []string{".yaml", ".yml"}, whole: true, read: ofText(parseYAML),
			write: func(_ *row, s plan.State) ([]byte, []string, error) {
				data, err := resources.YAML(s)
				return data, nil, err
			}},
		{format: Markdown, about: "a Markdown check list", ending: []string{".md", ".markdown"},
			read: ofText(func(text []byte) (*source, error) { return parseMarkdown(string(text)) }),
			write: func(_ *row, s plan.State) ([]byte, []string, error) {
				return resources.Markdown(s), markdownLosses(s.Plan), nil
			}},
		{format: RawkoYAML, about: "a plan file of rawko", read: ofText(parseRawko),
			write: func(_ *row, s plan.State) ([]byte, []string, error) {
				data, err := rawkoYAML(s.Plan)
				return data, rawkoLosses(s.Plan), err
			}},
		{format: Execution, json: true, about: "the JSON of the execution specification", whole: true, read: ofText(parseExecution),
			write: func(_ *row, s plan.State) ([]byte, []string, error) {
				data, err := executionJSON(s)
				return data, executionLosses(s.Plan), err
			}},
	}
}

// listRows are the formats of other programs' lists of tasks.
func listRows() []row {
	tools := []row{taskMasterRow(), backlogRow(), beadsRow(), specKitRow(), openSpecRow(), claudePlanRow(), claudeTasksRow()}
	return slices.Concat(tools, hostListRows(), acpRows())
}

func graphRows() []row {
	return []row{
		{format: Mermaid, about: "a Mermaid graph", ending: []string{".mmd", ".mermaid"},
			write: func(_ *row, s plan.State) ([]byte, []string, error) { return resources.Mermaid(s), graphLosses(), nil }},
		{format: DOT, about: "a graph for Graphviz", ending: []string{".dot", ".gv"},
			write: func(_ *row, s plan.State) ([]byte, []string, error) { return dotGraph(s.Plan), graphLosses(), nil }},
	}
}

func graphLosses() []string {
	return []string{"A graph holds the titles, shortened, the statuses and the dependencies of the steps, and nothing else."}
}

func ofText(parse func([]byte) (*source, error)) func(input) (*source, error) {
	return func(in input) (*source, error) { return parse(in.text) }
}

// rowOf returns what is known of a format, nil for another word.
func rowOf(f Format) *row {
	all := rows()
	if i := slices.IndexFunc(all, func(r row) bool { return r.format == f }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Values lists the formats in order.
func (Format) Values() []string { return words(func(row) bool { return true }, row.word) }

// words lists what word says of the formats that are meant.
func words(meant func(row) bool, word func(row) string) []string {
	var list []string
	for _, r := range rows() {
		if meant(r) {
			list = append(list, word(r))
		}
	}
	return list
}

func (r row) word() string { return string(r.format) }

// mark is the word for a format on a command line.
func (r row) mark() string {
	if r.format == Markdown {
		return "md"
	}
	return r.word()
}

// Readable is the format of what is imported, as a command line names it.
type Readable string

// Values lists them in order.
func (Readable) Values() []string { return words(func(r row) bool { return r.read != nil }, row.mark) }

// Writable is the format of what is exported, as a command line names it.
type Writable string

// Values lists them in order.
func (Writable) Values() []string {
	return words(func(r row) bool { return r.write != nil || r.parts != nil }, row.mark)
}

// Named returns the format that a word of a command line means.
func Named(word string) Format {
	if word == "md" {
		return Markdown
	}
	return Format(word)
}

// Mark is the word for f on a command line.
func (f Format) Mark() string {
	if r := rowOf(f); r != nil {
		return r.mark()
	}
	return string(f)
}

// About says in a few words what f is.
func (f Format) About() string {
	if r := rowOf(f); r != nil {
		return r.about
	}
	return ""
}

// Whole reports whether f holds everything, the values of steps too.
func (f Format) Whole() bool {
	r := rowOf(f)
	return r != nil && r.whole
}

// Folder reports whether f is written as several files.
func (f Format) Folder() bool {
	r := rowOf(f)
	return r != nil && r.parts != nil
}

// Apart reports whether f may be read from several files.
func (f Format) Apart() bool {
	r := rowOf(f)
	return r != nil && r.apart
}

// JSON reports whether f is one JSON value.
func (f Format) JSON() bool {
	r := rowOf(f)
	return r != nil && r.json
}

// ForFile returns the format in which a file of this name is written, JSON where it does not tell.
func ForFile(name string) Format {
	ending := strings.ToLower(path.Ext(name))
	for _, r := range rows() {
		if slices.Contains(r.ending, ending) && r.write != nil {
			return r.format
		}
	}
	return JSON
}

// named reports whether a file is called as those of the format are: its own name, and the folders
// that it stands in as far as a pattern tells them.
func (r row) named(file string) bool {
	parts := strings.Split(file, "/")
	return slices.ContainsFunc(r.files, func(pattern string) bool {
		n := strings.Count(pattern, "/") + 1
		matched, err := path.Match(pattern, strings.Join(parts[max(0, len(parts)-n):], "/"))
		return matched && err == nil
	})
}

// losses says what of p the format has no place for.
func (r row) losses(p *plan.Plan) []string {
	var notes []string
	if p.Status != plan.StatusActive && p.Status != plan.StatusCompleted {
		notes = append(notes, "The plan "+p.Status.Is()+", which the format "+r.word()+" does not say.")
	}
	if len(r.words.words) == 0 && p.Steps.Count(plan.Pending) < p.Steps.Len() {
		notes = append(notes, "How far the steps have come is left out there.")
	}
	for _, status := range plan.Pending.Values() {
		status := plan.StepStatus(status)
		word := r.words.write(status)
		if word == "" {
			continue
		}
		if n := p.Steps.Count(status); n > 0 && r.words.read(word) != status {
			notes = append(notes, plan.Counted(n, status.Spaced()+" step")+" "+becomes(n)+" "+quotedWord(word)+" there.")
		}
	}
	return append(notes, losses("The format "+r.word()+" has no place for", p,
		func(f plan.Field[plan.Plan]) bool { return slices.Contains(r.plan, f.Name) },
		func(f plan.Field[plan.Step], s *plan.Step) bool {
			return f.Name == "status" || f.Name == "title" || slices.Contains(r.steps, f.Name) || r.keeps != nil && r.keeps(f, s)
		})...)
}

// quotedWord is a word for a status, or a mark in a box, in a sentence.
func quotedWord(word string) string {
	if len(word) == 1 {
		return "[" + word + "]"
	}
	return plan.Quote(word)
}

func becomes(n int) string {
	if n == 1 {
		return "becomes"
	}
	return "become"
}

// vocabulary is how a format calls the statuses of a step.
type vocabulary struct {
	words map[plan.StepStatus]string // as it writes them; what it has no word for is pending there
	also  map[string]plan.StepStatus // what else it may say
}

func (v vocabulary) write(status plan.StepStatus) string {
	return cmp.Or(v.words[status], v.words[plan.Pending])
}

// read returns the status that a word means, "" where it is not known.
func (v vocabulary) read(word string) plan.StepStatus {
	for _, like := range []bool{true, false} { // a word that we use, too, means what it means with us
		for _, status := range plan.Pending.Values() {
			status := plan.StepStatus(status)
			if v.words[status] == word && word != "" && (!like || word == string(status)) {
				return status
			}
		}
	}
	return cmp.Or(v.also[word], plan.ReadStatus(word))
}
