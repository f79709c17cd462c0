package e2e_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// A script that is started as an agent. It reports properly, except that the first attempt at the first step runs the mischief inserted
// below.
const hostile = `
IFS= read -r step
prompt=$(cat)
nonce=$(printf '%%s\n' "$prompt" | sed -n 's/^{"planloop":"\([^"]*\)".*/\1/p')
report() { printf '{"planloop":"%%s","status":"done","output":"%%s is done"}\n' "$nonce" "$step"; }
state=%q
lasting='sleep %s'
if [ $step = S001 ] && mkdir "$HOME/tried" 2>/dev/null; then
	echo 'my last words'
	%s
fi
printf '%%s\n' "$prompt" >"${0%%/*}/$step"
report
`

// hostilePlace is a place with a plan of two steps for agents, whose first one is hostile.
type hostilePlace struct {
	runPlace
	lasting string // sleeping time of its leftover processes, unique in the system
	prompts string // the folder of the last prompt for each step
}

func newHostilePlace(t *testing.T, timeout, mischief string) hostilePlace {
	p := hostilePlace{newRunPlace(t), fmt.Sprintf("98765.%d", rand.Uint64()), t.TempDir()}
	p.setUp(`{"title":"Do this"}`, `{"title":"Do that"}`)
	script := filepath.Join(p.prompts, "agent")
	text := fmt.Sprintf(hostile, p.stateDir(), p.lasting, mischief)
	testenv.Check(t, os.WriteFile(script, []byte(text), 0o600))
	p.configure(fmt.Sprintf("step_approval: never\nagents: {default: {command: [/bin/sh, %q], timeout: %s}}\n", script, timeout))
	return p
}

