package shell

import "sync"

// rule judges the arguments of one command.
type rule struct {
	judge func(j *judge, c call) *refusal
}

// commands is every command that may be allowed, by name.
var commands = sync.OnceValue(func() map[string]rule {
	table := map[string]rule{}
	for _, group := range []map[string]rule{readers(), builtins(), guarded(), wrappers(), archives(), projects()} {
		for name, r := range group {
			table[name] = r
		}
	}
	return table
})

// open is a command none of whose options writes or runs anything: what its words
// become when it runs does not matter.
func open(g *grammar) rule {
	return rule{func(_ *judge, c call) *refusal {
		a, r := g.split(c, true)
		if r != nil {
			return r
		}
		return devices(c, a)
	}}
}

// devices refuses to read from a device, which may act on it.
func devices(c call, a arguments) *refusal {
	switch c.name {
	case "ls", "stat", "df", "du", "basename", "dirname", "realpath", "readlink":
		return nil
	}
	for _, w := range a.operands {
		if device(w.text) {
			return refuse("%s of the device %s may act on it", c.name, w.text)
		}
	}
	return nil
}

// closed is a command with options that write or run: a word that may become one
// of those is refused, and check looks at what remains.
func closed(g *grammar, check func(c call, a arguments) *refusal) rule {
	return rule{func(_ *judge, c call) *refusal {
		a, r := g.split(c, false)
		if r != nil {
			return r
		}
		if check == nil {
			return nil
		}
		return check(c, a)
	}}
}

// anything is a command that only prints, whatever it is given.
func anything(*judge, call) *refusal { return nil }

// noOperands is a check for commands whose operands change something.
func noOperands(c call, a arguments) *refusal {
	if len(a.operands) > 0 {
		return refuse("%s with %s changes something", c.name, source(a.operands[0])).or(c.name)
	}
	return nil
}

// atMost is a check for commands whose later operands are written.
func atMost(n int) func(call, arguments) *refusal {
	return func(c call, a arguments) *refusal {
		for i, w := range a.operands {
			if i >= n || !w.one() {
				return refuse("%s writes to its operand number %d", c.name, n+1).or(c.name + " FILE").without(w.syntax())
			}
		}
		return nil
	}
}

// needs is a check for commands that only read with one of some options.
func needs(instead string, names ...string) func(call, arguments) *refusal {
	return func(c call, a arguments) *refusal {
		if a.has(names...) {
			return nil
		}
		return refuse("%s writes files without %s", c.name, names[0]).or(instead)
	}
}
