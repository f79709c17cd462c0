package gates

import (
	"strings"
	"unicode"

	"github.com/planloop/planloop/plan"
)

// word is one word of a title or a hint.
type word struct {
	text  string // in lower case, without the punctuation around it
	raw   string
	code  bool // stood in backquotes
	comma bool // a comma follows
	stop  bool // a semicolon, colon or full stop follows
}

// sentence returns the words of a title that are judged: what introduces it is left
// out, and so is what goes on for longer than any title.
func sentence(title string) []word {
	const judged = 60
	list := words(plan.Shorten(title, judged*20))
	return withoutPrefix(list[:min(len(list), judged)])
}

// words splits a text. What stands in backquotes is one word.
func words(text string) []word {
	var list []word
	for text = strings.TrimLeftFunc(text, unicode.IsSpace); text != ""; text = strings.TrimLeftFunc(text, unicode.IsSpace) {
		var w word
		w, text = nextWord(text)
		list = append(list, w)
	}
	return list
}

func nextWord(text string) (word, string) {
	if text[0] == '`' {
		if end := strings.IndexByte(text[1:], '`'); end > 0 {
			quoted, rest := text[1:1+end], text[end+2:]
			tail := len(rest) - len(strings.TrimLeftFunc(rest, closes))
			w := word{text: strings.ToLower(quoted), raw: quoted, code: true}
			return w.followed(rest[:tail]), rest[tail:]
		}
	}
	end := strings.IndexFunc(text, unicode.IsSpace)
	if end < 0 {
		end = len(text)
	}
	raw := strings.TrimLeft(text[:end], "([{<\"'“‘«`")
	bare := strings.TrimRightFunc(raw, closes)
	w := word{text: strings.ToLower(bare), raw: bare}
	return w.followed(raw[len(bare):]), text[end:]
}

func closes(r rune) bool { return strings.ContainsRune(")]}>\"'”’»`,;:.!?…", r) }

func (w word) followed(by string) word {
	w.comma = strings.Contains(by, ",")
	w.stop = strings.ContainsAny(by, ";:.!?")
	return w
}

// named reports a word that stands for one certain thing: code, a number, a path,
// or an identifier of a program.
func (w word) named() bool {
	return w.code || strings.ContainsFunc(w.raw, unicode.IsDigit) || strings.ContainsAny(w.raw, "/_%=<>#") ||
		identifier(w.raw) || strings.Contains(strings.TrimRight(w.raw, "."), ".") && len(w.raw) > 3
}

// identifier reports camel case: a capital behind a small letter.
func identifier(raw string) bool {
	small := false
	for _, r := range raw {
		if small && unicode.IsUpper(r) {
			return true
		}
		small = unicode.IsLower(r)
	}
	return false
}

// set returns the words of a list as a set.
func set(lists ...string) map[string]bool {
	all := map[string]bool{}
	for _, list := range lists {
		for _, w := range strings.Fields(list) {
			all[w] = true
		}
	}
	return all
}

// withoutPrefix cuts what may stand before the sentence of a title: "feat(api): ",
// "[api] ", "Task A: ", "1. ".
func withoutPrefix(list []word) []word {
	for i, w := range list[:min(len(list), 2)] {
		if w.stop && !w.code && len(list) > i+1 && (label(w.text) || i == 1 && label(list[0].text)) {
			return list[i+1:]
		}
	}
	if len(list) > 1 && numbered(list[0]) {
		return list[1:]
	}
	return list
}

// label reports the words that introduce a title.
func label(text string) bool {
	kind, _, _ := strings.Cut(text, "(")
	return labels()[strings.TrimSuffix(kind, "!")]
}

func numbered(w word) bool { return w.stop && strings.Trim(w.text, "0123456789") == "" }
