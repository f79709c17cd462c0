package gates

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/planloop/planloop/plan"
)

type word struct {
	text  string // in lower case, without the punctuation around it
	raw   string
	code  bool // was in backquotes
	comma bool // a comma follows
	stop  bool // a semicolon, colon or full stop follows
}

// sentence returns the words of a title to check, without an introduction, and without words beyond any usual title.
func sentence(title string) []word {
	const judged = 60
	list := words(plan.Shorten(title, judged*20))
	return withoutPrefix(list[:min(len(list), judged)])
}

// words splits a text. A text in backquotes is one word.
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

// named reports whether a word names one particular thing: code, a number, a path, or an identifier of a program.
func (w word) named() bool {
	return w.code || strings.ContainsFunc(w.raw, unicode.IsDigit) || strings.ContainsAny(w.raw, "/_%=<>#") ||
		identifier(w.raw) || strings.Contains(strings.TrimRight(w.raw, "."), ".") && len(w.raw) > 3
}

// identifier reports camel case: a capital after a small letter.
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

//go:embed words.txt
var wordLists string

// isListed reports whether one of the named lists of words.txt has a word.
func isListed(word string, lists ...string) bool {
	return slices.ContainsFunc(lists, func(list string) bool { return vocabularies()[list][word] })
}

// vocabularies reads the lists of words.txt by name, on first use: most commands check no plan.
var vocabularies = sync.OnceValue(func() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	var list map[string]bool
	for line := range strings.Lines(wordLists) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if name, words, ok := strings.Cut(line, ": "); ok {
			list, line = map[string]bool{}, words
			all[name] = list
		}
		for word := range strings.FieldsSeq(line) {
			list[strings.ReplaceAll(word, "_", " ")] = true
		}
	}
	return all
})

// withoutPrefix cuts the introduction of a title: "feat(api): ", "[api] ", "Task A: ", "1. ".
func withoutPrefix(list []word) []word {
	for i, w := range list[:min(len(list), 2)] {
		if w.stop && !w.code && len(list) > i+1 && (label(w.text) || i == 1 && label(list[0].text)) {
			return list[i+1:]
		}
	}
	if len(list) > 1 && list[0].stop && strings.Trim(list[0].text, "0123456789") == "" {
		return list[1:]
	}
	return list
}

func label(text string) bool {
	kind, _, _ := strings.Cut(text, "(")
	return isListed(strings.TrimSuffix(kind, "!"), "labels")
}

func isTaskVerb(text string) bool { return isListed(text, "taskVerbs", "nounVerbs") }

// gerundOf returns the verb of a form in -ing, "" for other words.
func gerundOf(text string) string {
	stem, ok := strings.CutSuffix(text, "ing")
	if !ok || len(stem) < 2 {
		return ""
	}
	n := len(stem)
	for _, candidate := range []string{stem, stem + "e", stem[:n-1]} {
		if candidate != stem[:n-1] || stem[n-1] == stem[n-2] {
			if isTaskVerb(candidate) {
				return candidate
			}
		}
	}
	return ""
}

// thirdPersonOf returns the verb of a form in -s, "" for other words.
func thirdPersonOf(text string) string {
	for _, ending := range []string{"s", "es"} {
		if stem, ok := strings.CutSuffix(text, ending); ok && isTaskVerb(stem) {
			return stem
		}
	}
	return ""
}
