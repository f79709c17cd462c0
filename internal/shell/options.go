package shell

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"
)

type arity byte

const (
	alone    arity = iota // no value
	valued                // a value, attached or as the next word
	attached              // an optional value, attached only
	trailing              // a value, attached or as the next word, if there is a next word
)

// grammar lists the options of a command that are known to only read. All others are refused, abbreviations too: they
// may mean other options in other versions.
type grammar struct {
	texts   []string
	reading sync.Once // guards read, which parses texts into the fields below

	arities map[string]arity // by the option with its dashes
	numbers bool             // -5 is an option
	early   bool             // options end at the first operand
	long    bool             // options with one dash are words, like those of find
}

// options makes a grammar: -n and --name are alone, -n: takes a value, -n? may have one attached, -n~ takes the next
// word if there is one, -# is any number.
func options(texts ...string) *grammar { return &grammar{texts: texts} }

// read returns the grammar, parsed on first use: a process that classifies one command needs only a few.
func (g *grammar) read() *grammar {
	g.reading.Do(g.fill)
	return g
}

func (g *grammar) fill() {
	g.arities = map[string]arity{}
	marks := map[byte]arity{':': valued, '?': attached, '~': trailing}
	for _, text := range g.texts {
		for name := range strings.FieldsSeq(text) {
			if name == "-#" {
				g.numbers = true
				continue
			}
			kind := marks[name[len(name)-1]]
			if kind != alone {
				name = name[:len(name)-1]
			}
			g.arities[name] = kind
		}
	}
}

// upToOperand ends the options at the first operand.
func (g *grammar) upToOperand() *grammar { g.early = true; return g }

// words makes options with one dash words.
func (g *grammar) words() *grammar { g.long = true; return g }

// flag is an option as given.
type flag struct {
	name  string
	value word
	given bool // it has a value
}

// arguments are a command's words, separated into options and operands.
type arguments struct {
	flags    []flag
	operands []word
	rest     []word // from the first operand on, when options end there
}

func (a arguments) has(names ...string) bool {
	return slices.ContainsFunc(a.flags, func(f flag) bool { return slices.Contains(names, f.name) })
}

// split separates options and operands. In an open command, words unknown until it runs are accepted because none of
// its options does harm.
func (g *grammar) split(c call, open bool) (arguments, *refusal) {
	g.read()
	var a arguments
	for i := 0; i < len(c.words); i++ {
		w := c.words[i]
		switch {
		case w.is("--"):
			a.rest = c.words[i+1:]
			a.operands = append(a.operands, a.rest...)
			return a, nil
		case !w.option() || w.whole && w.text == "-":
			if g.early {
				a.rest = c.words[i:]
				return a, nil
			}
			a.operands = append(a.operands, w)
		case !w.whole && w.text == "" || w.splits && (w.text == "" || w.text[0] != '-'):
			if !open {
				return a, refuseHidden(c, w)
			}
			a.operands = append(a.operands, w)
		default:
			used, r := g.option(c, w, c.words[i+1:], open, &a)
			if r != nil {
				return a, r
			}
			i += used
		}
	}
	return a, nil
}

// refuseHidden refuses a word that may become an option.
func refuseHidden(c call, w word) *refusal {
	r := refuse("%s has options that write or run, and %s may become one; put -- before it, or begin it with ./, "+
		"and quote a variable", c.name, source(w))
	return r.before(w, "-- ").before(w, "./")
}

func source(w word) string {
	if w.whole || w.text != "" {
		return w.String()
	}
	return "a word that is not known yet"
}

