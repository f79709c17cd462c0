package shell

import (
	"errors"
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
	words := "bash -c '" + strings.ReplaceAll(command, "'", `'"'"'`) + "'"
	for _, form := range []string{program + confines + command, program + confines + words} {
		if ClassifyForHost(form, ConfinedPattern(program)).Allowed {
			return form
		}
	}
	return ""
}

// ConfinedPattern returns the pattern, like those of the user, of commands that a planloop runs in the sandbox.
func ConfinedPattern(program string) string { return program + confines + "*" }
