package planloop_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
)

var update = flag.Bool("update", false, "rewrite the tool reference")

// TestToolReference proves that the part of docs/tools.md between its markers is
// what the table of verbs and the schemas say.
func TestToolReference(t *testing.T) {
	const file, begin, end = "docs/tools.md", "<!-- tools:begin -->\n", "<!-- tools:end -->"
	text := readDoc(t, file)
	before, rest, ok := strings.Cut(text, begin)
	got, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has lost its markers %q and %q", file, begin, end)
	}
	want := toolReference(t)
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("%s is stale, run go test . -run TestToolReference -update\n got %s\nwant %s", file, got, want)
	}
}

func toolReference(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, row := range verbs.Table() {
		fmt.Fprintf(&b, "\n### `%s`\n\n%s\n\n%s\n", row.Name, row.Description, hints(row.Spec))
		for _, p := range parameters(t, "mcpserver/schemas/"+row.Name+".input.json") {
			b.WriteString(p)
		}
		var example bytes.Buffer
		if err := json.Indent(&example, []byte(row.Example), "", "  "); err != nil {
			t.Fatalf("example of %s: %v", row.Name, err)
		}
		fmt.Fprintf(&b, "\n```json\n%s\n```\n", example.String())
	}
	return b.String() + "\n"
}

func hints(s verbs.Spec) string {
	words := []string{"changes the plan"}
	if s.ReadOnly {
		words = []string{"only reads"}
	}
	if s.Destructive {
		words = append(words, "destructive")
	}
	if s.Idempotent {
		words = append(words, "idempotent")
	}
	return "Annotated: " + strings.Join(words, ", ") + ". Toolset `" + s.Toolset + "`."
}

// schema is as much of a JSON schema as the reference shows.
type schema struct {
	Type        string            `json:"type"`
	Description string            `json:"description"`
	MaxLength   int               `json:"maxLength"`
	Enum        []string          `json:"enum"`
	Items       *schema           `json:"items"`
	Properties  orderedProperties `json:"properties"`
	Required    []string          `json:"required"`
}

// orderedProperties keeps the order in which a schema lists its properties.
type orderedProperties []property

type property struct {
	name string
	schema
}

func (o *orderedProperties) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		p := property{name: fmt.Sprint(name)}
		if err := decoder.Decode(&p.schema); err != nil {
			return err
		}
		*o = append(*o, p)
	}
	return nil
}

// parameters returns a table of the parameters a tool takes, and a line when it
// takes none.
func parameters(t *testing.T, file string) []string {
	t.Helper()
	var root schema
	if err := json.Unmarshal([]byte(readDoc(t, file)), &root); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	rows := root.rows("")
	if len(rows) == 0 {
		return []string{"\nIt takes no parameters.\n"}
	}
	return append([]string{"\n| parameter | type | required | |\n| --- | --- | --- | --- |\n"}, rows...)
}

func (s schema) rows(prefix string) []string {
	var rows []string
	for _, p := range s.Properties {
		required := ""
		if slices.Contains(s.Required, p.name) {
			required = "yes"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |\n", prefix+p.name, p.kind(), required, p.about()))
		if p.Items != nil {
			rows = append(rows, p.Items.rows(prefix+p.name+"[].")...)
		}
		rows = append(rows, p.rows(prefix+p.name+".")...)
	}
	return rows
}

func (s schema) kind() string {
	if s.Items != nil {
		return "list of " + s.Items.kind() + "s"
	}
	return s.Type
}

func (s schema) about() string {
	var parts []string
	if s.Description != "" {
		parts = append(parts, s.Description)
	}
	if s.MaxLength > 0 {
		parts = append(parts, fmt.Sprintf("at most %d characters", s.MaxLength))
	}
	if len(s.Enum) > 0 {
		parts = append(parts, "`"+strings.Join(s.Enum, "`, `")+"`")
	}
	return strings.Join(parts, "; ")
}

// inDocs are the commands that documents name: planloop and one or two words,
// in code.
var inDocs = regexp.MustCompile("(?m)(?:`|^ *|\\$ |-- )planloop ([a-z]+)(?: ([a-z]+)\\b)?")

// TestDocumentedCommandsExist fails on a document that names a command there is
// not, and on a command that the README does not name.
func TestDocumentedCommandsExist(t *testing.T) {
	commands := commandNames(t)
	named := map[string]bool{}
	for _, file := range documents(t) {
		for _, found := range inDocs.FindAllStringSubmatch(code(readDoc(t, file)), -1) {
			if file == "README.md" {
				named[found[1]], named[found[2]] = true, true
			}
			if !commands[found[1]] || found[1] == "step" && !commands[found[2]] {
				t.Errorf("%s names the command %q, which does not exist", file, strings.TrimSpace("planloop "+found[1]+" "+found[2]))
			}
		}
	}
	for command := range commands {
		if !named[command] && command != "help" && command != "planloop" {
			t.Errorf("README.md does not name the command %s", command)
		}
	}
}

// code returns the fenced blocks and the inline code of a Markdown text, a line each.
func code(markdown string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(markdown) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			b.WriteString(line)
			continue
		}
		for i, span := range strings.Split(line, "`") {
			if i%2 == 1 {
				b.WriteString(span + "\n")
			}
		}
	}
	return b.String()
}

// commandNames returns the names of the command line's commands, by the headings of
// their help texts, and those that the library adds.
func commandNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{"help": true, "completion": true}
	for line := range strings.Lines(readDoc(t, "cmd/planloop/commands.txt")) {
		if path, ok := strings.CutPrefix(line, "# "); ok {
			words := strings.Fields(path)
			names[words[len(words)-1]] = true
		}
	}
	if len(names) < 10 {
		t.Fatalf("only %d commands were found: the test reads nothing", len(names))
	}
	return names
}

// TestDocumentedKeysExist fails when README.md shows a configuration key that
// is none.
func TestDocumentedKeysExist(t *testing.T) {
	_, section, ok := strings.Cut(readDoc(t, "README.md"), "## Configuration\n")
	if !ok {
		t.Fatal("README.md has no section Configuration")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	rows := regexp.MustCompile("(?m)^\\| `([a-z_]+)`").FindAllStringSubmatch(section, -1)
	if len(rows) == 0 {
		t.Fatal("README.md lists no configuration keys")
	}
	for _, row := range rows {
		if !slices.Contains(workspace.Keys(), row[1]) {
			t.Errorf("README.md lists the configuration key %s, which does not exist", row[1])
		}
	}
}

// TestLinksLeadSomewhere follows the links of the documents to other files.
func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	for _, file := range documents(t) {
		for _, found := range link.FindAllStringSubmatch(readDoc(t, file), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), filepath.FromSlash(found[1]))); err != nil {
				t.Errorf("%s links to %s, which is not there", file, found[1])
			}
		}
	}
}

// documents returns the Markdown files of the project, those of tests left out.
func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir("docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(files, "README.md") {
		t.Fatal("README.md was not found")
	}
	return files
}

func readDoc(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
