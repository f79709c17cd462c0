package shell

import (
	_ "embed"
	"maps"
	"strings"
	"sync"
)

var commands = sync.OnceValue(func() map[string]rule {
	table := map[string]rule{}
	for name, e := range entries() {
		if r, ok := e.rule(); ok && !strings.HasPrefix(name, "git ") {
			table[name] = r
		}
	}
	for _, group := range []map[string]rule{builtins(), guarded(), wrappers(), archives(), projects()} {
		maps.Copy(table, group)
	}
	return table
})

//go:embed options.txt
var optionTable string

// entry is one command's entry in options.txt.
type entry struct {
	judged  string // open, closed, judged or any
	options string
	needs   string
}

func (e entry) grammar() *grammar {
	g := options(e.options)
	g.needs = needed(e.needs)
	return g
}

// rule returns the entry's rule, and false if the command needs code of its own.
func (e entry) rule() (rule, bool) {
	switch e.judged {
	case "any":
		return rule{anything}, true
	case "open":
		return open(e.grammar()), true
	case "closed":
		return closed(e.grammar(), nil), true
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
			needs, condition := strings.CutPrefix(line, "  needs ")
			for _, name := range names {
				e := table[name]
				if condition {
					e.needs = needs
				} else {
					e.options += line
				}
				table[name] = e
			}
			continue
		}
		list, how, _ := strings.Cut(line, ": ")
		judged, base, _ := strings.Cut(how, " + ")
		names = strings.Split(list, ", ")
		for _, name := range names {
			table[name] = entry{judged: judged, options: table[base].options, needs: table[base].needs}
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

func listed(name string) *grammar { return entries()[name].grammar() }
