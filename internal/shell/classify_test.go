package shell_test

import (
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/shell"
)

// TestRefusalsSayWhatToDo: the reason names the fault, and an allowed form is suggested if there is one.
func TestRefusalsSayWhatToDo(t *testing.T) {
	for command, want := range map[string]shell.Verdict{
		"rm -rf build":                    {Reason: "rm changes files", Instead: "ls -la"},
		"grep -n foo f > out":             {Reason: "> writes to a file", Instead: "grep -n foo f"},
		"sort -u -o f f":                  {Reason: "sort -o is not known to only read", Instead: "sort -u f f"},
		"find . -name '*.o' -delete":      {Reason: "find -delete writes, deletes or asks", Instead: "find . -name '*.o'"},
		"git checkout main":               {Reason: "git checkout is not known to only read", Instead: "git show HEAD:FILE"},
		"git branch new":                  {Reason: "git branch with a name makes one", Instead: "git branch --list 'PATTERN'"},
		"sed -i s/a/b/ f":                 {Reason: "sed -i is not known to only read", Instead: "sed s/a/b/ f"},
		"sort *.txt":                      {Reason: "put -- before it, or begin it with ./", Instead: "sort -- *.txt"},
		"git log --onelin":                {Reason: "spell out --oneline", Instead: "git log"},
		"ls $(rm x)":                      {Reason: "rm changes files", Instead: "ls -la"},
		"awk '{print > $1}' f":            {Reason: "writes to a file", Instead: "awk '{print $1}' FILE"},
		"PATH=. ls":                       {Reason: "setting PATH changes how commands run", Instead: "ls"},
		"ls -la &":                        {Reason: "in the background", Instead: "ls -la"},
		"./build.sh":                      {Reason: "a program of its own"},
		"frobnicate":                      {Reason: "frobnicate is not known to only read"},
		"ls (":                            {Reason: "cannot be read as bash"},
		"planloop approve":                {Reason: "changes the plan", Instead: "planloop status"},
		strings.Repeat("ls;", 100<<10):    {Reason: "longer than"},
		strings.Repeat("(", 300) + "ls":   {Reason: "nested too deeply"},
		"ls \u202egnp.x":                  {Reason: "U+202E"},
		"[[ -v 'a[$(rm x)]' ]]":           {Reason: "evaluates the name", Instead: `[[ -n "$x" ]]`},
		"printf -v 'a[$(rm x)]' y":        {Reason: "assigns a variable", Instead: `printf '%s\n' "$x"`},
		"find . -type f | xargs sed -n p": {Reason: "sed has options that write or run", Instead: "find . -type f | xargs sed -n -e p --"},
		"rg -l foo | xargs sed -n '1,5p'": {Reason: "put -- before it", Instead: "rg -l foo | xargs sed -n -e '1,5p' --"},
		"rg -n x $(rg -l y)":              {Reason: "put -- before it", Instead: "rg -n x -- $(rg -l y)"},
		"xz -l -d f.xz":                   {Reason: "undoes another", Instead: "xz -dc FILE"},
		`read "x" <<< y`:                  {Reason: "without quotes", Instead: "read -r line"},
		`printf "== $f ==\n"`:             {Reason: "give values as arguments", Instead: `printf '== %s ==\n' "$x"`},
		"nm @f":                           {Reason: "reads options from the file", Instead: "nm ./@f"},
		"echo {1..9999}{1..9999}":         {Reason: "fill the memory", Instead: "seq 1 100000"},
		`awk '{print}' "$f"`:              {Reason: "begin it with ./", Instead: `awk '{print}' "./$f"`},
		"LC_ALL=zh_CN.GBK ls":             {Reason: "changes how commands run", Instead: "ls"},
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