// left lists the processes that run in this place, or bear the unique mark of a hostile agent's leftovers.
func (p hostilePlace) left() []string {
	var found []string
	paths, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range paths {
		environment, _ := os.ReadFile(filepath.Join(path, "environ"))
		command, _ := os.ReadFile(filepath.Join(path, "cmdline"))
		ours := slices.Contains(strings.Split(string(environment), "\x00"), "XDG_STATE_HOME="+p.home)
		if ours || string(command) == "sleep\x00"+p.lasting+"\x00" {
			found = append(found, path+" "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}

// completes checks that the plan is complete, that no earlier record is lost, and that no process is left.
func (p hostilePlace) completes(result runResult, before []plan.Record) {
	p.t.Helper()
	if result.Status != "completed" {
		p.t.Errorf("the run ended with %+v", result)
	}
	after := p.records(0)
	if len(after) <= len(before) || !reflect.DeepEqual(after[:len(before)], before) {
		p.t.Errorf("what was recorded before is not there any more: %+v", after)
	}
	for step, want := range map[string]string{"S001": "S001 is done", "S002": "S002 is done"} {
		if got := p.must("show", step); !strings.Contains(got, want) {
			p.t.Errorf("%q is missing:\n%s", want, got)
		}
	}
	if left := p.left(); len(left) > 0 {
		p.t.Errorf("left running: %q", left)
	}
	if left := files(p.t, filepath.Join(p.stateDir(), "running")); left != "" {
		p.t.Error("kept: " + left)
	}
	p.sound()
}

// TestHostileAgents: the run continues, no matter how an agent treats planloop or which processes it leaves.
func TestHostileAgents(t *testing.T) {
	for name, mischief := range map[string]string{
		"forks and leaves":               `$lasting & setsid $lasting & (env -i setsid -f $lasting &)`,
		"hangs after its last word":      `report; exec $lasting`,
		"leaves and never says a word":   `setsid -f $lasting; exit 0`,
		"kills its parent":               `$lasting & kill -9 $PPID; exec $lasting`,
		"closes its streams and hangs":   `report; exec <&- >&- 2>&-; $lasting`,
		"deletes what is known of it":    `rm -rf "$state/running" "$state/logs"`,
		"garbles what is known of it":    `for file in "$state"/running/*; do echo '{"run":"' >"$file"; done`,
		"lies about what is known of it": `for file in "$state"/running/*.json; do sed -i 's/"pid":[0-9]*/"pid":1/' "$file"; done`,
		"puts files for folders":         `rm -rf "$state/running" "$state/logs"; echo x >"$state/running"; echo x >"$state/logs"`,
		"garbles the head":               `echo garbage >"$state/growth/head"`,
		"deletes the head":               `rm -f "$state/growth/head"`,
		"deletes the growth":             `rm -rf "$state/growth"`,
		"appends to the WAL":             `head -c 5000 /dev/urandom >>"$state/plan.db-wal"`,
		"holds the lock":                 `exec 9<>"$state/lock"; flock 9; report; exec $lasting`,
		"deletes snapshots":              `rm -f "$state"/snapshot*`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := "5m"
			if strings.Contains(mischief, "report;") { // it hangs afterwards
				timeout = "10s"
			}
			p := newHostilePlace(t, timeout, mischief)
			before := p.records(0)
			p.completes(p.result(), before)
		})
	}
}

// TestAgentKillsItsEngine: the next engine continues, even without any trace of the processes that the former one ran.
func TestAgentKillsItsEngine(t *testing.T) {
	const engine = `engine=$(cut -d' ' -f4 "/proc/$PPID/stat"); setsid -f $lasting # the parent of its parent
	until grep -qs 'my last words' "$state"/logs/*; do sleep 0.01; done
	`
	for name, mischief := range map[string]string{
		"and nothing else":       `kill -9 $engine; exec $lasting`,
		"and its keeper":         `kill -9 $engine $PPID; exec $lasting`,
		"deletes what is known":  `rm -rf "$state/running"; kill -9 $engine; exec $lasting`,
		"garbles what is known":  `for file in "$state"/running/*; do echo '{"run":"' >"$file"; done; kill -9 $engine; exec $lasting`,
		"and garbles the head":   `echo garbage >"$state/growth/head"; kill -9 $engine; exec $lasting`,
		"and appends to the WAL": `head -c 5000 /dev/urandom >>"$state/plan.db-wal"; kill -9 $engine; exec $lasting`,
		"and reports at last":    `report; kill -9 $engine; exec $lasting`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newHostilePlace(t, "5m", engine+mischief)
			before := p.records(0)
			cmd := p.engine()
			_ = cmd.Wait()
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
				t.Fatalf("the engine ended with %v", cmd.ProcessState)
			}
			p.completes(p.result(), before)
			if prompt, err := os.ReadFile(filepath.Join(p.prompts, "S001")); !strings.Contains(string(prompt), "my last words") {
				t.Errorf("the next agent is not told how far the former came: %v\n%s", err, prompt)
			}
		})
	}
}

// flood returns the number of bytes that an agent prints; PLANLOOP_E2E_FLOOD sets another number.
func flood(t *testing.T) int {
	text := cmp.Or(os.Getenv("PLANLOOP_E2E_FLOOD"), "50000000")
	bytes, err := strconv.Atoi(text)
	testenv.Check(t, err)
	return bytes
}

// TestAgentPrintsWithoutEnd: endless output costs neither memory nor disk, and the report after it is found.
func TestAgentPrintsWithoutEnd(t *testing.T) {
	for name, mischief := range map[string]string{
		"in lines":    `yes 'all work and no play' | head -c %d`,
		"in one line": `head -c %d /dev/zero | tr '\0' x; echo`,
	} {
		t.Run(name, func(t *testing.T) {
			p := newHostilePlace(t, "5m", fmt.Sprintf(mischief, flood(t)))
			before := p.records(0)
			cmd := p.command("run", "--json")
			out := &output{}
			cmd.Stdout, cmd.Stderr = out, out
			if err := cmd.Run(); err != nil {
				t.Fatal(err, out)
			}
			if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); !ok || usage.Maxrss > 256<<10 {
				t.Errorf("it took %d MB of memory", usage.Maxrss>>10)
			}
			kept := int64(0)
			for _, path := range strings.Fields(files(t, p.stateDir())) {
				if info, err := os.Stat(path); err == nil {
					kept += info.Size()
				}
			}
			if kept > 20<<20 {
				t.Errorf("%d MB are kept", kept>>20)
			}
			p.completes(runResult{Status: "completed"}, before)
		})
	}
}
