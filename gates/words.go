package gates

import (
	"strings"
	"sync"
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

// listed returns what makes a set of the words of a list, for when it is first
// asked: most commands check no plan.
func listed(words string) func() map[string]bool {
	return func() map[string]bool { return set(words) }
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

// The words the heuristics know. They are English, as the titles agents write: in
// another language the heuristics find nothing, and only they.

// taskVerbs are words that begin a task and are hardly ever anything else.
var taskVerbs = sync.OnceValue(listed(`accept add adopt allow analyze analyse append apply assert assign attach authenticate avoid bind
	bootstrap bring bundle bump calculate call catch choose clarify collapse collect combine compare compile compute configure confirm
	connect consider consolidate convert copy create cut decide declare decode decompose decouple decrease define delete deliver deploy
	deprecate derive detect determine develop disable discover display do drop dockerize edit eliminate embed enable encode encrypt
	enforce ensure enhance establish evaluate examine exclude execute expand explain expose extend extract fetch find finalize finalise
	finish fix follow forbid gather generate get give guard handle harden hide identify ignore implement improve include increase inject
	insert inspect install instrument integrate introduce inline invalidate investigate isolate keep let limit link list locate look
	lower maintain make mark measure merge migrate mimic minimize mirror modify mount move normalize normalise obtain offer omit open
	optimize optimise organize paginate parametrize parameterize parse perform persist pick pin populate port prefer prepare preserve
	prevent print propagate protect prove provide provision publish pull purge push put raise rebuild reconcile record redact redirect
	redesign reduce refactor refer register reject relax remove rename render reorder reorganize repair replace reproduce require reset
	resolve respect restore restrict restructure retain retrieve retry return reuse revert rewrite rework rotate sanitize save scaffold
	seed select send separate serialize serve set setup shorten show simplify skip solve sort specify split standardize start stop strip
	study subscribe suppress swap switch sync take teach tell throttle tidy transform translate treat trim turn understand unify
	unit-test unpublish upgrade use utilize validate verify wire wrap wait polish streamline revamp modernize modernise overhaul boost
	address complete conduct draft emit extend fill hook prune tune craft`))

// nounVerbs begin a task too, but are as often a thing or a quality: the read path,
// a test, an update.
var nounVerbs = sync.OnceValue(listed(`access archive audit backup batch benchmark block branch break build cache capture change check
	clean clear clone close code comment commit contact control count cover crop debug design document download draw dump dry end enter
	escape estimate exit export filter flag focus format fork group guide highlight host import index input invite label lead lint load
	lock log login logout map match model monitor mock name note notify number order output package patch pass paste plan plot post
	preview process profile program project query queue rate read rebase refresh release report request research review roll route run
	sample scan schedule score script search secure share ship sign signup split stage state store stream structure stub study style
	submit summary support tag target template test time touch trace track transfer trigger type undo update upload version view visit
	walk warn watch work write zip see cross-check double-check re-run skim proof reference hash cast copy reset display return list
	link set sort`))

// isTaskVerb reports a verb in its base form.
func isTaskVerb(text string) bool { return taskVerbs()[text] || nounVerbs()[text] }

// gerundOf returns the verb of a form in -ing, "" if it is none.
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

// thirdPersonOf returns the verb of a form in -s, "" if it is none.
func thirdPersonOf(text string) string {
	for _, ending := range []string{"s", "es"} {
		if stem, ok := strings.CutSuffix(text, ending); ok && isTaskVerb(stem) {
			return stem
		}
	}
	return ""
}

// determiners begin the object of a verb.
var determiners = sync.OnceValue(listed(`a an the all any both each every its their his her our your this these those that some several
	various more another two three new old existing missing other remaining no`))

// prepositions begin what is not the object of a verb.
var prepositions = sync.OnceValue(listed(`about above across after against along among around as at because before behind below beneath
	beside besides between beyond but by despite during except for from if in inside into like near of off on onto or out over per since
	so than through throughout till to toward towards under until unless up upon via when whenever where whether which while who whose
	with within without and then & + is are was were be`))

// pronouns stand for what was named before.
var pronouns = sync.OnceValue(listed(`it its them their they itself themselves one this that these those accordingly there`))

var labels = sync.OnceValue(listed(`feat feature fix bug bugfix chore docs doc style refactor perf test tests build ci revert wip task
	story step phase part milestone backend frontend api ui db cli todo subtask epic`))
