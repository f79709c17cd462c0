package shell_test

import (
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/shell"
)

// TestRefusalsSayWhatToDo: the reason names the fault, and an allowed form is suggested if there is one.
func TestRefusalsSayWhatToDo(t *testing.T) {
	for command, want := range map[string]shell.Verdict{
		"rm -rf build":                    {Reason: "rm changes files"},
		"grep -n foo f > out":             {Reason: "> writes to a file", Instead: "grep -n foo f"},
		"sort -u -o f f":                  {Reason: "sort -o writes"},
		"find . -name '*.o' -delete":      {Reason: "find -delete writes"},
		"git checkout main":               {Reason: "git checkout is not known to only read"},
		"git branch new":                  {Reason: "git branch with a name makes one"},
		"sed -i s/a/b/ f":                 {Reason: "sed -i writes"},
		"sort *.txt":                      {Reason: "put -- before it, or begin it with ./", Instead: "sort -- *.txt"},
		"git log --onelin":                {Reason: "spell out --oneline", Instead: "git log --oneline"},
		"ls $(rm x)":                      {Reason: "rm changes files"},
		"awk '{print > $1}' f":            {Reason: "not known to only print", Instead: "awk 'NR >= 10 && NR <= 20 {print $1}' FILE"},
		"PATH=. ls":                       {Reason: "setting PATH=. may change how commands run", Instead: "ls"},
		"ls -la &":                        {Reason: "in the background", Instead: "ls -la"},
		"./build.sh":                      {Reason: "a program of its own"},
		"frobnicate":                      {Reason: "frobnicate is not known to only read"},
		"ls (":                            {Reason: "cannot be read as bash"},
		"planloop approve":                {Reason: "changes the plan"},
		strings.Repeat("ls;", 100<<10):    {Reason: "longer than"},
		strings.Repeat("(", 300) + "ls":   {Reason: "nested too deeply"},
		"ls \u202egnp.x":                  {Reason: "U+202E"},
		"[[ -v 'a[$(rm x)]' ]]":           {Reason: "only plain commands"},
		"printf -v 'a[$(rm x)]' y":        {Reason: "a written format", Instead: `printf '%s\n' text`},
		"find . -type f | xargs sed -n p": {Reason: "sed has options that write or run", Instead: "find . -type f | xargs sed -n -e p --"},
		"rg -l foo | xargs sed -n '1,5p'": {Reason: "put -- before it", Instead: "rg -l foo | xargs sed -n -e '1,5p' --"},
		"rg -n x $(rg -l y)":              {Reason: "put -- before it", Instead: "rg -n x -- $(rg -l y)"},
		`printf "== $f ==\n"`:             {Reason: "the value of a variable is not known"},
		"echo {1..9999}{1..9999}":         {Reason: "only plain words"},
		"LC_ALL=zh_CN.GBK ls":             {Reason: "may change how commands run", Instead: "ls"},
	} {
		got := shell.Classify(command)
		if got.Allowed || !strings.Contains(got.Reason, want.Reason) || got.Instead != want.Instead {
			t.Errorf("%.60s: %+v, want %+v", command, got, want)
		}
	}
}

func TestNothingIsAllowed(t *testing.T) {
	for _, command := range []string{"", " ", "\n", "# only a comment"} {
		if v := shell.Classify(command); !v.Allowed {
			t.Errorf("%q: %+v", command, v)
		}
	}
}

// TestSubmitting: an agent without planloop's tools submits its plan with its host's shell, and changes nothing else of
// the plan there.
func TestSubmitting(t *testing.T) {
	for _, command := range []string{"planloop submit", "planloop submit --file plan.json", "planloop submit < plan.json",
		`planloop submit --json '{"summary":"x","steps":[]}'`, "planloop submit <<'EOF'\n{}\nEOF",
		"cat plan.json | planloop submit", "ls"} {
		if verdict := shell.ClassifyForHost(command); !verdict.Allowed {
			t.Errorf("%s: %s", command, verdict.Reason)
		}
	}
	for _, command := range []string{"planloop approve", "planloop submit --agent x", "planloop submit -C /tmp", "planloop submit $x",
		"planloop submit --file $x", "planloop reply C1 $x", "planloop reply C1 -C /tmp", "planloop reply C1 x > out.txt",
		"planloop submit > out.txt", "planloop submit; planloop approve", "./planloop submit", "touch x"} {
		if shell.ClassifyForHost(command).Allowed {
			t.Errorf("%s is allowed", command)
		}
	}
	if reply := "planloop reply C1 'it is small'"; !shell.ClassifyForHost(reply).Allowed || shell.Classify(reply).Allowed {
		t.Error("a host's shell replies, and planloop's own does not")
	}
	if shell.Classify("planloop submit").Allowed {
		t.Error("planloop's own shell submits")
	}
}

