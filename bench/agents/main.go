// Command agents compares an agent's work with and without planloop on published tasks:
//
//	ANTHROPIC_API_KEY=… go -C bench run ./agents [-rounds 3] [-model NAME] [-compact-at 40000]
//
// Each run gives Claude Code, which must be on the PATH, several exercises of Exercism's Go track as one task. The conversation is compacted
// on the way, so that the agent has to remember which exercises are left. The exercises come from GitHub and are not part of planloop.
//
// The agent's shell and its solutions run with your rights: use a container. Each run costs at most -dollars.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Exercises of the difficulties 5 to 10, in the state of one commit. They are under the MIT License.
const (
	published = "https://github.com/exercism/go"
	commit    = "ae1477abfeeb9fbeaf971caee220e91f9e4df790"
	chosen    = "alphametics,book-store,bowling,connect,dominoes,forth,grep,poker,pov,react,sgf-parsing,two-bucket,wordy,zebra-puzzle,zipper"
)

// Kinds of runs.
const with, without = "with planloop", "without"

// comparison has the values of the flags and the folders in use.
type comparison struct {
	source, commit, claude, model string
	exercises                     []string
	rounds, compactAt             int
	dollars                       float64
	limit                         time.Duration
	dir, tasks, planloop          string // for all that the runs write; the published exercises; the program
}

// outcome is the result of a run, or the sum of several.
type outcome struct {
	solved, untouched, turns, compactions, calls, stopped int
	input, cached, output                                 int // tokens
	dollars                                               float64
}

func main() {
	var c comparison
	flag.StringVar(&c.source, "source", published, "the repository with the exercises, or a clone of it")
	flag.StringVar(&c.commit, "commit", commit, "the commit of the exercises")
	flag.StringVar(&c.claude, "claude", "claude", "Claude Code")
	flag.StringVar(&c.model, "model", "", "the model; Claude Code's default if empty")
	exercises := flag.String("exercises", chosen, "the exercises of the task")
	flag.IntVar(&c.rounds, "rounds", 3, "runs of each kind")
	flag.IntVar(&c.compactAt, "compact-at", 40_000, "tokens of a conversation that is compacted")
	flag.Float64Var(&c.dollars, "dollars", 10, "the most that a run may cost")
	flag.DurationVar(&c.limit, "limit", 2*time.Hour, "the longest time of a run")
	keep := flag.String("keep", "", "keep the runs in this folder, which must be new")
	flag.Parse()
	c.exercises = strings.Split(*exercises, ",")
	if err := c.compare(context.Background(), *keep); err != nil {
		fmt.Fprintln(os.Stderr, "agents:", err)
		os.Exit(1)
	}
}

