package shell

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// word is an argument as far as it is known before the command runs, with quotes removed.
type word struct {
	node    *syntax.Word
	text    string // its beginning
	whole   bool   // text is the whole word
	several bool   // it may become several words or none, each beginning with text
	splits  bool   // it may become several words, and only the first begins with text
}

// literal returns a word that is fully known.
func literal(text string) word { return word{text: text, whole: true} }

func (w word) is(text string) bool { return w.whole && w.text == text }

// option reports whether the word may turn out to be an option.
func (w word) option() bool {
	if w.splits || w.text == "" {
		return !w.whole
	}
	return w.text[0] == '-' && !w.is("-")
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

// words evaluates a command's arguments.
func (j *classifier) words(list []*syntax.Word) []word {
	words := make([]word, 0, len(list))
	for _, node := range list {
		words = append(words, j.word(node))
	}
	return words
}

// word evaluates one word. The rest is unknown from the first unknown part on.
func (j *classifier) word(node *syntax.Word) word {
	w, brace := word{node: node, whole: true}, hasBrace(node.Parts)
	for i, part := range node.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			w.add(unquoted(part.Value, i == 0, brace))
		case *syntax.SglQuoted:
			w.add(word{text: part.Value, whole: !part.Dollar})
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				if lit, ok := inner.(*syntax.Lit); ok {
					w.add(literal(unescapeDouble().Replace(lit.Value)))
				} else {
					w.add(word{})
				}
			}
		default:
			w.add(word{splits: true})
		}
	}
	return w
}

// add appends the next part of the word.
func (w *word) add(p word) {
	if w.whole {
		w.text += p.text
		w.whole = p.whole
	}
	w.several = w.several || p.several
	w.splits = w.splits || p.splits
}

// unquoted evaluates an unquoted literal: it removes backslashes, and a pattern or ~ makes the rest unknown.
func unquoted(value string, first, brace bool) word {
	if first && strings.HasPrefix(value, "~") {
		return word{text: "/", several: strings.ContainsAny(value, "*?[")}
	}
	if value == "[" {
		return literal(value)
	}
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		switch c := value[i]; c {
		case '\\':
			if i++; i < len(value) && value[i] != '\n' {
				b.WriteByte(value[i])
			}
		case '*', '?', '[':
			return word{text: b.String(), several: true} // a name that exists, or the pattern itself
		case '{':
			if brace {
				return word{text: b.String(), several: true}
			}
			fallthrough
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
