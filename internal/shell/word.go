package shell

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// word is an argument as far as it is known before the command runs, quotes
// removed.
type word struct {
	node    *syntax.Word
	text    string // how it begins
	whole   bool   // text is all of it
	several bool   // it may become several words or none, each beginning with text
	splits  bool   // it may become several words, of which only the first begins with text
	tame    bool   // what follows text begins neither an option nor an expression
}

// literal is a word that is known as a whole.
func literal(text string) word { return word{text: text, whole: true} }

// is reports whether the word is known to be text.
func (w word) is(text string) bool { return w.whole && w.text == text }

// option reports whether the word may turn out to be an option.
func (w word) option() bool {
	if w.splits {
		return true
	}
	if w.text == "" {
		return !w.whole && !w.tame
	}
	return w.text[0] == '-' && !w.is("-")
}

// one reports whether it is exactly one word.
func (w word) one() bool { return !w.several && !w.splits }

// syntax returns the node of a word, nil when it has none.
func (w word) syntax() syntax.Node {
	if w.node == nil {
		return nil
	}
	return w.node
}

func (w word) String() string {
	if w.whole {
		return w.text
	}
	return w.text + "…"
}

// words evaluates the arguments of a command, after judging what runs inside them.
func (j *judge) words(list []*syntax.Word) ([]word, *refusal) {
	words := make([]word, 0, len(list))
	for _, node := range list {
		if r := j.parts(node.Parts); r != nil {
			return nil, r
		}
		if alternatives := braces(node); alternatives != nil {
			words = append(words, alternatives...)
			continue
		}
		words = append(words, j.word(node))
	}
	return words, nil
}

// braces expands the one plain form {a,b,c} with literals around it; nil if the
// word is of another form.
func braces(node *syntax.Word) []word {
	if len(node.Parts) != 1 {
		return nil
	}
	lit, ok := node.Parts[0].(*syntax.Lit)
	if !ok || strings.Count(lit.Value, "{") != 1 || strings.Count(lit.Value, "}") != 1 ||
		strings.ContainsAny(lit.Value, "\\*?[~") || strings.Contains(lit.Value, "..") {
		return nil
	}
	before, rest, _ := strings.Cut(lit.Value, "{")
	inside, after, closed := strings.Cut(rest, "}")
	if !closed || !strings.Contains(inside, ",") {
		return nil
	}
	var words []word
	for alternative := range strings.SplitSeq(inside, ",") {
		words = append(words, word{node: node, text: before + alternative + after, whole: true})
	}
	return words
}

// word evaluates one word, whose parts have been judged.
func (j *judge) word(node *syntax.Word) word {
	w := word{node: node, whole: true}
	brace := hasBrace(node.Parts)
	for i, part := range node.Parts {
		w.add(j.part(part, i == 0, brace))
	}
	return w
}

// add appends what is known of a further part.
func (w *word) add(p word) {
	switch {
	case w.whole:
		w.text += p.text
		w.whole, w.tame = p.whole, p.tame
	case w.text == "" && w.tame: // it may be empty, and then begins with this part
		w.tame = p.tame || p.text != "" && strings.IndexByte("-()!,+", p.text[0]) < 0
	}
	w.several = w.several || p.several
	w.splits = w.splits || p.splits
}

// part evaluates a part of a word: alone of all it may be unknown from its start.
func (j *judge) part(part syntax.WordPart, first, brace bool) word {
	switch part := part.(type) {
	case *syntax.Lit:
		return unquoted(part.Value, first, brace)
	case *syntax.SglQuoted:
		text, known := part.Value, true
		if part.Dollar {
			text, known = ansi(part.Value)
		}
		return word{text: text, whole: known}
	case *syntax.DblQuoted:
		return j.doubleQuoted(part)
	case *syntax.ParamExp:
		return j.expanded(part, false)
	case *syntax.ArithmExp:
		return word{tame: false} // a number, maybe a negative one
	case *syntax.CmdSubst:
		if revision(part) {
			return word{tame: true, several: true}
		}
	}
	return word{several: true, splits: true}
}

func (j *judge) doubleQuoted(part *syntax.DblQuoted) word {
	w := word{whole: !part.Dollar}
	for _, inner := range part.Parts {
		switch inner := inner.(type) {
		case *syntax.Lit:
			w.add(literal(unescapeDouble().Replace(inner.Value)))
		case *syntax.ParamExp:
			w.add(j.expanded(inner, true))
		case *syntax.CmdSubst:
			w.add(word{tame: revision(inner)})
		default:
			w.add(word{})
		}
	}
	return w
}

