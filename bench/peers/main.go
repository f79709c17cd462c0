// Command peers compares planloop with other programs that keep an agent's plan, todo list or
// memory over MCP, and prints the table of docs/comparison.md:
//
//	go -C bench run ./peers [-cache DIR] [-list]
//
// It installs them from npm into a cache. It is not a test, because the first run needs npm and a network.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tiktoken-go/tokenizer"
)

// call is a call of a tool. In its arguments, %s is the title of an item and %d the project's folder.
type call struct{ tool, arguments string }

// peer is a program with the calls that write an item and read all items. A program that stores nothing has no calls.
type peer struct {
	name, version string
	command       []string // below the cache
	env           []string
	prepare       []call
	write         call
	read          []call // one for each page
}

func peers() []peer {
	return []peer{
		{name: "planloop", command: []string{"planloop", "serve"},
			prepare: []call{{"planning_setup_plan", `{"objective":"Compare"}`}},
			write:   call{"planning_add_step", `{"steps":[{"title":"%s"}]}`},
			read:    []call{{"planning_read_plan", `{}`}, {"planning_read_plan", `{"from":"S021"}`}}},
		{name: "task-master-ai", version: "0.43.1", command: []string{"task-master-ai"}, env: []string{"TASK_MASTER_TOOLS=all"},
			prepare: []call{{"initialize_project", `{"projectRoot":"%d","skipInstall":true,"yes":true,"initGit":false}`}},
			write:   call{"add_task", `{"projectRoot":"%d","title":"%s","description":"An item"}`},
			read:    []call{{"get_tasks", `{"projectRoot":"%d"}`}}},
		{name: "backlog.md", version: "1.52.0", command: []string{"backlog", "mcp", "start"},
			write: call{"task_create", `{"title":"%s"}`}, read: []call{{"task_list", `{"limit":1000}`}}},
		{name: "mcp-shrimp-task-manager", version: "1.0.21", command: []string{"mcp-shrimp-task-manager"},
			env: []string{"DATA_DIR=%d/data"},
			write: call{"split_tasks", `{"updateMode":"append",` +
				`"tasksRaw":"[{\"name\":\"%s\",` +
				`\"description\":\"An item of a list, to be kept\",` +
				`\"implementationGuide\":\"None\",\"notes\":\"\",` +
				`\"dependencies\":[],\"relatedFiles\":[],\"verificationCriteria\":\"\"}]",` +
				`"globalAnalysisResult":""}`},
			read: []call{{"list_tasks", `{"status":"all"}`}}},
		{name: "@modelcontextprotocol/server-memory", version: "2026.8.31", command: []string{"mcp-server-memory"},
			env:   []string{"MEMORY_FILE_PATH=%d/memory.jsonl"},
			write: call{"create_entities", `{"entities":[{"name":"%s","entityType":"item","observations":[]}]}`},
			read:  []call{{"read_graph", `{}`}}},
		{name: "@modelcontextprotocol/server-sequential-thinking", version: "2026.8.31",
			command: []string{"mcp-server-sequential-thinking"}},
	}
}

