package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/process/lineagetest"
	"github.com/planloop/planloop/internal/shell"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/workspace"
)

// TestMain makes the test binary act as planloop if it is started under that name: scripts and the tests of processes run the real command
// line.
func TestMain(m *testing.M) {
	process.Keep() // both return, unless this process was started to keep or confine a command
	shell.Confine()
	lineagetest.Relay()
	if len(os.Args) > 1 && strings.Contains(filepath.Base(os.Args[0]), ".test") && !strings.HasPrefix(os.Args[1], "-") {
		Main() // a test in this process runs a command that starts its own program, as doctor does
	}
	testscript.Main(lineagetest.Detached{Tests: testenv.Fixed{Tests: m}, Without: hostVariables()}, map[string]func(){
		"planloop": Main, "tiny-1": scriptedModel, "zoo": zoo, "askpage": askDirectly})
}

// update rewrites the goldens of the scripts with the actual output: UPDATE_SCRIPTS=1 go test ./internal/cli -run TestScripts.
var update = os.Getenv("UPDATE_SCRIPTS") != ""

// TestTheseStandApart: decisions in these tests count as a person's, even if an agent runs the tests.
func TestTheseStandApart(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system does not tell of the environments of processes")
	}
	const within = "PLANLOOP_TEST_WITHIN"
	if os.Getenv(within) != "" {
		own := process.Variables(strings.Join(os.Environ(), "\x00"))
		if variable, _ := inheritedVariable(append(process.VariablesOf(process.Ancestors()), own), hostVariables()...); variable != "" {
			t.Errorf("%s is set above", variable)
		}
		if os.Getenv(within) == "fails" {
			t.Fail()
		}
		return
	}
	for outcome, want := range map[string]int{"passes": 0, "fails": 1} {
		cmd := exec.Command("sh", "-c", `"$0" -test.run '^TestTheseStandApart$'; exit $?`, os.Args[0])
		cmd.Env = append(os.Environ(), "CLAUDECODE=1", workspace.EnvAgent+"=codex", within+"="+outcome)
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != want || strings.Contains(string(out), "is set above") {
			t.Errorf("%s: exit code %d\n%s", outcome, cmd.ProcessState.ExitCode(), out)
		}
	}
}

// TestScripts runs the stories in testdata/script, each in its own directory and state folder.
func TestScripts(t *testing.T) {
	testscript.Run(t, scripts(t, "../../testdata/script"))
}

// scripts returns the stories of a folder, an eighth of them with -short.
func scripts(t *testing.T, dir string) testscript.Params {
	t.Helper()
	examples, err := filepath.Abs("../../testdata/contract")
	testenv.Check(t, err)
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %s: %v", dir, err)
	}
	if testing.Short() {
		var some []string
		for chunk := range slices.Chunk(files, 8) {
			some = append(some, chunk[0])
		}
		files = some
	}
	return testscript.Params{
		Files:               files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       update,
		Condition:           func(name string) (bool, error) { return name == "root" && os.Geteuid() == 0, nil },
		Setup: func(env *testscript.Env) error {
			for _, dir := range []string{"home", "app"} {
				if err := os.MkdirAll(filepath.Join(env.WorkDir, dir), 0o755); err != nil {
					return err
				}
			}
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("XDG_DATA_HOME", filepath.Join(env.WorkDir, "data"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			env.Setenv("USER", "alice")
			env.Setenv("CONTRACT", examples)
			for name, text := range map[string]string{"ESC": "\x1b", "BEL": "\a", "RLO": "\u202e", "NL": "\n"} {
				env.Setenv(name, text)
			}
			env.Cd = filepath.Join(env.WorkDir, "app")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exit":      exits,
			"stable":    stable,
			"overwrite": overwrite,
			"escapes":   escapes,
			"contract":  contract,
			"model":     scriptModel,
			"expand":    expand,
			"until":     until,
			"bytes":     writeBytes,
			"nowhere":   nowhere,
			"field":     field,
			"terminal":  atTerminal,
		},
	}
}

// exits runs a command and checks its exit code: exit 2 planloop …
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE COMMAND...")
	}
	code := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}

