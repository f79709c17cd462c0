package shell

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// wrappers are the rules for commands that run another command, which is classified in turn.
func wrappers() map[string]rule {
	return map[string]rule{
		"env":      parsed(options(`-0 -v -u: -C: --null --debug --unset: --chdir:`).upToOperand(), env),
		"printenv": {anything}, "tee": parsed(options(`-a -i -p --append --ignore-interrupts`), tee),
		"xargs": parsed(listed("xargs").upToOperand(), xargs), "find": {find},
		"timeout": wrapper(options(`-k: -s: -v -p -f --kill-after: --signal: --verbose --preserve-status --foreground`), 1),
		"nice":    wrapper(options(`-n: -# --adjustment:`), 0),
		"ionice":  wrapper(options(`-c: -n: -t --class: --classdata: --ignore`), 0),
		"time":    wrapper(options(`-p -v -l -h`), 0),
		"stdbuf":  wrapper(options(`-i: -o: -e: --input: --output: --error:`), 0),
	}
}

// wrapper classifies a command that runs the words after its options and the given number of operands.
func wrapper(g *grammar, operands int) rule {
	return parsed(g.upToOperand(), func(j *classifier, c call, a arguments) *refusal {
		for _, w := range a.rest[:min(operands, len(a.rest))] {
			if !w.one() {
				return refuse("the word after %s may become several words; quote it", c.name)
			}
		}
		if len(a.rest) <= operands {
			return nil
		}
		return j.run(a.rest[operands:])
	})
}

// env classifies env, which runs a command with other variables, or prints them.
func env(j *classifier, _ call, a arguments) *refusal {
	for _, f := range a.flags {
		if (f.name == "-u" || f.name == "--unset") && !(f.value.whole && harmless(f.value.text)) {
			return refuse("env without %s changes how commands run", f.value)
		}
	}
	for i, w := range a.rest {
		name, value, assigned := strings.Cut(w.text, "=")
		if !assigned {
			return j.run(a.rest[i:])
		}
		if !w.whole || !environment(name, value) && !(plainName(name) && !suspect(value)) {
			return refuse("setting %s changes how commands run", shown(name)).without(w.syntax())
		}
	}
	return nil
}

// xargs runs a command with words from its input, which are unknown. Options may undo each other, as -L does -I, so
// every way to combine them must be harmless.
func xargs(j *classifier, _ call, a arguments) *refusal {
	if len(a.rest) == 0 {
		return nil // it runs echo
	}
	appends := a.has("-L", "-l", "--max-lines", "-n", "--max-args")
	replaces := false
	for _, f := range a.flags {
		if !slices.Contains([]string{"-I", "-J", "-i", "--replace"}, f.name) {
			continue
		}
		token := "{}"
		if f.given {
			if !f.value.whole || f.value.text == "" {
				return refuse("what xargs replaces is not known").or("xargs -I{} cat {}")
			}
			token = f.value.text
		}
		appends, replaces = appends || replaces, true
		if r := j.run(replaced(a.rest, token, word{}, f.name == "-J")); r != nil {
			return r
		}
	}
	if appends || !replaces {
		return j.appended(a.rest)
	}
	return nil
}

// appended classifies a command that gets unknown words at its end, and suggests the form in which they cannot become
// options.
func (j *classifier) appended(words []word) *refusal {
	unknown := word{several: true, splits: true}
	words = words[:len(words):len(words)]
	r := j.run(append(words, unknown))
	last := words[len(words)-1].node
	if r == nil || last == nil || j.run(append(words, literal("--"), unknown)) != nil {
		return r
	}
	from, end := min(last.Pos().Offset(), uint(len(j.source))), min(last.End().Offset(), uint(len(j.source)))
	script := ""
	if words[0].is("sed") && !words[len(words)-1].option() { // some would read a -- after the script as a file
		script = "-e "
	}
	r.instead, r.edits = j.source[:from]+script+j.source[from:end]+" --"+j.source[end:], nil
	return r
}

// replaced returns the command with by, which stands for unknown words, in place of token.
func replaced(words []word, token string, by word, several bool) []word {
	list := make([]word, 0, len(words))
	for _, w := range words {
		before, after, found := strings.Cut(w.text, token)
		if !found {
			list = append(list, w)
			continue
		}
		with := by
		if before != "" {
			with = word{text: before + by.text}
		} else if by.text == "" && by.tame && after != "" {
			with = word{tame: strings.Trim(after[:1], "./") == "" || !strings.HasPrefix(after, "-")}
		}
		with.node, with.several, with.splits = w.node, with.several || several || w.several, with.splits || w.splits
		list = append(list, with)
	}
	return list
}

// findTests are the parts of find's expressions that only look or print.
var findTests = sync.OnceValue(func() *grammar { return listed("find") })

// tee allows tee without files, or with /dev/null.
func tee(_ *classifier, _ call, a arguments) *refusal {
	return each(a.operands, func(w word) *refusal {
		if w.is("/dev/null") {
			return nil
		}
		return refuse("tee writes files").without(w.syntax())
	})
}