// TestOwnCommands: a user's pattern allows literal words alone.
func TestOwnCommands(t *testing.T) {
	own := []string{"kubectl get *", "docker ps", "gh pr view *", "/opt/x show", "mytool --list*"}
	for _, command := range []string{
		"kubectl get", "kubectl get pods -n default -o json", "kubectl get pods | grep Running && docker ps",
		`kubectl get -o 'jsonpath={.x}'`,
		`kubectl get "pods" > /dev/null 2>&1`, "docker ps", "gh pr view 1 --json title | jq .title", "/opt/x show",
		"mytool --list", "mytool --list=a",
		"timeout 5 kubectl get pods", "echo $(docker ps)", "cat < f | kubectl get pods",
	} {
		if v := shell.Classify(command, own...); !v.Allowed {
			t.Errorf("%s: %s", command, v.Reason)
		}
		if !shell.ClassifyForHost(command, own...).Allowed || shell.Classify(command).Allowed {
			t.Errorf("%s: hosts' shells differ, or it is allowed without the pattern", command)
		}
	}
	for _, command := range []string{
		"kubectl delete pod x", "kubectl", "docker ps -a", "docker", "gh pr", "gh pr merge 1", "x show", "/opt/x", "opt/x show",
		"./kubectl get x",
		"/usr/bin/kubectl get x", "kubectl get $x", `kubectl get "$x"`, "kubectl get $(echo x)", "kubectl get `echo x`", "kubectl get *",
		"kubectl get {a,b}", "kubectl get ~", "kubectl get > f", "kubectl get >> f", "kubectl get &", "kubectl get; rm x",
		"kubectl get | tee f",
		"kubectl get <(rm x)", "kubectl get x=(a)", "kubectl get pods && touch x", "docker ps --format={{.x}}", "docker $x",
		"doc\\ker ps | sh",
		"kubectl get $'a'", `kubectl get "${x:-<(rm x)}"`, "kubectl get =ls", "kubectl get !x", "xargs kubectl get < f",
		"k=kubectl; $k get x",
		"PATH=. kubectl get x", "kubectl() { rm x; }; kubectl get", "alias kubectl=rm; kubectl get", "find . -exec kubectl get {} +",
		"mytool --lis", "mytool -x --list", "mytool --list a", "coproc docker ps", "exec docker ps", "eval docker ps", "kubectl get a[1]",
	} {
		if shell.Classify(command, own...).Allowed || shell.ClassifyForHost(command, own...).Allowed {
			t.Errorf("allowed: %s", command)
		}
	}
	if v := shell.Classify("for i in 1 2; do docker ps; done", own...); v.Allowed || v.Changes {
		t.Errorf("a loop over the user's own commands: %+v", v)
	}
	if shell.ClassifyForAnyShell("docker ps").Allowed {
		t.Error("another shell than bash is given the pattern")
	}
}

func TestConfined(t *testing.T) {
	const program = "/opt/@x/planloop"
	for command, want := range map[string]string{
		"make -j 2":                     "make -j 2",
		"planloop confine -- go test .": "go test .",
		"make a*":                       "bash -c 'make a*'",
		"python3 <<EOF\nprint()\nEOF":   "bash -c 'python3 <<EOF\nprint()\nEOF'", // the program itself gets no input
		"A=1 make":                      "bash -c 'A=1 make'",
		"source it's":                   `bash -c 'source it'"'"'s'`,
		"source x":                      "bash -c 'source x'",
		"make 9</x":                     "bash -c 'make 9</x'",
	} {
		if got := shell.Confined(program, command); got != program+" confine -- "+want {
			t.Errorf("%q: %q", command, got)
		}
	}
	for _, program := range []string{"/home/a b/planloop", "/opt/x*", "planloop", ""} {
		if got := shell.ConfinedPattern(program) + shell.Confined(program, "make"); got != "" {
			t.Errorf("%q allows %q", program, got)
		}
	}
	if shell.ClassifyForHost("/home/a b/planloop confine -- x", shell.ConfinedPattern("/home/a b/planloop")).Allowed {
		t.Error("a part of the path is allowed as a program")
	}
}
