package shell

import (
	"slices"
	"strings"
	"sync"
)

// findTests are the parts of an expression of find that only look or print, with
// the number of words each takes.
var findTests = sync.OnceValue(func() map[string]int {
	tests := map[string]int{}
	for _, name := range strings.Fields(`( ) ! , -not -a -and -o -or -print -print0 -ls -prune -quit -depth -d -xdev -mount -noleaf -daystart -follow
		-warn -nowarn -ignore_readdir_race -noignore_readdir_race -empty -executable -readable -writable -nouser -nogroup -true -false -help -version --version --help -x -s -X`) {
		tests[name] = 0
	}
	for _, name := range strings.Fields(`-name -iname -path -ipath -wholename -iwholename -lname -ilname -regex -iregex -regextype -type -xtype -size -perm
		-user -group -uid -gid -links -inum -samefile -newer -anewer -cnewer -mtime -atime -ctime -mmin -amin -cmin -used -fstype -context
		-maxdepth -mindepth -printf -flags -newerXY -depth-n`) {
		tests[name] = 1
	}
	return tests
})

// find judges an expression of find. Its commands are judged by what they run.
func find(j *judge, c call) *refusal {
	starts, words := findStarts(c.words)
	tame := true
	for _, w := range starts {
		if w.splits || !w.whole && w.text == "" && !w.tame {
			return refuse("where find begins is not known, and may become a part of its expression; begin it with ./ and quote it").
				or("find ./src -name '*.go'")
		}
		tame = tame && (w.text == "" || w.text[0] != '-')
	}
	for len(words) > 0 {
		used, r := j.findTest(words, tame)
		if r != nil {
			return r
		}
		words = words[used:]
	}
	return nil
}

// findStarts tells the places where find begins from its expression.
func findStarts(words []word) (starts, expression []word) {
	i := 0
	for i < len(words) && words[i].whole && (slices.Contains([]string{"-H", "-L", "-P", "-E", "-X", "-x", "-s", "-d"}, words[i].text) ||
		strings.HasPrefix(words[i].text, "-O") && len(words[i].text) == 3) {
		i++
	}
	if i < len(words) && words[i].is("--") {
		i++
	}
	from := i
	for i < len(words) && !findExpression(words[i]) {
		i++
	}
	return words[from:i], words[i:]
}

func findExpression(w word) bool {
	return w.text != "" && (w.text[0] == '-' && w.text != "-" || w.text[0] == '(' || w.text[0] == ')' || w.text[0] == '!' || w.text[0] == ',')
}

// findTest judges what stands first in an expression, and returns how many words
// it takes.
func (j *judge) findTest(words []word, tame bool) (int, *refusal) {
	w := words[0]
	if !w.whole {
		return 0, refuse("a part of the expression of find is not known before it runs; quote patterns").or("find . -name '*.go'")
	}
	n, known := findTests()[w.text]
	switch {
	case known && w.text == "-depth" && len(words) > 1 && integer().MatchString(words[1].text):
		n = 1
	case strings.HasPrefix(w.text, "-newer") && len(w.text) == len("-newerXY") && strings.Trim(w.text[6:], "aBcmt") == "":
		n, known = 1, true
	case w.text == "-exec" || w.text == "-execdir":
		return j.findExec(words, tame && w.text == "-exec")
	}
	if !known {
		return 0, findRefused(w)
	}
	if len(words) <= n {
		return len(words), nil
	}
	for _, value := range words[1 : 1+n] {
		if value.splits || value.several && !suffixed(value) && (value.text == "" || findExpression(value)) {
			return 0, refuse("what follows %s may become several words, and they a part of the expression; quote it", w.text).or("find . -name '*.go'")
		}
	}
	return 1 + n, nil
}

// suffixed reports whether a pattern can only become words with a dot or a slash
// in them, which no part of an expression has.
func suffixed(w word) bool {
	if w.node == nil {
		return false
	}
	lit := w.node.Lit()
	return !strings.ContainsAny(lit, "{\\") && strings.ContainsAny(lit[strings.LastIndexAny(lit, "*?]")+1:], "./")
}

func findRefused(w word) *refusal {
	switch w.text {
	case "-delete", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls":
		return refuse("find %s writes, deletes or asks", w.text).without(w.syntax()).or("find . -name '*.go' -print")
	}
	return refuse("find %s is not known to only read", shown(w.text)).without(w.syntax()).or("find . -name '*.go' -print")
}

// findExec judges -exec … ; and -exec … {} +.
func (j *judge) findExec(words []word, tame bool) (int, *refusal) {
	for i, w := range words {
		end := i > 0 && (w.is(";") || w.is("+") && words[i-1].is("{}"))
		if i > 0 && !w.whole && w.option() {
			return 0, refuse("what find runs is not known before it runs; quote it")
		}
		if !end {
			continue
		}
		if i == 1 {
			return 0, refuse("find %s has no command", words[0].text)
		}
		if r := j.run(replaced(words[1:i], "{}", word{tame: tame}, w.is("+"))); r != nil {
			return 0, r
		}
		return i + 1, nil
	}
	return 0, refuse("find %s has no end; end it with \\; or +", words[0].text)
}
