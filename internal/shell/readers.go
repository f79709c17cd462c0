package shell

import (
	"slices"
	"strings"
	"sync"
)

// why is what is said of a command that is known, and not to read.
type why struct{ reason, instead string }

// refused are well-known commands that do not only read, with what to use instead.
var refused = sync.OnceValue(func() map[string]why {
	table := map[string]why{}
	for group, names := range names() {
		reason, instead, ok := strings.Cut(group, " |")
		for _, name := range names {
			if ok {
				table[name] = why{reason, strings.TrimSpace(instead)}
			}
		}
	}
	return table
})

// guarded are the commands that read, and have options or operands that write or
// run.
func guarded() map[string]rule {
	awkRule := parsed(listed("awk").upToOperand(), "awk '{print $1}' FILE", awk)
	sedRule := parsed(listed("sed"), unknownLine, sed)
	fd, bat := closed(listed("fd"), nil), closed(listed("bat"), bat)
	return map[string]rule{
		"uniq": closed(listed("uniq"), atMost(1)),
		"sed":  sedRule, "gsed": sedRule, "awk": awkRule, "gawk": awkRule, "mawk": awkRule, "nawk": awkRule,
		"date": closed(listed("date"), dateFormat),
		"xxd": parsed(listed("xxd").words().upToOperand(), "xxd FILE", func(_ *judge, c call, a arguments) *refusal {
			return atMost(1)(c, arguments{operands: a.rest}) // what looks like an option behind it is written
		}),
		"fd": fd, "fdfind": fd,
		"less": closed(options(`-# -N -S -R -r -F -X -n -i -I -M -m -s -e -E -G`), pager),
		"more": closed(options(`-# -d -f -l -p -c -s -u`), pager),
		"bat":  bat, "batcat": bat,
		"yq":       closed(listed("yq"), yq),
		"hostname": closed(listed("hostname"), noOperands),
		"netstat":  closed(options(`-t -l -n -p -u -a -s -r -i -e -v -4 -6`), withoutNames("netstat -tlnp")),
		"tree":     closed(listed("tree"), apart),
		"ss":       closed(listed("ss"), noOperands), // it asks the network for their addresses
		"lsof":     closed(listed("lsof"), withoutNames("lsof -nP -i :8080")),
		"arch":     closed(options(``), noOperands),
		"jq":       {jq(listed("jq"))},
		"unzip":    closed(listed("unzip"), unzip),
		"zgrep":    closed(listed("zgrep"), known("zgrep PATTERN FILE.gz")),
		"gofmt":    closed(options(`-l -d -e -s -r:`).words(), nil),
		"dmesg":    closed(listed("dmesg"), noOperands),
		"man":      {manual},
		"bc":       closed(options(`-l -q -s -w --mathlib --quiet --standard --warn`), noOperands),
	}
}

// dateFormat refuses an operand that is no format: it sets the clock.
func dateFormat(c call, a arguments) *refusal {
	for _, w := range a.operands {
		if !strings.HasPrefix(w.text, "+") {
			return refuse("date with %s sets the clock", source(w)).or("date +%F").without(w.syntax())
		}
	}
	return nil
}

// apart refuses a value that stands with the letter of its option: tree takes it for
// more letters, and the next word for the value.
func apart(c call, a arguments) *refusal {
	for _, f := range a.flags {
		with := func(w word) bool { return w.option() && w.node == f.value.node }
		if len(f.name) == 2 && f.given && slices.ContainsFunc(c.words, with) {
			return refuse("%s takes what stands with %s for more options; put a space between them", c.name, f.name).or("tree -L 2")
		}
	}
	return nil
}

// withoutNames refuses to ask the network for the names of other machines.
func withoutNames(instead string) func(call, arguments) *refusal {
	return func(c call, a arguments) *refusal {
		if c.name == "lsof" && !a.has("-i") || a.has("-n") {
			return nil
		}
		return refuse("%s without -n needs the network for the names of machines", c.name).or(instead)
	}
}

// known allows only operands that are known: some versions run what a name holds.
func known(instead string) func(call, arguments) *refusal {
	return func(c call, a arguments) *refusal {
		return each(a.operands, func(w word) *refusal {
			if w.whole {
				return nil
			}
			return refuse("%s of a file whose name is not known may run what the name holds", c.name).or(instead)
		})
	}
}

