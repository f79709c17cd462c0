package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// classifier walks one parsed command. It knows simple commands in pipes and lists, and $(…) of the same; every other kind of
// node is refused.
type classifier struct {
	source   string
	commands map[string]rule
	depth    int
	work     int      // effort spent on classifying
	host     bool     // the host's own shell runs it
	own      []string // patterns of commands that the user allows
}

const maxWork = 1 << 18 // words classified before the classifier gives up

func (j *classifier) stmts(list []*syntax.Stmt) *refusal {
	return j.deeper(func() *refusal { return each(list, j.stmt) })
}

// deeper classifies one level down.
func (j *classifier) deeper(classify func() *refusal) *refusal {
	j.depth++
	defer func() { j.depth-- }()
	if j.depth > maxNesting {
		return refuse("the command is nested too deeply; split it")
	}
	return classify()
}

// each returns the first refusal in a list.
func each[T any](list []T, classify func(T) *refusal) *refusal {
	for _, item := range list {
		if r := classify(item); r != nil {
			return r
		}
	}
	return nil
}

// first returns r, or the result of next if r is nil.
func first(r *refusal, next func() *refusal) *refusal {
	if r != nil {
		return r
	}
	return next()
}

func (j *classifier) stmt(s *syntax.Stmt) *refusal {
	if s.Background || s.Coprocess || s.Disown {
		return refuse("a command in the background outlives its answer; run it in the foreground").or(j.foreground(s))
	}
	if r := each(s.Redirs, j.redirect); r != nil {
		return r
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if !s.Negated {
			return j.call(c)
		}
	case *syntax.BinaryCmd:
		if !s.Negated && len(s.Redirs) == 0 {
			return j.binary(c)
		}
	}
	return refuse("only plain commands, joined by pipes, &&, || and ;, are known to only read")
}

// foreground returns the statement without its ampersand, "" if that is not allowed either.
func (j *classifier) foreground(s *syntax.Stmt) string {
	if s.Cmd == nil {
		return ""
	}
	text := j.source[s.Pos().Offset():min(s.Cmd.End().Offset(), uint(len(j.source)))]
	if len(text) > 2000 || !reads(text) {
		return ""
	}
	return text
}

// binary classifies a chain of commands, which the parser nests to the left.
func (j *classifier) binary(c *syntax.BinaryCmd) *refusal {
	for {
		if r := j.stmts([]*syntax.Stmt{c.Y}); r != nil {
			return r
		}
		left, ok := c.X.Cmd.(*syntax.BinaryCmd)
		if !ok || len(c.X.Redirs) > 0 || c.X.Negated || c.X.Background || c.X.Coprocess || c.X.Disown {
			return j.stmts([]*syntax.Stmt{c.X})
		}
		c = left
	}
}

// redirect allows input from a file, a quoted here-document, duplicated descriptors, and output to /dev/null.
func (j *classifier) redirect(r *syntax.Redirect) *refusal {
	if r.N != nil && strings.Trim(r.N.Value, "0123456789") != "" {
		return refuse("a descriptor that is kept in a variable is not supported; use a number").without(r)
	}
	if r.Op == syntax.Hdoc {
		return j.document(r)
	}
	target := j.word(r.Word)
	literal := target.literal()
	switch r.Op {
	case syntax.RdrIn:
		switch {
		case !literal:
			return refuse("the input is not known and may be a connection in /dev/tcp; use cat").or("cat FILE")
		case device(target.text):
			return refuse("reading from a device may act on it, and /dev/tcp is a connection").without(r)
		}
		return nil
	case syntax.DplIn, syntax.DplOut:
		if literal && (target.text == "-" || strings.Trim(target.text, "0123456789") == "" && target.text != "") {
			return nil // not 2-, which is a file to zsh
		}
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob:
		if literal && target.text == "/dev/null" {
			return nil
		}
	default:
		return refuse("the redirection %s is not known to only read", r.Op)
	}
	return refuse("%s may write to a file; output may go to /dev/null only", r.Op).without(r)
}

// document classifies a here-document with a quoted delimiter, of which no line may begin like its delimiter: inside a
// substitution bash may end it there.
func (j *classifier) document(r *syntax.Redirect) *refusal {
	quoted, ok := onlyPart(r.Word).(*syntax.SglQuoted)
	if !ok || quoted.Dollar || strings.Trim(quoted.Value, wordLetters) != "" || quoted.Value == "" {
		return refuse("the delimiter of a here-document must be one quoted word, as in <<'EOF'")
	}
	if r.Hdoc == nil {
		return nil
	}
	body := strings.TrimSuffix(strings.TrimRight(j.text(r.Hdoc), "\n"), quoted.Value)
	for line := range strings.Lines(body) {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), quoted.Value) {
			return refuse("a line of the here-document begins like its delimiter; use another delimiter")
		}
	}
	return nil
}

