package cli

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/process"
)

// startedTries lists the ways in which an agent started by planloop run tries each command.
func startedTries() map[string][]string {
	return map[string][]string{
		"show": {"", "--all"}, "status": {"", "--json"}, "resume": {""}, "prompt": {"", "judge_plan"}, "step logs": {""},
		"log": {"", "--events"}, "plan list": {""}, "plan diff": {""}, "plan status": {""}, "plan allows": {"-- ls"},
		"confine":       {"-- touch made"},
		"template list": {""}, "template show": {"bug-fix"}, "servers": {""}, "hosts": {""}, "version": {""}, "help": {"", "show"},
		"completion bash": {""}, "completion zsh": {""}, "completion fish": {""}, "completion powershell": {""}, "hook": {"claude stop"},
		"template apply": {"bug-fix --set bug=x --set path=login.go", "bug-fix --draft --set bug=x --set path=login.go"},
		"step add":       {"More"}, "step edit": {"S001 --title Mine"}, "step move": {"S001 --first"}, "step remove": {"S001"},
		"step mark": {"S001 done"}, "step claim": {"S001", "S001 --force"}, "clear": {""},
		"start":  {"--goal Mine", "Mine --step One", "--template bug-fix --set bug=x"},
		"update": {`--json {"update_tasks":[{"id":1,"status":"DONE"}]}`}, "run": {"", "--dry-run"}, "alert": {"--id x --message y"},
		"check": {"--id x -- true"}, "suggest": {""}, "plan": {"Mine"}, "plan start": {"Mine"}, "plan cancel": {""},
		"submit": {`--json {"summary":"Mine","steps":[{"title":"Mine"}]}`}, "approve": {"", "S001"}, "reject": {"no"}, "edit": {"no"},
		"answer": {"yes"}, "comment": {"no", "--met C1"}, "reply": {"C1 no"}, "pause": {""}, "step next": {""},
		"step skip": {"S001 --reason x"}, "step retry": {"S001"}, "step settle": {"S001 --choice abort"}, "step stop": {"S001"},
		"replan": {`--json {"changes":"all"}`}, "plan restore": {"ID"}, "plan switch": {"main"}, "plan close": {"main"},
		"import": {"plan.json", "--draft plan.json"}, "purge": {""}, "serve": {""},
		"export": {"", "-o -", "--output new.json", "--output false", "--dir out"},
		"sync":   {"", "--remove", "--dry-run", "--dry-run=false"},
		"init":   {"claude", "--remove claude", "--scope project claude", "--dry-run claude", "--check claude"},

		"doctor":    {"", "--repair", "--restore damaged-1", "--restore false"},
		"team join": {"https://plans.example.com"}, "team share": {"main"}, "team pull": {"main"}, "team leave": {"", "--keep"},
		"team members": {""}, "team status": {""},
		"review": {"", "--no-open"}, "demo": {""}, "template save": {"mine", "mine --force"},
	}
}

// Every command has a row in the table of started agents' commands, and is tried.
func TestEveryCommandIsJudgedForStartedAgents(t *testing.T) {
	w, _, _ := emptyWorld()
	tries := startedTries()
	root := newRootCommand(&app{environment: w})
	walk(root, func(cmd *cobra.Command) {
		if cmd == root || !cmd.Runnable() || cmd.HasSubCommands() && cmd.Name() != "plan" {
			return
		}
		if name := commandName(cmd); tries[name] == nil {
			t.Errorf("what an agent that was started may do by %q is not tried", name)
		}
		delete(tries, commandName(cmd))
	})
	for name := range tries {
		t.Errorf("%q is no command", name)
	}
}

// A started agent with a finished attempt cannot change anything by any command, inside or outside the plan; commands outside a step are
// refused as such.
func TestStartedAgentsChangeNothingElse(t *testing.T) {
	for _, command := range slices.Sorted(maps.Keys(startedTries())) {
		for _, try := range startedTries()[command] {
			t.Run(command+" "+try, func(t *testing.T) {
				t.Parallel()
				p := newStartedPlace(t)
				before := p.files()
				code, told := p.run("X1/S001/1/NONSENSE", slices.Concat(strings.Fields(command), strings.Fields(try))...)
				if after := p.files(); !maps.Equal(before, after) {
					t.Errorf("it changed %v to %v", before, after)
				}
				may, flags := accessFor(command)
				for flag, then := range flags {
					if strings.HasSuffix(try+" ", "--"+flag+" ") || strings.HasPrefix(try, "--"+flag+" ") {
						may = then
					}
				}
				const no = "you were started for S001 only; this is not part of it"
				refused := code == exitRefused && strings.Contains(told, no)
				if may == noAccess && !refused || may == readAccess && refused {
					t.Errorf("exit code %d: %s", code, told)
				}
			})
		}
	}
}

// A person, and an agent that was not started, may use commands that started agents may not.
func TestOthersAreNotHeldToAStep(t *testing.T) {
	p := newStartedPlace(t)
	for _, args := range [][]string{{"sync"}, {"template", "save", "mine"}, {"doctor", "--repair"}, {"init", "claude"}} {
		if code, told := p.run("", args...); code != exitOK {
			t.Errorf("%q: exit code %d: %s", args, code, told)
		}
	}
}

// startedPlace is a folder with a plan of one step, and a home without hosts.
type startedPlace struct {
	t   *testing.T
	dir string
}

func newStartedPlace(t *testing.T) startedPlace {
	p := startedPlace{t, t.TempDir()}
	for name, text := range map[string]string{"app/plan.json": `{"objective":"Theirs","initial_steps":[{"title":"Theirs"}]}`,
		"app/login.go": "package login\n", "home/.claude/settings.json": "{}\n"} {
		path := filepath.Join(p.dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	if code, told := p.run("", "start", "A plan", "--step", "Do it"); code != exitOK {
		t.Fatal(told)
	}
	return p
}

func (p startedPlace) run(started string, args ...string) (code int, told string) {
	p.t.Helper()
	w, out, err := emptyWorld()
	environment := map[string]string{"HOME": filepath.Join(p.dir, "home"), "XDG_STATE_HOME": filepath.Join(p.dir, "state"),
		"XDG_CONFIG_HOME": filepath.Join(p.dir, "config"), "XDG_DATA_HOME": filepath.Join(p.dir, "data"), "USER": "ann",
		engine.EnvRun: started}
	w.getenv = func(name string) string { return environment[name] }
	w.home = func() (string, error) { return environment["HOME"], nil }
	w.ancestors = func() []process.Ancestor { return nil }
	ctx, stop := context.WithTimeout(p.t.Context(), time.Minute) // a page would otherwise be served forever
	defer stop()
	code = run(ctx, w, append([]string{"-C", filepath.Join(p.dir, "app")}, args...))
	return code, out.String() + err.String()
}

// files returns the files of the user and the project, and the head of the plan's log.
func (p startedPlace) files() map[string]string {
	all := map[string]string{}
	_ = filepath.WalkDir(p.dir, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(p.dir, path)
		if err == nil && !entry.IsDir() && (!strings.HasPrefix(name, "state") || filepath.Base(filepath.Dir(name)) == "growth") {
			text, _ := os.ReadFile(path)
			all[name] = string(text)
		}
		return nil
	})
	return all
}