// find classifies find and the commands that it runs.
func find(j *classifier, c call) *refusal {
	starts, words := findStarts(c.words)
	found := word{text: ".", tame: true}
	if len(starts) > 0 {
		found.text = common(starts).text
	}
	for _, w := range starts {
		if w.splits || !w.whole && w.text == "" && !w.tame {
			return refuse("where find begins is not known, and may become a part of its expression; begin it with ./ and quote it").
				before(w, "./").or("find ./src -name '*.go'")
		}
		if device(w.text + "/x") {
			return refuse("reading a device in /dev may change it").without(w.syntax())
		}
		found.tame = found.tame && (w.text == "" || w.text[0] != '-')
	}
	for len(words) > 0 {
		used, r := j.findTest(words, found)
		if r != nil {
			return r
		}
		words = words[used:]
	}
	return nil
}

// findStarts separates find's starting points from its expression.
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
	return w.text != "" && (w.text[0] == '-' && !w.is("-") || w.text[0] == '(' || w.text[0] == ')' || w.text[0] == '!' ||
		w.text[0] == ',')
}

// findTest classifies the first part of an expression, and returns how many words it takes.
func (j *classifier) findTest(words []word, found word) (int, *refusal) {
	w := words[0]
	if !w.whole {
		return 0, refuse("a part of the expression of find is not known before it runs; quote patterns").or("find . -name '*.go'")
	}
	kind, known := findTests().read().arities[w.text]
	n := 0
	if kind == valued {
		n = 1
	}
	switch {
	case known && w.text == "-depth" && len(words) > 1 && integer().MatchString(words[1].text):
		n = 1
	case strings.HasPrefix(w.text, "-newer") && len(w.text) == len("-newerXY") && strings.Trim(w.text[6:], "aBcmt") == "":
		n, known = 1, true
	case w.text == "-exec" || w.text == "-execdir":
		if w.text == "-execdir" { // some versions begin the name with ./
			found = word{}
		}
		return j.findExec(words, found)
	}
	if !known {
		if slices.Contains([]string{"-delete", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls"}, w.text) {
			return 0, refuse("find %s writes, deletes or asks", w.text)
		}
		return 0, refuse("find %s is not known to only read", shown(w.text)).without(w.syntax())
	}
	if len(words) <= n {
		return len(words), nil
	}
	if w.text == "-printf" && !words[1].whole {
		return 0, refuse("the format of find -printf is not known before it runs; write it out").or("find . -printf '%p\\n'")
	}
	for _, value := range words[1 : 1+n] {
		if value.splits || value.several && !suffixed(value) && (value.text == "" || findExpression(value)) {
			return 0, refuse("the word after %s may become several words of the expression; quote it",
				w.text).or("find . -name '*.go'")
		}
	}
	return 1 + n, nil
}

// suffixed reports whether a pattern can only become words that contain a dot or a slash, as no part of an expression
// does.
func suffixed(w word) bool {
	if w.node == nil {
		return false
	}
	lit := w.node.Lit()
	return !strings.ContainsAny(lit, "{\\") && strings.ContainsAny(lit[strings.LastIndexAny(lit, "*?]")+1:], "./")
}

// findExec classifies -exec … ; and -exec … {} +.
func (j *classifier) findExec(words []word, found word) (int, *refusal) {
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
		if r := j.run(replaced(words[1:i], "{}", found, w.is("+"))); r != nil {
			return 0, r
		}
		return i + 1, nil
	}
	return 0, refuse("find %s has no end; end it with \\; or +", words[0].text)
}

// builtins are the rules for the shell's own commands. Those that run code from their arguments (eval, source, trap,
// exec, mapfile -C, compgen -C, bind -x, enable, hash -p, alias, unset, let …) are left out.
func builtins() map[string]rule {
	return map[string]rule{
		"true": {anything}, "false": {anything}, ":": {anything}, "echo": {anything}, "sleep": {anything}, "yes": {anything},
		"pwd": open(options(`-L -P --logical --physical`)), "cd": {changeDirectory}, "pushd": {changeDirectory}, "popd": {anything},
		"dirs": {anything},
		"test": {testBuiltin}, "[": {testBuiltin}, "printf": {printf}, "set": {setOptions},
		"read": parsed(options(`-r -s -e -d: -n: -N: -p: -t: -u: -a:`), read), "type": {anything},
		"exit": {number}, "break": {number}, "continue": {number}, "return": {number}, "shift": {number}, "wait": {number},
		"times":   {anything},
		"command": {commandBuiltin}, "builtin": {commandBuiltin}, "jobs": {number}, "umask": {number},
		"ulimit": closed(options(`-a -H -S -n -u -s -v -f -c -d -m -t -l`), noOperands),
	}
}

// number allows a builtin without arguments or with plain numbers.
func number(_ *classifier, c call) *refusal {
	for _, w := range c.words {
		if c.name == "umask" || c.name == "jobs" || !w.isNumber() {
			return refuse("%s is allowed with a number at most", c.name)
		}
	}
	return nil
}

