package shell

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

var gitCommands = sync.OnceValue(func() map[string]rule {
	log, diff := closed(listed("git log"), gitFormats), closed(listed("git diff"), gitFormats)
	remote := options(`-v --verbose --push --all`).upToOperand()
	table := map[string]rule{
		"log": log, "show": log, "reflog": {gitReflog(log)}, "diff": diff, "diff-tree": diff, "diff-index": diff,
		"diff-files": diff,
		"range-diff": closed(listed("git range-diff"), gitFormats),
		"shortlog":   closed(listed("git shortlog"), gitFormats),
		"rev-list":   closed(listed("git rev-list"), gitFormats),
		"branch":     closed(listed("git branch"), gitNamesOnlyIn("-l", "--list")),
		"tag":        closed(listed("git tag"), gitNamesOnlyIn("-l", "--list")),
		"remote":     parsed(remote, gitRemote(remote)),
		"stash":      {gitSub(map[string]rule{"list": log, "show": closed(listed("git stash show"), gitFormats)})},
		"worktree": {gitSub(map[string]rule{"list": closed(options(`-v -z --verbose --porcelain --expire:`),
			noOperands)})},
		"notes":  {gitSub(map[string]rule{"list": closed(options(``), nil), "show": closed(options(``), nil)})},
		"bisect": {gitSub(map[string]rule{"log": closed(options(``), noOperands)})},
		"submodule": {gitSub(map[string]rule{"status": closed(options(`--recursive --cached`), nil),
			"summary": closed(options(`--cached --files -n: --summary-limit:`), nil)})},
		"sparse-checkout": {gitSub(map[string]rule{"list": closed(options(``), noOperands)})},
		"config":          parsed(listed("git config"), gitConfig),
		"for-each-ref":    closed(listed("git for-each-ref"), gitFormats),
		"symbolic-ref":    closed(options(`-q --short --quiet --no-recurse`), atMost(1)),
		"count-objects":   closed(options(`-v -H --verbose --human-readable`), noOperands),
	}
	for name, e := range entries() {
		name, ok := strings.CutPrefix(name, "git ")
		if r, closed := e.rule(); ok && closed {
			table[name] = r
		}
	}
	return table
})

// git classifies the command after git's own options.
func git(j *classifier, _ call, a arguments) *refusal {
	if len(a.rest) == 0 {
		return nil
	}
	if !a.rest[0].whole || !a.rest[0].one() {
		return refuse("the command of git is not known before it runs; write it out")
	}
	name := a.rest[0].text
	known, ok := gitCommands()[name]
	if !ok {
		return refuse("git %s is not known to only read", shown(name))
	}
	return known.check(j, call{"git " + name, a.rest[1:]})
}

// signing matches the parts of a format that check signatures.
var signing = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[-+ ]*G|signature`) })

// builtinFormats matches git's own named formats; others come from a configuration.
var builtinFormats = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(oneline|short|medium|full|fuller|reference|email|raw|t?format:.*|.*%.*|)$`)
})

// gitFormats refuses unknown formats and those that check signatures, which runs a program.
func gitFormats(c call, a arguments) *refusal {
	for _, f := range a.flags {
		if !f.given || f.name != "--format" && f.name != "--pretty" && f.name != "--sort" {
			continue
		}
		if !f.value.whole || signing().MatchString(f.value.text) || f.name != "--sort" && !builtinFormats().MatchString(f.value.text) {
			return refuse("a format of %s that checks signatures runs a program, and this may be one", c.name)
		}
	}
	return nil
}

// gitNamesOnlyIn allows operands only with one of the options that make them patterns; otherwise git creates a branch
// or tag.
func gitNamesOnlyIn(names ...string) func(call, arguments) *refusal {
	return func(c call, a arguments) *refusal {
		if len(a.operands) > 0 && !a.has(names...) {
			return refuse("%s with a name makes one", c.name)
		}
		return gitFormats(c, a)
	}
}

// gitSub classifies a git command that has subcommands.
func gitSub(commands map[string]rule) func(*classifier, call) *refusal {
	return func(j *classifier, c call) *refusal {
		if len(c.words) == 0 {
			if c.name == "git submodule" || c.name == "git notes" {
				return nil
			}
			return refuse("%s alone changes something", c.name)
		}
		known, ok := commands[c.first()]
		if !ok || !c.words[0].whole {
			return refuse("%s %s is not known to only read", c.name, source(c.words[0]))
		}
		return known.check(j, call{c.name + " " + c.first(), c.words[1:]})
	}
}

// gitReflog classifies git reflog, which works like git log unless its first word is another subcommand.
func gitReflog(log rule) func(*classifier, call) *refusal {
	return func(j *classifier, c call) *refusal {
		words := c.words
		if len(words) > 0 && !words[0].option() {
			switch {
			case !words[0].whole:
				return refuse("what git reflog does is not known before it runs")
			case words[0].text == "show", words[0].text == "list", words[0].text == "exists":
				words = words[1:]
			case slices.Contains([]string{"expire", "delete", "drop", "write"}, words[0].text):
				return refuse("git reflog %s writes", words[0].text)
			}
		}
		return log.check(j, call{"git reflog", words})
	}
}

// gitRemote allows git remote if it only shows. The options of get-url are the ones given before it.
func gitRemote(g *grammar) func(*classifier, call, arguments) *refusal {
	return func(_ *classifier, _ call, a arguments) *refusal {
		if len(a.rest) == 0 || len(a.rest) == 1 && a.rest[0].is("show") {
			return nil
		}
		if !a.rest[0].is("get-url") {
			return refuse("git remote %s changes something or needs the network", source(a.rest[0]))
		}
		_, r := g.split(call{"git remote get-url", a.rest[1:]}, false)
		return r
	}
}

// gitConfig allows git config to get and list. With two words and no option, git config writes.
func gitConfig(_ *classifier, _ call, a arguments) *refusal {
	if a.has("-l", "--list") && len(a.operands) == 0 || a.has("--get", "--get-all", "--get-regexp", "--get-urlmatch") {
		return nil
	}
	if len(a.operands) == 1 && a.operands[0].whole && (strings.Contains(a.operands[0].text, ".") || a.operands[0].is("list")) ||
		len(a.operands) == 2 && a.operands[0].is("get") {
		return nil
	}
	return refuse("git config sets, unless it is asked to get or list")
}
