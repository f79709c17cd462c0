package shell

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// word is an argument as far as it is known before the command runs, with quotes removed.
type word struct {
	node    *syntax.Word
	text    string // its beginning
	whole   bool   // text is the whole word
	several bool   // it may become several words or none, each beginning with text
	splits  bool   // it may become several words, and only the first begins with text
	tame    bool   // whatever follows text begins neither an option nor an expression
	file    bool   // whatever follows text, it is not a path in /dev
	plain   bool   // stays one word without quotes, and contains no pattern
	piece   bool   // a part of a value, which zsh would not split
	filled  bool   // part of it comes from a variable or a substitution
}

// literal returns a word that is fully known.
func literal(text string) word { return word{text: text, whole: true} }

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

// openable reports whether the word is certainly not a path in /dev, where opening may act on a device, and where bash
// makes connections.
func (w word) openable() bool {
	switch {
	case device(w.text):
		return false
	case w.whole, w.file, w.text != "" && w.text[0] != '/':
		return true
	}
	return w.text != "" && !strings.HasPrefix("/dev/", w.text)
}

// isNumber reports whether the word is a number, with no name in it that zsh would compute.
func (w word) isNumber() bool {
	return w.whole && strings.Trim(w.text, "0123456789.+-") == ""
}

// one reports whether it is exactly one word.
func (w word) one() bool { return !w.several && !w.splits }

// syntax returns the node of a word, or a nil interface.
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

// words evaluates a command's arguments, after code inside them was classified.
func (j *classifier) words(list []*syntax.Word) []word {
	words := make([]word, 0, len(list))
	for _, node := range list {
		words = append(words, j.expand(node)...)
	}
	return words
}

// expand evaluates a word of a command or a loop, which may become several.
func (j *classifier) expand(node *syntax.Word) []word {
	if alternatives := braces(node); alternatives != nil {
		return alternatives
	}
	if len(node.Parts) == 1 {
		if text, ok := j.bound[slot(node.Parts[0])]; ok && !(j.unsplit && text != "") {
			return fields(node, text)
		} else if ok {
			return []word{{node: node, text: text, whole: true, filled: true}}
		}
		if c, ok := node.Parts[0].(*syntax.CmdSubst); ok && j.counts(c) {
			return []word{literal("1"), literal("71")}
		}
	}
	return []word{j.word(node)}
}

// fields splits a known value as bash does without quotes.
func fields(node *syntax.Word, text string) []word {
	var words []word
	for _, field := range strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == '\t' || c == '\n' }) {
		w := word{node: node, text: field, whole: true, filled: true, piece: field != text}
		if i := strings.IndexAny(field, patternLetters); i >= 0 {
			w = word{node: node, text: field[:i], several: true, filled: true, piece: true}
		}
		words = append(words, w)
	}
	return words
}

// patternLetters begin a pattern when unquoted.
const patternLetters = "*?[\\"

