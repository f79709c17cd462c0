package shell_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/shell"
)

var tries = flag.Int("differential", 20000, "how many made-up commands TestBashAgrees and TestNoLiteralIsCode classify")

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

// oracle runs commands in the shells of hosts, in a folder with one file, x.
type oracle struct {
	t      *testing.T
	dir    string
	shells [][]string
}

func newOracle(t *testing.T) *oracle {
	t.Helper()
	o := &oracle{t: t, dir: t.TempDir()}
	for _, shell := range [][]string{{"bash", "-c"}, {"zsh", "-fc"}, {"zsh", "-fic"}, {"zsh", "-fo", "extendedglob", "-c"}} {
		if program, err := exec.LookPath(shell[0]); err == nil {
			o.shells = append(o.shells, append([]string{program}, shell[1:]...))
		} else {
			t.Log("NOT COMPARED: ", err)
		}
	}
	if err := os.WriteFile(filepath.Join(o.dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}

// run fails the test if a shell removes x or makes another file.
func (o *oracle) run(command string) {
	o.t.Helper()
	for _, shell := range o.shells {
		ctx, cancel := context.WithTimeout(o.t.Context(), 10*time.Second)
		cmd := exec.CommandContext(ctx, shell[0], append(shell[1:len(shell):len(shell)], command)...)
		cmd.Dir, cmd.WaitDelay = o.dir, time.Second
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + o.dir, "TMPDIR=/nonexistent"}
		_ = cmd.Run()
		cancel()
		entries, _ := os.ReadDir(o.dir)
		if len(entries) != 1 || entries[0].Name() != "x" {
			o.t.Fatalf("allowed, and %s wrote: %q", strings.Join(shell, " "), command)
		}
	}
}

// TestNoLiteralIsCode puts every way to run rm into every form of an expansion, and that into every place for a word. It
// tries some of the 800,000 results, and runs what is allowed.
func TestNoLiteralIsCode(t *testing.T) {
	codes := strings.Split("<(rm x)|>(rm x)|=(rm x)|$(rm x)|`rm x`|$((a[$(rm x)]))|$[a[$(rm x)]]|*(e:rm\\ x:)|*(e:'rm x':)|x(e:'rm x':)|"+
		"x(#qe:'rm x':)|${(e):-'$(rm x)'}|${x:-<(rm x)}|$(<x;rm x)|${ rm x; }|a\nrm x\n|a;rm x;|a&rm x&|)rm x(|}rm x{|};rm x;{|<<<rm x|"+
		"'$(rm x)'|\"$(rm x)\"|\\$(rm x)|\\<(rm x)|$'\\x24(rm x)'|a[$(rm x)]|x[<(rm x)]|+(rm x)|@(rm x|<(rm x))|!(rm x)|~[rm x]|"+
		"<->(e:'rm x':)|$\\\n(rm x)|<\\\n(rm x)|*(+rm)|#(rm x)|^<(rm x)|(<(rm x))|{<(rm x),b}|$+(rm x)|$=(rm x)|${:-<(rm x)}", "|")
	var words []string
	for _, code := range codes {
		words = append(words, code, "a"+code, `"`+code+`"`)
		operators := ":- - := = :? ? :+ + # ## % %% / // /# /% /a/ //a/ /#a/ : :1: ^ ^^ , ,, @ [ [1]:- :e :# :| :^ - ~"
		for operator := range strings.FieldsSeq(operators) {
			for _, name := range []string{"v", "1", "@", "#", "(e)v", "=v", "!v"} {
				words = append(words, "${"+name+operator+code+"}", `"${`+name+operator+code+`}"`)
			}
		}
	}
	places := strings.Split("echo W~echo a W b~w=W~w=W ls~export w=W~w=(W)~w[W]=1~case W in a) ls;; esac~case a in W) ls;; esac~[[ W ]]~"+
		"[[ a == W ]]~[[ W == a ]]~[[ a =~ W ]]~[[ -f W ]]~[[ 1 -eq W ]]~echo $((W))~((W))~for i in W; do ls; done~"+
		"for ((i=W;i<1;i++)); do ls; done~cat < W~cat <<< W~ls 2> W~ls >&W~cat <<E\nW\nE\n~"+
		"cat <<'E'\nW\nE\n~cat <<W\na\nW\n~W ls~echo $(echo W)~echo `echo W`~"+
		"cat <(echo W)~(echo W)~{ echo W; }~if [ W ]; then ls; fi~ls # W", "~")
	o, ran, made, tries := newOracle(t), 0, 0, *tries
	if testing.Short() {
		tries /= 10
	}
	random := rand.New(rand.NewPCG(2, 2))
	for _, word := range words {
		for _, place := range places {
			if random.IntN(len(words)*len(places)) >= tries {
				continue
			}
			made++
			command := strings.ReplaceAll(place, "W", word)
			if shell.Classify(command).Allowed {
				ran++
				o.run(command)
			}
		}
	}
	t.Logf("%d of %d commands were allowed and run", ran, made)
}

// TestZshComputesNoText puts a text that runs rm when zsh computes it into every place where zsh computes, ends a block or does not
// split, and runs what is allowed.
func TestZshComputesNoText(t *testing.T) {
	o, ran := newOracle(t), 0
	places := strings.Split(`[ -n W ]~[ -f W ]~test -d W~printf '%s\n' W~printf W~ls {a,W}~awk W x~sed -n W x~date +W~`+
		`[ -t W ]~test ! -t W~[[ -t W ]]~[[ -n a && -t W ]]~printf '%d\n' W~printf '%s %5.1f' a W~printf '%*s' W b~`+
		`printf "%.*f" W~printf '%1$d' W~printf -- %i W~for i in W; do printf %x "$i"; done~exit W~shift W~return W~break W~`+
		`read -t W y~read -u W y~read -n W y~MATCH=1; [[ W =~ .* ]]; echo $((MATCH))~match=1; [[ W =~ (.*) ]]; echo $((match))~`+
		`MEND=1; [[ W =~ .* ]]; echo $((MEND))~echo W~echo "W"~cat <<E␤W␤E~echo a 2>&W~echo "${y:-W}"~`+
		`{ echo a W always { rm x␤}~{ echo W always { rm x; ls␤}~if ls; then { echo W always { rm x␤}; fi`, "~")
	words := strings.Fields(`v "$v" ${v} "v$(pwd)" $(git@rev-parse@v) "$(cat@y)" $+path[v] $=path[v] $~path[v] $^path[v] $#path[v] ` +
		`$==path[v] $#{path}[v] 'path[$(rm@x)]' 1- } "}"`)
	for _, place := range places {
		for _, word := range words {
			word = strings.ReplaceAll(word, "@", " ")
			command := strings.ReplaceAll(strings.ReplaceAll(place, "W", word), "␤", "\n")
			if shell.Classify(command).Allowed {
				ran++
				o.run(command)
			}
		}
	}
	t.Logf("%d of %d commands were allowed and run", ran, len(places)*len(words))
	for _, command := range []string{
		`s='p ;w y'; sed -n $s x`, `for s in 'p ;w y'; do sed -n $s x; done`, `s='p ;w y'; for i in $s; do sed -n "$i" x; done`,
		`s='1 ;BEGIN{print>"y"}'; awk $s x`, `s='%s %d'; v=$(printf 'path[\044(rm x)]'); printf $s v v`,
	} {
		if shell.Classify(command).Allowed {
			o.run(command)
			t.Errorf("allowed: %s", command)
		}
	}
}

// TestBashAgrees classifies commands assembled from pieces, and runs the allowed ones that contain a writing command: bash
// must find no more commands in them than the classifier did.
func TestBashAgrees(t *testing.T) {
	o := newOracle(t)
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
		o.run(command)
	}
	t.Logf("%d of %d commands were allowed and run", ran, *tries)
}
