package process

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// processTree is a set of processes: for each pid its parent and its start.
type processTree map[int][2]int

func (f processTree) find(pid int) (Ancestor, int, bool) {
	p, ok := f[pid]
	return Ancestor{PID: pid, Started: int64(p[1])}, p[0], ok
}

func TestChain(t *testing.T) {
	tests := map[string]struct {
		all  processTree
		want []int
	}{
		"up to process 1":                   {processTree{9: {7, 30}, 7: {3, 20}, 3: {1, 20}, 1: {0, 1}}, []int{9, 7, 3}},
		"a parent that cannot be read":      {processTree{9: {7, 30}, 7: {3, 20}}, []int{9, 7}},
		"a parent's pid that was reused":    {processTree{9: {7, 30}, 7: {3, 20}, 3: {2, 25}, 2: {1, 1}}, []int{9, 7}},
		"a circle, as by reused pids":       {processTree{9: {7, 30}, 7: {9, 20}}, []int{9, 7}},
		"a process that cannot be read":     {processTree{}, nil},
		"a parent outside, as in a sandbox": {processTree{9: {0, 30}}, []int{9}},
		"itself, as the system's own does":  {processTree{9: {9, 30}}, slices.Repeat([]int{9}, longest)},
	}
	for name, test := range tests {
		var got []int
		for _, p := range chain(9, test.all.find) {
			got = append(got, p.PID)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestShared(t *testing.T) {
	for file, want := range map[string]bool{
		"bash": true, "-zsh": true, "zsh-5.9": true, "Code.exe": true, "sh (deleted)": true, "systemd": true,
		"tmux": true, "PowerShell.exe": true, "": true,
		"Code Helper (Plu": true, ".kitty-wrapped": true, "emacs-gtk": true, "xfce4-terminal": true, "i3": true,
		"codex": false, "claude": false, "node": false, "python3.12": false, "Claude.exe": false, "opencode": false,
	} {
		if got := (Ancestor{PID: 7, Name: programName(file)}).Shared(); got != want {
			t.Errorf("%q: %v", file, got)
		}
	}
	if !(Ancestor{PID: 1, Name: "codex"}).Shared() {
		t.Error("process 1 is everybody's")
	}
}

// TestThisProcess asks the system itself.
func TestThisProcess(t *testing.T) {
	all := Ancestors()
	if len(all) == 0 {
		t.Skip("this system does not tell of processes")
	}
	if all[0].PID != os.Getpid() || !all[0].Runs() || all[0].Shared() {
		t.Errorf("this is %+v", all[0])
	}
	if len(all) > 1 && all[1].PID != os.Getppid() {
		t.Errorf("the parent is %+v, not %d", all[1], os.Getppid())
	}
	reused := all[0]
	reused.Started--
	if reused.Runs() || reused.Is(all[0]) || (Ancestor{}).Is(Ancestor{}) {
		t.Error("another process of the same pid is taken for this one")
	}
}

// TestEndedProcess: an ended process does not run, waited for or not.
func TestEndedProcess(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	testenv.Check(t, cmd.Start())
	child, _, ok := processFinder()(cmd.Process.Pid)
	testenv.Check(t, cmd.Wait())
	if ok && child.Runs() {
		t.Errorf("%+v still runs", child)
	}
}

func BenchmarkChain(b *testing.B) {
	for b.Loop() {
		Ancestors()
	}
}

func TestEnvironmentFirst(t *testing.T) {
	environment := Variables("PATH=/bin\x00EMPTY=\x00B=2=2\x00A=1\x00noise\x00")
	for asked, want := range map[string][2]string{"A": {"A", "1"}, "B": {"B", "2=2"}, "EMPTY": {}, "noise": {}, "ABSENT": {}} {
		if name, value := environment.First(asked); name != want[0] || value != want[1] {
			t.Errorf("%s: %q is %q, want %q", asked, name, value, want)
		}
	}
	if name, _ := environment.First("A", "EMPTY", "B"); name != "B" {
		t.Errorf("the first of several is %q", name)
	}
}
