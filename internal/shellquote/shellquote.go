// Package shellquote writes texts so that a shell finds nothing in them to expand or to run.
package shellquote

import "strings"

// Word is a text as one word for a POSIX shell, bare where it can be.
func Word(text string) string {
	if text != "" && !strings.ContainsFunc(text, unsafe) {
		return text
	}
	return Quoted(text)
}

func unsafe(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && !strings.ContainsRune("-_./:+@%,", r)
}

// Quoted is a text as one word for a POSIX shell, in quotes.
func Quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", quote) + "'" }

// quote is a single quote within single quotes.
const quote = `'\''`

// PowerShell is a program as the beginning of a line for PowerShell. It takes a quoted program for a text,
// and prints it, unless & stands before, and typographic quotes for plain ones.
func PowerShell(program string) string {
	if plain(program) {
		return program
	}
	return "& '" + strings.NewReplacer("'", "''", "‘", "‘‘", "’", "’’", "‚", "‚‚", "‛", "‛‛").Replace(program) + "'"
}

// Windows is a program as the beginning of a line for cmd.exe and PowerShell alike, where nobody knows which it will be.
// Without call, cmd would take the quotes away from a program such as C:\Program Files (x86)\x.exe, and not find it.
// PowerShell replaces what follows a $ even so, cmd what stands between two %.
func Windows(program string) string {
	if plain(program) {
		return program
	}
	return cmd + `"` + program + `"`
}

const cmd = "cmd /d /c call "

// plain reports whether neither shell of Windows finds anything in a path.
func plain(path string) bool {
	return path != "" && !strings.ContainsAny(path, " &()[]{}^=;!'‘’‚‛\"+,`~$%@#|<>")
}

// Program is the program that a line begins with, which one of these has written, before some other words.
func Program(line, words string) string {
	doubled := strings.NewReplacer(quote, kept)
	if rest, is := strings.CutPrefix(line, "& "); is {
		line, doubled = rest, strings.NewReplacer("''", kept, "‘‘", "‘", "’’", "’", "‚‚", "‚", "‛‛", "‛")
	}
	line = strings.TrimPrefix(strings.TrimPrefix(line, "cmd /d /c "), "call ") // it was written without call once
	if mark := line[:min(1, len(line))]; mark == "'" || mark == `"` {
		program, _, _ := strings.Cut(doubled.Replace(line[1:]), mark)
		return strings.ReplaceAll(program, kept, "'")
	}
	program, _, _ := strings.Cut(line, " "+words+" ")
	return program
}

const kept = "\x00" // a quote within quotes