func changeDirectory(_ *classifier, c call) *refusal {
	for _, w := range c.words {
		if device(w.text) {
			return refuse("%s into a device is not reading", c.name)
		}
	}
	return nil
}

// printf refuses -v and %n, which assign, and unknown formats.
func printf(_ *classifier, c call) *refusal {
	words := c.words
	if len(words) > 0 && words[0].is("--") {
		words = words[1:]
	} else if len(words) > 0 && words[0].option() {
		return refuse("printf with an option, or with a format that may become one, assigns a variable").or(`printf '%s\n' "$x"`)
	}
	if len(words) == 0 {
		return nil
	}
	switch format := words[0]; {
	case !format.whole || !format.one():
		return refuse("the format of printf is not known before it runs, and %%n in it assigns; give values as arguments").
			or(`printf '== %s ==\n' "$x"`)
	case assigning().MatchString(format.text):
		return refuse("%%n in the format of printf assigns a variable").or(`printf '%s\n' "$x"`)
	case strings.Contains(format.text, "*") && slices.ContainsFunc(words, func(w word) bool {
		return !w.whole || len(w.text) > 5 && integer().MatchString(w.text)
	}):
		return refuse("the width that printf pads to is not known to be small").or(`printf '%20s\n' "$x"`)
	}
	return numbersFor(words[0].text, words[1:])
}

// conversion matches a conversion of printf: its width, precision and letter.
var conversion = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`%[-+ #0']*(\*|[0-9]*)(?:\.(\*|[0-9]*))?[hjlLtz]*(?s:.|$)`)
})

// numbersFor refuses arguments where the format wants a number, unless they are numbers: zsh computes them, and runs a command in an
// index.
func numbersFor(format string, arguments []word) *refusal {
	var wants []bool // by argument: a number
	for _, c := range conversion().FindAllString(strings.ReplaceAll(format, "%%", ""), -1) {
		for range strings.Count(c, "*") {
			wants = append(wants, true)
		}
		wants = append(wants, !strings.Contains("sbcq", c[len(c)-1:]))
	}
	if !slices.Contains(wants, true) {
		return nil
	}
	aligned := true
	for i, w := range arguments {
		if aligned = aligned && w.one(); (!aligned || wants[i%len(wants)]) && !w.isNumber() {
			return refuse("zsh computes the numbers that printf is given, and may run a command in %s; print it with %%s", source(w)).
				or(`printf '%s\n' "$x"`)
		}
	}
	return nil
}

// assigning matches the printf conversion that assigns to a name.
var assigning = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[-+ #0'*.0-9hjlLqtz]*n`) })

// read allows plain names only: bash would compute an index. Only plainly written names lose their known value.
func read(j *classifier, _ call, a arguments) *refusal {
	names := slices.Clone(a.operands)
	for _, f := range a.flags {
		if f.name == "-a" {
			names = append(names, f.value)
		} else if isText := f.name == "-d" || f.name == "-p"; f.given && !(isText && f.value.whole &&
			!strings.Contains(f.value.text, "[")) && !f.value.isNumber() {
			return refuse("zsh may compute the value of %s, and run a command in it; write it out, without a bracket", f.name)
		}
	}
	for _, w := range names {
		if w.node == nil || w.node.Lit() != w.text || !harmless(w.text) || j.variables[w.text] == nil || !j.variables[w.text].filled {
			return refuse("read is allowed into plain names that nothing else looks at, written without quotes").or("read -r line")
		}
	}
	return nil
}

// setOptions allows the options that make a script stricter.
func setOptions(_ *classifier, c call) *refusal {
	for i := 0; i < len(c.words); i++ {
		w := c.words[i]
		switch {
		case !w.whole || len(w.text) < 2 || w.text[0] != '-' && w.text[0] != '+':
			return refuse("set with arguments changes how commands run")
		case strings.HasSuffix(w.text, "o") && strings.Trim(w.text[1:], "eufo") == "":
			i++
			if i == len(c.words) || !slices.ContainsFunc([]string{"pipefail", "errexit", "nounset", "noglob"}, c.words[i].is) {
				return refuse("set -o is allowed with pipefail, errexit, nounset and noglob")
			}
		case strings.Trim(w.text[1:], "euf") != "":
			return refuse("set %s changes how commands run", w.text)
		}
	}
	return nil
}

// commandBuiltin allows command -v NAME, and classifies a command that it runs.
func commandBuiltin(j *classifier, c call) *refusal {
	words := c.words
	for len(words) > 0 && words[0].whole && strings.HasPrefix(words[0].text, "-") {
		switch words[0].text {
		case "-v", "-V", "-pv", "-pV":
			return nil
		case "--":
			words = words[1:]
		default:
			return refuse("%s %s is not known", c.name, words[0].text)
		}
	}
	if len(words) == 0 {
		return nil
	}
	return j.run(words)
}
