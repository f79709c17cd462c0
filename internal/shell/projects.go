package shell

import (
	"slices"
	"strings"
	"sync"
)

// projects are the rules for a project's tools; only a small part of their commands reads.
func projects() map[string]rule {
	return map[string]rule{"git": parsed(listed("git").upToOperand(), git), "go": {goTool},
		"planloop": {planloop(listed("planloop"))}}
}

// goCommands are the go commands that neither build nor run. Listing packages reads files; the options that build for
// it, use the network or change go.mod are left out.
var goCommands = sync.OnceValue(func() map[string]rule {
	return map[string]rule{
		"version": closed(options(`-m -v -json`).words(), nil), "env": closed(options(`-json -changed`).words(), without("=")),
		"doc":  closed(options(`-all -c -cmd -short -src -u`).words(), nil),
		"list": closed(options(`-f: -json? -m -deps -e -find -test -tags:`).words(), without("@")),
	}
})

func goTool(j *classifier, c call) *refusal {
	known, ok := goCommands()[c.first()]
	if !ok || !c.words[0].whole {
		return refuse("go %s may build, run or write", shown(c.first()))
	}
	return known.check(j, call{"go " + c.first(), c.words[1:]})
}

// without refuses operands that contain a part.
func without(part string) func(call, arguments) *refusal {
	return func(c call, a arguments) *refusal {
		if slices.ContainsFunc(a.operands, func(w word) bool { return strings.Contains(w.text, part) }) {
			return refuse("%s with %s may write or need the network", c.name, part)
		}
		return nil
	}
}

// planloop allows the commands that only show, with their options. Approving, answering and marking belong to people,
// or go through the tools.
func planloop(shows *grammar) func(*classifier, call) *refusal {
	return func(j *classifier, c call) *refusal {
		words := c.words
		if j.host && len(words) > 0 && words[0].is("submit") {
			return submission(words[1:])
		}
		if j.host && len(words) > 2 && words[0].is("reply") && !slices.ContainsFunc(words, option) {
			return nil
		}
		last := len(words) - 1
		if last == 0 && words[0].is("--version") || last >= 0 && words[last].is("--help") && !slices.ContainsFunc(words[:last], option) {
			return nil
		}
		for n := 1; n <= 2 && n <= len(words) && words[n-1].whole; n++ {
			name := c.first()
			if n == 2 {
				name += "/" + words[1].text
			}
			if slices.Contains(names()["planloop"], name) {
				_, r := shows.split(call{"planloop " + name, words[n:]}, false)
				return r
			}
		}
		return refuse("this command of planloop changes the plan; status, show, log, resume and plan status, list, diff, allows only read")
	}
}

// option reports whether a word is or may become an option.
func option(w word) bool { return !w.whole || strings.HasPrefix(w.text, "-") }

// submission allows planloop submit with a file, an object, or standard input.
func submission(words []word) *refusal {
	for len(words) > 0 {
		if len(words) < 2 || !words[1].whole || !slices.ContainsFunc([]string{"--file", "--json"}, words[0].is) {
			return refuse("planloop submit is allowed with --file FILE, --json OBJECT, or the object on standard input").
				or("planloop submit --file FILE")
		}
		words = words[2:]
	}
	return nil
}
