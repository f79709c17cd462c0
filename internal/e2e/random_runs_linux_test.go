package e2e_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// seedVariable repeats one random run. The order of events still depends on the speed of the machine.
const seedVariable = "PLANLOOP_E2E_SEED"

// runsVariable sets the number of runs.
const runsVariable = "PLANLOOP_E2E_RUNS"

// TestRandomRuns carries out random plans with several engines at a time, which are killed, interrupted, paused and joined, while people
// and agents act on the plan. Then a person follows the next actions, which must lead to the end of the plan.
func TestRandomRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts processes")
	}
	seed, count := uint64(time.Now().UnixNano()), uint64(testenv.Count(2, 3, 40))
	for variable, value := range map[string]*uint64{seedVariable: &seed, runsVariable: &count} {
		if text := os.Getenv(variable); text != "" {
			number, err := strconv.ParseUint(text, 10, 64)
			testenv.Check(t, err)
			*value = number
		}
	}
	has := findFeatures(t)
	t.Logf("features: %v", has)
	for i := range count {
		t.Run(fmt.Sprint(seed+i), func(t *testing.T) {
			t.Parallel()
			t.Logf("again: %s=%d %s=1", seedVariable, seed+i, runsVariable)
			w := newWorld(t, rand.New(rand.NewPCG(seed+i, 0)), has)
			t.Cleanup(func() {
				if t.Failed() {
					t.Log("what was done:\n" + strings.Join(w.history, "\n"))
				}
			})
			w.newPlan()
			for range 8 + w.random.IntN(20) {
				if w.actAtRandom(); t.Failed() {
					break
				}
			}
			if w.drive(); !t.Failed() {
				w.checkEnd()
			}
		})
	}
}

// findFeatures asks the program which commands and fields it has.
func findFeatures(t *testing.T) features {
	p := newBusyPlace(t)
	has := features{}
	for feature, command := range map[string]string{"detach": "run --detach", "from": "run --from", "stop": "step stop",
		"dependents": "step retry --with-dependents"} {
		words, flag, isFlag := strings.Fields(command), "", false
		if flag, isFlag = strings.CutPrefix(words[len(words)-1], "--"); isFlag {
			words = words[:len(words)-1]
		}
		help := p.run(append(words, "--help")...).out
		has[feature] = strings.Contains(help, "planloop "+strings.Join(words, " ")) && (!isFlag || strings.Contains(help, " --"+flag))
	}
	for field, value := range map[string]string{"always": "true", "retry": `{"attempts":2,"wait":"1s"}`, "lock": `"one"`} {
		has[field] = p.feed(`{"objective":"Try it","initial_steps":[`+command("true", `,"idempotent":true,"`+field+`":`+value)+`]}`,
			"start", "--ephemeral", "--file", "-").code == 0
	}
	has["ends"] = has["always"] // a condition on how a step has ended
	return has
}

// world is the place of one random run, with all that acts in it.
type world struct {
	runPlace
	random   *rand.Rand
	asks     bool // a person approves the plan, and then steps
	has      features
	log      *runLog
	engines  []*engineProcess // that may live
	detached bool             // engines may live that are not in the list
	gate     *os.File         // nil: closed
	plans    int
	said     int      // notes so far
	kept     []string // notes of accepted acts
	ends     map[string]int
	history  []string
}

// engineProcess is a `planloop run`.
type engineProcess struct {
	cmd   *exec.Cmd
	out   bytes.Buffer
	ended chan struct{}
}

func newWorld(t *testing.T, random *rand.Rand, has features) *world {
	w := &world{runPlace: runPlace{newBusyPlace(t)}, random: random, has: has, log: newRunLog(), ends: map[string]int{}}
	if w.asks = random.IntN(3) == 0; !w.asks {
		w.configure("step_approval: never\n")
	}
	w.pipe(gate)
	w.must("sync")
	return w
}

func (w *world) trace(format string, args ...any) {
	w.history = append(w.history, time.Now().Format("05.000 ")+fmt.Sprintf(format, args...))
}

func (w *world) violation(format string, args ...any) {
	w.trace("VIOLATION: "+format, args...)
	w.t.Errorf(format, args...)
}

// note returns a text that must not get lost once it is accepted.
func (w *world) note() string {
	w.said++
	return fmt.Sprintf("note-%d", w.said)
}

// newPlan sets up the next plan.
func (w *world) newPlan() {
	w.plans++
	steps := randomSteps(w.random, w.plans, w.has)
	for _, s := range steps {
		w.log.steps[s.label] = s
		for _, item := range s.items {
			w.log.steps[s.label+"/"+item] = s
		}
	}
	objective := fmt.Sprintf("p%d is run", w.plans)
	if w.asks {
		w.atTerminal("plan", objective)
		if got := w.sayWith(submittedPlan(objective, steps), "submit", "--file", "-", "--agent", agentNames[0]); got.code != 0 {
			w.violation("submit: %+v", got)
		}
		w.atTerminal("approve")
	} else if got := w.sayWith(planFile(objective, steps), "start", "--file", "-"); got.code != 0 {
		w.violation("start: %+v", got)
	}
	if w.observe(); w.log.state.Plan == nil || w.log.state.Plan.Objective != objective {
		w.violation("the plan is not in force")
	}
}

