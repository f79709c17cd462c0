package shell

import (
	"strings"
	"sync"
)

// wrappers are the commands that run another one, and are judged by what it is.
func wrappers() map[string]rule {
	return map[string]rule{
		"env": {env}, "printenv": {anything}, "xargs": {xargs}, "find": {find},
		"timeout": wrapper(options(`-k: -s: -v -p -f --kill-after: --signal: --verbose --preserve-status --foreground`), 1),
		"nice":    wrapper(options(`-n: -# --adjustment:`), 0),
		"ionice":  wrapper(options(`-c: -n: -t --class: --classdata: --ignore`), 0),
		"time":    wrapper(options(`-p -v -l -h`), 0),
		"stdbuf":  wrapper(options(`-i: -o: -e: --input: --output: --error:`), 0),
	}
}

// wrapper judges a command that runs the words after its options and the given
// number of operands.
func wrapper(g *grammar, operands int) rule {
	g.upToOperand()
	return rule{func(j *judge, c call) *refusal {
		a, r := g.split(c, false)
		if r != nil {
			return r
		}
		for _, w := range a.rest[:min(operands, len(a.rest))] {
			if !w.one() {
				return refuse("%s is followed by what may become several words; quote it", c.name)
			}
		}
		if len(a.rest) <= operands {
			return nil
		}
		return j.run(a.rest[operands:])
	}}
}

// envGrammar is what env takes before what it runs.
var envGrammar = sync.OnceValue(func() *grammar {
	return options(`-0 -v -u: -C: --null --debug --unset: --chdir:`).upToOperand()
})

// env runs a command with other values around it, or prints the ones there are.
func env(j *judge, c call) *refusal {
	g := envGrammar()
	a, r := g.split(c, false)
	if r != nil {
		return r.or("env")
	}
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

// xargsGrammar is what xargs takes before what it runs.
var xargsGrammar = sync.OnceValue(func() *grammar {
	return options(`-0 -r -t -x -a: -d: -E: -e? -I: -J: -i? -L: -l? -n: -P: -R: -S: -s: --null --no-run-if-empty --verbose --exit --arg-file:
		--delimiter: --eof? --replace? --max-lines? --max-args: --max-procs: --max-chars: --show-limits`).upToOperand()
})

// xargs runs a command with words from its input, which nobody knows yet.
func xargs(j *judge, c call) *refusal {
	g := xargsGrammar()
	a, r := g.split(c, false)
	if r != nil {
		return r
	}
	if len(a.rest) == 0 {
		return nil // it runs echo
	}
	token := ""
	for _, f := range a.flags {
		switch f.name {
		case "-I", "-J", "-i", "--replace":
			if token = "{}"; f.given {
				if !f.value.whole || f.value.text == "" {
					return refuse("what xargs replaces is not known").or("xargs -I{} cat {}")
				}
				token = f.value.text
			}
		}
	}
	if token == "" {
		return j.appended(a.rest)
	}
	return j.run(replaced(a.rest, token, word{}, a.has("-J")))
}

// appended judges a command that is given unknown words at its end, and offers
// the form in which they cannot become options.
func (j *judge) appended(words []word) *refusal {
	unknown := word{several: true, splits: true}
	words = words[:len(words):len(words)]
	r := j.run(append(words, unknown))
	last := words[len(words)-1].node
	if r == nil || last == nil || j.run(append(words, literal("--"), unknown)) != nil {
		return r
	}
	end := min(last.End().Offset(), uint(len(j.source)))
	r.instead = j.source[:end] + " --" + j.source[end:]
	return r
}

// replaced is a command in which a token stands for words that are unknown until
// it runs.
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
			with = word{text: before}
		} else if by.tame && after != "" {
			with = word{tame: strings.Trim(after[:1], "./") == "" || !strings.HasPrefix(after, "-")}
		}
		with.node, with.several, with.splits = w.node, with.several || several || w.several, with.splits || w.splits
		list = append(list, with)
	}
	return list
}