func main() {
	home, _ := os.UserCacheDir()
	cache := flag.String("cache", filepath.Join(home, "planloop-peers"), "where the peers are installed")
	list := flag.Bool("list", false, "print the tools of each, too")
	only := flag.String("only", "", "this peer alone")
	flag.Parse()
	folder, err := filepath.Abs(*cache)
	if err == nil {
		err = compare(context.Background(), folder, *only, *list)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func compare(ctx context.Context, cache, only string, list bool) error {
	bin := filepath.Join(cache, "node_modules", ".bin")
	if err := install(ctx, cache, bin); err != nil {
		return err
	}
	fmt.Println("| program | tools | tokens of their definitions | until `tools/list` is answered " +
		"| kept after kill -9 | kept of two writers at once |")
	fmt.Println("| --- | ---: | ---: | ---: | --- | --- |")
	for _, p := range peers() {
		if only != "" && only != p.name {
			continue
		}
		row, err := p.measure(ctx, bin, list)
		if err != nil {
			row = fmt.Sprintf("could not be measured: %v |", err)
		}
		fmt.Printf("| %s | %s\n", strings.TrimSpace(p.name+" "+p.version), row)
	}
	return nil
}

// install installs the peers in their versions, and builds planloop in the same folder.
func install(ctx context.Context, cache, bin string) error {
	args := []string{"install", "--prefix", cache, "--no-audit", "--no-fund", "--ignore-scripts", "--include=optional"}
	missing := false
	for _, p := range peers()[1:] {
		data, err := os.ReadFile(filepath.Join(cache, "node_modules", p.name, "package.json"))
		missing = missing || err != nil || !bytes.Contains(data, []byte(`"version": "`+p.version+`"`))
		args = append(args, p.name+"@"+p.version)
	}
	if missing {
		if out, err := exec.CommandContext(ctx, "npm", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("npm install: %w\n%s", err, out)
		}
	}
	build := exec.CommandContext(ctx, "go", "-C", "../cmd/planloop", "build", "-trimpath", "-o", filepath.Join(bin, "planloop"), ".")
	out, err := build.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// running is a server and its client.
type running struct {
	*mcp.ClientSession
	cmd   *exec.Cmd
	tools []*mcp.Tool
	took  time.Duration
}

// start starts the server in a project and asks for its tools.
func (p peer) start(ctx context.Context, bin, dir string) (*running, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(bin, p.command[0]), p.command[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, ".state"), "HOME="+filepath.Join(dir, ".home"))
	for _, variable := range p.env {
		cmd.Env = append(cmd.Env, strings.ReplaceAll(variable, "%d", dir))
	}
	began := time.Now()
	client := mcp.NewClient(&mcp.Implementation{Name: "peers", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, err
	}
	listed, err := session.ListTools(ctx, nil)
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return &running{session, cmd, listed.Tools, time.Since(began)}, nil
}

func (r *running) do(ctx context.Context, c call, dir, title string) (string, error) {
	arguments := json.RawMessage(strings.NewReplacer("%d", dir, "%s", title).Replace(c.arguments))
	result, err := r.CallTool(ctx, &mcp.CallToolParams{Name: c.tool, Arguments: arguments})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	if result.IsError {
		return "", fmt.Errorf("%s: %.300s", c.tool, &b)
	}
	return b.String(), nil
}

const runs, rounds, items = 5, 3, 20 // starts, rounds with two writers, items of each writer

func (p peer) measure(ctx context.Context, bin string, list bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	var took []time.Duration
	var tools []*mcp.Tool
	for range runs {
		dir, err := project(ctx, bin, p)
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(dir)
		r, err := p.start(ctx, bin, dir)
		if err != nil {
			return "", err
		}
		took, tools = append(took, r.took), r.tools
		_ = r.Close() // some peers exit with another code than 0
	}
	slices.Sort(took)
	tokens, err := cost(tools, list)
	if err != nil {
		return "", err
	}
	row := fmt.Sprintf("%d | %d | %d ms | ", len(tools), tokens, took[runs/2].Milliseconds())
	if p.write.tool == "" {
		return row + "keeps nothing on disk | keeps nothing on disk |", nil
	}
	killed, err := p.killed(ctx, bin)
	if err != nil {
		return "", err
	}
	var kept []int
	refused := 0
	for range rounds {
		both, failed, err := p.together(ctx, bin)
		if err != nil {
			return "", err
		}
		kept, refused = append(kept, both), refused+failed
	}
	written := fmt.Sprint(slices.Min(kept))
	if slices.Max(kept) > slices.Min(kept) {
		written += fmt.Sprintf(" to %d", slices.Max(kept))
	}
	written += fmt.Sprintf(" of %d", 2*items)
	if refused > 0 {
		written += fmt.Sprintf(", %d calls failed", refused)
	}
	return row + fmt.Sprintf("%d of %d | %s |", killed, items, written), nil
}

// project makes an empty folder with a git repository, which some peers need.
func project(ctx context.Context, bin string, p peer) (string, error) {
	dir, err := os.MkdirTemp("", "peers-")
	if err != nil {
		return "", err
	}
	commands := [][]string{{"git", "init", "-q", "."}}
	if p.name == "backlog.md" {
		commands = append(commands, []string{filepath.Join(bin, "backlog"), "init", "compare", "--defaults"})
	}
	for _, command := range commands {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%v: %w\n%s", command, err, out)
		}
	}
	return dir, nil
}

func cost(tools []*mcp.Tool, list bool) (int, error) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		return 0, err
	}
	sum := 0
	for _, tool := range tools {
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil {
			return 0, err
		}
		for _, text := range []string{tool.Name, tool.Description, string(schema)} {
			n, err := codec.Count(text)
			if err != nil {
				return 0, err
			}
			sum += n
		}
		if list {
			fmt.Fprintf(os.Stderr, "%s %.1000s\n", tool.Name, schema)
		}
	}
	return sum, nil
}

// killed writes items, kills the server right after the last answer, and counts the items that a new server reads.
func (p peer) killed(ctx context.Context, bin string) (int, error) {
	dir, err := project(ctx, bin, p)
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	r, err := p.start(ctx, bin, dir)
	if err != nil {
		return 0, err
	}
	for _, c := range p.prepare {
		if _, err := r.do(ctx, c, dir, ""); err != nil {
			return 0, err
		}
	}
	for i := range items {
		if _, err := r.do(ctx, p.write, dir, title("A", i)); err != nil {
			return 0, err
		}
	}
	_ = r.cmd.Process.Kill()
	_ = r.Close()
	return p.count(ctx, bin, dir)
}

// together lets two servers write at once.
func (p peer) together(ctx context.Context, bin string) (kept, refused int, err error) {
	dir, err := project(ctx, bin, p)
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	var servers []*running
	for range 2 {
		r, err := p.start(ctx, bin, dir)
		if err != nil {
			return 0, 0, err
		}
		servers = append(servers, r)
	}
	for _, c := range p.prepare {
		if _, err := servers[0].do(ctx, c, dir, ""); err != nil {
			return 0, 0, err
		}
	}
	var writing sync.WaitGroup
	failed := make([]int, 2)
	for i, r := range servers {
		writing.Go(func() {
			for n := range items {
				if _, err := r.do(ctx, p.write, dir, title(string("AB"[i]), n)); err != nil {
					failed[i]++
				}
			}
		})
	}
	writing.Wait()
	for _, r := range servers {
		_ = r.Close()
	}
	kept, err = p.count(ctx, bin, dir)
	return kept, failed[0] + failed[1], err
}

func title(writer string, n int) string { return fmt.Sprintf("Item %s%02d", writer, n) }

var anItem = regexp.MustCompile(`Item [AB]\d\d`)

// count returns the number of items that another server reads.
func (p peer) count(ctx context.Context, bin, dir string) (int, error) {
	r, err := p.start(ctx, bin, dir)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	var found []string
	for _, page := range p.read {
		text, err := r.do(ctx, page, dir, "")
		if err != nil && len(found) == 0 {
			return 0, err
		}
		found = append(found, anItem.FindAllString(text, -1)...)
	}
	slices.Sort(found)
	return len(slices.Compact(found)), nil
}
