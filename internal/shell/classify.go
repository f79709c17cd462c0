// Package shell judges a shell command by what it may do, and runs the ones that
// only read behind a second wall. It is for a phase in which an agent may look at
// everything and change nothing.
//
// Classify parses the command as bash would and allows it only when every part of
// it is known to read: every kind of syntax, every command, every option. What is
// unknown is refused, with the reason and, where there is one, the nearest form
// that is allowed. It is pure: it looks at no file and at no environment. Command
// runs a text with bash in a narrow environment, so that what the judgement
// cannot see, such as the configuration of a repository, does little harm.
//
// It must not know plans, phases or who asks. What may be read is not its matter
// either: a command that prints a file outside the workspace is a reading one.
//
// The judgement is of bash. A host that hands the same text to another shell has
// the same words, but a few constructs mean other things there.
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

// maxCommand bounds what is judged, in bytes. More is refused, never cut off.
const maxCommand = 256 << 10

// maxNesting bounds how deeply its brackets, or its statements, stand in each other.
const maxNesting = 200

// Verdict is the answer of Classify.
type Verdict struct {
	Allowed bool
	Reason  string // why it is refused, in one sentence; "" if it is allowed
	Instead string // the nearest form that is allowed, "" if none is known
}

// Classify says whether a bash command only reads.
func Classify(command string) Verdict { return verdictOn(command, false) }

// ClassifyForHost says whether an agent that may only read may run a bash command in its host's own shell: one that
// only reads, or puts a plan before a person, which an agent without planloop's tools can do nowhere else.
func ClassifyForHost(command string) Verdict { return verdictOn(command, true) }

// ClassifyForAnyShell says it where the host's shell may be cmd or PowerShell, which take other characters for quotes
// and separators, and other programs for those of the same name.
func ClassifyForAnyShell(command string) Verdict {
	if !regexp.MustCompile(plainCommand).MatchString(command) {
		return Verdict{Reason: "cmd and PowerShell may read it otherwise than bash; give one command of git, go, rg, grep, cat, ls, " +
			"head, tail or wc in plain words, with / in paths and no pipe", Instead: "git log --oneline"}
	}
	return ClassifyForHost(command)
}

// plainCommand is a command that means the same in bash, cmd and PowerShell, and that runs the same program there, or
// none. What reads in one may write in another: sort has /o in cmd.
const plainCommand = `^(git|go|rg|grep|cat|ls|pwd|head|tail|wc|planloop)( +(-[-\w./:=]*|[\w./:~*+]+|"[\w ./:~*+-]*"))* *$`

func verdictOn(command string, submits bool) Verdict {
	r := judged(command, submits)
	if r == nil {
		return Verdict{Allowed: true}
	}
	return Verdict{Reason: r.reason, Instead: r.allowed(command)}
}

func classify(command string) *refusal { return judged(command, false) }

func judged(command string, submits bool) *refusal {
	if r := legible(command); r != nil {
		return r
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(command), "")
	if err != nil {
		return unparsed(err)
	}
	j := &judge{source: command, commands: commands(), bound: map[any]string{}, set: map[string]bool{}, submits: submits}
	if r := j.comments(file); r != nil {
		return r
	}
	j.variables = variablesOf(file)
	return j.stmts(file.Stmts)
}

// legible refuses texts that shells and people read in different ways: other
// control characters than tab and newline (a carriage return ends a line for some
// readers and not for bash), what is no UTF-8, and characters nobody sees.
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

// nesting bounds how deeply a text can be nested, whatever its quotes: openers
// that nothing closes count for ever.
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

// comments refuses one that ends with a backslash: some shells go on with the
// comment on the next line, others with a command.
func (j *judge) comments(file *syntax.File) *refusal {
	if !strings.Contains(j.source, "#") || !strings.Contains(j.source, "\\\n") {
		return nil
	}
	var found *refusal
	syntax.Walk(file, func(node syntax.Node) bool {
		if comment, ok := node.(*syntax.Comment); ok {
			line, _, _ := strings.Cut(j.source[min(comment.Pos().Offset(), uint(len(j.source))):], "\n")
			if strings.HasSuffix(line, "\\") {
				found = refuse("a comment ends with a backslash; leave it out")
			}
		}
		return found == nil
	})
	return found
}

func unparsed(err error) *refusal {
	var parse syntax.ParseError
	if errors.As(err, &parse) {
		return refuse("the command cannot be read as bash: %s at %s", parse.Text, parse.Pos)
	}
	var other syntax.LangError
	if errors.As(err, &other) {
		return refuse("the command cannot be read as bash: %v", other)
	}
	return refuse("the command cannot be read as bash: %v", err)
}

// refusal says why a command is refused, and what might be allowed in its place.
type refusal struct {
	reason  string
	instead string // a known form
	general string // a form that may be allowed
	edits   []edit // of the command, which may make it one that is allowed
}

func refuse(format string, args ...any) *refusal {
	return &refusal{reason: fmt.Sprintf(format, args...)}
}

// or names a form that is allowed.
func (r *refusal) or(instead string) *refusal {
	if r != nil && r.instead == "" {
		r.instead = instead
	}
	return r
}

// edit puts a text in the place of a part of the command.
type edit struct {
	from, to uint
	text     string
}

// without offers the command without a node.
func (r *refusal) without(node syntax.Node) *refusal {
	if r != nil && r.edits == nil && node != nil {
		r.edits = []edit{{node.Pos().Offset(), node.End().Offset(), ""}}
	}
	return r
}

// before offers the command with a text before a word: -- to end the options, ./ to
// begin a path.
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

// allowed returns the command without the offending part, or else a known form:
// only what would be allowed.
func (r *refusal) allowed(command string) string {
	forms := make([]string, 0, len(r.edits)+2)
	for _, e := range r.edits {
		forms = append(forms, e.made(command))
	}
	for _, form := range append(forms, r.instead, r.general) {
		if form != "" && len(form) < 2000 && classify(form) == nil {
			return form
		}
	}
	return ""
}

// made is the command with the edit.
func (e edit) made(command string) string {
	if e.to < e.from || e.to > uint(len(command)) {
		return ""
	}
	before := command[:e.from]
	if e.text == "" || e.text == "=" { // joins what is around it
		before = strings.TrimRight(before, " \t")
	}
	return strings.TrimSpace(before + e.text + command[e.to:])
}