// unzip goes on with options behind --, and two dashes take back what one gives.
func unzip(c call, a arguments) *refusal {
	for _, w := range c.words {
		if w.is("--") {
			return refuse("unzip takes what follows -- for options too; begin the name with ./").or("unzip -l ./FILE")
		}
	}
	return nil
}

// jq needs a filter that is known; none of its options does harm.
func jq(g *grammar) func(*judge, call) *refusal {
	return func(_ *judge, c call) *refusal {
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
			return refuse("the filter of jq is not known before it runs; give values with --arg").or(`jq --arg x "$y" '.[$x]' FILE`)
		}
		return r
	}
}

// pager refuses +, which begins a command of the pager.
func pager(c call, a arguments) *refusal {
	if len(a.operands) == 0 {
		return nil
	}
	for _, w := range a.operands {
		if strings.HasPrefix(w.text, "+") || !w.whole && w.text == "" && !w.tame {
			return refuse("%s runs what follows +", c.name).or("cat FILE").without(w.syntax())
		}
	}
	return devices(c, a)
}

func bat(c call, a arguments) *refusal {
	if len(a.operands) > 0 && a.operands[0].is("cache") {
		return refuse("%s cache writes", c.name)
	}
	return nil
}

// yq refuses an expression that is not known, and operators that run or write.
func yq(_ call, a arguments) *refusal {
	texts := slices.Clone(a.operands)
	for _, f := range a.flags {
		if f.given {
			texts = append(texts, f.value)
		}
	}
	for _, w := range texts {
		if strings.Contains(w.text, "system") || strings.Contains(w.text, "exec") {
			return refuse("this expression of yq may run a command").or("yq '.a' FILE")
		}
	}
	expression := a.operands
	if len(expression) > 0 && slices.ContainsFunc([]string{"eval", "e", "eval-all", "ea"}, expression[0].is) {
		expression = expression[1:]
	}
	if len(expression) > 0 && !expression[0].whole || slices.ContainsFunc(a.flags, func(f flag) bool {
		return f.name == "--expression" && !f.value.whole
	}) {
		return refuse("the expression of yq is not known before it runs").or("yq '.a' FILE")
	}
	return nil
}

// manual allows a page by its name: the options of man name programs to show it with.
func manual(_ *judge, c call) *refusal {
	for _, w := range c.words {
		if !w.whole || !plainText().MatchString(w.text) || strings.Contains(w.text, "/") {
			return refuse("man is allowed with the name of a page").or("man ls")
		}
	}
	return nil
}

// archives are the commands that unpack and need code of their own.
func archives() map[string]rule {
	return map[string]rule{"tar": tar(listed("tar")), "bsdtar": tar(listed("tar"))}
}

// tar is allowed where it lists. Its first word may be options without a dash, and
// an archive with a colon in its name is fetched by a program.
func tar(lists *grammar) rule {
	judged := parsed(lists, "tar -tf FILE", tarLists)
	return rule{func(j *judge, c call) *refusal {
		if len(c.words) > 0 && !c.words[0].whole && (c.words[0].text == "" || c.words[0].text[0] != '-') {
			return refuse("what tar does is not known before it runs").or("tar -tf FILE")
		}
		if len(c.words) > 0 && c.words[0].whole && c.words[0].text != "" && c.words[0].text[0] != '-' {
			c.words = append([]word{bundle(c.words[0])}, c.words[1:]...)
		}
		return judged.judge(j, c)
	}}
}

func tarLists(_ *judge, _ call, a arguments) *refusal {
	if !a.has("-t", "--list", "--version", "--help") {
		return refuse("tar without -t writes").or("tar -tf FILE")
	}
	for _, f := range a.flags {
		if (f.name == "-f" || f.name == "--file") && device(f.value.text) {
			return refuse("tar of the device %s may act on it", f.value.text)
		}
		if (f.name == "-f" || f.name == "--file") && (!f.value.whole || strings.Contains(f.value.text, ":")) &&
			!strings.HasPrefix(f.value.text, "/") && !strings.HasPrefix(f.value.text, "./") {
			return refuse("the archive may be one of another machine, which a program would fetch; begin it with ./").or("tar -tf ./FILE")
		}
	}
	return nil
}

// bundle gives the first word of tar its dash. With a value in the middle of a
// bundle the order of the values differs, so that f has to come last.
func bundle(w word) word {
	if i := strings.IndexAny(w.text, "fC"); i >= 0 && i < len(w.text)-1 {
		return word{node: w.node, text: "-?", whole: true}
	}
	return word{node: w.node, text: "-" + w.text, whole: true}
}
