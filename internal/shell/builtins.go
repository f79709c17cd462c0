package shell

import (
	"slices"
	"strings"
	"sync"
)

// builtins are the commands of the shell itself. The ones that run code out of
// their arguments (eval, source, trap, exec, mapfile -C, compgen -C, bind -x,
// enable, hash -p, alias, unset, let …) are not among them.
func builtins() map[string]rule {
	return map[string]rule{
		"true": {anything}, "false": {anything}, ":": {anything}, "echo": {anything}, "sleep": {anything}, "yes": {anything},
		"pwd": open(options(`-L -P --logical --physical`)), "cd": {changeDirectory}, "pushd": {changeDirectory}, "popd": {anything}, "dirs": {anything},
		"test": {testBuiltin}, "[": {testBuiltin}, "printf": {printf}, "read": {read}, "set": {setOptions}, "type": {anything},
		"exit": {number}, "break": {number}, "continue": {number}, "return": {number}, "shift": {number}, "wait": {number}, "times": {anything},
		"command": {commandBuiltin}, "builtin": {commandBuiltin}, "jobs": {number}, "umask": {number},
		"ulimit": closed(options(`-a -H -S -n -u -s -v -f -c -d -m -t -l`), noOperands),
	}
}

// number allows a builtin without arguments or with plain numbers.
func number(_ *judge, c call) *refusal {
	for _, w := range c.words {
		if c.name == "umask" || c.name == "jobs" || !w.whole && !w.tame || w.whole && !integer().MatchString(w.text) {
			return refuse("%s is allowed with a number at most", c.name).or(c.name)
		}
	}
	return nil
}

func changeDirectory(_ *judge, c call) *refusal {
	for _, w := range c.words {
		if device(w.text) {
			return refuse("%s into a device is not reading", c.name)
		}
	}
	return nil
}

// printf refuses -v, which evaluates the name it is given, and a first word that
// may become it.
func printf(_ *judge, c call) *refusal {
	if len(c.words) == 0 {
		return nil
	}
	if !c.words[0].is("--") && c.words[0].option() {
		return refuse("printf with an option, or with a format that may become one, assigns a variable").or(`printf '%s\n' "$x"`)
	}
	for _, w := range c.words {
		if w.whole && suspect(w.text) && !strings.Contains(w.text, " ") && strings.Contains(w.text, "[") {
			return refuse("an argument of printf holds text that some shells would run as an index")
		}
	}
	return nil
}

// readGrammar is what read takes.
var readGrammar = sync.OnceValue(func() *grammar {
	return options(`-r -s -e -d: -n: -N: -p: -t: -u: -a:`)
})

// read takes names; an index in one would be computed.
func read(_ *judge, c call) *refusal {
	g := readGrammar()
	a, r := g.split(c, false)
	if r != nil {
		return r
	}
	names := slices.Clone(a.operands)
	for _, f := range a.flags {
		if f.name == "-a" {
			names = append(names, f.value)
		}
	}
	for _, w := range names {
		if !w.whole || !harmless(w.text) {
			return refuse("read is allowed into plain names that nothing else looks at").or("read -r line")
		}
	}
	return nil
}

// setOptions allows the options that make a script stricter.
func setOptions(_ *judge, c call) *refusal {
	for i := 0; i < len(c.words); i++ {
		w := c.words[i]
		switch {
		case !w.whole || len(w.text) < 2 || w.text[0] != '-' && w.text[0] != '+':
			return refuse("set with arguments changes how commands run").or("set -eu")
		case strings.HasSuffix(w.text, "o") && strings.Trim(w.text[1:], "eufo") == "":
			i++
			if i == len(c.words) || !slices.ContainsFunc([]string{"pipefail", "errexit", "nounset", "noglob"}, c.words[i].is) {
				return refuse("set -o is allowed with pipefail, errexit, nounset and noglob").or("set -o pipefail")
			}
		case strings.Trim(w.text[1:], "euf") != "":
			return refuse("set %s changes how commands run", w.text).or("set -eu")
		}
	}
	return nil
}

// commandBuiltin is command -v NAME, or another command.
func commandBuiltin(j *judge, c call) *refusal {
	words := c.words
	for len(words) > 0 && words[0].whole && strings.HasPrefix(words[0].text, "-") {
		switch words[0].text {
		case "-v", "-V", "-pv", "-pV":
			return nil
		case "-p", "--":
			words = words[1:]
		default:
			return refuse("%s %s is not known", c.name, words[0].text).or("command -v NAME")
		}
	}
	if len(words) == 0 {
		return nil
	}
	return j.run(words)
}
