package shell

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// awk allows programs that are known and neither write nor run: no system, no getline, no pipes, no output to files, no
// extensions.
func awk(_ *classifier, c call, a arguments) *refusal {
	if a.has("--version") && len(a.flags)+len(a.rest) == 1 {
		return nil
	}
	for _, f := range a.flags {
		if (f.name == "-v" || f.name == "--assign") && !strings.Contains(f.value.text, "=") {
			return refuse("the name that awk -v sets is not known before it runs").or(`awk -v x="$y" '{print x}' FILE`)
		}
	}
	if len(a.rest) == 0 || !a.rest[0].whole || !a.rest[0].one() {
		return refuse("the program of awk is not known before it runs; write it out, and give values with -v")
	}
	if why := awkProgram(a.rest[0].text); why != "" {
		return refuse("the program of awk %s", why)
	}
	for _, w := range a.rest[1:] {
		unknown := !w.whole && (strings.HasPrefix("/inet", w.text) && w.text != "" || w.text == "" && !w.tame && !w.file)
		if unknown || strings.HasPrefix(w.text, "/inet") {
			return refuse("awk opens a connection for file names that begin with /inet, and %s may become one; begin it with ./",
				source(w)).before(w, "./").or("cat FILE | awk '{print $1}'")
		}
	}
	return refuseDevices(c, arguments{operands: a.rest[1:]})
}

// awkToken matches the first token of a program: a comment, a text, a number, a name, an operator, or another character. A
// slash is always a token of its own.
var awkToken = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[ \t]+|#.*|"(?:[^"\\\n]|\\(?s:.))*"|[0-9.]+|[A-Za-z_]\w*|\|\||>>|\+\+|--|(?s:.))`)
})

// awkPattern matches a pattern between slashes. Versions differ in whether a slash inside brackets ends it.
var awkPattern = sync.OnceValue(func() *regexp.Regexp {
	part := `(?:\\.|` + strings.ReplaceAll(bracket, "D", "/")
	return regexp.MustCompile(`^/` + part + `|[^/\\[\n=])` + part + `|[^/\\[\n])*/`)
})

// Tokens after which a slash begins a pattern, and tokens after which versions of awk differ.
const (
	awkKeywords = " print printf return in else do case delete if while for BEGIN END switch break continue default function func "
	awkUnsure   = " length exit nextfile next ++ -- $ "
)

// among reports whether a list with blanks around each word has a word.
func among(word, list string) bool { return strings.Contains(list, " "+word+" ") }

// awkProgram returns the reason a program is refused, "" if it is allowed. It gives up if a slash could be a division or
// the start of a pattern.
func awkProgram(text string) string {
	var (
		last     string // the last token but blanks
		value    bool   // it ended a value, so that a slash divides
		printing bool   // > writes, unless deeper in brackets
		within   int    // bracket depth at the print
		brackets []bool // for each open round bracket: whether it belongs to if, while, for or switch
	)
	for text != "" {
		token := awkToken().FindString(text)
		if token == "/" && !value {
			token = awkPattern().FindString(text)
		}
		isUnsure := among(last, awkUnsure)
		text = text[len(token):]
		if token != "" && strings.Contains(" \t#", token[:1]) {
			continue
		}
		control, wasValue := false, value
		value = false
		switch {
		case among(token, " system getline popen exec fork extension load "):
			return "runs or reads by " + token
		case among(token, " PROCINFO SYMTAB FUNCTAB "):
			return "reaches into awk by " + token
		case among(token, " ARGV ARGC "):
			return "may name other files by " + token
		case token == "" || token[0] == '/' && isUnsure:
			return "has a slash that may divide or begin a pattern, or a pattern with a slash inside brackets"
		case token[0] == '|' && token != "||":
			return "has a pipe"
		case token == ">>" || token == ">" && printing && len(brackets) <= within:
			return "writes to a file"
		case token == "@":
			return "loads or calls unknown code"
		case token == "(":
			brackets = append(brackets, among(last, " if while for switch "))
		case token == ")":
			if n := len(brackets); n > 0 {
				control, brackets = brackets[n-1], brackets[:n-1]
			}
			value = !control
		case token == "\n" && (wasValue || last == "print"), token == ";", token == "}": // after others, a line may continue
			printing = false
		case token == "print", token == "printf":
			printing, within = true, len(brackets)
		case among(token, " \n / { , = < > ! ~ & * % ^ ? : [ + - $ || ++ -- "):
		case strings.Contains(wordLetters, token[:1]), token == "]", token[0] == '.', token[0] == '"' && len(token) > 1, token[0] == '/':
			value = !among(token, awkKeywords+awkUnsure)
		default:
			return fmt.Sprintf("has the character %q outside of texts and patterns", token)
		}
		last = token
	}
	return ""
}

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
