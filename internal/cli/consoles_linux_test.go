package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/planloop/planloop/internal/testenv"
)

// TestConsoles runs the console blocks of README.md and the pages in docs, in order, each page in a workspace of its own, and compares the
// output. A line that begins with "$ " is a command, and continues below while a quote is open or it ends with a backslash. It runs at a
// terminal, and in a pipe if an agent runs it: PLANLOOP_AGENT=NAME planloop ... The lines below it are its output. In these, … is any text,
// and a line with … alone any lines. "> TEXT" is a line that the person types, as the answer after "[y/N] ". A comment "# exit N" names the
// exit code. A block of any language that begins with "# FILE" is written to that file. A comment in the page that begins with
// "<!-- setup" is a part of a script, with files; in it, agent TOOL JSON|FILE makes Claude Code use a tool, as its hooks allow.
func TestConsoles(t *testing.T) {
	pages, dir := map[string]*consolePage{}, t.TempDir()
	for _, path := range pagesOfDocs(t) {
		name := strings.TrimSuffix(strings.ReplaceAll(path, "/", "."), ".md")
		if page := readConsoles(t, name, filepath.Join("../..", path)); page.commands() > 0 {
			pages[name] = page
			testenv.Check(t, os.WriteFile(filepath.Join(dir, name+".txtar"), txtar.Format(&page.script), 0o600))
		}
	}
	if pages["docs.start"] == nil {
		t.Fatal("no console block was found in docs/start.md: the test reads nothing")
	}
	params := scripts(t, dir)
	params.UpdateScripts, params.ContinueOnError = false, true
	setup := params.Setup
	params.Setup = func(env *testscript.Env) error {
		env.Values["agent"] = &agent{}
		return setup(env)
	}
	params.Cmds["agent"] = agentActs
	params.Cmds["block"] = func(ts *testscript.TestScript, _ bool, args []string) {
		for _, b := range pages[args[0]].blocks {
			if fmt.Sprint(b.line) == args[1] {
				b.run(ts)
			}
		}
	}
	testscript.Run(t, params)
}

// agentActs makes an agent use a tool: agent TOOL JSON|FILE. The host's hook sees it first. Only planloop's own tools then do something.
func agentActs(ts *testscript.TestScript, _ bool, args []string) {
	tool, input := args[0], args[1]
	if !strings.HasPrefix(input, "{") {
		input = ts.ReadFile(input)
	}
	var arguments bytes.Buffer
	ts.Check(json.Compact(&arguments, []byte(input)))
	isOurs, named := strings.HasPrefix(tool, "plan"), tool
	if isOurs {
		named = "mcp__planloop__" + tool
	}
	hook := exec.Command("sh", "-c", "exec planloop hook claude pre-tool-use")
	hook.Dir, hook.Env = ts.MkAbs("."), scriptEnvironment(ts)
	hook.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"s1","hook_event_name":"PreToolUse","tool_name":%q,"tool_input":%s}`, named,
		arguments.String()))
	answer, err := hook.CombinedOutput()
	ts.Logf("%s", answer)
	ts.Check(err)
	if !isOurs {
		return
	}
	calls := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments.String())
	if ts.Value("agent").(*agent).in == nil {
		calls = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
			`"clientInfo":{"name":"claude-code","version":"2.1.330"}}}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + calls
	}
	ts.Check(os.WriteFile(ts.MkAbs("../calls.jsonl"), []byte(calls+"\n"), 0o600))
	agentCalls(ts, false, []string{"../calls.jsonl"})
}

