package shell

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// changing returns why a command's purpose is a change, nil if no part of it is known to be one. This says nothing about
// safety: it names the commands that must fail instead of seeming to succeed behind a wall.
func (j *classifier) changing(file *syntax.File) (found *refusal) {
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.CallExpr:
			found = first(found, func() *refusal { return j.change(j.words(node.Args)) })
		case *syntax.Redirect:
			found = first(found, func() *refusal { return j.writes(node) })
		}
		return found == nil
	})
	return found
}

// private matches files that are private behind a wall, and the standard streams.
var private = regexp.MustCompile(`^"?(/tmp/|\$TMPDIR/|\$\{TMPDIR(:-/tmp)?\}/|/dev/(null|stdout|stderr|tty|fd/[0-9]+)"?$)`)

// maxCarried bounds how many commands that run another one are followed.
const maxCarried = 10

// writes returns why a redirection changes a file.
func (j *classifier) writes(r *syntax.Redirect) *refusal {
	switch r.Op {
	case syntax.RdrIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.DplIn:
		return nil
	}
	target := j.text(r.Word)
	if private.MatchString(target) && !strings.Contains(target, "..") || strings.HasPrefix(target, ">(") ||
		r.Op == syntax.DplOut && strings.Trim(target, "0123456789-") == "" {
		return nil
	}
	return refuse("%s writes to a file; output may go to /dev/null only", r.Op).without(r)
}

// change returns why a command that is called with words changes something.
func (j *classifier) change(words []word) *refusal {
	if len(words) == 0 || !words[0].whole || j.isOwn(words) || j.depth > maxCarried {
		return nil
	}
	j.depth++
	defer func() { j.depth-- }()
	name, last := words[0].text, words[len(words)-1]
	if dir := path.Dir(name); slices.Contains([]string{"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"}, dir) {
		name = path.Base(name)
	}
	if last.is("--help") || len(words) == 2 && slices.ContainsFunc([]string{"--version", "-V", "-v", "version", "-h"}, last.is) {
		return nil
	}
	if why := refused()[name]; why.changes || !j.host && slices.Contains(names()["blocked"], name) {
		return refuse("%s %s", name, cmp.Or(why.reason, "is refused while planning")).or(why.instead)
	}
	key := name
	for _, sub := range operands(words[1:], 3) {
		if key += "/" + sub.text; refused()[key].changes {
			return refuse("%s %s", strings.ReplaceAll(key, "/", " "), refused()[key].reason)
		}
	}
	for _, w := range words[1:] {
		if option := changeOption(name, w.text); option != "" {
			return refuse("%s %s writes", name, option)
		}
	}
	return first(j.special(name, words), func() *refusal { return j.carried(name, words[1:]) })
}

// changeOption returns the option in a word with which a program writes, "" if there is none.
func changeOption(name, text string) string {
	option, _, _ := strings.Cut(text, "=")
	writes := func(option string) bool { return changingOptions()[name+"/"+option] }
	if len(option) < 2 || option[0] != '-' {
		return ""
	}
	if writes(option) {
		return option
	}
	for i := 1; i < len(option) && option[1] != '-'; i++ {
		if letter := "-" + option[i:i+1]; writes(letter) {
			return letter
		}
		if !strings.Contains("nErsuzplaw0", option[i:i+1]) {
			break
		}
	}
	return ""
}

var changingOptions = sync.OnceValue(func() map[string]bool {
	table := map[string]bool{}
	for _, option := range names()["changing options"] {
		table[option] = true
	}
	return table
})

// operands returns the first words that are neither options nor values of common options before a subcommand.
func operands(words []word, most int) (list []word) {
	for i := 0; i < len(words) && len(list) < most; i++ {
		switch text := words[i].text; {
		case slices.Contains(names()["before subcommands"], text):
			i++
		case !strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "+"):
			list = append(list, words[i])
		}
	}
	return list
}

// special returns why a program changes something whose subcommands or modes need a closer look.
func (j *classifier) special(name string, words []word) *refusal {
	command := ""
	if list := operands(words[1:], 1); len(list) > 0 {
		command = list[0].text
	}
	for _, entry := range names()["reading modes"] {
		program, modes, _ := strings.Cut(entry, "=")
		if (program == name || program == name+"/"+command) && !hasMode(words[1:], strings.Split(modes, ",")) {
			return refuse("%s writes files", strings.ReplaceAll(program, "/", " "))
		}
	}
	if name == "tee" && slices.ContainsFunc(operands(words[1:], len(words)), func(w word) bool { return !w.is("/dev/null") }) {
		return refuse("tee writes files")
	}
	_, reads := gitCommands()[command]
	reads = reads || slices.Contains(names()["git readers"], command)
	if name == "git" && command != "" && (!reads || slices.Contains(names()["git both"], command)) ||
		name == "planloop" && command != "" && command != "confine" {
		known := make([]word, 0, len(words))
		for _, w := range words {
			known = append(known, literal(cmp.Or(w.text, "x")))
		}
		return j.program(known)
	}
	return nil
}

// hasMode reports whether a word is one of some options, or has one of some letters as an option. The first word may lack
// its dash, as that of tar.
func hasMode(words []word, modes []string) bool {
	return slices.ContainsFunc(modes, func(mode string) bool {
		for i, w := range words {
			letters := i == 0 && modes[0] == "t" || strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--")
			if w.text == mode || len(mode) == 1 && letters && strings.Contains(w.text, mode) {
				return true
			}
		}
		return false
	})
}

// carried returns why a command changes something that another one runs.
func (j *classifier) carried(name string, words []word) *refusal {
	switch {
	case slices.Contains(names()["runs text as commands; give the commands themselves |"], name):
		for i, w := range words {
			if i > 0 && w.whole && strings.HasPrefix(words[i-1].text, "-") && strings.HasSuffix(words[i-1].text, "c") {
				return j.changingText(w.text)
			}
		}
	case name == "find" || name == "fd" || name == "fdfind":
		for i, w := range words {
			if slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"}, w.text) {
				return j.change(words[i+1:])
			}
		}
	case name == "command" && hasMode(words, []string{"v", "V"}):
		return nil
	case slices.Contains(names()["wrappers"], name) || slices.Contains(names()["runners"], name):
		for i := 0; i < len(words); i++ {
			switch text := words[i].text; {
			case slices.Contains(names()["before carried"], text):
				i++
			case !carrying.MatchString(text):
				return j.change(words[i:])
			}
		}
	}
	return nil
}

// carrying matches the words before a command that another one runs: options, numbers, assignments, run.
var carrying = regexp.MustCompile(`^(-.*|run|exec|[0-9.]+[smhd]?|[A-Za-z_]\w*=.*)?$`)

// changingText returns why a text that a shell runs changes something.
func (j *classifier) changingText(text string) *refusal {
	file, err := parse(text)
	if err != nil {
		return nil
	}
	inner := *j
	inner.source = text
	r := inner.changing(file)
	if r != nil {
		r.edits = nil
	}
	return r
}
