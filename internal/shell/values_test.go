package shell_test

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/shell"
	"github.com/planloop/planloop/internal/testenv"
)

// flows makes scripts in which values flow through names into a command.
type flows struct{ *rand.Rand }

func (f flows) pick(list ...string) string { return list[f.IntN(len(list))] }

func (f flows) name() string { return f.pick("a", "b", "c") }

// value is written as something that may be assigned to a name.
func (f flows) value() string {
	switch f.IntN(5) {
	case 0:
		return f.pick("$a", "$b", `"$c"`, `"$a$b"`, `$b"o"`, `"${c}x"`, "${a:-x}", `"${a#x}"`, "$((a+1))", "$((-1))", "$(echo -o)",
			"$(wc -l < f)", "$(wc -l < none)", "$(seq 2)", "$(pwd)", "$(git rev-parse HEAD)", "`echo x`", "${#a}", "$(date +%s)")
	default:
		return f.pick("-o", "x", "''", "'x y'", "-", "o", "'*'", "./", "'p -o q'", "~", "{-o,x}", "$'-o'", "5", "-5", "'  '",
			"\\-o", `"-"o`, "x:~", "[x]", "'-o '", "--output", "--output=f", "=", "f", "{1..3}", "*", "./*", "-k", "007", "k",
			"'x -'", "\\*", "~/-o")
	}
}

func (f flows) statement(depth int) string {
	name := f.name()
	if depth > 2 {
		return name + "=" + f.value()
	}
	inner := func() string { return f.statement(depth + 1) }
	switch f.IntN(22) {
	case 0:
		return "( " + inner() + "; " + inner() + " )"
	case 1:
		return inner() + " | cat"
	case 2:
		return f.pick("false && ", "true || ", "true && ", "false || ", "! ") + inner()
	case 3:
		return "if " + f.pick("true", "false", inner()) + "; then " + inner() + "; else " + inner() + "; fi"
	case 4:
		return "for " + name + " in " + f.value() + " " + f.value() + "; do " + inner() + "; " + inner() + "; done"
	case 5:
		return "while read -r " + name + "; do " + inner() + "; done <<< " + f.value()
	case 6:
		return "{ " + inner() + "; " + inner() + "; }"
	case 7:
		return "case x in " + f.pick("x", "y") + ") " + inner() + ";; esac"
	case 8:
		return name + "=" + f.value() + " true"
	case 9:
		return f.pick("((a++))", "((b+=2))", "((c=3))", "a=$((a+b))", "c=$((c*2))", "b=$((b-1))")
	case 10:
		return name + "+=" + f.value()
	case 11:
		return "read -r " + name + " <<< " + f.value()
	case 12:
		return "export " + name + "=" + f.value()
	case 13:
		return "echo $(" + inner() + ") \"$(" + inner() + ")\" <(" + inner() + ")"
	case 14:
		return "for ((i=0; i<2; i++)); do " + inner() + "; done"
	case 15:
		return name + "=(" + f.value() + " " + f.value() + ")"
	case 16, 17, 18, 19:
		return name + "=" + f.value()
	}
	return f.command()
}

func (f flows) command() string {
	words := []string{"sort"}
	for range 1 + f.IntN(3) {
		name := f.name()
		words = append(words, f.pick("$N", `"$N"`, `"$N$a"`, "$N$b", "x$N", `"$N"o`, "-$N", `"-$N"`, "./$N", `"${N}x"`, `-k"$N"`, `-k "$N"`,
			`"--$N"`, "{$N,x}",
			"$((N))", `"$((N+1))o"`, "-k$N", "${N}o", `"${N[@]}"`, "$N*", `''$N`, `"$N="f`, "x", "f", "-k", "-t", "-n$N",
			f.value()))
		words[len(words)-1] = strings.ReplaceAll(words[len(words)-1], "N", name)
	}
	return strings.Join(words, " ")
}

// writes is a sort that reports when it gets the option to write, or an abbreviation.
const writes = `sort() {
	local w l t=
	for w; do
		if [ "$t" ]; then t=; continue; fi
		case $w in
		--) return ;;
		--o*|--compress*|--temp*) echo "$w" >> wrote ;;
		--*|-|[!-]*) ;;
		-*) for ((l=1; l<${#w}; l++)); do
			case ${w:l:1} in
			[ktS]) [ "${w:l+1}" ] || t=1; break ;;
			[oT]) echo "$w" >> wrote; break ;;
			esac
		done ;;
		esac
	done
}
`

// TestValuesAgree: the classifier's values agree with bash's.
func TestValuesAgree(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"f", "x", "-o"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, ran, most := flows{rand.New(rand.NewPCG(2, uint64(*tries)))}, 0, testenv.Count(*tries/10, *tries, *tries)
	for range most {
		var script []string
		for range 1 + f.IntN(4) {
			script = append(script, f.statement(0))
		}
		command := strings.Join(append(script, f.command()), "; ")
		if !strings.Contains(command, "-o") || !shell.Classify(command).Allowed {
			continue
		}
		ran++
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // some count for ever
		cmd := exec.CommandContext(ctx, bash, "-c", writes+command)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
		cmd.WaitDelay = time.Second
		_ = cmd.Run()
		cancel()
		if text, err := os.ReadFile(filepath.Join(dir, "wrote")); err == nil {
			t.Fatalf("allowed, and sort was given %q: %s", text, command)
		}
	}
	t.Logf("%d of %d scripts were allowed and run", ran, most)
}