// pagesOfDocs returns the pages whose blocks are run.
func pagesOfDocs(t *testing.T) []string {
	t.Helper()
	pages := []string{"README.md"}
	err := fs.WalkDir(os.DirFS("../.."), "docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	})
	testenv.Check(t, err)
	return pages
}

// consolePage is a page whose blocks are run.
type consolePage struct {
	script txtar.Archive // runs the blocks between the setups
	blocks []docBlock
}

// docBlock is a file to write, or commands with their output.
type docBlock struct {
	page     string
	line     int // in the page
	file     string
	text     string
	commands []typedCommand
}

// typedCommand is a command of a console block.
type typedCommand struct {
	typed  []string // its lines, as they are in the page
	output []string
}

func (p *consolePage) commands() (n int) {
	for _, b := range p.blocks {
		n += len(b.commands)
	}
	return n
}

var namesFile = regexp.MustCompile(`^# ([~\w./-]+\.\w+)$`)

// readConsoles reads the blocks of a page. The script calls the page by its name.
func readConsoles(t *testing.T, name, path string) *consolePage {
	t.Helper()
	page, script := &consolePage{}, strings.Builder{}
	text, err := os.ReadFile(path)
	testenv.Check(t, err)
	lines := strings.Split(string(text), "\n")
	until := func(i int, end string) int {
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != end; i++ {
			continue
		}
		return i
	}
	for i := 0; i < len(lines); i++ {
		begin, line := i, strings.TrimSpace(lines[i])
		fence := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case line == "<!-- setup":
			i = until(i, "-->")
			setup := txtar.Parse([]byte(strings.Join(lines[begin+1:i], "\n") + "\n"))
			script.Write(setup.Comment)
			page.script.Files = append(page.script.Files, setup.Files...)
		case len(fence) >= 3:
			i = until(i, fence)
			b := docBlock{page: path, line: begin + 1}
			body := lines[min(begin+1, i):min(i, len(lines))]
			if line[len(fence):] == "console" {
				b.commands = readCommands(body)
			} else if len(body) > 0 && namesFile.MatchString(body[0]) {
				b.file, b.text = namesFile.FindStringSubmatch(body[0])[1], strings.Join(body, "\n")+"\n"
			} else {
				continue
			}
			page.blocks = append(page.blocks, b)
			fmt.Fprintf(&script, "block %s %d\n", name, b.line)
		}
	}
	page.script.Comment = []byte(script.String())
	return page
}

