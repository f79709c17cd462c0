package shell

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// ownPattern matches plain words; all but the first may end in a star, and the last may be one.
var ownPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\w./][\w./+-]*( +[\w.,/:=@%+-]+\*?)*( +\*)?$`)
})

// CheckPattern returns the fault of a user's pattern of commands that only read, such as "kubectl get *".
func CheckPattern(pattern string) error {
	program, _, _ := strings.Cut(pattern, " ")
	base := program[strings.LastIndex(program, "/")+1:]
	wraps := slices.Contains(names()["wrappers"], base)
	runs := regexp.MustCompile("as commands|rights|aside").MatchString(refused()[base].reason)
	switch {
	case !ownPattern().MatchString(pattern):
		return errors.New("give plain words, a star only at the end of a word or as the last one, and none in the program's name")
	case runs || wraps || slices.Contains([]string{"planloop", "command", "builtin"}, base):
		return errors.New(base + " can run or decide anything; name other commands")
	}
	return nil
}

// isOwn reports whether a command consists of literal words that match one of the user's patterns.
func (j *classifier) isOwn(words []word) bool {
	if slices.ContainsFunc(words, func(w word) bool { return !w.literal() }) {
		return false
	}
	return slices.ContainsFunc(j.own, func(pattern string) bool {
		rest := words
		for part := range strings.FieldsSeq(pattern) {
			if part == "*" {
				return true
			}
			beginning, open := strings.CutSuffix(part, "*")
			if len(rest) == 0 || rest[0].text != part && !(open && strings.HasPrefix(rest[0].text, beginning)) {
				return false
			}
			rest = rest[1:]
		}
		return len(rest) == 0
	})
}

// literal reports whether a word is written out, with nothing outside quotes that a shell expands.
func (w word) literal() bool {
	if w.node == nil || !w.whole {
		return false
	}
	return !slices.ContainsFunc(w.node.Parts, func(part syntax.WordPart) bool {
		switch part := part.(type) {
		case *syntax.Lit:
			return strings.ContainsAny(part.Value, `\*?[]{}~$#!^`) || part.Value[0] == '='
		case *syntax.SglQuoted:
			return part.Dollar
		case *syntax.DblQuoted:
			return slices.ContainsFunc(part.Parts, func(p syntax.WordPart) bool { _, text := p.(*syntax.Lit); return !text })
		}
		return true
	})
}

// confines is how a command of planloop that runs another one in the sandbox begins, after the program.
const confines = " confine -- "

// Confined returns the form of a command by which program, a planloop, runs it in the sandbox; "" if there is none. ConfinedPattern allows
// that form, and no other.
func Confined(program, command string) string {
	command = strings.TrimPrefix(strings.TrimSpace(command), "planloop"+confines) // the PATH may find another planloop
	words, quoted := strings.Fields(command), strings.ReplaceAll(command, "'", `'"'"'`)
	form := program + confines + "bash -c '" + quoted + "'"
	if ownPattern().MatchString(command) && !strings.Contains(command, "*") && !slices.Contains(shellWords(), words[0]) {
		form = program + confines + command
	}
	if ClassifyForHost(form, ConfinedPattern(program)).Allowed {
		return form
	}
	return ""
}

// shellWords are commands of the shell itself, with which a command may begin.
func shellWords() []string {
	return strings.Fields(". builtin cd command declare eval exec export readonly set shopt source time trap ulimit umask unset wait")
}

// ConfinedPattern returns the pattern, like those of the user, of commands that a planloop runs in the sandbox; "" if the path of the
// program is not one word of a pattern, which would allow other programs.
func ConfinedPattern(program string) string {
	if !filepath.IsAbs(program) || strings.ContainsAny(program, " \t\r\n*") {
		return ""
	}
	return program + confines + "*"
}