// option reads one word that begins with a dash and returns how many of the next words are its value.
func (g *grammar) option(c call, w word, next []word, open bool, a *arguments) (int, *refusal) {
	if w.splits && !open {
		return 0, refuseHidden(c, w)
	}
	if strings.HasPrefix(w.text, "--") || g.long {
		return g.longOption(c, w, next, open, a)
	}
	letters := w.text[1:]
	if g.numbers && w.whole && strings.Trim(letters, "0123456789") == "" {
		a.flags = append(a.flags, flag{name: "-#", value: literal(letters), given: true})
		return 0, nil
	}
	for i := range len(letters) {
		name := "-" + letters[i:i+1]
		kind, known := g.arities[name]
		if !known {
			if g.numbers && letters[i] >= '0' && letters[i] <= '9' {
				continue
			}
			return 0, g.refused(c, name, w)
		}
		if kind == alone {
			a.flags = append(a.flags, flag{name: name})
			continue
		}
		value := w
		value.text = letters[i+1:]
		if value.text == "" && !w.whole && kind != attached && !open {
			return 0, refuse("the value of %s may be empty, and then the next word becomes it; write the long option with =, or begin "+
				"the value with a text that is known", name)
		}
		if value.text != "" || !w.whole || kind == attached {
			a.flags = append(a.flags, flag{name: name, value: value, given: value.text != "" || !w.whole})
			return 0, nil
		}
		return g.separate(c, name, next, open, a)
	}
	if !w.whole && !open {
		return 0, refuseHidden(c, w)
	}
	return 0, nil
}

// separate takes the next word as the value of an option.
func (g *grammar) separate(c call, name string, next []word, open bool, a *arguments) (int, *refusal) {
	if len(next) == 0 {
		a.flags = append(a.flags, flag{name: name})
		return 0, nil
	}
	value := next[0]
	if !open && !value.one() {
		return 0, refuse("the value of %s may become several words, which %s may take for options; quote it", name, c.name)
	}
	if !open && value.option() {
		r := refuse("the word after %s is or may become an option, and versions of %s read it differently; attach it to %s",
			name, c.name, name)
		if value.node != nil {
			joint := map[bool]string{true: "="}[strings.HasPrefix(name, "--")]
			r.edits = []edit{{value.node.Pos().Offset(), value.node.Pos().Offset(), joint}}
		}
		return 0, r
	}
	a.flags = append(a.flags, flag{name: name, value: value, given: true})
	return 1, nil
}

func (g *grammar) longOption(c call, w word, next []word, open bool, a *arguments) (int, *refusal) {
	name, text, joined := strings.Cut(w.text, "=")
	if !w.whole && !joined {
		if open {
			return 0, nil
		}
		return 0, refuseHidden(c, w)
	}
	kind, known := g.arities[name]
	if !known {
		if g.long && g.numbers && strings.Trim(name[1:], "0123456789") == "" {
			return 0, nil
		}
		return 0, g.refused(c, name, w)
	}
	if joined {
		if kind == alone {
			return 0, refuse("%s of %s takes no value", name, c.name)
		}
		value := w
		value.text = text
		a.flags = append(a.flags, flag{name: name, value: value, given: true})
		return 0, nil
	}
	if kind == alone || kind == attached {
		a.flags = append(a.flags, flag{name: name})
		return 0, nil
	}
	return g.separate(c, name, next, open, a)
}

// refused explains why an option is not allowed, and names the option it may abbreviate.
func (g *grammar) refused(c call, name string, w word) *refusal {
	if strings.HasPrefix(name, "--") && len(name) > 3 {
		for _, full := range slices.Sorted(maps.Keys(g.arities)) {
			if strings.HasPrefix(full, name) {
				r := refuse("%s of %s is an abbreviation, which may mean another option elsewhere; spell out %s", shown(name), c.name, full)
				if w.node != nil {
					at := w.node.Pos().Offset()
					r.edits = []edit{{at, at + uint(len(name)), full}}
				}
				return r
			}
		}
	}
	r := refuse("%s %s is not known to only read", c.name, shown(name))
	if slices.Contains(names()["writing"], name) { // without it, the command does not do the same
		return r
	}
	return r.without(w.syntax())
}

type rule struct {
	check func(j *classifier, c call) *refusal
}

