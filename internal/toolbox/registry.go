package toolbox

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	strictjson "github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/planloop/planloop/internal/strict"
)

// Registry holds the tools that a step of a plan may name, in listing order: those of the workspace, then those of
// others.
type Registry struct {
	tools  []Tool
	others func() []Tool // the current ones; nil: none
}

// Lookup returns the tool of that name.
func (r *Registry) Lookup(name string) (Tool, bool) {
	isNamed := func(t Tool) bool { return t.Name == name }
	tools := r.tools
	if !slices.ContainsFunc(tools, isNamed) {
		tools = r.all()
	}
	if i := slices.IndexFunc(tools, isNamed); i >= 0 {
		return tools[i], true
	}
	return Tool{}, false
}

func (r *Registry) all() []Tool {
	if r.others == nil {
		return r.tools
	}
	return slices.Concat(r.tools, r.others())
}

// Names lists the names of the tools.
func (r *Registry) Names() []string {
	var names []string
	for _, tool := range r.all() {
		names = append(names, tool.Name)
	}
	return names
}

// With returns a registry with these tools added. A duplicate name is an error.
func (r *Registry) With(more ...Tool) (*Registry, error) {
	all := &Registry{tools: slices.Concat(r.tools, more), others: r.others}
	for i, tool := range all.tools {
		if tool.Name == "" || slices.ContainsFunc(all.tools[:i], func(other Tool) bool { return other.Name == tool.Name }) {
			return nil, fmt.Errorf("two tools are called %q, or one has no name", tool.Name)
		}
	}
	return all, nil
}

// Tool is a tool as a step of a plan calls it.
type Tool struct {
	Spec
	Schema, Output json.RawMessage // JSON Schemas of input and output; without Output, it may be anything

	// Foreign marks another server's tool, which that server may change. Given is a digest of the server's full
	// description of the tool; Spec and the schemas may be only a part of it.
	Foreign bool
	Given   string

	// Run makes a call with arguments that fit the schema. Failures are outcomes too; for errors see Call.
	Run func(ctx context.Context, args json.RawMessage, w Watch) (Outcome, error)

	box      *Box         // nil: only the schema checks the arguments
	in       reflect.Type // type that arguments are decoded into
	compiled func() (*jsonschema.Schema, error)
}

// Tools returns the tools of the workspace, including unlisted ones.
func (b *Box) Tools() *Registry { return b.tools }

func (b *Box) registry() (*Registry, error) {
	var tools []Tool
	for _, row := range Table() {
		input, output, err := row.Schemas()
		if err != nil {
			return nil, err
		}
		tool := Tool{Spec: row.Spec, Schema: input, Output: output, box: b, in: row.In}
		tool.compiled = sync.OnceValues(func() (*jsonschema.Schema, error) { return compile(input) })
		tool.Run = func(ctx context.Context, args json.RawMessage, w Watch) (Outcome, error) {
			return b.outcome(ctx, row, args, w)
		}
		tools = append(tools, tool)
	}
	all, err := (&Registry{}).With(tools...)
	if err == nil {
		all.others = b.options.Others
	}
	return all, err
}

// decode reads arguments as a call over MCP does.
func decode(args []byte, into any) error {
	err := strict.Decode(args, into, nil)
	if bad, ok := errors.AsType[*strict.Error](err); ok {
		return bad.Refusal()
	}
	return err
}

// Foreign marks t as another server's tool. Its schema is compiled once, on first use.
func Foreign(t Tool) Tool {
	t.Foreign = true
	t.compiled = sync.OnceValues(func() (*jsonschema.Schema, error) { return compile(t.Schema) })
	return t
}

// Usable returns an error if the tool's schemas cannot be used. They may refer only to themselves.
func (t Tool) Usable() error {
	if _, err := t.compiled(); err != nil {
		return fmt.Errorf("its input schema cannot be used: %w", err)
	}
	if t.Output == nil {
		return nil
	}
	if _, err := compile(t.Output); err != nil {
		return fmt.Errorf("its output schema cannot be used: %w", err)
	}
	return nil
}

// IsRepeatable reports whether any call of the tool is safe to repeat.
func (t Tool) IsRepeatable() bool { return t.ReadOnly || t.Idempotent }

// Definition is a digest of everything that a person sees when approving a call of another server's tool: its name,
// description, input and output. It changes if any of these does. It is "" for planloop's own tools.
func (t Tool) Definition() string {
	if !t.Foreign {
		return ""
	}
	sum := sha256.New()
	_ = json.NewEncoder(sum).Encode([]any{t.Name, t.Title, t.Description, string(t.Schema), string(t.Output), t.Given,
		t.ReadOnly, t.Destructive, t.Idempotent, t.OpenWorld}) // texts and booleans can always be encoded
	return hex.EncodeToString(sum.Sum(nil))
}

// RemoteTool is a tool of another MCP server, for steps of a plan and for clients over MCP. Its descriptions are untrusted text:
// their length and characters are safe to show, but they are not to be trusted further.
type RemoteTool struct {
	Tool               // its name is server__tool; its hints count as far as the server is trusted
	Server, Own string // the server's name in the configuration, and the tool's name there

	ReadOnlyPhase bool // the tool may be called in a read-only phase

	// Invoke makes a call for a client, with its unchanged arguments. The result and the error are safe to show. A refusal by
	// the server is a result with IsError.
	Invoke func(ctx context.Context, arguments json.RawMessage, client RemoteClient) (RemoteResult, error)
}

// RemoteClient lets another server reach the client during its call. Each function may be nil.
type RemoteClient struct {
	Progress func(done, total float64, message string)

	// Elicit shows the user a form: the server's message and a schema of the answer. The action is accept, decline or cancel.
	Elicit func(ctx context.Context, message string, schema json.RawMessage) (action string, content json.RawMessage, err error)
}

// RemoteResult is another server's answer.
type RemoteResult struct {
	Content    []json.RawMessage // as received: text, image, audio, resource, resource_link, or other types
	Structured json.RawMessage   // nil: none
	IsError    bool
}

// Text joins the parts of the result that are text.
func (r RemoteResult) Text() string {
	var texts []string
	for _, raw := range r.Content {
		var part struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if strictjson.Unmarshal(raw, &part) == nil && part.Type == "text" {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}

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
