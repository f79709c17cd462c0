package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// At a terminal the user decides: sends the plan back, and approves the revision with its code. The project is deleted at the end.
func TestDemoAtATerminal(t *testing.T) {
	h, folder := demoHome(t)
	person := h.terminal(120, 60, "demo")
	person.out.waitFor("You decide.")
	person.out.waitFor("\n> ")
	person.typeIn("edit document it\n")
	person.out.waitFor("I am only a script")
	person.typeIn(person.code() + "\n")
	if shown, exit := person.ends(); exit != 0 || !strings.Contains(shown, "2 of 2 done") {
		t.Errorf("exit code %d:\n%s", exit, shown)
	}
	isEmpty(t, folder)
}

// A rejected plan is not carried out, and without a decision the demo ends.
func TestDemoWithoutApproval(t *testing.T) {
	for word, want := range map[string]string{"reject no\n": "I change nothing", "\n": "you decided nothing", "\x03": ""} {
		h, folder := demoHome(t)
		person := h.terminal(120, 60, "demo")
		person.out.waitFor("\n> ")
		person.typeIn(word)
		shown, exit := person.ends()
		if !strings.Contains(shown, want) || strings.Contains(shown, "I wrote") || (exit == 0) != (word == "reject no\n") {
			t.Errorf("%q: exit code %d:\n%s", word, exit, shown)
		}
		isEmpty(t, folder)
	}
}

func demoHome(t *testing.T) (h home, folder string) {
	h, folder = newHome(t), filepath.Join(t.TempDir(), "tmp")
	testenv.Check(t, os.Mkdir(folder, 0o700))
	h.env = append(h.env, "TMPDIR="+folder)
	return h, folder
}

func isEmpty(t *testing.T, folder string) {
	t.Helper()
	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
