package gates

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// checkIsCommand refuses prose: text that the shell does not parse, or a sentence in place of one of its commands.
func checkIsCommand(_ context.Context, e *examination, i int) []flaw {
	command := e.New[i].Verify
	calls, parses := simpleCommands(command)
	quotes := strings.HasPrefix(command, "`") && !strings.HasSuffix(command, "`") // of Markdown
	if !isGiven(command) || !quotes && parses && !slices.ContainsFunc(calls, e.isProse) {
		return nil
	}
	return []flaw{{message: "has prose in `verify`: " + code(command) + ".",
		fix: "write the command, or put this into `acceptance_criteria`"}}
}

// checkIsInstalled warns of a command that is not installed here.
func checkIsInstalled(_ context.Context, e *examination, i int) []flaw {
	calls, _ := simpleCommands(e.New[i].Verify)
	if len(calls) == 0 || calls[0].name == "" || e.isCommand(calls[0].name) || slices.ContainsFunc(calls, e.isProse) {
		return nil
	}
	return []flaw{{message: "has a command in `verify` that is not installed here: " + code(calls[0].name) + ".",
		fix: "install it, or write another command"}}
}

func (e *examination) isProse(c simpleCommand) bool {
	return c.name != "" && !e.isCommand(c.name) && isSentence(c.words)
}

// isCommand reports whether a name can be run here: a shell's own command, a program, or a file in the workspace.
func (e *examination) isCommand(name string) bool {
	if e.commands == nil || syntax.IsKeyword(name) || slices.Contains(strings.Fields(shellCommands), name) || e.commands(name) {
		return true
	}
	if e.tree == nil {
		return strings.Contains(name, "/")
	}
	_, err := fs.Stat(e.tree.files, path.Clean(name))
	return err == nil
}

// shellCommands are commands that a shell runs itself.
const shellCommands = `. : [ alias bg break builtin cd command continue declare echo eval exec exit export false fg getopts hash jobs
	kill let local printf pushd popd pwd read readonly return set shift shopt source test time times trap true type typeset ulimit
	umask unalias unset wait`

// isSentence reports whether words that begin with no known command read like prose: none looks like an option or a path, and they have
// what commands lack, such as a capital or an article.
func isSentence(words []string) bool {
	looks := func(word string) bool {
		return strings.HasPrefix(word, "-") || strings.ContainsAny(strings.TrimRight(word, ".,"), "/.=$")
	}
	if bare := strings.Trim(strings.ToLower(strings.Join(words, " ")), "."); len(words) == 1 || strings.HasPrefix(bare, "by hand") {
		return slices.Contains(strings.Fields("manual manually none n/a na review todo tbd inspection"), bare) || len(words) > 1
	}
	if len(words) > 2 && slices.Contains([]string{"GET", "POST", "PUT", "DELETE", "HEAD"}, words[0]) {
		return true
	}
	if len(words) < 2 || slices.ContainsFunc(words, looks) {
		return false
	}
	return unicode.IsUpper([]rune(words[0])[0]) || len(words) > 2 && isTaskVerb(words[0]) ||
		slices.ContainsFunc(words, func(word string) bool {
			return isListed(strings.ToLower(word), "determiners", "prepositions", "pronouns")
		})
}

type simpleCommand struct {
	name  string   // "" if it depends on the shell
	words []string // as they are written, with the name
}

// simpleCommands lists the commands of a text, except those whose output is used, and reports whether the text parses.
func simpleCommands(text string) (calls []simpleCommand, parses bool) {
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, false
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if ok && len(call.Args) > 0 {
			written := text[call.Args[0].Pos().Offset():call.End().Offset()]
			calls = append(calls, simpleCommand{literal(call.Args[0]), strings.Fields(written)})
		}
		return !ok
	})
	return calls, true
}

// verifies reports whether a command can fail: one that always succeeds, such as true or echo ok, verifies nothing. A
// command that cannot be parsed gets the benefit of the doubt.
func verifies(command string) bool {
	file, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	return isGiven(command) && (err != nil || !always(true, file.Stmts))
}

// always reports whether a list of commands surely succeeds (well) or surely fails. Its last command decides, unless an
// earlier one may end the list.
func always(well bool, list []*syntax.Stmt) bool {
	if len(list) == 0 {
		return well
	}
	last := list[len(list)-1]
	if last.Background || slices.ContainsFunc(list[:len(list)-1], mayEnd) {
		return last.Background && well
	}
	well = well != last.Negated
	switch c := last.Cmd.(type) {
	case nil:
		return well
	case *syntax.Block:
		return always(well, c.Stmts)
	case *syntax.Subshell:
		return always(well, c.Stmts)
	case *syntax.TimeClause:
		return c.Stmt != nil && always(well, []*syntax.Stmt{c.Stmt})
	case *syntax.BinaryCmd:
		x, y := always(well, []*syntax.Stmt{c.X}), always(well, []*syntax.Stmt{c.Y})
		switch c.Op {
		case syntax.AndStmt, syntax.OrStmt:
			return x && y || (x || y) && well == (c.Op == syntax.OrStmt)
		}
		return y
	case *syntax.CallExpr:
		return calledEnds(well, c)
	}
	return false
}

// mayEnd reports whether a command can end the list that contains it.
func mayEnd(stmt *syntax.Stmt) bool {
	found := false
	syntax.Walk(stmt, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			found = found || slices.Contains([]string{"set", "exit", "return", "exec", "trap"}, literal(call.Args[0]))
		}
		return !found
	})
	return found
}

// calledEnds is always for a simple command.
func calledEnds(well bool, call *syntax.CallExpr) bool {
	words := make([]string, len(call.Args))
	for i, arg := range call.Args {
		words[i] = literal(arg)
	}
	for len(words) > 1 && slices.Contains([]string{"command", "builtin", "exec", "env"}, words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return false // the assigned value may be a command's output
	}
	switch name := path.Base(words[0]); name {
	case "true", ":", "echo", "printf", "pwd", "date", "sleep":
		return well
	case "false":
		return !well
	case "exit":
		return len(words) == 1 || (words[1] == "0") == well
	case "test", "[": // only comparing texts
		looks := func(word string) bool {
			return word == "" || len(word) == 2 && word[0] == '-' && word != "-n" && word != "-z"
		}
		return !slices.ContainsFunc(words[1:], looks)
	case "sh", "bash":
		return len(words) > 2 && words[1] == "-c" && words[2] != "" && well && !verifies(words[2])
	}
	return false
}

// literal returns the text of a word, "" if it depends on the shell.
func literal(word *syntax.Word) string {
	text := ""
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text += part.Value
		case *syntax.SglQuoted:
			text += part.Value
		case *syntax.DblQuoted:
			inner := literal(&syntax.Word{Parts: part.Parts})
			if inner == "" {
				return ""
			}
			text += inner
		default:
			return ""
		}
	}
	return text
}
