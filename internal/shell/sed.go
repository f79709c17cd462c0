package shell

import (
	"regexp"
	"strings"
	"sync"
)

// sed allows scripts that only print: w and W write, e runs, s has flags for both, and -i writes in place. A script
// from a file is unknown.
func sed(_ *classifier, _ call, a arguments) *refusal {
	if a.has("--version", "--help") && len(a.flags)+len(a.operands) == 1 {
		return nil
	}
	var scripts []word
	for _, f := range a.flags {
		if f.name == "-e" || f.name == "--expression" {
			scripts = append(scripts, f.value)
		}
	}
	if scripts == nil {
		if len(a.operands) == 0 {
			return refuse("sed has no script")
		}
		scripts = a.operands[:1]
	}
	var texts []string
	for _, script := range scripts {
		if !script.whole || !script.one() {
			return refuse("the script of sed is not known before it runs; write it out, or give values to awk").or(unknownLine)
		}
		texts = append(texts, script.text)
	}
	if !sedScript().MatchString(strings.Join(texts, "\n")) {
		return refuse("the script of sed may write a file or run a command (w, W, e, s///w, s///e); use s, y, p, d, n, q, = and addresses")
	}
	return nil
}

// unknownLine prints the line of an unknown number.
const unknownLine = `awk -v n="$n" 'NR == n' FILE`

// bracket is a regular expression for a bracket expression without D, the delimiter of the pattern around it. All versions
// agree on its end: it has no ] after a backslash, and of the nested forms only classes.
const bracket = `\[\^?(?:[]]|[^]^\\[\nD]|\\[^][\n]|\[:[a-z]+:\])(?:[^]\\[\nD]|\\[^][\n]|\[:[a-z]+:\])*\]`

// sedScript matches scripts that only print. Versions differ in whether a delimiter inside brackets ends a pattern, so it
// must be the last in them: to versions where it does, the ] after it is a wrong command or flag. After a pattern with
// such brackets, a text that could be flags is refused for the same reason.
var sedScript = sync.OnceValue(func() *regexp.Regexp {
	const (
		pattern  = `(?:[^D\\[\n]|\\.|` + bracket + `)*`
		holding  = `(?:\[\^?[^]^\\[\nD]*D\]` + pattern + `)`
		text     = `(?:[^D\\\n]|\\(?s:.))*`
		harmless = `(?:(?:[^gpiImMwe0-9\s;}#D\\]|\\.)` + text + `)?`
	)
	var addresses, changes []string
	for _, delimiter := range strings.Split("/|,#:@!%_+=~^", "") {
		with := strings.NewReplacer("D", `\`+delimiter)
		addresses = append(addresses, with.Replace(`\\D`+pattern+holding+`*D[IM]*`))
		changes = append(changes, with.Replace(`sD`+pattern+`(?:D`+text+`|`+holding+`+D`+harmless+`)D[gpiImM0-9]*|yD`+text+`D`+text+`D`))
	}
	address := `(?:[0-9]+(?:~[0-9]+)?|\$|` + strings.TrimPrefix(addresses[0], `\\`) + `|` + strings.Join(addresses, "|") + `)`
	command := `(?:[}=dDgGhHnNpPxFz]|[qQlL][ \t0-9]*|[btT:][ \t]*\w*|` + strings.Join(changes, "|") + `)` +
		`[ \t]*(?:}[ \t]*)*(?:;|(?:#.*)?(?:\n|$))`
	line := `(?:[#rR].*|[aic][ \t]*(?:\\\n)?(?:.*[^\\\n])?)(?:\n|$)` // versions differ in how a backslash continues it
	return regexp.MustCompile(`^(?:[ \t\n;]*(?:` + address + `(?:[ \t]*,[ \t+~]*` + address + `)?)?[ \t!]*(?:\{|` +
		command + `|` + line + `))*[ \t\n;]*$`)
})
