package gates

import (
	"context"
	"strings"
	"sync"
	"unicode"
)

func checkHintsActionable(_ context.Context, e *examination, i int) []flaw {
	var list []flaw
	for _, hint := range distinct(e.New[i].ContextHints) {
		if given(hint) && !actionable(hint) {
			list = append(list, flaw{message: "has a hint that neither says what to do nor where to look: \"" + printable(strings.TrimSpace(hint), hintShown) + "\".",
				fix: "begin it with a verb and name the place, such as \"Read `file.md`\" or \"See section 2\""})
		}
	}
	return list
}

// actionable reports whether a hint has a verb or a clear reference. A hint in
// letters other than Latin is not judged.
func actionable(hint string) bool {
	for i, w := range words(hint) {
		switch {
		case w.named(), references()[w.text], taskVerbs()[w.text], strings.ContainsFunc(w.text, foreign):
			return true
		case nounVerbs()[w.text] && (i == 0 || nounVerbsInside()[w.text]):
			return true
		}
	}
	return false
}

func foreign(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) }

// references point to something that can be looked up.
var references = sync.OnceValue(func() map[string]bool {
	return set(`section sections chapter appendix § page rfc see cf readme docs documentation spec specification changelog wiki ticket issue pr adr diagram schema like must should never always don't`)
})

// nounVerbsInside are verbs wherever they stand in a hint.
var nounVerbsInside = sync.OnceValue(func() map[string]bool {
	return set(`read write run check review search see update`)
})