// open is a rule for a command without any option that writes or runs: unknown words cannot do harm.
func open(g *grammar) rule {
	return rule{func(_ *classifier, c call) *refusal {
		a, r := g.split(c, true)
		if r != nil {
			return r
		}
		return refuseDevices(c, a)
	}}
}

// parsed is a rule that classifies a command by its options and operands.
func parsed(g *grammar, check func(j *classifier, c call, a arguments) *refusal) rule {
	return rule{func(j *classifier, c call) *refusal {
		a, r := g.split(c, false)
		if r != nil {
			return r
		}
		return check(j, c, a)
	}}
}

// refuseDevices refuses to read from a device, which may act on it.
func refuseDevices(c call, a arguments) *refusal {
	switch c.name {
	case "ls", "stat", "df", "du", "basename", "dirname", "realpath", "readlink":
		return nil
	}
	for _, w := range a.operands {
		if device(w.text) || !w.whole && device(w.text+"x") {
			return refuse("%s of the device %s may act on it", c.name, source(w))
		}
	}
	return nil
}

// closed is a rule for a command with options that write or run: it refuses words that may become one, and check classifies
// the rest. check may be nil.
func closed(g *grammar, check func(c call, a arguments) *refusal) rule {
	return parsed(g, func(_ *classifier, c call, a arguments) *refusal {
		if check == nil {
			return nil
		}
		return check(c, a)
	})
}

// anything allows a command that only prints, with any arguments.
func anything(*classifier, call) *refusal { return nil }

// noOperands is a check for commands that change something if they have operands.
func noOperands(c call, a arguments) *refusal {
	if len(a.operands) > 0 {
		return refuse("%s with %s changes something", c.name, source(a.operands[0]))
	}
	return nil
}

// atMost is a check for commands that write to their operands after the first n.
func atMost(n int) func(call, arguments) *refusal {
	return func(c call, a arguments) *refusal {
		for i, w := range a.operands {
			if i >= n || !w.one() {
				return refuse("%s writes to its operand number %d", c.name, n+1).without(w.syntax())
			}
		}
		return nil
	}
}

var commands = sync.OnceValue(func() map[string]rule {
	table := map[string]rule{}
	for name, e := range entries() {
		if r, ok := e.rule(); ok && !strings.HasPrefix(name, "git ") {
			table[name] = r
		}
	}
	for _, group := range []map[string]rule{guarded(), projects()} {
		maps.Copy(table, group)
	}
	return table
})

//go:embed options.txt
var optionTable string

// entry is one command's entry in options.txt.
type entry struct {
	kind    string // open, closed, checked or any
	options string
}

// rule returns the entry's rule, and false if the command needs code of its own.
func (e entry) rule() (rule, bool) {
	switch e.kind {
	case "any":
		return rule{anything}, true
	case "open":
		return open(options(e.options)), true
	case "closed":
		return closed(options(e.options), nil), true
	}
	return rule{}, false
}

// entries reads options.txt, by command.
var entries = sync.OnceValue(func() map[string]entry {
	table := map[string]entry{}
	var names []string
	for line := range strings.Lines(optionTable) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "", strings.HasPrefix(line, "#"):
			continue
		case strings.HasPrefix(line, " "):
			for _, name := range names {
				table[name] = entry{table[name].kind, table[name].options + line}
			}
			continue
		}
		list, how, _ := strings.Cut(line, ": ")
		kind, base, _ := strings.Cut(how, " + ")
		names = strings.Split(list, ", ")
		for _, name := range names {
			table[name] = entry{kind, table[base].options}
		}
	}
	return table
})

//go:embed names.txt
var nameTable string

// names reads names.txt, by list.
var names = sync.OnceValue(func() map[string][]string {
	lists, list := map[string][]string{}, ""
	for line := range strings.Lines(nameTable) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if name, ok := strings.CutSuffix(strings.TrimSpace(line), ":"); ok {
			list = name
			continue
		}
		lists[list] = append(lists[list], strings.Fields(line)...)
	}
	return lists
})

func listed(name string) *grammar { return options(entries()[name].options) }
