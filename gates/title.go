package gates

import (
	"context"
	"strings"
	"sync"
	"unicode"
)

func checkTitle(_ context.Context, e *examination, i int) []flaw {
	title := strings.TrimSpace(e.New[i].Title)
	switch {
	case title == "":
		return missing("title", "say in one sentence what is to be achieved")
	case hasObject(sentence(title)):
		return nil
	}
	return []flaw{{message: "has a title that names nothing to work on.", fix: "say what is to be done to what, such as \"Add `password_hash` to the User model\""}}
}

// hasObject reports whether anything is left of a title without the verbs and the
// words that stand for anything.
func hasObject(title []word) bool {
	for i, w := range title {
		switch {
		case w.code, w.named() && strings.ContainsFunc(w.text, unicode.IsLetter):
			return true
		case !strings.ContainsFunc(w.text, unicode.IsLetter) || fillers()[w.text] || bareVerbs()[w.text]:
		case i == 0 && bareVerbs()[gerundOf(w.text)]:
		default:
			return true
		}
	}
	return false
}

// fillers name nothing.
var fillers = sync.OnceValue(func() map[string]bool {
	return set(`stuff thing things misc miscellaneous it this that them these those something anything everything all some more other others various etc
		the a an and or to up on in of for with my our your todo todos tbd tba wip n/a na none nothing null undefined task tasks step steps item items
		as well also just please needed required necessary needs need be is are can we i you me us let's lets now next rest remaining first finally last
		ok okay foo bar baz test1 xxx untitled again here there too out off over down back through about around into must should will would`)
})

// bareVerbs say nothing without what they are done to. Verbs that can stand alone,
// such as deploy, are not among them.
var bareVerbs = sync.OnceValue(func() map[string]bool {
	return set(`fix do make update change changes fixes updates add remove delete implement implementation improve improvement improvements refactor write create handle finish continue
		start work complete check clean cleanup tidy modify adjust edit set get go see look try proceed resume begin execute perform tweak tweaks debug
		review investigate research think plan`)
})
