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
