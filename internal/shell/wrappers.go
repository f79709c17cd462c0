package shell

import (
	"slices"
	"strings"
	"sync"
)

// timeout classifies the command after the duration.
func timeout(j *classifier, _ call, a arguments) *refusal {
	if len(a.rest) < 2 || !a.rest[0].whole {
		return refuse("timeout needs a duration and a command")
	}
	return j.run(a.rest[1:])
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
		if before, _, found := strings.Cut(w.text, token); found {
			w = word{node: w.node, text: before + by.text, several: several || w.several,
				splits: several && by.text == "" || w.splits}
		}
		list = append(list, w)
	}
	return list
}

// findTests are the parts of find's expressions that only look or print.
var findTests = sync.OnceValue(func() *grammar { return listed("find").read() })

// find classifies find and the commands that it runs.
func find(j *classifier, c call) *refusal {
	words := c.words
	for len(words) > 0 && slices.Contains([]string{"-H", "-L", "-P", "-E"}, words[0].text) {
		words = words[1:]
	}
	found := word{text: "./"} // a name that find gives
	for len(words) > 0 && !findExpression(words[0]) {
		switch w := words[0]; {
		case w.splits || !w.whole && w.text == "":
			return refuse("where find begins is not known, and may become a part of its expression; begin it with ./ and quote it").
				before(w, "./").or("find ./src -name '*.go'")
		case device(w.text + "/x"):
			return refuse("reading a device in /dev may change it").without(w.syntax())
		case strings.HasPrefix(w.text, "/"):
			found.text = "/"
		}
		words = words[1:]
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

func findExpression(w word) bool {
	return w.text != "" && (w.text[0] == '-' && !w.is("-") || strings.IndexByte("()!,", w.text[0]) >= 0)
}

// findTest classifies the first part of an expression, and returns how many words it takes.
func (j *classifier) findTest(words []word, found word) (int, *refusal) {
	w := words[0]
	if !w.whole {
		return 0, refuse("a part of the expression of find is not known before it runs; quote patterns").or("find . -name '*.go'")
	}
	kind, known := findTests().arities[w.text]
	switch {
	case w.text == "-exec":
		return j.findExec(words, found)
	case w.text == "-execdir": // some versions begin the name with ./
		return j.findExec(words, word{})
	case !known:
		return 0, refuse("find %s is not known to only read", shown(w.text)).without(w.syntax())
	case kind != valued:
		return 1, nil
	case len(words) == 1 || !words[1].whole:
		return 0, refuse("the word after %s is not known, and may become several words of the expression; quote it", w.text).
			or("find . -name '*.go'")
	}
	return 2, nil
}

// findExec classifies -exec … ; and -exec … {} +.
func (j *classifier) findExec(words []word, found word) (int, *refusal) {
	for i, w := range words {
		switch {
		case i > 0 && !w.whole && w.option():
			return 0, refuse("what find runs is not known before it runs; quote it")
		case i > 1 && (w.is(";") || w.is("+") && words[i-1].is("{}")):
			return i + 1, j.run(replaced(words[1:i], "{}", found, w.is("+")))
		}
	}
	return 0, refuse("find %s has no end; end it with \\; or +", words[0].text)
}
