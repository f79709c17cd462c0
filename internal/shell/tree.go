package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// judge walks one parsed command. Every kind of node has its rule; a kind without
// one is refused.
type judge struct {
	source    string
	variables variables
	commands  map[string]rule
	depth     int
}

func (j *judge) stmts(list []*syntax.Stmt) *refusal {
	j.depth++
	defer func() { j.depth-- }()
	if j.depth > maxNesting {
		return refuse("the command is nested too deeply; split it")
	}
	for _, stmt := range list {
		if r := j.stmt(stmt); r != nil {
			return r
		}
	}
	return nil
}

func (j *judge) stmt(s *syntax.Stmt) *refusal {
	if s.Background || s.Coprocess || s.Disown {
		return refuse("a command in the background outlives its answer; run it in the foreground").or(j.foreground(s))
	}
	for _, redirect := range s.Redirs {
		if r := j.redirect(redirect); r != nil {
			return r
		}
	}
	if s.Cmd == nil {
		return nil
	}
	return j.command(s.Cmd)
}

// foreground is the statement without its ampersand, if that is allowed.
func (j *judge) foreground(s *syntax.Stmt) string {
	if s.Cmd == nil {
		return ""
	}
	text := j.source[s.Pos().Offset():min(s.Cmd.End().Offset(), uint(len(j.source)))]
	if len(text) > 2000 || classify(text) != nil {
		return ""
	}
	return text
}

func (j *judge) command(c syntax.Command) *refusal {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return j.call(c)
	case *syntax.BinaryCmd:
		return j.binary(c)
	case *syntax.Subshell:
		return j.stmts(c.Stmts)
	case *syntax.Block:
		return j.stmts(c.Stmts)
	case *syntax.IfClause:
		return j.branch(c)
	case *syntax.WhileClause:
		return first(j.stmts(c.Cond), func() *refusal { return j.stmts(c.Do) })
	case *syntax.ForClause:
		return j.loop(c)
	case *syntax.CaseClause:
		return j.choice(c)
	case *syntax.TestClause:
		return j.test(c.X)
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return nil
		}
		return j.stmts([]*syntax.Stmt{c.Stmt})
	case *syntax.ArithmCmd:
		return j.arithmetic(c.X)
	case *syntax.DeclClause:
		return j.declaration(c)
	case *syntax.FuncDecl:
		return refuse("a function can stand in for any command; write its commands out").without(c)
	case *syntax.LetClause:
		return refuse("let runs what its text holds").or("echo $((1 + 2))")
	case *syntax.CoprocClause:
		return refuse("a coprocess outlives its answer; use a pipe")
	default:
		return refuse("this kind of command is not known to only read")
	}
}

// first returns a refusal, or what comes next.
func first(r *refusal, next func() *refusal) *refusal {
	if r != nil {
		return r
	}
	return next()
}

// binary judges a chain of commands, which the parser leans to the left.
func (j *judge) binary(c *syntax.BinaryCmd) *refusal {
	for {
		if r := j.stmts([]*syntax.Stmt{c.Y}); r != nil {
			return r
		}
		left, ok := c.X.Cmd.(*syntax.BinaryCmd)
		if !ok || len(c.X.Redirs) > 0 || c.X.Background || c.X.Coprocess || c.X.Disown {
			return j.stmts([]*syntax.Stmt{c.X})
		}
		c = left
	}
}

func (j *judge) branch(c *syntax.IfClause) *refusal {
	for ; c != nil; c = c.Else {
		if r := j.stmts(c.Cond); r != nil {
			return r
		}
		if r := j.stmts(c.Then); r != nil {
			return r
		}
	}
	return nil
}

func (j *judge) loop(f *syntax.ForClause) *refusal {
	if f.Select {
		return refuse("select waits for an answer; use for")
	}
	switch loop := f.Loop.(type) {
	case *syntax.WordIter:
		if loop.Name == nil || !harmless(loop.Name.Value) {
			return refuse("the loop variable changes how commands run; use another name, such as f")
		}
		for _, item := range loop.Items {
			if r := j.parts(item.Parts); r != nil {
				return r
			}
		}
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{loop.Init, loop.Cond, loop.Post} {
			if r := j.arithmetic(x); r != nil {
				return r
			}
		}
	default:
		return refuse("this kind of loop is not known to only read")
	}
	return j.stmts(f.Do)
}

func (j *judge) choice(c *syntax.CaseClause) *refusal {
	if r := j.parts(c.Word.Parts); r != nil {
		return r
	}
	for _, item := range c.Items {
		for _, pattern := range item.Patterns {
			if r := j.pattern(pattern); r != nil {
				return r
			}
		}
		if r := j.stmts(item.Stmts); r != nil {
			return r
		}
	}
	return nil
}

// declaration judges export and its kind: as assignments, without options.
func (j *judge) declaration(d *syntax.DeclClause) *refusal {
	if d.Variant.Value != "export" && d.Variant.Value != "readonly" && d.Variant.Value != "local" {
		return refuse("%s gives a name a meaning of its own; assign a plain value", d.Variant.Value).or("x=1")
	}
	for _, a := range d.Args {
		if a.Name == nil || a.Index != nil || a.Array != nil || a.Append {
			return refuse("%s is allowed with plain names and values only", d.Variant.Value)
		}
		if a.Naked {
			return refuse("%s of a name that is set elsewhere changes how commands run", d.Variant.Value)
		}
		if r := j.assign(a, d.Variant.Value == "export"); r != nil {
			return r
		}
	}
	return nil
}

// assign judges an assignment. One that commands run with (exported) needs a name
// and a value that are known to be harmless.
func (j *judge) assign(a *syntax.Assign, exported bool) *refusal {
	if a.Name == nil || a.Index != nil {
		return refuse("an assignment to an element computes its index; assign a plain name")
	}
	if a.Array != nil {
		return j.array(a)
	}
	if a.Value != nil {
		if r := j.parts(a.Value.Parts); r != nil {
			return r
		}
	}
	value := j.value(a.Value)
	if exported && value.whole && !a.Append && environment(a.Name.Value, value.text) {
		return nil
	}
	if exported && !plainName(a.Name.Value) || !exported && !harmless(a.Name.Value) && !(value.whole && environment(a.Name.Value, value.text) && !a.Append) {
		return refuse("setting %s changes how commands run", a.Name.Value).without(a)
	}
	if suspect(value.text) {
		return refuse("the value of %s holds text that some commands would run", a.Name.Value)
	}
	return nil
}

// plainName reports whether a name in the environment is one no program looks at.
func plainName(name string) bool { return harmless(name) && name == strings.ToLower(name) }

func (j *judge) array(a *syntax.Assign) *refusal {
	if !harmless(a.Name.Value) {
		return refuse("setting %s changes how commands run", a.Name.Value)
	}
	for _, elem := range a.Array.Elems {
		if elem.Index != nil || elem.Value == nil {
			return refuse("an index in an array is computed; write the elements in order")
		}
		if r := j.parts(elem.Value.Parts); r != nil {
			return r
		}
		if suspect(j.value(elem.Value).text) {
			return refuse("the value of %s holds text that some commands would run", a.Name.Value)
		}
	}
	return nil
}

func (j *judge) value(node *syntax.Word) word {
	if node == nil {
		return literal("")
	}
	return j.word(node)
}

// suspect reports whether a text holds a substitution: as text it is harmless
// until something evaluates it, which nothing that only reads has to.
func suspect(text string) bool {
	return strings.Contains(text, "$(") || strings.Contains(text, "`") || strings.Contains(text, "${")
}