// unstable lists the parts of outputs that differ from run to run.
var unstable = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d`), "YYYY-MM-DD HH:MM"},
	{regexp.MustCompile(`in \d+ ms`), "in N ms"},
	{regexp.MustCompile(`(?m)^planloop {7}.*$`), "planloop       VERSION"},
	{regexp.MustCompile(`since (YYYY-MM-DD HH:MM|\d\d:\d\d)`), "since HH:MM"},
	{regexp.MustCompile(`\b(until|at) \d\d:\d\d\b`), "$1 HH:MM"},
	{regexp.MustCompile(`-\d{10}\b`), "-SECONDS"},
	{regexp.MustCompile(`"planloop/review":\{.*?\}\},"content"`), `"planloop/review":VIEW},"content"`},
	{regexp.MustCompile(`app-[0-9a-f]{16}`), "app-HASH"},
	{regexp.MustCompile(`[^'" =]*/testscript-main[^/]*/bin/planloop`), "/path/to/planloop"},
	{regexp.MustCompile(`#[0-9a-f]{6}`), "#CONNECTION"},
	{regexp.MustCompile(`"version":"[^"]*"`), `"version":"VERSION"`},
	{regexp.MustCompile(`"icons":\[\{.*?\}\]`), `"icons":["ICON"]`},
	{regexp.MustCompile(`"instructions":"(?:[^"\\]|\\.)*"`), `"instructions":"TEXT"`},
}

// stable writes a file, or stdout or stderr, without the parts that differ from run to run: stable stdout got.txt.
func stable(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: stable FILE|stdout|stderr FILE")
	}
	text := strings.ReplaceAll(ts.ReadFile(args[0]), ts.Getenv("WORK"), "WORK")
	for _, u := range unstable {
		text = u.pattern.ReplaceAllString(text, u.name)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}

// overwrite replaces text in a file with text of the same length: overwrite FILE OLD NEW, where FILE may be a pattern for one.
func overwrite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 || len(args[1]) != len(args[2]) {
		ts.Fatalf("usage: overwrite FILE OLD NEW, both of one length")
	}
	found, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%s names %d files", args[0], len(found))
	}
	data, err := os.ReadFile(found[0])
	ts.Check(err)
	if !bytes.Contains(data, []byte(args[1])) {
		ts.Fatalf("%s does not hold %q", found[0], args[1])
	}
	ts.Check(os.WriteFile(found[0], bytes.ReplaceAll(data, []byte(args[1]), []byte(args[2])), 0o600))
}

// escapes checks that the last output contains an escape character, or with ! that it does not.
func escapes(ts *testscript.TestScript, neg bool, _ []string) {
	has := strings.Contains(ts.ReadFile("stdout")+ts.ReadFile("stderr"), "\x1b")
	if has == neg {
		ts.Fatalf("escape characters: %t", has)
	}
}

// until repeats a command until a file exists and is not empty: a background process waits for the command's effect.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until FILE COMMAND...")
	}
	const max = 1_000
	for range max {
		if info, err := os.Stat(ts.MkAbs(args[0])); err == nil && info.Size() > 0 {
			return
		}
		ts.Check(ts.Exec(args[1], args[2:]...))
	}
	ts.Fatalf("%s is not there after %d runs", args[0], max)
}

// writeBytes writes a file of any bytes, given as a Go string, so many times over: bytes FILE TEXT [TIMES].
func writeBytes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: bytes FILE TEXT [TIMES]")
	}
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(args[1], `"`, `\"`) + `"`)
	ts.Check(err)
	times := 1
	if len(args) == 3 {
		times, err = strconv.Atoi(args[2])
		ts.Check(err)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(text, times)), 0o644))
}

// nowhere checks that no file below a folder contains a text: nowhere TEXT FOLDER...
func nowhere(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: nowhere TEXT FOLDER...")
	}
	for _, folder := range args[1:] {
		ts.Check(filepath.WalkDir(ts.MkAbs(folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if err == nil && bytes.Contains(data, []byte(args[0])) {
				err = fmt.Errorf("%s holds %q", path, args[0])
			}
			return err
		}))
	}
}

// field writes a text from the last output's JSON into a file, as an agent would: field now.instructions_content docs/agents.md.
func field(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: field NAME.NAME FILE")
	}
	text := fieldOf(ts, args[0])
	out := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(filepath.Dir(out), 0o755))
	ts.Check(os.WriteFile(out, []byte(text), 0o644))
}

// fieldOf returns a text from the last output's JSON.
func fieldOf(ts *testscript.TestScript, path string) string {
	value, err := decoded([]byte(ts.ReadFile("stdout")))
	ts.Check(err)
	for name := range strings.SplitSeq(path, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			ts.Fatalf("there is no %s", path)
		}
		value = object[name]
	}
	text, ok := value.(string)
	if !ok {
		ts.Fatalf("%s is no text", path)
	}
	return text
}
