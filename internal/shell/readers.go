package shell

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// why explains the refusal of a well-known command, and suggests another.
type why struct {
	reason, instead string
	changes         bool
}

// refused lists well-known commands that do not only read, by name.
var refused = sync.OnceValue(func() map[string]why {
	table := map[string]why{}
	for group, names := range names() {
		reason, instead, ok := strings.Cut(group, " |")
		changing, _, changes := strings.Cut(group, " !")
		if changes {
			reason = changing
		}
		for _, name := range names {
			if ok && !table[name].changes || changes {
				table[name] = why{reason, strings.TrimSpace(instead), changes}
			}
		}
	}
	return table
})

// guarded are the rules for commands that read but have options or operands that write or run.
func guarded() map[string]rule {
	sedRule, awkRule := parsed(listed("sed"), sed), parsed(options(`-F:`).upToOperand(), awk)
	return map[string]rule{
		"uniq": closed(listed("uniq"), atMost(1)), "sed": sedRule, "gsed": sedRule, "env": closed(options(``), noOperands),
		"date": closed(listed("date"), dateFormat), "jq": {jq(listed("jq"))}, "tree": closed(listed("tree"), attachedValues),
		"xxd": parsed(listed("xxd").words().upToOperand(), func(_ *classifier, c call, a arguments) *refusal {
			return atMost(1)(c, arguments{operands: a.rest}) // a later word that looks like an option is written to as well
		}),
		"tar": {listing("-?t[vzjJ]*f")}, "unzip": {listing("-[lvp]")}, "hostname": closed(options(``), noOperands),
		"yq": closed(options(`-r -P -C -M -e -o:`), yq), "awk": awkRule, "gawk": awkRule, "test": {test}, "[": {test},
		"gofmt": closed(options(`-l -d -e -s -r:`).words(), nil), "arch": closed(options(``), noOperands),
		"pwd": open(options(`-L -P --logical --physical`)), "cd": {changeDirectory}, "printf": {printf}, "command": {commandNames},
		"xargs": parsed(listed("xargs").upToOperand(), xargs), "find": {find}, "timeout": parsed(
			options(`-k: -s: -v -p -f --kill-after: --signal: --verbose --preserve-status --foreground`).upToOperand(), timeout),
		"tee": parsed(options(`-a -i -p --append --ignore-interrupts`), tee),
	}
}

// listing allows an option and plain names of files after it.
func listing(option string) func(*classifier, call) *refusal {
	form := regexp.MustCompile(`^` + option + `( [\w./][\w./+-]*)+$`)
	return func(_ *classifier, c call) *refusal {
		text := ""
		for _, w := range c.words {
			if !w.whole || device(w.text) {
				return refuse("%s is allowed with plain names of files", c.name)
			}
			text += " " + w.text
		}
		if !form.MatchString(strings.TrimPrefix(text, " ")) {
			return refuse("%s is known to only read with %s and plain names of files", c.name, option)
		}
		return nil
	}
}

// yq refuses unknown expressions, and operators that run or write.
func yq(_ call, a arguments) *refusal {
	harmful := func(w word) bool { return strings.Contains(w.text, "system") || strings.Contains(w.text, "exec") }
	if len(a.operands) == 0 || !a.operands[0].whole || slices.ContainsFunc(a.operands, harmful) {
		return refuse("the expression of yq may run a command, or is not known before it runs; write it out")
	}
	return nil
}

// test allows one test of a file or a text.
func test(_ *classifier, c call) *refusal {
	words := c.words
	if c.name == "[" {
		if len(words) != 3 || !words[2].is("]") {
			return refuse("[ is known with one test and ] only")
		}
		words = words[:2]
	}
	tests := strings.Fields("-d -e -f -r -s -w -x -n -z -L -h")
	if len(words) == 2 && slices.ContainsFunc(tests, words[0].is) && words[1].one() && !strings.ContainsAny(words[1].text, "[$`") {
		return nil
	}
	return refuse("this form of %s is not known to only test; use one of -d -e -f -s -x -n -z", c.name)
}

// dateFormat refuses operands other than formats: they set the clock.
func dateFormat(c call, a arguments) *refusal {
	for _, w := range a.operands {
		if !strings.HasPrefix(w.text, "+") {
			return refuse("date with %s sets the clock", source(w))
		}
	}
	return nil
}

// attachedValues refuses a value attached to its option's letter: tree reads it as more letters, and takes the next word as the
// value.
func attachedValues(c call, a arguments) *refusal {
	for _, f := range a.flags {
		with := func(w word) bool { return w.option() && w.node == f.value.node }
		if len(f.name) == 2 && f.given && slices.ContainsFunc(c.words, with) {
			return refuse("%s reads the text attached to %s as more options; put a space between them", c.name, f.name).or("tree -L 2")
		}
	}
	return nil
}

