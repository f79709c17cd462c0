package shell

import (
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
	awkRule := parsed(listed("awk").upToOperand(), awk)
	sedRule := parsed(listed("sed"), sed)
	fd, bat := closed(listed("fd"), nil), closed(listed("bat"), bat)
	return map[string]rule{
		"uniq": closed(listed("uniq"), atMost(1)),
		"sed":  sedRule, "gsed": sedRule, "awk": awkRule, "gawk": awkRule, "mawk": awkRule, "nawk": awkRule,
		"date": closed(listed("date"), dateFormat),
		"xxd": parsed(listed("xxd").words().upToOperand(), func(_ *classifier, c call, a arguments) *refusal {
			return atMost(1)(c, arguments{operands: a.rest}) // a later word that looks like an option is written to as well
		}),
		"fd": fd, "fdfind": fd,
		"less": closed(options(`-# -N -S -R -r -F -X -n -i -I -M -m -s -e -E -G`), pager),
		"more": closed(options(`-# -d -f -l -p -c -s -u`), pager),
		"bat":  bat, "batcat": bat,
		"yq":       closed(listed("yq"), yq),
		"hostname": closed(listed("hostname"), noOperands),
		"netstat":  closed(options(`-t -l -n -p -u -a -s -r -i -e -v -4 -6`), withoutNames),
		"tree":     closed(listed("tree"), attachedValues),
		"ss":       closed(listed("ss"), noOperands), // operands make it ask the network for addresses
		"file":     {anyName(listed("file"))},
		"arch":     closed(options(``), noOperands),
		"jq":       {jq(listed("jq"))},
		"unzip":    closed(listed("unzip"), unzip),
		"tar":      tar(listed("tar")), "bsdtar": tar(listed("tar")),
		"zgrep": closed(listed("zgrep"), known),
		"gofmt": closed(options(`-l -d -e -s -r:`).words(), nil),
		"dmesg": closed(listed("dmesg"), noOperands),
		"man":   {manual},
		"bc":    closed(options(`-l -q -s -w --mathlib --quiet --standard --warn`), noOperands),
	}
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

// withoutNames refuses to ask the network for names of other machines.
func withoutNames(c call, a arguments) *refusal {
	if a.has("-n") {
		return nil
	}
	return refuse("%s without -n needs the network for the names of machines", c.name).or("netstat -tlnp")
}

// anyName takes an unquoted pattern for names of files, although one may be an option: file -C writes a file of a fixed name.
func anyName(g *grammar) func(*classifier, call) *refusal {
	return func(_ *classifier, c call) *refusal {
		c.words = slices.DeleteFunc(slices.Clone(c.words), func(w word) bool { return w.file && w.several && !w.splits && w.text == "" })
		_, r := g.split(c, false)
		return r
	}
}

// known allows only known operands: some versions run text in a file's name.
func known(c call, a arguments) *refusal {
	return each(a.operands, func(w word) *refusal {
		if w.whole {
			return nil
		}
		return refuse("%s may run a command in a file name, and this name is not known", c.name)
	})
}

// unzip refuses --: unzip still reads options after it, and a second dash takes an option back.
func unzip(c call, a arguments) *refusal {
	if slices.ContainsFunc(c.words, func(w word) bool { return w.is("--") }) {
		return refuse("unzip reads options after -- too; begin the name with ./").or("unzip -l ./FILE")
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
			return refuse("the filter of jq is not known before it runs; give values with --arg").or(`jq --arg x "$y" '.[$x]' FILE`)
		}
		return r
	}
}

// pager refuses +, which begins a command of the pager.
func pager(c call, a arguments) *refusal {
	for _, w := range a.operands {
		if strings.HasPrefix(w.text, "+") || !w.whole && w.text == "" && !w.tame {
			return refuse("%s runs the command after +", c.name).or("cat FILE").without(w.syntax())
		}
	}
	return refuseDevices(c, a)
}

func bat(c call, a arguments) *refusal {
	if len(a.operands) > 0 && a.operands[0].is("cache") {
		return refuse("%s cache writes", c.name)
	}
	return nil
}

// yq refuses unknown expressions, and operators that run or write.
func yq(_ call, a arguments) *refusal {
	texts := slices.Clone(a.operands)
	for _, f := range a.flags {
		if f.given {
			texts = append(texts, f.value)
		}
	}
	if slices.ContainsFunc(texts, func(w word) bool { return strings.Contains(w.text, "system") || strings.Contains(w.text, "exec") }) {
		return refuse("this expression of yq may run a command")
	}
	expression := a.operands
	if len(expression) > 0 && slices.ContainsFunc([]string{"eval", "e", "eval-all", "ea"}, expression[0].is) {
		expression = expression[1:]
	}
	if len(expression) > 0 && !expression[0].whole || slices.ContainsFunc(a.flags, func(f flag) bool {
		return f.name == "--expression" && !f.value.whole
	}) {
		return refuse("the expression of yq is not known before it runs")
	}
	return nil
}

// manual allows only names of pages: man has options that name programs to show a page with.
func manual(_ *classifier, c call) *refusal {
	for _, w := range c.words {
		if !w.whole || !plainText().MatchString(w.text) || strings.Contains(w.text, "/") {
			return refuse("%s is allowed with the name of a page", c.name)
		}
	}
	return nil
}

// tar is allowed if it lists. Its first word may be options without a dash, and a program fetches an archive with a
// colon in its name.
func tar(lists *grammar) rule {
	listing := parsed(lists, tarLists)
	return rule{func(j *classifier, c call) *refusal {
		if len(c.words) > 0 && !strings.HasPrefix(c.words[0].text, "-") {
			if !c.words[0].whole {
				return refuse("what tar does is not known before it runs")
			}
			c.words = append([]word{bundle(c.words[0])}, c.words[1:]...)
		}
		return listing.check(j, c)
	}}
}

func tarLists(_ *classifier, _ call, a arguments) *refusal {
	if !a.has("-t", "--list", "--version", "--help") {
		return refuse("tar without -t writes")
	}
	for _, f := range a.flags {
		archive, isLocal := f.value.text, strings.HasPrefix(f.value.text, "/") || strings.HasPrefix(f.value.text, "./")
		switch {
		case f.name != "-f" && f.name != "--file":
		case device(archive):
			return refuse("tar of the device %s may act on it", archive)
		case !isLocal && (!f.value.whole || strings.Contains(archive, ":")):
			return refuse("the archive may be one of another machine, which a program would fetch; begin it with ./").or("tar -tf ./FILE")
		}
	}
	return nil
}

// bundle adds the dash to tar's first word. Values of options in the middle of a bundle come in an order that differs,
// so f must be last.
func bundle(w word) word {
	if w.is("") {
		return w
	}
	if i := strings.IndexAny(w.text, "fC"); i >= 0 && i < len(w.text)-1 {
		return word{node: w.node, text: "-?", whole: true}
	}
	return word{node: w.node, text: "-" + w.text, whole: true}
}
