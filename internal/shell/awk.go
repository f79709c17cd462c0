package shell

import (
	"slices"
	"strings"
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
	if why := (&awkReader{text: a.rest[0].text}).program(); why != "" {
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

// awkReader reads a program token by token. It gives up if a slash could be a division or the start of a pattern.
type awkReader struct {
	text     string
	at       int
	value    bool   // the last token ended a value, so that a slash divides
	unsure   bool   // awk versions differ on value
	printing bool   // value is uncertain: awk versions differ
	within   int    // bracket depth at the print; deeper, > compares
	brackets []bool // for each open round bracket: whether it belongs to if, while, for or switch
	last     string // the last token, if it was a name
}

// program returns the reason a program is refused, "" if it is allowed.
func (a *awkReader) program() string {
	for a.at < len(a.text) {
		if why := a.token(); why != "" {
			return why
		}
	}
	return ""
}

func (a *awkReader) token() string {
	c := a.text[a.at]
	switch {
	case c == ' ' || c == '\t':
		a.at++
	case c == '\n':
		a.at++
		if a.value || a.last == "print" {
			a.printing = false // after anything else the statement may continue
		}
		a.after(false)
	case c == '\\':
		if !strings.HasPrefix(a.text[a.at:], "\\\n") {
			return "has a backslash outside of texts"
		}
		if a.last != "" {
			return "has a name that may go on on the next line"
		}
		a.at += 2
	case c == '#':
		line, _, _ := strings.Cut(a.text[a.at:], "\n")
		a.at += len(line)
	case c == '"':
		return a.quoted()
	case c == '/':
		return a.slash()
	case c >= '0' && c <= '9' || c == '.':
		a.skip("0123456789.")
		a.after(true)
	case c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z':
		return a.name()
	default:
		return a.operator(c)
	}
	return ""
}

// after records the last token.
func (a *awkReader) after(value bool) {
	a.value, a.unsure, a.last = value, false, ""
}

func (a *awkReader) quoted() string {
	for i := a.at + 1; i < len(a.text); i++ {
		switch a.text[i] {
		case '\\':
			i++
		case '\n':
			return "has a text that does not end on its line"
		case '"':
			a.at = i + 1
			a.after(true)
			return ""
		}
	}
	return "has a text without an end"
}

func (a *awkReader) slash() string {
	if a.unsure {
		return "has a slash that may divide or begin a pattern; put brackets around it"
	}
	if a.value {
		a.at++
		if a.at < len(a.text) && a.text[a.at] == '=' {
			a.at++
		}
		a.after(false)
		return ""
	}
	inside := false
	for i := a.at + 1; i < len(a.text); i++ {
		switch a.text[i] {
		case '\\':
			i++
		case '\n':
			return "has a pattern that does not end on its line"
		case '[':
			if end := strings.Index(a.text[i:], ":]"); inside && strings.HasPrefix(a.text[i:], "[:") && end > 0 {
				i += end + 1
			}
			inside = true
		case ']':
			if i > a.at+1 && a.text[i-1] != '[' && !strings.HasSuffix(a.text[:i], "[^") {
				inside = false
			}
		case '/':
			if inside {
				return "has a slash inside brackets, which versions read differently; write \\/"
			}
			if i == a.at+1 || a.text[a.at+1] == '=' {
				return "has a pattern that may be a division"
			}
			a.at = i + 1
			a.after(true)
			return ""
		}
	}
	return "has a pattern without an end"
}

func (a *awkReader) skip(set string) { a.at = len(a.text) - len(strings.TrimLeft(a.text[a.at:], set)) }

func (a *awkReader) name() string {
	from := a.at
	a.skip(wordLetters)
	name := a.text[from:a.at]
	switch name {
	case "system", "getline", "popen", "exec", "fork", "extension", "load":
		return "runs or reads by " + name
	case "PROCINFO", "SYMTAB", "FUNCTAB":
		return "reaches into awk by " + name
	case "ARGV", "ARGC":
		return "may name other files by " + name
	case "print", "printf":
		a.printing, a.within = true, len(a.brackets)
	}
	a.after(!slices.Contains(strings.Fields(`print printf return in else do case delete if while for BEGIN END switch next nextfile
		exit break continue default function func`), name))
	a.unsure = name == "length" || name == "exit" || name == "nextfile" || name == "next"
	a.last = name
	return ""
}

func (a *awkReader) operator(c byte) string {
	rest, last := a.text[a.at:], a.last
	a.at++
	a.after(false)
	switch c {
	case '|':
		if !strings.HasPrefix(rest, "||") {
			return "has a pipe"
		}
		a.at++
	case '>':
		if a.printing && len(a.brackets) <= a.within || strings.HasPrefix(rest, ">>") {
			return "writes to a file"
		}
	case '@':
		return "loads or calls unknown code"
	case '(':
		a.brackets = append(a.brackets, slices.Contains([]string{"if", "while", "for", "switch"}, last))
	case ')':
		control := false
		if n := len(a.brackets); n > 0 {
			control, a.brackets = a.brackets[n-1], a.brackets[:n-1]
		}
		a.after(!control)
	case ']':
		a.after(true)
	case '+', '-':
		if a.unsure = len(rest) > 1 && rest[1] == c; a.unsure {
			a.at++
		}
	case ';', '}':
		a.printing = false
	case '$':
		a.unsure = true
	case '{', ',', '=', '<', '!', '~', '&', '*', '%', '^', '?', ':', '[':
	default:
		return "has a character that is not known"
	}
	return ""
}
