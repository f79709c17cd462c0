package safetext

import "strings"

// QuoteWord returns text as one word for a POSIX shell, quoted only if necessary.
func QuoteWord(text string) string {
	if text != "" && !strings.ContainsFunc(text, unsafe) {
		return text
	}
	return QuoteAlways(text)
}

func unsafe(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && !strings.ContainsRune("-_./:+@%,", r)
}

// QuoteAlways returns text as one quoted word for a POSIX shell.
func QuoteAlways(text string) string { return "'" + strings.ReplaceAll(text, "'", quote) + "'" }

// quote is a single quote within single quotes.
const quote = `'\''`

// QuotePowerShell returns a program as the beginning of a PowerShell line. PowerShell would print a quoted program without &
// in front, and takes typographic quotes for plain ones.
func QuotePowerShell(program string) string {
	if isPlainPath(program) {
		return program
	}
	return "& '" + strings.NewReplacer("'", "''", "‘", "‘‘", "’", "’’", "‚", "‚‚", "‛", "‛‛").Replace(program) + "'"
}

// QuoteWindows returns a program as the beginning of a line for cmd.exe as well as PowerShell, if either may run it. Without
// call, cmd would remove the quotes of a program such as C:\Program Files (x86)\x.exe, and not find it. PowerShell
// still expands text after a $, cmd text between two %.
func QuoteWindows(program string) string {
	if isPlainPath(program) {
		return program
	}
	return cmd + `"` + program + `"`
}

const cmd = "cmd /d /c call "

// isPlainPath reports whether neither shell of Windows interprets anything in a path.
func isPlainPath(path string) bool {
	return path != "" && !strings.ContainsAny(path, " &()[]{}^=;!'‘’‚‛\"+,`~$%@#|<>")
}

// QuoteProgram returns the program at the beginning of a line written by one of these functions, before the given words.
func QuoteProgram(line, words string) string {
	doubled := strings.NewReplacer(quote, kept)
	if rest, is := strings.CutPrefix(line, "& "); is {
		line, doubled = rest, strings.NewReplacer("''", kept, "‘‘", "‘", "’’", "’", "‚‚", "‚", "‛‛", "‛")
	}
	line = strings.TrimPrefix(strings.TrimPrefix(line, "cmd /d /c "), "call ") // earlier versions wrote it without call
	if mark := line[:min(1, len(line))]; mark == "'" || mark == `"` {
		program, _, _ := strings.Cut(doubled.Replace(line[1:]), mark)
		return strings.ReplaceAll(program, kept, "'")
	}
	program, _, _ := strings.Cut(line, " "+words+" ")
	return program
}

const kept = "\x00" // a quote within quotes