// jq requires a known filter; none of its options does harm.
func jq(g *grammar) func(*classifier, call) *refusal {
	return func(_ *classifier, c call) *refusal {
		for i := 0; i < len(c.words); i++ { // each of these has two values
			if slices.ContainsFunc([]string{"--arg", "--argjson", "--slurpfile", "--rawfile"}, c.words[i].is) {
				values := c.words[i+1 : min(i+3, len(c.words))]
				if !slices.ContainsFunc(values, func(w word) bool { return !w.one() }) {
					c.words = slices.Concat(c.words[:i], c.words[i+1+len(values):])
					i--
				}
			}
		}
		a, r := g.split(c, true)
		if r == nil && len(a.operands) > 0 && !a.operands[0].whole && !a.has("-f", "--from-file") {
			return refuse("the filter of jq is not known before it runs; write it out")
		}
		return r
	}
}

func changeDirectory(_ *classifier, c call) *refusal {
	for _, w := range c.words {
		if device(w.text) {
			return refuse("%s into a device is not reading", c.name)
		}
	}
	return nil
}

// printf allows formats that only print texts: %n assigns, and zsh computes numbers.
func printf(_ *classifier, c call) *refusal {
	if len(c.words) > 0 && c.words[0].whole && printing().MatchString(c.words[0].text) {
		return nil
	}
	return refuse("printf is allowed with a written format, of which all fields are %%s").or(`printf '%s\n' text`)
}

var printing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([^%*-]|%-?[0-9]{0,3}s)([^%*]|%-?[0-9]{0,3}s)*$`)
})

// commandNames allows command -v NAME.
func commandNames(_ *classifier, c call) *refusal {
	if len(c.words) > 0 && (c.words[0].is("-v") || c.words[0].is("-V")) {
		return nil
	}
	return refuse("command is allowed with -v; name the program itself").or("command -v go")
}

// tee allows tee without files, or with /dev/null.
func tee(_ *classifier, _ call, a arguments) *refusal {
	return each(a.operands, func(w word) *refusal {
		if w.is("/dev/null") {
			return nil
		}
		return refuse("tee writes files").without(w.syntax())
	})
}

// sed allows one script of the plainest kind: it prints, deletes or substitutes, at line numbers or simple patterns.
func sed(_ *classifier, _ call, a arguments) *refusal {
	var scripts []word
	for _, f := range a.flags {
		if f.name == "-e" || f.name == "--expression" {
			scripts = append(scripts, f.value)
		}
	}
	if scripts == nil {
		scripts = a.operands[:min(1, len(a.operands))]
	}
	if len(scripts) == 1 && scripts[0].whole && sedScript().MatchString(scripts[0].text) {
		return nil
	}
	return refuse("the script of sed is not known to only print; use p, d, q and s with line numbers and simple patterns").
		or("sed -n '1,20p' FILE")
}

// sedScript matches scripts of s, p, d, q and =. Versions disagree on brackets in patterns, so none may hold one.
var sedScript = sync.OnceValue(func() *regexp.Regexp {
	address := `(?:[0-9]+|\$|/(?:[^/\\[\n]|\\[^\n])*/)`
	var changes []string
	for _, delimiter := range []string{"/", `\|`, "#", ","} {
		changes = append(changes, strings.ReplaceAll(`sD(?:[^D\\[\n]|\\[^\n])*D(?:[^D\\\n]|\\[^\n])*D[gpI0-9]*`, "D", delimiter))
	}
	command := `(?:` + address + `(?:, ?\+?` + address + `)?)? ?!?(?:[pdq=]|` + strings.Join(changes, "|") + `)`
	return regexp.MustCompile(`^ *` + command + `(?: *; *` + command + `)*;? *$`)
})

// awk allows programs that select lines and print fields, and nothing else.
func awk(_ *classifier, c call, a arguments) *refusal {
	if len(a.rest) == 0 || !a.rest[0].whole || !awkProgram().MatchString(a.rest[0].text) {
		return refuse("the program of awk is not known to only print; select lines by NR, a field or a pattern, and print fields").
			or(`awk 'NR >= 10 && NR <= 20 {print $1}' FILE`)
	}
	for _, w := range a.rest[1:] { // gawk opens a connection for /inet/…
		if isPattern := w.several && !w.splits && w.text == ""; strings.HasPrefix(w.text, "/inet") || !isPattern && !w.whole &&
			strings.HasPrefix("/inet", w.text) {
			return refuse("awk opens a connection for names that begin with /inet, and %s may become one; begin it with ./", source(w)).
				before(w, "./")
		}
	}
	return refuseDevices(c, arguments{operands: a.rest[1:]})
}

var awkProgram = sync.OnceValue(func() *regexp.Regexp {
	const (
		item    = `(?:\$(?:[0-9]+|NF)|NR|FNR|NF|FILENAME|"[^"\\\n]*")`
		pattern = `/[^/\\[\n=][^/\\[\n]*/`
		test    = `(?:!? ?` + pattern + `|` + item + ` *(?:==|!=|<=|>=|<|>|~) *(?:[0-9]+|"[^"\\\n]*"|` + pattern + `))`
		tests   = test + `(?: *(?:&&|\|\||,) *` + test + `)*`
		action  = `\{ *print(?: *` + item + `(?:[ ,]*` + item + `)*)? *(?:; *exit)? *\}`
	)
	return regexp.MustCompile(`^ *(?:` + tests + `|(?:` + tests + `)? *` + action + `) *$`)
})
