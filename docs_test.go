package planloop_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/transport"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

var update = flag.Bool("update", false, "rewrite the tool reference and the tables of limits")

// TestToolReference proves that the marked parts of docs/reference/tools.md match a server's offer: its tools with their schemas and
// annotations, its resources and its prompts.
func TestToolReference(t *testing.T) {
	client := everything(t)
	for part, want := range map[string]string{"tools": toolReference(t, client), "resources": resourceReference(t, client),
		"prompts": promptReference(t, client)} {
		const file = "docs/reference/tools.md"
		begin, end := "<!-- "+part+":begin -->\n", "<!-- "+part+":end -->"
		before, rest, ok := strings.Cut(readDoc(t, file), begin)
		got, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has lost its markers %q and %q", file, begin, end)
		}
		if *update {
			if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if got != want {
			t.Errorf("%s is stale, run go test . -run TestToolReference -update\n got %s\nwant %s", file, got, want)
		}
	}
}

// everything returns a client of a server with all toolsets.
func everything(t *testing.T) *mcp.ClientSession {
	t.Helper()
	log := session.New(store.NewMemory(), session.Options{})
	service := verbs.New(log, verbs.Options{})
	server, err := mcpserver.New(mcpserver.Options{Version: "test", Strategy: prompts.React, Toolsets: []string{verbs.Planning, verbs.Loop,
		verbs.Mode, verbs.Execution, "workspace"}, Yield: transport.Yield,
		Box:     func(context.Context) (*toolbox.Box, error) { return nil, errors.New("nothing is run here") },
		Service: func(context.Context, mcpserver.Roots, string) (*verbs.Service, error) { return service, nil },
		Actor:   func(client, _ string) plan.Actor { return plan.Actor{Kind: plan.Agent, Name: client} }})
	if err != nil {
		t.Fatal(err)
	}
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- transport.ServeStdio(t.Context(), server.MCP, serverIn, serverOut, transport.StdioOptions{})
	}()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "docs", Version: "1"}, nil).Connect(t.Context(),
		&mcp.IOTransport{Reader: clientIn, Writer: clientOut}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		clientOut.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		serverOut.Close()
		server.Close()
		log.Close()
	})
	return client
}

func toolReference(t *testing.T, client *mcp.ClientSession) string {
	t.Helper()
	listed, err := client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tools := tableOrder()
	if len(listed.Tools) != len(tools) {
		t.Fatalf("%d tools are listed, the tables have %d", len(listed.Tools), len(tools))
	}
	position := func(tool *mcp.Tool) int {
		return slices.IndexFunc(tools, func(d documented) bool { return d.name == tool.Name })
	}
	slices.SortFunc(listed.Tools, func(a, b *mcp.Tool) int { return position(a) - position(b) })
	var b strings.Builder
	for i, tool := range listed.Tools {
		toolset, example := tools[i].toolset, tools[i].example
		fmt.Fprintf(&b, "\n### `%s`\n\n%s\n\nAnnotated: %s. Toolset `%s`.\n", tool.Name, tool.Description,
			hints(tool.Annotations, toolset), toolset)
		for _, p := range parameters(t, tools[i].schemas+"/"+tool.Name+".input.json") {
			b.WriteString(p)
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, []byte(example), "", "  "); err != nil {
			t.Fatalf("example of %s: %v", tool.Name, err)
		}
		fmt.Fprintf(&b, "\n```json\n%s\n```\n", indented.String())
	}
	return b.String() + "\n"
}

// documented holds the facts about a tool that a server's lists omit.
type documented struct{ name, toolset, example, schemas string }

// tableOrder lists the tools in the order of the documentation.
func tableOrder() []documented {
	var all []documented
	for _, row := range verbs.Table() {
		all = append(all, documented{row.Name, row.Toolset, row.Example, "mcpserver/schemas"})
	}
	for _, row := range toolbox.Table() {
		if !row.PlanOnly {
			all = append(all, documented{row.Name, "workspace", row.Example, "internal/toolbox/schemas"})
		}
	}
	return all
}