func onlyPart(w *syntax.Word) syntax.WordPart {
	if len(w.Parts) != 1 {
		return nil
	}
	return w.Parts[0]
}

// wordLetters are the characters in names of variables and labels.
const wordLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// device reports whether a path names a device other than those that only give or take bytes.
func device(name string) bool {
	rest, ok := strings.CutPrefix(path.Clean(name), "/dev/")
	streams := []string{"null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr"}
	return ok && !slices.Contains(streams, rest) && !strings.HasPrefix(rest, "fd/")
}

func (j *classifier) text(node syntax.Node) string {
	to := min(node.End().Offset(), uint(len(j.source)))
	return j.source[min(node.Pos().Offset(), to):to]
}

// parts refuses a word with any expansion other than a pattern, ~ and $(…) of reading commands.
func (j *classifier) parts(w *syntax.Word) *refusal {
	if hasBrace(w.Parts) && !bracing().MatchString(j.text(w)) {
		return refuse("of braces, only plain words like {a,b}.go are known to only read; write the words out")
	}
	for i, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if ok && i == 0 && strings.HasPrefix(lit.Value, "~") && !strings.HasPrefix(lit.Value, "~/") && j.text(w) != "~" {
			return refuse("~ is known at the beginning of a path only, as ~/")
		}
		if r := j.inside(part); r != nil {
			return r
		}
	}
	return nil
}

// bracing matches words with one pair of braces, of which no alternative begins an option or an absolute path.
var bracing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(--(in|ex)clude(-dir)?=)?([\w.*][\w.*/-]*)?\{[\w][\w-]*(,[\w][\w-]*)+\}[\w.*/-]*$`)
})

func (j *classifier) inside(part syntax.WordPart) *refusal {
	switch part := part.(type) {
	case *syntax.Lit:
		return nil
	case *syntax.SglQuoted:
		if !part.Dollar {
			return nil
		}
	case *syntax.DblQuoted:
		if !part.Dollar {
			return each(part.Parts, j.inside)
		}
	case *syntax.CmdSubst:
		if !part.TempFile && !part.ReplyVar && !part.Backquotes && len(part.Stmts) > 0 {
			return j.stmts(part.Stmts)
		}
	case *syntax.ParamExp:
		return refuse("the value of a variable is not known before the command runs; write it out")
	}
	return refuse("this kind of expansion is not known to only read")
}

type call struct {
	name  string
	words []word
}

// first returns the first argument as far as it is known, for messages.
func (c call) first() string {
	if len(c.words) == 0 {
		return ""
	}
	return c.words[0].text
}

func (j *classifier) call(c *syntax.CallExpr) *refusal {
	if len(c.Assigns) > 0 {
		return refuse("setting %s may change how commands run", j.text(c.Assigns[0])).without(c.Assigns[0])
	}
	return first(each(c.Args, j.parts), func() *refusal { return j.run(j.words(c.Args)) })
}

// run classifies a command by its name and arguments. Wrappers call it again with the command they run.
func (j *classifier) run(words []word) *refusal {
	if j.work += len(words); j.work > maxWork {
		return refuse("there is too much in this command to classify; split it")
	}
	return j.deeper(func() *refusal {
		r := j.program(words)
		if r != nil && j.isOwn(words) {
			return nil
		}
		return r
	})
}

func (j *classifier) program(words []word) *refusal {
	if len(words) == 0 || !words[0].whole {
		return refuse("the command to run is not known before it runs; name it")
	}
	name := words[0].text
	for _, folder := range []string{"/bin/", "/usr/bin/"} {
		if base, ok := strings.CutPrefix(name, folder); ok {
			name = base
			break
		}
	}
	if name == "git" && words[0].text != name {
		return refuse("git is allowed only by its plain name: then planloop can keep a repository from running programs")
	}
	if strings.Contains(name, "/") {
		return refuse("%s is a program of its own; only commands known by name are allowed", shown(name))
	}
	known, ok := j.commands[name]
	if !ok {
		return unknown(name, words)
	}
	if slices.ContainsFunc(words, func(w word) bool { return len(w.text) > 6 && width().MatchString(w.text) }) {
		return refuse("a field of that width fills the memory")
	}
	return known.check(j, call{name: name, words: words[1:]})
}

// width matches a format field padded beyond the memory.
var width = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[-+ #0']*[0-9]*\.?[0-9]{6}`) })

func unknown(name string, words []word) *refusal {
	if len(words) == 2 && words[1].whole && strings.HasPrefix(words[1].text, "-") && slices.Contains(names()[words[1].text], name) {
		return nil // it prints its version
	}
	if why, ok := refused()[name]; ok {
		return refuse("%s %s", name, why.reason).or(why.instead)
	}
	return refuse("%s is not known to only read", shown(name))
}

// shown shortens a name for a message.
func shown(name string) string {
	if len(name) > 40 {
		return name[:40] + "…"
	}
	return name
}
