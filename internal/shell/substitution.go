package shell

import (
	"regexp"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// revision reports whether a substitution prints only commit names, and whether it prints at most one. git rev-parse
// prints unknown words back, so the words must be plain.
func revision(c *syntax.CmdSubst) (commits, one bool) {
	words := command(c)
	if len(words) < 3 || words[0] != "git" {
		return false, false
	}
	options := map[string]*regexp.Regexp{
		"rev-parse": shortOption(), "merge-base": shortOption(), "rev-list": countOption(), "log": logOption(),
	}[words[1]]
	names, revisions := words[1] != "log", 0
	for _, text := range words[2:] {
		switch {
		case options == nil || !options.MatchString(text) && !plainRevision().MatchString(text):
			return false, false
		case options.MatchString(text):
			names = names || strings.Contains(text, "=%")
		case strings.Contains(text, "..") || strings.Contains(text, "^"): // may be several
			revisions += 2
		default:
			revisions++
		}
	}
	return names, words[1] == "merge-base" || words[1] == "rev-parse" && revisions == 1
}

// place reports whether a substitution prints an absolute path, or nothing.
func place(c *syntax.CmdSubst) bool {
	text := strings.Join(command(c), " ")
	return text == "pwd" || text == "pwd -P" || text == "git rev-parse --show-toplevel"
}

// command returns the words of a substitution that is a single plain command, nil for any other.
func command(c *syntax.CmdSubst) []string {
	if len(c.Stmts) != 1 || len(c.Stmts[0].Redirs) > 0 || c.Stmts[0].Negated {
		return nil
	}
	call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 {
		return nil
	}
	words := make([]string, 0, len(call.Args))
	for _, arg := range call.Args {
		words = append(words, arg.Lit())
	}
	return words
}

// Options with which git prints only commit names.
var (
	shortOption = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^--(short|verify)$`) })
	countOption = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(-[0-9]+|--(all|no-merges|reverse|max-count=[0-9]+))$`)
	})
	logOption = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(-[0-9]+|--(all|no-merges|reverse)|--(format|pretty)=(t?format:)?%[hH])$`)
	})
)