// braceRange matches {1..9} between letters without a special meaning.
var braceRange = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([^{}\\*?\[~]*)\{(0|[1-9][0-9]{0,5})\.\.(0|[1-9][0-9]{0,5})\}([^{}\\*?\[~]*)$`)
})

// braces expands the plain forms {a,b,c} and {1..9} with literals around them, and returns nil for other forms. The
// ends represent a long range.
func braces(node *syntax.Word) []word {
	lit := node.Lit()
	if !strings.Contains(lit, "{") {
		return nil
	}
	words := []word{}
	add := func(text string) {
		if text != "" { // an unquoted empty text makes no word
			words = append(words, word{node: node, text: text, whole: true})
		}
	}
	if m := braceRange().FindStringSubmatch(lit); m != nil {
		from, _ := strconv.Atoi(m[2])
		to, _ := strconv.Atoi(m[3])
		step := 1
		if n := max(to-from, from-to); n > maxTexts {
			step = n
		}
		for i := min(from, to); i <= max(from, to); i += step {
			add(m[1] + strconv.Itoa(i) + m[4])
		}
		return words
	}
	before, rest, _ := strings.Cut(lit, "{")
	inside, after, closed := strings.Cut(rest, "}")
	if !closed || !strings.Contains(inside, ",") || strings.ContainsAny(before+inside+after, "{}\\*?[~") || strings.Contains(lit, "..") {
		return nil
	}
	for alternative := range strings.SplitSeq(inside, ",") {
		add(before + alternative + after)
	}
	return words
}

// word evaluates one word after its parts were classified.
func (j *classifier) word(node *syntax.Word) word {
	if node == nil {
		return literal("")
	}
	w := word{node: node, whole: true}
	brace, quoted := hasBrace(node.Parts), len(node.Parts) == 0
	for i, part := range node.Parts {
		switch part.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			quoted = true
		}
		if i == 0 && sinceTag(node.Parts) {
			w.add(word{tame: true, plain: true})
			continue
		}
		w.add(j.part(part, i == 0, brace))
	}
	if w.is("") && !quoted { // it vanishes
		return word{node: node, several: true, splits: true}
	}
	return w
}

// assigned evaluates the value of an assignment, which is neither split nor expanded.
func (j *classifier) assigned(node *syntax.Word) word {
	w := word{node: node, whole: true}
	if node == nil {
		return w
	}
	for i, part := range node.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if i == 0 && strings.HasPrefix(part.Value, "~") {
				w.add(tilde(part.Value))
			} else {
				text, _, tilde := strings.Cut(part.Value, ":~")
				w.add(word{text: unescaped(text), whole: !tilde})
			}
		case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp:
			w.add(j.inQuotes(part))
		default:
			w.add(j.part(part, false, false))
		}
	}
	w.several, w.splits = false, false
	return w
}

// home is an absolute path to the user's home or to a pipe, never to another path in /dev.
func home() word { return word{text: "/", file: true, plain: true} }

// elsewhere is an absolute path to the current or an earlier folder, or another user's home: it may be in /dev.
func elsewhere() word { return word{text: "/", plain: true} }

// tilde evaluates a literal that begins with a tilde.
func tilde(value string) word {
	if value == "~" || strings.HasPrefix(value, "~/") {
		return home()
	}
	return elsewhere() // ~+, ~-, ~2, ~user
}

// unescaped removes the backslashes that escape outside quotes.
func unescaped(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			if i++; i == len(text) || text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// add appends the next part of the word.
func (w *word) add(p word) {
	plain := w.unsplit() && p.unsplit()
	switch {
	case w.whole:
		w.file = w.text == "" && p.file
		w.text += p.text
		w.whole, w.tame = p.whole, p.tame
	case w.text == "" && w.tame: // may be empty, so that the word begins with this part
		w.tame = p.tame || p.text != "" && strings.IndexByte("-()!,+", p.text[0]) < 0
	}
	w.plain, w.filled = plain, w.filled || p.filled
	w.several = w.several || p.several
	w.splits = w.splits || p.splits
}

// unsplit reports whether the word stays one word when unquoted.
func (w word) unsplit() bool {
	return w.plain || w.whole && !strings.ContainsAny(w.text, patternLetters+" \t\n")
}

// part evaluates one part of a word.
func (j *classifier) part(part syntax.WordPart, first, brace bool) word {
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
	}
	return j.unquotedPart(part)
}

// unquotedPart evaluates an unquoted expansion: bash splits its result and expands patterns in it.
func (j *classifier) unquotedPart(part syntax.WordPart) word {
	if c, ok := part.(*syntax.CmdSubst); ok {
		if commits, _ := revision(c); commits {
			return word{tame: true, several: true, plain: true}
		}
	}
	w := j.inQuotes(part)
	if w.unsplit() {
		w.several = w.several || !w.whole && w.text == "" // it may vanish
		return w
	}
	if i := strings.IndexAny(w.text, patternLetters+" \t\n"); i >= 0 {
		w.text = w.text[:i]
	}
	return word{text: w.text, several: true, splits: true}
}

func (j *classifier) doubleQuoted(part *syntax.DblQuoted) word {
	w := word{whole: !part.Dollar}
	for i, inner := range part.Parts {
		if i == 0 && sinceTag(part.Parts) {
			w.add(word{tame: true, plain: true})
			continue
		}
		if lit, ok := inner.(*syntax.Lit); ok {
			w.add(literal(unescapeDouble().Replace(lit.Value)))
			continue
		}
		w.add(j.inQuotes(inner))
	}
	return w
}

// inQuotes evaluates an expansion between double quotes, where only a list becomes several words.
func (j *classifier) inQuotes(part syntax.WordPart) word {
	if text, ok := j.bound[slot(part)]; ok {
		return word{text: text, whole: true, filled: true}
	}
	switch part := part.(type) {
	case *syntax.ParamExp:
		return j.parameterValue(part)
	case *syntax.CmdSubst:
		commits, one := revision(part)
		paths := []string{"pwd", "pwd -P", "git rev-parse --show-toplevel"} // print an absolute path, or nothing
		return word{tame: commits || slices.Contains(paths, strings.Join(command(part), " ")), plain: commits && one}
	case *syntax.ArithmExp:
		return word{plain: true} // a number, maybe negative
	case *syntax.ProcSubst:
		return home() // an absolute path
	}
	return word{}
}

// parameterValue evaluates a parameter without a bound text. A list ("$@") is several words.
func (j *classifier) parameterValue(p *syntax.ParamExp) word {
	if !simple(p) {
		list := p.Param == nil || p.Index != nil || p.Param.Value == "@"
		return word{several: list, splits: list, tame: p.Length, plain: p.Length}
	}
	switch name := p.Param.Value; {
	case name == "HOME": // scripts may not set it
		return home()
	case name == "PWD": // only cd sets it
		return elsewhere()
	case name == "@":
		return word{several: true, splits: true}
	default:
		v := j.valueOf(name)
		rest := v.rest
		if v.texts != nil {
			rest = common(literals(v.texts))
		}
		if j.isDeferred || !j.set[name] { // it may be unset
			return word{tame: rest.tame}
		}
		return rest
	}
}

func literals(texts []string) []word {
	words := make([]word, 0, len(texts))
	for _, text := range texts {
		words = append(words, literal(text))
	}
	return words
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

// unquoted evaluates an unquoted literal: it removes backslashes, and a pattern, a brace or a tilde makes the rest
// unknown.
func unquoted(value string, first, brace bool) word {
	if !strings.ContainsAny(value, "\\*?[{~") {
		return literal(value)
	}
	if first && value[0] == '~' {
		return tilde(value)
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
			return word{text: b.String(), several: true, file: b.Len() == 0} // a name that exists, or the pattern itself
		case c == '{' && brace:
			return word{text: b.String(), several: true}
		default:
			b.WriteByte(c)
		}
	}
	return literal(b.String())
}

// unescapeDouble removes the backslashes that escape inside double quotes.
var unescapeDouble = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(`\$`, `$`, "\\`", "`", `\"`, `"`, `\\`, `\`, "\\\n", "")
})

// escapedByte is \xHH or \nnn without its backslash.
var escapedByte = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:x[0-9a-fA-F]{1,2}|[0-7]{1,3})`) })

// ansi decodes the inside of $'…'. It returns false for escapes that versions of bash read differently.
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
		digits := escapedByte().FindString(value[i:])
		n, err := strconv.ParseUint("0"+digits, 0, 32) // 0x… is hexadecimal, 0… octal
		if err != nil || n == 0 || n >= utf8.RuneSelf {
			return "", false
		}
		b.WriteByte(byte(n))
		i += len(digits) - 1
	}
	return b.String(), true
}