// hints returns a tool's annotations in words.
func hints(a *mcp.ToolAnnotations, toolset string) string {
	words := []string{"changes the plan"}
	if toolset == "workspace" {
		words = []string{"writes"}
	}
	if a.ReadOnlyHint {
		words = []string{"only reads"}
	}
	for word, is := range map[string]bool{"destructive": a.DestructiveHint != nil && *a.DestructiveHint, "idempotent": a.IdempotentHint,
		"reaches beyond the workspace": a.OpenWorldHint == nil || *a.OpenWorldHint} {
		if is {
			words = append(words, word)
		}
	}
	slices.Sort(words[1:])
	return strings.Join(words, ", ")
}

func resourceReference(t *testing.T, client *mcp.ClientSession) string {
	t.Helper()
	fixed, err := client.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	templates, err := client.ListResourceTemplates(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	b := "\n| URI | type | content |\n| --- | --- | --- |\n"
	for _, r := range fixed.Resources {
		b += fmt.Sprintf("| `%s` | `%s` | %s |\n", r.URI, r.MIMEType, r.Description)
	}
	for _, r := range templates.ResourceTemplates {
		b += fmt.Sprintf("| `%s` | `%s` | %s |\n", r.URITemplate, r.MIMEType, r.Description)
	}
	return b + "\n"
}

func promptReference(t *testing.T, client *mcp.ClientSession) string {
	t.Helper()
	listed, err := client.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	b := "\n| prompt | arguments | what |\n| --- | --- | --- |\n"
	for _, p := range listed.Prompts {
		var arguments []string
		for _, a := range p.Arguments {
			arguments = append(arguments, "`"+a.Name+"`: "+strings.TrimSuffix(a.Description, "."))
		}
		b += fmt.Sprintf("| `%s` | %s | %s |\n", p.Name, strings.Join(arguments, "; "), p.Description)
	}
	return b + "\n"
}

// schema is the part of a JSON schema that the reference shows.
type schema struct {
	Type        string            `json:"type"`
	AnyOf       []schema          `json:"anyOf"`
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

// parameters returns a table of a tool's parameters, or a line if it has none.
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
	if s.Items != nil && s.Items.AnyOf != nil {
		return "list of " + s.Items.kind()
	}
	if s.Items != nil {
		return "list of " + s.Items.kind() + "s"
	}
	var kinds []string
	for _, one := range s.AnyOf {
		kinds = append(kinds, one.Type)
	}
	return cmp.Or(s.Type, strings.Join(kinds, " or "))
}

func (s schema) about() string {
	var parts []string
	if s.Description != "" {
		parts = append(parts, strings.ReplaceAll(s.Description, "*", `\*`))
	}
	if s.MaxLength > 0 {
		parts = append(parts, fmt.Sprintf("at most %d characters", s.MaxLength))
	}
	if len(s.Enum) > 0 {
		parts = append(parts, "`"+strings.Join(s.Enum, "`, `")+"`")
	}
	return strings.Join(parts, "; ")
}

// inDocs matches the commands in documents: planloop and one or two words, in code.
var inDocs = regexp.MustCompile("(?m)(?:`|^ *|\\$ |-- )planloop ([a-z]+)(?: ([a-z]+)\\b)?")

// TestDocumentedCommandsExist fails on an unknown command in a document.
func TestDocumentedCommandsExist(t *testing.T) {
	commands := commandNames(t)
	for _, file := range documents(t) {
		if file == filepath.Join("docs", "reference", "commands.md") {
			continue // generated from the commands
		}
		for _, found := range inDocs.FindAllStringSubmatch(code(readDoc(t, file)), -1) {
			if !commands[found[1]] || found[1] == "step" && !commands[found[2]] {
				t.Errorf("%s names the command %q, which does not exist", file, strings.TrimSpace("planloop "+found[1]+" "+found[2]))
			}
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

// commandNames returns the names of the commands, from the headings of their help texts, and of those that the library adds.
func commandNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{"help": true, "completion": true}
	for line := range strings.Lines(readDoc(t, "internal/cli/commands.txt")) {
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

// TestDocumentedKeysExist fails on an unknown configuration key in docs/reference/configuration.md.
func TestDocumentedKeysExist(t *testing.T) {
	_, section, ok := strings.Cut(readDoc(t, "docs/reference/configuration.md"), "## Keys\n")
	if !ok {
		t.Fatal("docs/reference/configuration.md has no section Keys")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	rows := regexp.MustCompile("(?m)^\\| `([a-z_]+)`").FindAllStringSubmatch(section, -1)
	if len(rows) == 0 {
		t.Fatal("docs/reference/configuration.md lists no configuration keys")
	}
	for _, row := range rows {
		if !slices.Contains(workspace.Keys(), row[1]) {
			t.Errorf("docs/reference/configuration.md lists the configuration key %s, which does not exist", row[1])
		}
	}
}

// TestLinksLeadSomewhere follows the links of every Markdown file, including packages', to other files and to headings.
func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)
	followed := 0
	for _, file := range append(documents(t), markdownBelow(t, "packaging", ".agents", ".claude-plugin", "cmd", "internal")...) {
		for _, found := range link.FindAllStringSubmatch(prose(readDoc(t, file)), -1) {
			to := file
			if strings.Contains(found[1], ":") {
				continue
			}
			if found[1] != "" {
				to = filepath.Join(filepath.Dir(file), filepath.FromSlash(found[1]))
			}
			followed++
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which is not there", file, found[1])
			} else if found[2] != "" && !slices.Contains(anchors(readDoc(t, to)), found[2]) {
				t.Errorf("%s links to %s%s: no heading there is called so", file, found[1], found[2])
			}
		}
	}
	if followed < 50 {
		t.Errorf("only %d links were found: the test reads nothing", followed)
	}
}

// TestPagesAreShort limits the pages in docs. The reference may be longer.
func TestPagesAreShort(t *testing.T) {
	const mostInPage, mostInAll = 12 << 10, 121 << 10
	all := 0
	for _, file := range markdownBelow(t, "docs") {
		size := len(readDoc(t, file))
		if strings.HasPrefix(filepath.ToSlash(file), "docs/reference/") {
			continue
		}
		if all += size; size > mostInPage {
			t.Errorf("%s has %d bytes, more than %d", file, size, mostInPage)
		}
	}
	if all > mostInAll {
		t.Errorf("the pages outside docs/reference have %d bytes, more than %d", all, mostInAll)
	}
}

// prose returns a Markdown text without its fenced blocks.
func prose(markdown string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(markdown) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		} else if !fenced {
			b.WriteString(line)
		}
	}
	return b.String()
}

// anchors returns the fragments of links to a Markdown text's headings, as GitHub forms them.
func anchors(markdown string) []string {
	var all []string
	for line := range strings.Lines(prose(markdown)) {
		hashes, heading, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || strings.Trim(hashes, "#") != "" || hashes == "" {
			continue
		}
		heading = regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(heading), "")
		anchor := "#" + strings.ReplaceAll(heading, " ", "-")
		for n, base := 1, anchor; slices.Contains(all, anchor); n++ {
			anchor = fmt.Sprintf("%s-%d", base, n)
		}
		all = append(all, anchor)
	}
	return all
}