func (c *comparison) compare(ctx context.Context, keep string) (err error) {
	if keep != "" {
		err = os.Mkdir(keep, 0o755)
		c.dir, _ = filepath.Abs(keep)
	} else if c.dir, err = os.MkdirTemp("", "planloop-agents-"); err == nil {
		defer os.RemoveAll(c.dir)
	}
	if err == nil {
		err = c.prepare(ctx)
	}
	if err != nil {
		return err
	}
	fmt.Printf("%d exercises of %s at %.8s, compacted at %d tokens\n\n", len(c.exercises), c.source, c.commit, c.compactAt)
	fmt.Println("| run | solved | not begun | turns | compactions | calls of planloop | tokens: new | cached | written | dollars | stopped |")
	fmt.Println("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	sums := map[string]*outcome{without: {}, with: {}}
	for round := range c.rounds {
		for i := range 2 {
			kind := [...]string{without, with}[(i+round)%2] // each goes first in turn
			o, err := c.run(ctx, kind, round)
			if err != nil {
				return err
			}
			o.print(fmt.Sprintf("%s, %d", kind, round+1), len(c.exercises))
			sums[kind].add(o)
		}
	}
	sums[without].print("all "+without, len(c.exercises)*c.rounds)
	sums[with].print("all "+with, len(c.exercises)*c.rounds)
	return nil
}

// prepare gets the exercises and builds planloop.
func (c *comparison) prepare(ctx context.Context) (err error) {
	if c.claude, err = exec.LookPath(c.claude); err != nil {
		return fmt.Errorf("%w; install Claude Code: npm install -g @anthropic-ai/claude-code", err)
	}
	if os.Getenv("ANTHROPIC_API_KEY") == "" {
		return errors.New("ANTHROPIC_API_KEY is not set; the agent needs a key")
	}
	c.tasks, c.planloop = filepath.Join(c.dir, "tasks"), filepath.Join(c.dir, "planloop")
	for _, command := range [][]string{
		{"git", "init", "--quiet", c.tasks},
		{"git", "-C", c.tasks, "fetch", "--quiet", "--depth=1", c.source, c.commit},
		{"git", "-C", c.tasks, "checkout", "--quiet", "FETCH_HEAD"},
		{"go", "-C", "../cmd/planloop", "build", "-trimpath", "-o", c.planloop, "."},
	} {
		if err := do(exec.CommandContext(ctx, command[0], command[1:]...)); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) published(exercise string) string {
	return filepath.Join(c.tasks, "exercises", "practice", exercise)
}

// run has the agent work in a new project, with a new home, and judges its work.
func (c *comparison) run(ctx context.Context, kind string, round int) (o outcome, err error) {
	place := filepath.Join(c.dir, fmt.Sprintf("%s-%d", strings.Fields(kind)[0], round+1))
	project, home := filepath.Join(place, "project"), filepath.Join(place, "home")
	for _, exercise := range c.exercises {
		err = errors.Join(err, os.CopyFS(filepath.Join(project, exercise), os.DirFS(c.published(exercise))),
			os.RemoveAll(filepath.Join(project, exercise, ".meta"))) // it has the solution
	}
	if err = errors.Join(err, os.MkdirAll(filepath.Join(home, ".claude"), 0o755)); err != nil {
		return o, err
	}
	env := c.environment(home)
	setUp := [][]string{{"git", "init", "--quiet"}, {"git", "add", "."},
		{"git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "--message=Begin"}}
	if kind == with {
		setUp = append(setUp, []string{c.planloop, "init", "claude", "--yes"})
	}
	for _, command := range setUp {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Dir, cmd.Env = project, env
		if err := do(cmd); err != nil {
			return o, err
		}
	}
	limited, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	cmd := exec.CommandContext(limited, c.claude, "-p", c.prompt(kind), "--output-format=stream-json", "--verbose",
		"--allowedTools=Bash,Edit,Write,Read,Glob,Grep,Agent,TodoWrite,TaskCreate,TaskUpdate,TaskList,mcp__planloop",
		fmt.Sprintf("--max-budget-usd=%g", c.dollars))
	if c.model != "" {
		cmd.Args = append(cmd.Args, "--model="+c.model)
	}
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.WaitDelay = project, env, os.Stderr, time.Minute
	said, failure := cmd.Output()
	o.read(said)
	if err := os.WriteFile(filepath.Join(place, "stream.jsonl"), said, 0o644); err != nil {
		return o, err
	}
	if o.turns == 0 && limited.Err() == nil {
		return o, fmt.Errorf("claude: %w\n%s", cmp.Or(failure, errors.New("no result")), said[max(0, len(said)-2000):])
	}
	for _, exercise := range c.exercises {
		solved, begun, err := c.judge(ctx, filepath.Join(project, exercise), exercise, env)
		if err != nil {
			return o, err
		}
		if solved {
			o.solved++
		} else if !begun {
			o.untouched++
		}
	}
	return o, nil
}

func (c *comparison) prompt(kind string) string {
	list := "Keep a list of this work with your own tools, one entry for each exercise."
	if kind == with {
		list = "Keep a plan of this work with planloop, one step for each exercise. It needs no approval."
	}
	return "Solve the exercises in the folders of this project, one after another: " + strings.Join(c.exercises, ", ") +
		". For each, read .docs in its folder, write the solution into its Go file, and run `go test` there until it passes. " +
		"Do not change the tests. " + list + " Solve all of them before you end your turn. Ask nothing."
}

// environment returns what both kinds of runs get: no settings of the caller, and an early compaction. Claude Code takes a window of at
// least 100,000 tokens, and a percentage of it.
func (c *comparison) environment(home string) []string {
	window := max(c.compactAt, 100_000)
	env := []string{"HOME=" + home, "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		fmt.Sprint("CLAUDE_CODE_AUTO_COMPACT_WINDOW=", window), fmt.Sprint("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=", 100*c.compactAt/window)}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "ANTHROPIC_") || strings.HasSuffix(strings.ToLower(name), "_proxy") ||
			slices.Contains([]string{"PATH", "LANG", "LC_ALL", "TMPDIR", "NODE_EXTRA_CA_CERTS"}, name) {
			env = append(env, variable)
		}
	}
	if cache, err := os.UserCacheDir(); err == nil { // the tests need no module, but the compiled standard library
		env = append(env, "GOCACHE="+cmp.Or(os.Getenv("GOCACHE"), filepath.Join(cache, "go-build")))
	}
	return env
}

// judge runs the published tests of an exercise on the agent's solution.
func (c *comparison) judge(ctx context.Context, folder, exercise string, env []string) (solved, begun bool, err error) {
	var config struct {
		Files struct{ Solution, Test []string }
	}
	text, err := os.ReadFile(filepath.Join(c.published(exercise), ".meta", "config.json"))
	if err = errors.Join(err, json.Unmarshal(text, &config)); err != nil {
		return false, false, err
	}
	for _, name := range config.Files.Solution {
		before, err := os.ReadFile(filepath.Join(c.published(exercise), name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // some exercises begin without a file
			return false, false, err
		}
		after, _ := os.ReadFile(filepath.Join(folder, name))
		begun = begun || !bytes.Equal(before, after)
	}
	for _, name := range append(config.Files.Test, "go.mod") {
		test, err := os.ReadFile(filepath.Join(c.published(exercise), name))
		if err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), test, 0o644)); err != nil {
			return false, begun, err
		}
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-timeout=2m", ".")
	cmd.Dir, cmd.Env = folder, env
	return cmd.Run() == nil, begun, nil
}

// read counts what Claude Code's stream of JSON lines reports.
func (o *outcome) read(stream []byte) {
	hasEnded := false
	for line := range bytes.Lines(stream) {
		var event struct {
			Type, Subtype string
			Message       struct {
				Content []struct{ Type, Name string }
			}
			Turns      int                                                                                                `json:"num_turns"`
			Dollars    float64                                                                                            `json:"total_cost_usd"`
			ModelUsage map[string]struct{ InputTokens, OutputTokens, CacheReadInputTokens, CacheCreationInputTokens int } `json:"modelUsage"`
		}
		_ = json.Unmarshal(line, &event) // lines of other forms count nothing
		if event.Subtype == "compact_boundary" {
			o.compactions++
		}
		for _, block := range event.Message.Content {
			if block.Type == "tool_use" && strings.HasPrefix(block.Name, "mcp__planloop__") {
				o.calls++
			}
		}
		if event.Type == "result" {
			hasEnded = event.Subtype == "success"
			o.turns, o.dollars, o.input, o.cached, o.output = event.Turns, event.Dollars, 0, 0, 0
			for _, u := range event.ModelUsage {
				o.input += u.InputTokens + u.CacheCreationInputTokens
				o.cached += u.CacheReadInputTokens
				o.output += u.OutputTokens
			}
		}
	}
	if !hasEnded {
		o.stopped = 1
	}
}

func (o *outcome) add(p outcome) {
	o.solved, o.untouched, o.turns = o.solved+p.solved, o.untouched+p.untouched, o.turns+p.turns
	o.compactions, o.calls, o.stopped = o.compactions+p.compactions, o.calls+p.calls, o.stopped+p.stopped
	o.input, o.cached, o.output, o.dollars = o.input+p.input, o.cached+p.cached, o.output+p.output, o.dollars+p.dollars
}

func (o *outcome) print(name string, exercises int) {
	fmt.Printf("| %s | %d of %d | %d | %d | %d | %d | %d | %d | %d | %.2f | %d |\n", name, o.solved, exercises, o.untouched, o.turns, o.compactions,
		o.calls, o.input, o.cached, o.output, o.dollars, o.stopped)
}

func do(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}
