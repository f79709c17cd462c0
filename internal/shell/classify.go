// Package shell classifies a shell command by its effects, and runs the read-only ones inside a second barrier. It serves
// phases in which an agent may read everything and change nothing.
//
// Classify parses the command as bash would and allows it only if every part is known to read: every kind of syntax,
// every command, every option. Anything unknown is refused, with the reason and, if there is one, the nearest allowed
// form. Classify is pure: it looks at no file and no environment variable. Command runs a text with bash in a narrow
// environment, so that things the classification cannot see, such as a repository's configuration, do little harm.
//
// The package must not know plans, phases or callers. It does not restrict which files may be read either: a command
// that prints a file outside the workspace is still a reading one.
//
// The classification assumes bash, and refuses constructs that zsh reads in another way. A scanner that shares no code with
// the parser must read the text alike.
package shell

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// maxCommand bounds the command that is classified, in bytes. A longer one is refused, never cut off.
const maxCommand = 256 << 10

// maxNesting bounds how deeply a command's brackets, or its statements, are nested.
const maxNesting = 200

// Verdict is the answer of Classify. A command that is neither allowed nor a change is unknown: a caller may run it where
// nothing that it does lasts, or else refuses it.
type Verdict struct {
	Allowed bool
	Changes bool   // its purpose is a change, or it cannot be read: it must be refused
	Reason  string // why it is refused, in one sentence; "" if it is allowed
	Instead string // the nearest allowed form; "" if none is known
}

// Classify reports whether a bash command only reads. own are patterns of commands that do, as CheckPattern accepts them.
func Classify(command string, own ...string) Verdict { return verdictOn(command, false, own) }

// ClassifyForHost reports whether an agent that may only read may run a bash command in its host's own shell. It also
// allows submitting a plan and replying, because an agent without planloop's tools has no other way.
func ClassifyForHost(command string, own ...string) Verdict { return verdictOn(command, true, own) }

// ClassifyForAnyShell is ClassifyForHost if the host's shell may be cmd or PowerShell. Their quotes and separators
// differ, and they run other programs under the same names.
func ClassifyForAnyShell(command string) Verdict {
	if !regexp.MustCompile(plainCommand).MatchString(command) {
		return Verdict{Changes: true, Reason: "cmd and PowerShell may read it otherwise than bash; give one command of git, go, rg, " +
			"grep, cat, ls, head, tail or wc in plain words, with / in paths and no pipe", Instead: "git log --oneline"}
	}
	return ClassifyForHost(command)
}

// plainCommand matches commands that mean the same in bash, cmd and PowerShell, and that run the same program there or
// fail. A command that reads in one shell may write in another: sort has /o in cmd.
const plainCommand = `^(git|go|rg|grep|cat|ls|pwd|head|tail|wc|planloop)( +(-[-\w./:=]*|[\w./:~*+]+|"[\w ./:~*+-]*"))* *$`

func verdictOn(command string, host bool, own []string) Verdict {
	r, changes := classify(command, host, own...)
	if r == nil {
		return Verdict{Allowed: true}
	}
	return Verdict{Changes: changes, Reason: r.reason, Instead: r.allowed(command)}
}

// classify returns why a command is not plainly a reading one, and whether it must be refused.
func classify(command string, host bool, own ...string) (r *refusal, changes bool) {
	if r := legible(command); r != nil {
		return r, true
	}
	file, err := parse(command)
	if err != nil {
		if parse, ok := errors.AsType[syntax.ParseError](err); ok {
			return refuse("the command cannot be read as bash: %s at %s", parse.Text, parse.Pos), true
		}
		return refuse("the command cannot be read as bash: %v", err), true
	}
	j := &classifier{source: command, commands: commands(), host: host, own: own}
	r = first(j.stmts(file.Stmts), func() *refusal { return certain(command, file) })
	if r == nil {
		return nil, false
	}
	if change := j.changing(file); change != nil {
		return change, true
	}
	return r, false
}

func parse(command string) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(command), "")
}

// legible refuses texts that shells and people read differently: invalid UTF-8, invisible characters, and control
// characters other than tab and newline (a carriage return ends a line for some readers but not for bash).
func legible(command string) *refusal {
	if len(command) > maxCommand {
		return refuse("the command is longer than %d bytes; split it", maxCommand)
	}
	if !utf8.ValidString(command) {
		return refuse("the command is not valid UTF-8")
	}
	if nesting(command) > maxNesting {
		return refuse("the command is nested too deeply; split it")
	}
	for _, c := range command {
		if c == '\n' || c == '\t' || c >= ' ' && c < 0x7f {
			continue
		}
		if c < utf8.RuneSelf || unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || unicode.IsSpace(c) {
			return refuse("the command holds the character %U, which shells and readers see differently; leave it out", c)
		}
	}
	return nil
}

// nesting returns an upper bound on the nesting depth, ignoring quotes: openers that are never closed count to the end.
func nesting(command string) int {
	depth, deepest := 0, 0
	for i := range len(command) {
		switch command[i] {
		case '(', '{':
			depth++
			deepest = max(deepest, depth)
		case ')', '}':
			depth = max(0, depth-1)
		}
	}
	return deepest
}

// refusal is the reason a command is refused, and possible replacements.
type refusal struct {
	reason  string
	instead string // a known form
	edits   []edit // changes to the command that may make it allowed
}

func refuse(format string, args ...any) *refusal {
	return &refusal{reason: fmt.Sprintf(format, args...)}
}

// or sets the allowed form to suggest, unless there is one already.
func (r *refusal) or(instead string) *refusal {
	if r != nil && r.instead == "" {
		r.instead = instead
	}
	return r
}

// edit replaces a part of the command with text.
type edit struct {
	from, to uint
	text     string
}

// without suggests the command with node removed.
func (r *refusal) without(node syntax.Node) *refusal {
	if r != nil && r.edits == nil && node != nil {
		r.edits = []edit{{node.Pos().Offset(), node.End().Offset(), ""}}
	}
	return r
}

// before suggests the command with text inserted before a word: -- to end the options, ./ to start a path.
func (r *refusal) before(w word, text string) *refusal {
	if w.node == nil {
		return r
	}
	at := w.node.Pos().Offset()
	if quoted, ok := w.node.Parts[0].(*syntax.DblQuoted); ok && text == "./" {
		at = quoted.Pos().Offset() + 1
	}
	r.edits = append(r.edits, edit{at, at, text})
	return r
}

// allowed returns the edited command, or else a known form, and only if Classify would allow it.
func (r *refusal) allowed(command string) string {
	forms := make([]string, 0, len(r.edits)+2)
	for _, e := range r.edits {
		forms = append(forms, e.made(command))
	}
	for _, form := range append(forms, r.instead) {
		if form != "" && len(form) < 2000 && reads(form) {
			return form
		}
	}
	return ""
}

func reads(command string) bool {
	r, _ := classify(command, false)
	return r == nil
}

func (e edit) made(command string) string {
	if e.to < e.from || e.to > uint(len(command)) {
		return ""
	}
	before := command[:e.from]
	if e.text == "" || e.text == "=" { // joins the neighbouring texts
		before = strings.TrimRight(before, " \t")
	}
	return strings.TrimSpace(before + e.text + command[e.to:])
}
