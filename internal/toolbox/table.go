package toolbox

import (
	"context"
	"embed"
	"errors"
	"reflect"
)

//go:generate go test . -run TestSchemas -update
//go:embed schemas/*.json
var schemas embed.FS

// Spec describes a tool to clients.
type Spec struct {
	Name        string // part of the contract
	Title       string // for people
	Description string // for models; costs tokens in every conversation
	Example     string // correct arguments, shown with an error
	PlanOnly    bool   // only for steps of plans; not listed as a tool

	ReadOnly, Destructive, Idempotent, OpenWorld bool
}

// Row is a tool of the table: its description, its input and output, and how to call it.
type Row struct {
	Spec
	In, Out reflect.Type

	// Call calls decode with a pointer to the input, and then the tool. A fault in the input, or a state that forbids
	// the call, is a *plan.ValidationError.
	Call func(ctx context.Context, b *Box, decode func(into any) error, w Watch) (Reply, error)
}

// Schemas returns the JSON Schemas of the tool's input and output.
func (s Spec) Schemas() (input, output []byte, err error) {
	input, noInput := schemas.ReadFile("schemas/" + s.Name + ".input.json")
	output, noOutput := schemas.ReadFile("schemas/" + s.Name + ".output.json")
	return input, output, errors.Join(noInput, noOutput)
}

// Reply is the output of a tool. Its JSON and its Text are each the whole answer.
type Reply interface {
	Text() string
}

// Valuer is a Reply with a value of its own for steps that refer to it.
type Valuer interface {
	Value() any
}

func row[In any, Out Reply](spec Spec, call func(*Box, context.Context, In) (Out, error)) Row {
	return watchedRow(spec, func(b *Box, ctx context.Context, in In, _ Watch) (Out, error) { return call(b, ctx, in) })
}

// watchedRow is row for a tool that reports its progress.
func watchedRow[In any, Out Reply](spec Spec, call func(*Box, context.Context, In, Watch) (Out, error)) Row {
	return Row{spec, reflect.TypeFor[In](), reflect.TypeFor[Out](),
		func(ctx context.Context, b *Box, decode func(any) error, w Watch) (Reply, error) {
			var in In
			if err := decode(&in); err != nil {
				return nil, err
			}
			out, err := call(b, ctx, in, w)
			if err != nil {
				return nil, err
			}
			return out, nil
		}}
}

// Table returns the tools in listing order.
func Table() []Row {
	return []Row{
		row(Spec{
			Name: "view", Title: "View a file", ReadOnly: true, Idempotent: true,
			Description: "Show a file with line numbers, a page at a time, or a directory.",
			Example:     `{"path":"main.go","from":1,"to":80}`,
		}, (*Box).View),
		row(Spec{
			Name: "glob", Title: "Find files", ReadOnly: true, Idempotent: true,
			Description: "Find files by name.",
			Example:     `{"pattern":"**/*_test.go"}`,
		}, (*Box).Glob),
		row(Spec{
			Name: "grep", Title: "Search in files", ReadOnly: true, Idempotent: true,
			Description: "Find lines by a regular expression.",
			Example:     `{"pattern":"func main\\(","glob":"*.go"}`,
		}, (*Box).Grep),
		watchedRow(Spec{
			Name: "bash_execute", Title: "Run a command", Destructive: true, OpenWorld: true,
			Description: "Run a shell command in the workspace. No input, no terminal; processes it leaves running are killed.",
			Example:     `{"command":"go test ./...","timeout":120}`,
		}, (*Box).execute),
		row(Spec{
			Name: "create_file", Title: "Create a file", Destructive: true, Idempotent: true,
			Description: "Write a whole new file and the directories it needs.",
			Example:     `{"path":"docs/notes.md","content":"# Notes\n"}`,
		}, (*Box).CreateFile),
		row(Spec{
			Name: "str_replace", Title: "Edit a file", Destructive: true,
			Description: "Replace a text that occurs exactly once in a file.",
			Example:     `{"path":"main.go","old":"fmt.Print(","new":"fmt.Println("}`,
		}, (*Box).StrReplace),
		row(Spec{
			Name: "read_file", Title: "Read a file", ReadOnly: true, Idempotent: true, PlanOnly: true,
			Description: "Read a whole text file.",
			Example:     `{"path":"config.json"}`,
		}, (*Box).ReadFile),
		row(Spec{
			Name: "write_file", Title: "Write a file", Destructive: true, Idempotent: true, PlanOnly: true,
			Description: "Write a whole file, in the place of one that exists.",
			Example:     `{"path":"config.json","content":"{}\n"}`,
		}, (*Box).WriteFile),
	}
}
