package scan

import (
	"bytes"
	"strings"
)

const (
	maxMarkText     = 200 // characters
	maxMarksPerFile = 200
)

// mark is a note to do something that somebody left in a comment.
type mark struct {
	word string // FIXME, XXX or TODO
	text string // what is to be done, printable; may be empty
	line int
}

// marks returns the marks in the comments of source.
func marks(source []byte, s syntax) []mark {
	if !mayHoldMarks(source) {
		return nil
	}
	var found []mark
	comments(source, s, func(line int, text []byte) bool {
		if !mayHoldMarks(text) {
			return true
		}
		if word, rest, ok := markIn(string(text)); ok {
			found = append(found, mark{word: word, text: markText(rest), line: line})
		}
		return len(found) < maxMarksPerFile
	})
	return found
}

func mayHoldMarks(source []byte) bool {
	for _, word := range [...]string{"TODO", "FIXME", "XXX"} {
		if bytes.Contains(source, []byte(word)) {
			return true
		}
	}
	return false
}

var markWord = pattern(`TODO|FIXME|XXX`)

// decoration is what may stand between the beginning of a comment and its words.
const decoration = " \t/*#;-!%<>@|=~+.([{"

// markIn finds the first mark in a line of comment. Comments talk about marks,
// too, and a list of states may hold one of the words: a mark stands at the
// beginning, or of a sentence, or is followed by a colon or a name in brackets.
func markIn(text string) (word, rest string, ok bool) {
	start := len(text) - len(strings.TrimLeft(text, decoration))
	for _, at := range markWord().FindAllStringIndex(text, -1) {
		if !wholeWord(text, at[0], at[1]) {
			continue
		}
		after := text[at[1]:]
		called := strings.HasPrefix(after, ":") || strings.HasPrefix(after, "(")
		if at[0] == start || called || endsSentence(text[:at[0]]) {
			return text[at[0]:at[1]], after, true
		}
	}
	return "", "", false
}

func wholeWord(text string, from, to int) bool {
	if from > 0 && strings.IndexByte(decoration, text[from-1]) < 0 {
		return false
	}
	if from > 1 && text[from-1] != ' ' && wordByte(text[from-2]) {
		return false // part of a word such as NOT-TODO or path/TODO
	}
	if to == len(text) {
		return true
	}
	if strings.IndexByte(" \t:(.;!?*])}", text[to]) >= 0 {
		return text[to] != '.' || to+1 == len(text) || blank(text[to+1]) || text[to+1] == '.' // TODO.md is a file
	}
	return text[to] == '-' && to+1 < len(text) && !wordByte(text[to+1])
}

func endsSentence(before string) bool {
	before = strings.TrimRight(before, " \t")
	return before != "" && strings.IndexByte(".;!?", before[len(before)-1]) >= 0
}

var assignee = pattern(`^\s*[(\[][^()\[\]]{0,60}[)\]]`)

// markText is what follows a mark, without the name it is assigned to.
func markText(rest string) string {
	rest = strings.TrimPrefix(rest, assignee().FindString(rest))
	rest = strings.TrimLeft(rest, " \t:-!.;*])}")
	return printable(strings.TrimRight(rest, " \t*/->#."), maxMarkText)
}