// revision reports whether a substitution prints only names of commits. What git
// rev-parse does not know it prints back, so that its words have to be plain.
func revision(c *syntax.CmdSubst) bool {
	if len(c.Stmts) != 1 || len(c.Stmts[0].Redirs) > 0 || c.Stmts[0].Negated {
		return false
	}
	call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(call.Args) < 3 || call.Args[0].Lit() != "git" {
		return false
	}
	if command := call.Args[1].Lit(); command != "rev-parse" && command != "merge-base" {
		return false
	}
	for _, arg := range call.Args[2:] {
		if text := arg.Lit(); text != "--short" && text != "--verify" && !plainRevision.MatchString(text) {
			return false
		}
	}
	return true
}

// expanded evaluates a parameter expansion. A list in quotes ("$@") is several
// words; without quotes a value is split unless it is known to be plain.
func (j *judge) expanded(p *syntax.ParamExp, quoted bool) word {
	name := ""
	if simple(p) {
		name = p.Param.Value
	}
	switch {
	case name == "HOME", name == "PWD" && quoted: // no script may set them
		return word{text: "/"}
	case quoted:
		list := p.Param == nil || p.Param.Value == "@" || p.Index != nil
		return word{several: list, splits: list, tame: name != "" && !list && (j.variables[name].tame || countsOnly(name))}
	case j.variables[name].plain, countsOnly(name), p.Length:
		return word{tame: true}
	case j.variables[name].number: // one word, maybe with a sign
		return word{}
	}
	return word{several: true, splits: true}
}

// simple reports whether it is $name or ${name}.
func simple(p *syntax.ParamExp) bool {
	return p.Param != nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Flags == nil && p.NestedParam == nil &&
		p.Index == nil && len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// hasBrace reports whether bash would expand braces in the word.
func hasBrace(parts []syntax.WordPart) bool {
	open := false
	for _, part := range parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			continue
		}
		for i := 0; i < len(lit.Value); i++ {
			switch c := lit.Value[i]; {
			case c == '\\':
				i++
			case c == '{':
				open = true
			case open && (c == ',' || c == '.' && strings.HasPrefix(lit.Value[i:], "..")):
				return true
			}
		}
	}
	return false
}

// unquoted evaluates a literal outside of quotes: backslashes go, and from a
// pattern, a brace or a tilde on it is unknown.
func unquoted(value string, first, brace bool) word {
	if !strings.ContainsAny(value, "\\*?[{~") {
		return literal(value)
	}
	if first && value[0] == '~' {
		return word{text: "/"} // a home, or a directory of the stack: an absolute path
	}
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '\\':
			i++
			if i < len(value) && value[i] != '\n' {
				b.WriteByte(value[i])
			}
		case c == '*' || c == '?' || c == '[' && strings.Contains(value[i:], "]"):
			return word{text: b.String(), several: true}
		case c == '{' && brace:
			return word{text: b.String(), several: true}
		default:
			b.WriteByte(c)
		}
	}
	return literal(b.String())
}

// unescapeDouble removes the backslashes that count inside double quotes.
var unescapeDouble = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(`\$`, `$`, "\\`", "`", `\"`, `"`, `\\`, `\`, "\\\n", "")
})

// escapedByte is \xHH or \nnn without its backslash.
var escapedByte = regexp.MustCompile(`^(?:x[0-9a-fA-F]{1,2}|[0-7]{1,3})`)

// ansi decodes the inside of $'…'. It knows the escapes that all versions read
// alike, and says so when it meets another.
func ansi(value string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' {
			b.WriteByte(value[i])
			continue
		}
		i++
		if i == len(value) {
			return "", false
		}
		if at := strings.IndexByte("abefnrtvE\\'\"?", value[i]); at >= 0 {
			b.WriteByte("\a\b\x1b\f\n\r\t\v\x1b\\'\"?"[at])
			continue
		}
		digits := escapedByte.FindString(value[i:])
		n, err := strconv.ParseUint("0"+digits, 0, 32) // 0x… is hexadecimal, 0… octal
		if err != nil || n == 0 || n >= utf8.RuneSelf {
			return "", false
		}
		b.WriteByte(byte(n))
		i += len(digits) - 1
	}
	return b.String(), true
}
