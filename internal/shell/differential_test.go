package shell_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/shell"
)

var tries = flag.Int("differential", 20000, "how many made-up commands TestBashAgrees classifies")

// pieces are texts that are hard to parse in bash, and a command that writes.
func pieces() []string {
	return []string{
		"rm x", "rm x", "rm x\n", "; rm x;", "\nrm x\n", " | ", "echo ", "echo ", "cat ", "ls ", ":", ";", "; ", "\n", "&&", "||", "'",
		"'", `"`, `"`, "\\", "\\\\", "\\\n", "`", "`",
		"$(", ")", ")", "(", "((", "))", "$((", "1", "${x:-", "${x#", "${x/", "}", "}", "{ ", "; }", "$'", "$\"", "#", " #", "<<E\n",
		"<<'E'\n", "<<-E\n\t", "\nE\n", "\nE)", "\nE",
		"<<<", "[[ ", " ]]", " =~ ", " == ", "[ ", " ]", "case a in ", "a) ", "esac", ";;", "if :; then ", "; fi", "for i in a; do ",
		"; done", "<(", " ", "\t", "a", "x=", "$x", "a=b ",
		"!", "! ", "=", "*", "~", "{a,", "$", "&", "%", "'\\''", "\"$(", ")\"", "time ", "xargs ", "command ", "env ", "awk '", "sed '",
		"printf ",
	}
}

// TestBashAgrees classifies commands assembled from pieces, and runs the allowed ones that contain a writing command: bash
// must find no more commands in them than the classifier did.
func TestBashAgrees(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	victim := filepath.Join(dir, "x")
	if err := os.WriteFile(victim, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	random, list, ran := rand.New(rand.NewPCG(1, uint64(*tries))), pieces(), 0
	for range *tries {
		var b strings.Builder
		b.WriteString([]string{"echo ", "ls ", "cat ", "", ": "}[random.IntN(5)])
		for range 2 + random.IntN(10) {
			b.WriteString(list[random.IntN(len(list))])
		}
		command := b.String()
		if !strings.Contains(command, "rm x") || !shell.Classify(command).Allowed {
			continue
		}
		ran++
		cmd := exec.Command(bash, "-c", command)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
		_ = cmd.Run()
		entries, _ := os.ReadDir(dir)
		if _, err := os.Stat(victim); err != nil || len(entries) != 1 {
			t.Fatalf("allowed, and bash wrote: %q", command)
		}
	}
	t.Logf("%d of %d commands were allowed and run", ran, *tries)
}