// readCommands reads the commands of a console block and their output.
func readCommands(lines []string) (all []typedCommand) {
	open := false
	for _, line := range lines {
		command, begins := strings.CutPrefix(line, "$ ")
		last := len(all) - 1
		switch {
		case open:
			all[last].typed = append(all[last].typed, line)
		case begins:
			all = append(all, typedCommand{typed: []string{command}})
		case last >= 0:
			all[last].output = append(all[last].output, line)
			continue
		}
		if last = len(all) - 1; last >= 0 {
			typed := strings.Join(all[last].typed, "\n")
			open = strings.Count(typed, "'")%2 == 1 || strings.HasSuffix(typed, `\`)
		}
	}
	return all
}

// run writes the block's file, or runs its commands and compares their output with the page's.
func (b docBlock) run(ts *testscript.TestScript) {
	if b.file != "" {
		file := ts.MkAbs(strings.Replace(b.file, "~/.config", ts.Getenv("XDG_CONFIG_HOME"), 1))
		ts.Check(os.MkdirAll(filepath.Dir(file), 0o700))
		ts.Check(os.WriteFile(file, []byte(b.text), 0o600))
		return
	}
	var old, now, wrong strings.Builder
	for _, c := range b.commands {
		shown, code, err := c.run(ts)
		if err != nil {
			ts.Fatalf("line %d: %s: %v\n%s", b.line, c.typed[0], err, shown)
		}
		if want := c.exit(); code != want {
			fmt.Fprintf(&wrong, "%s: exit code %d, want %d\n", c.typed[0], code, want)
		}
		got, want := asInDocs(ts, shown), asInDocs(ts, strings.Join(c.output, "\n"))
		printed := c.output
		if lines := strings.Split(got, "\n"); !sameLines(strings.Split(want, "\n"), lines) {
			fmt.Fprintf(&wrong, "%s: prints other lines than\n%s\n", c.typed[0], want)
			printed = lines
		}
		fmt.Fprintf(&old, "$ %s\n", strings.Join(append(c.typed, c.output...), "\n"))
		fmt.Fprintf(&now, "$ %s\n", strings.Join(append(c.typed, printed...), "\n"))
	}
	if wrong.Len() == 0 {
		return
	}
	if update && old.String() != now.String() {
		page, err := os.ReadFile(b.page)
		ts.Check(err)
		ts.Check(os.WriteFile(b.page, []byte(strings.Replace(string(page), old.String(), now.String(), 1)), 0o644))
	}
	ts.Fatalf("%s:%d: %s\nThe block as it is now (to write it: UPDATE_SCRIPTS=1 go test ./internal/cli -run TestConsoles):\n%s", b.page,
		b.line, &wrong, &now)
}

var namesExit = regexp.MustCompile(`\s+# exit (\d+)$`)

// exit returns the exit code that the page expects.
func (c typedCommand) exit() (code int) {
	if found := namesExit.FindStringSubmatch(strings.Join(c.typed, "\n")); found != nil {
		_, _ = fmt.Sscan(found[1], &code)
	}
	return code
}

// run runs the command and returns its output.
func (c typedCommand) run(ts *testscript.TestScript) (shown string, code int, err error) {
	env := append(scriptEnvironment(ts), "TERM=dumb") // neither colours nor a line that changes
	line := strings.Join(c.typed, "\n")
	if !strings.HasPrefix(line, "PLANLOOP_AGENT=") {
		shown, code, err = onScreen(pictureColumns, c.keys(), []string{"sh", "-c", line}, env, ts.MkAbs("."), func(string) {})
		return plainScreen(shown), code, err
	}
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env, cmd.WaitDelay = ts.MkAbs("."), env, time.Second
	printed, err := cmd.CombinedOutput()
	if cmd.ProcessState != nil {
		return string(printed), cmd.ProcessState.ExitCode(), nil
	}
	return string(printed), 0, err
}

// keys returns the lines that the person types, for onScreen.
func (c typedCommand) keys() string {
	var keys []string
	for _, line := range c.output {
		text, isTyped := strings.CutPrefix(line, "> ")
		if _, answer, ok := strings.Cut(line, "[y/N] "); ok {
			text, isTyped = answer, true
		}
		if isTyped && shownCode.MatchString(strings.Join(c.output, "\n")) && strings.Trim(text, "0123456789") == "" {
			keys = append(keys, "code")
		} else if isTyped {
			keys = append(keys, strings.NewReplacer(`\`, `\\`, ",", `\x2c`, `"`, `\"`).Replace(text)+`\n`)
		}
	}
	return strings.Join(append(keys, `\n`), ",") // Enter ends a question that the page does not show
}

// asInDocs replaces the parts of a text that differ from run to run.
func asInDocs(ts *testscript.TestScript, text string) string {
	for variable, place := range map[string]string{"XDG_STATE_HOME": "~/.local/state", "XDG_DATA_HOME": "~/.local/share",
		"XDG_CONFIG_HOME": "~/.config", "HOME": "~"} {
		text = strings.ReplaceAll(text, ts.Getenv(variable), place)
	}
	const date = "\x00" // as wide as another date, unlike in a picture
	text = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d`).ReplaceAllString(text, date)
	text = strings.ReplaceAll(sameEachTime(ts, text), date, "2026-11-21 12:22")
	text = regexp.MustCompile(`\b\d{6}\b`).ReplaceAllString(text, "471108")
	return strings.TrimRight(text, "\n")
}

// sameLines reports whether lines are as the page says: … is any text, and alone any lines.
func sameLines(want, got []string) bool {
	if len(want) == 0 || len(got) == 0 {
		return len(got) == 0 && strings.Trim(strings.Join(want, ""), "…") == ""
	}
	if want[0] == "…" {
		return sameLines(want[1:], got) || sameLines(want, got[1:])
	}
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(strings.TrimRight(want[0], " ")), "…", ".*") + "$"
	return regexp.MustCompile(pattern).MatchString(strings.TrimRight(got[0], " ")) && sameLines(want[1:], got[1:])
}
