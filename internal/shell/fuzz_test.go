package shell_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/shell"
)

// FuzzClassify: any text gets a verdict, the same each time, and an allowed text is refused with a writing command next
// to it or around it.
func FuzzClassify(f *testing.F) {
	for _, name := range []string{"allowed.txt", "refused.txt"} {
		for _, command := range corpus(f, name) {
			f.Add(command)
		}
	}
	f.Fuzz(func(t *testing.T, command string) {
		first := shell.Classify(command)
		if again := shell.Classify(command); again != first {
			t.Fatalf("%q: %+v, then %+v", command, first, again)
		}
		if first.Allowed != (first.Reason == "") || first.Allowed && first.Instead != "" {
			t.Fatalf("%q: %+v", command, first)
		}
		if first.Instead != "" && !shell.Classify(first.Instead).Allowed {
			t.Fatalf("%q: instead of it is offered %q, which is refused", command, first.Instead)
		}
		if first.Allowed && !strings.HasSuffix(command, "\\") { // which joins the next line
			surrounded(t, command)
		}
	})
}

// surrounded checks that an allowed command ends where it seems to end.
func surrounded(t *testing.T, command string) {
	for _, worse := range []string{
		command + "\nrm x", "rm x\n" + command, "{ " + command + "\n} > f", "( " + command + "\n) > f", "$(" + command + "\nrm x\n)",
		"eval '" + strings.ReplaceAll(command, "'", `'\''`) + "'", "f() {\n" + command + "\n}", "{ " + command + "\n} &",
	} {
		if shell.Classify(worse).Allowed {
			t.Fatalf("allowed: %q", worse)
		}
	}
}

func TestSurroundedCorpus(t *testing.T) {
	for _, command := range corpus(t, "allowed.txt") {
		if shell.Classify(command).Allowed {
			surrounded(t, command)
		}
		if strings.ContainsAny(command, "#\n") {
			continue // text on the same line belongs to a comment or a here-document
		}
		for _, worse := range []string{command + "; rm x", command + " && rm x", command + " | tee f", "rm x; " + command} {
			if shell.Classify(worse).Allowed {
				t.Errorf("allowed: %s", worse)
			}
		}
	}
}

func TestHugeCommands(t *testing.T) {
	for name, command := range map[string]string{
		"operators": strings.Repeat("ls && ", 20000) + "ls", "statements": strings.Repeat("ls;", 30000), "brackets": strings.Repeat("(",
			100000),
		"substitutions": strings.Repeat("$(", 50000), "backquotes": strings.Repeat("`", 100000), "ifs": strings.Repeat("if ", 30000),
		"arithmetic": "echo $((" + strings.Repeat("-", 100000) + "1))", "nots": "[[ " + strings.Repeat("! ", 40000) + "a ]]",
		"bangs": strings.Repeat("! ", 40000) + "ls",
		"times": strings.Repeat("time ", 20000) + "ls", "wrappers": strings.Repeat("nice ", 20000) + "rm",
		"pipes": strings.Repeat("cat | ", 20000) + "cat",
		"words": "echo " + strings.Repeat("a ", 50000), "params": "echo ${x:-" + strings.Repeat("${x:-", 20000), "plus": "echo $((" +
			strings.Repeat("1+", 50000) + "1))",
		"quoted": "echo " + strings.Repeat(`"$(`, 30000), "redirects": "ls " + strings.Repeat("2>&1 ", 20000), "arith": strings.Repeat(
			"$((", 30000),
		"long": strings.Repeat(
			"a", 1<<20),
		"heredocs": strings.Repeat("cat <<E\n", 10000),
		"cases":    strings.Repeat("case a in a) ", 8000), "whiles": strings.Repeat("while ", 20000),
		"tests": "[[ " + strings.Repeat("a && ", 20000) + "a ]]", "ternary": "echo $((" + strings.Repeat("1?1:", 20000) + "1))",
		"powers": "echo $((" + strings.Repeat(
			"1**", 20000) +
			"1))",
		"assignments": strings.Repeat("a=", 50000), "braces": strings.Repeat("{ ", 50000), "globs": "ls " + strings.Repeat("*", 100000),
		"functions": strings.Repeat(
			"f() ", 20000),
		"combinations": "for a in {1..10}; do for b in {1..10}; do echo $a $b " + strings.Repeat("w ", 50000) + "; done; done",
		"alternatives": strings.Repeat("x=a; x=b; x=c; x=d; y=e; y=f; y=g; ", 100) + strings.Repeat("echo $x$y; ", 15000),
		"chain":        "a0=x; " + chained(3000, "a%d=$((a%d+a%d)); ") + "echo $((a2999))",
		"doubling":     "a0=x; " + chained(3000, "a%d=\"$a%d $a%d\"; ") + "echo $a2999",
		"readers":      strings.Repeat("xargs ", 150) + "rm", "items": "for i in " + strings.Repeat("w ", 100000) + "; do ls $i; done",
		"names": strings.Repeat("x=$y$z; y=$x$z; z=$x$y; ", 5000) + "ls $x",
	} {
		start := time.Now()
		v := shell.Classify(command)
		if took := time.Since(start); took > 2*time.Minute {
			t.Errorf("%s: %v", name, took)
		}
		t.Logf("%s: %d bytes in %v", name, len(command), time.Since(start))
		switch name {
		case "operators", "statements", "pipes", "words", "redirects", "globs":
			if !v.Allowed {
				t.Errorf("%s: %s", name, v.Reason)
			}
		case "combinations", "doubling", "readers", "names", "brackets", "wrappers", "long", "braces", "functions", "heredocs", "quoted":
			if v.Allowed {
				t.Errorf("%s is allowed", name)
			}
		}
	}
}

// chained returns statements that each name two earlier ones.
func chained(n int, format string) string {
	var b strings.Builder
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, format, i, i-1, max(0, i-2))
	}
	return b.String()
}

func BenchmarkClassify(b *testing.B) {
	for name, command := range map[string]string{
		"short":   "git log --oneline -10",
		"usual":   `find . -name '*.go' -not -path './vendor/*' | xargs grep -n "func main" | sort -u | head -20`,
		"loop":    `for f in *.go; do if grep -q TODO "$f"; then echo "== $f"; sed -n '1,20p' -- "$f"; fi; done`,
		"refused": `find . -name '*.go' -delete`,
		"awk":     `awk -F: '/foo/ && $3 > 100 { n[$1]++ } END { for (k in n) printf "%s %d\n", k, n[k] }' f | sort -rn`,
		"100kB":   strings.Repeat("grep -rn 'foo bar' --include=*.go src | head -5; ", 2000),
		"100kBw":  "echo " + strings.Repeat("word ", 20000),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				shell.Classify(command)
			}
		})
	}
}
