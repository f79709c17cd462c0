package scan

import (
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ReadText returns at most most bytes from the beginning of a text file of the
// tree, without control characters and what hides or reorders text. It reports
// false for what is outside the tree, missing, no regular file or no text in UTF-8.
func (t *Tree) ReadText(name string, most int) (string, bool) {
	local := filepath.FromSlash(name)
	if most <= 0 || !filepath.IsLocal(local) || !nameable(name) || inRepository(name) {
		return "", false
	}
	file, info, err := t.open(local)
	if err != nil {
		return "", false
	}
	defer file.Close() //nolint:errcheck // it was only read
	if info.IsDir() {
		return "", false
	}
	content, err := readUpTo(file, most+1, nil)
	if err != nil || binary(content) {
		return "", false
	}
	if len(content) > most {
		content = wholeRunes(content[:most])
	}
	if !utf8.Valid(content) {
		return "", false
	}
	return quotable(string(content)), true
}

// inRepository reports paths into .git, which holds no documents but may hold
// passwords.
func inRepository(name string) bool {
	for element := range strings.SplitSeq(filepath.ToSlash(filepath.Clean(name)), "/") {
		if strings.EqualFold(element, ".git") {
			return true
		}
	}
	return false
}

// wholeRunes cuts a character that is not all there off the end.
func wholeRunes(content []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(content); i++ {
		if start := len(content) - i; utf8.RuneStart(content[start]) {
			if !utf8.FullRune(content[start:]) {
				return content[:start]
			}
			return content
		}
	}
	return content
}

// quotable drops what a prompt or a terminal would act on, and keeps lines and tabs.
func quotable(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || hidden(r)) {
			return -1
		}
		return r
	}, text)
}