// documents returns the Markdown files of the project, without those of tests.
func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, markdownBelow(t, "docs")...)
	if !slices.Contains(files, "README.md") {
		t.Fatal("README.md was not found")
	}
	return files
}

// markdownBelow returns the Markdown files in folders, without test data.
func markdownBelow(t *testing.T, folders ...string) (files []string) {
	t.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "node_modules") {
				return filepath.SkipDir
			}
			if filepath.Ext(path) == ".md" {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
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

// TestHowFarAgentsAreHeldIsSaidAlike: the page explains each word exactly as the word's document does, and both know every word.
func TestHowFarAgentsAreHeldIsSaidAlike(t *testing.T) {
	read := func(path string) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(data), "’", "'")
	}
	document, source := read("docs/guides/hooks.md"), read("internal/review/page/src/ui/agents.tsx")
	said := regexp.MustCompile(`(\w+): \{ word: '([^\n]*?)', means: '([^\n]*)' \}`).FindAllStringSubmatch(source, -1)
	var known []string
	for _, of := range said {
		known = append(known, of[1])
		if row := "| *" + of[2] + "* | " + of[3] + " |\n"; !strings.Contains(document, row) {
			t.Errorf("docs/guides/hooks.md lacks %s", row)
		}
	}
	if want := []string{string(verbs.Enforced), string(verbs.NotEnforced), string(verbs.NotResponding)}; !slices.Equal(known, want) {
		t.Errorf("the page knows %q, want %q", known, want)
	}
}