// observe reads new records and checks them.
func (w *world) observe() {
	for _, r := range w.records(w.log.state.Revision) {
		w.log.add(r)
	}
	for _, fault := range w.log.faults {
		w.violation("%s", fault)
	}
	w.log.faults = nil
}

func (w *world) openGate() {
	if w.gate == nil {
		file, err := os.OpenFile(w.path(gate), os.O_RDWR, 0)
		testenv.Check(w.t, err)
		w.t.Cleanup(func() { file.Close() })
		w.gate = file
	}
}

func (w *world) closeGate() {
	if w.gate != nil {
		w.gate.Close()
		w.gate = nil
	}
}

// begin starts `planloop run` in the background.
func (w *world) begin(args ...string) *engineProcess {
	e := &engineProcess{cmd: w.command(append([]string{"run"}, args...)...), ended: make(chan struct{})}
	e.cmd.Stdout, e.cmd.Stderr = &e.out, &e.out
	testenv.Check(w.t, e.cmd.Start())
	go func() { _ = e.cmd.Wait(); close(e.ended) }()
	w.t.Cleanup(func() { _ = e.cmd.Process.Kill(); <-e.ended })
	w.engines = append(w.engines, e)
	w.trace("planloop run %s: process %d", strings.Join(args, " "), e.cmd.Process.Pid)
	return e
}

// await waits for the end of an engine, while the gate is open.
func (w *world) await(e *engineProcess) {
	select {
	case <-e.ended:
	case <-time.After(patience):
		_ = e.cmd.Process.Signal(syscall.SIGQUIT)
		<-e.ended
		w.violation("planloop run does not end: %s", e.out.String())
	}
	w.reap()
}

// reap forgets the engines that have ended, and checks how.
func (w *world) reap() {
	w.engines = slices.DeleteFunc(w.engines, func(e *engineProcess) bool {
		select {
		case <-e.ended:
		default:
			return false
		}
		code := e.cmd.ProcessState.ExitCode()
		lines := strings.Split(strings.TrimSpace(e.out.String()), "\n")
		w.trace("process %d has ended: %d, %s", e.cmd.Process.Pid, code, strings.Join(lines[max(0, len(lines)-3):], " | "))
		if code == 1 || code > 5 || strings.Contains(e.out.String(), "panic") {
			w.violation("a run has ended with exit code %d: %s", code, e.out.String())
		}
		return true
	})
}

// noLeftovers checks that no process of a step is left once no engine lives and a command has met the steps of dead ones.
func (w *world) noLeftovers(after string) {
	if w.reap(); len(w.engines) > 0 || w.detached {
		return
	}
	if left := leftovers(w.workspace); len(left) > 0 {
		w.violation("processes of steps are left after %s: %q", after, left)
	}
}

// settleDown waits until some steps have had effects, but not for long.
func (w *world) settleDown() {
	watcher, err := fsnotify.NewWatcher()
	testenv.Check(w.t, err)
	defer watcher.Close()
	testenv.Check(w.t, watcher.Add(w.workspace))
	late := time.After(time.Duration(20+w.random.IntN(300)) * time.Millisecond)
	for range w.random.IntN(12) {
		select {
		case <-watcher.Events:
		case <-late:
			return
		}
	}
}

// checkEnd checks what must hold when the plan has ended.
func (w *world) checkEnd() {
	w.observe()
	for _, fault := range w.log.checkEffects(w.workspace) {
		w.violation("%s", fault)
	}
	for _, note := range w.kept {
		if !w.log.notes[note] {
			w.violation("%s was accepted and is not in the log", note)
		}
	}
	running := filepath.Join(w.stateDir(), "running")
	if w.detached {
		w.untilFiles(running, func(names string) bool { return !strings.Contains(names, ".json") })
		w.detached = false
	}
	w.noLeftovers("the end")
	if left := files(w.t, running); left != "" {
		w.await(w.begin()) // the next engine removes what a dead one has left
		if left := files(w.t, running); left != "" {
			w.violation("left behind: %s", left)
		}
	}
	w.sound()
	w.t.Logf("%d records, %d acts, ends %v", w.log.state.Revision, len(w.history), w.ends)
}

func stepsIn(p *plan.Plan, matches func(*plan.Step) bool) (list []*plan.Step) {
	if p == nil {
		return nil
	}
	for step := range p.Steps.All() {
		if matches(step) {
			list = append(list, step)
		}
	}
	return list
}
