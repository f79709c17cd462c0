package agents

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/planloop/planloop/internal/outbound"
)

// secrets are texts that are taken out of what an agent prints, by their first byte.
type secrets [256][][]byte

// secretsOf returns the values of those variables that are named, and of those whose name says that
// they are secret. The path of something that exists is none: a socket, a key's file. Of a text of
// several lines each is one.
func secretsOf(all, named []string) *secrets {
	s := &secrets{}
	for _, variable := range all {
		name, value, _ := strings.Cut(variable, "=")
		if !slices.Contains(named, name) && !outbound.Telling(name) {
			continue
		}
		if _, err := os.Stat(value); filepath.IsAbs(value) && err == nil {
			continue
		}
		for line := range strings.Lines(value) {
			s.add(strings.TrimSpace(line))
		}
	}
	return s
}

// add takes a secret, and how it stands within JSON.
func (s *secrets) add(secret string) {
	if len(secret) < outbound.ShortestSecret {
		return
	}
	forms := [][]byte{[]byte(secret)}
	if quoted, err := json.Marshal(secret); err == nil {
		forms = append(forms, bytes.Trim(quoted, `"`))
	}
	for _, form := range forms {
		at := &s[form[0]]
		if !slices.ContainsFunc(*at, func(known []byte) bool { return bytes.Equal(known, form) }) {
			*at = append(*at, form)
		}
	}
}

// hide appends a text without the secrets to another one. With more to come, what may be the
// beginning of a secret is held back and returned.
func (s *secrets) hide(to, text []byte, more bool) (hidden, held []byte) {
	begun := 0 // of what stays as it is
	for i := 0; i < len(text); {
		if s[text[i]] == nil {
			i++
			continue
		}
		length, open := s.at(text[i:])
		if open && more {
			return append(to, text[begun:i]...), text[i:]
		}
		if length == 0 {
			i++
			continue
		}
		to = append(append(to, text[begun:i]...), outbound.Hidden...)
		i += length
		begun = i
	}
	return append(to, text[begun:]...), nil
}

// at returns the length of the longest secret that a text begins with, 0 for none, and whether all
// of the text is the beginning of one.
func (s *secrets) at(text []byte) (longest int, open bool) {
	for _, secret := range s[text[0]] {
		switch {
		case bytes.HasPrefix(text, secret):
			longest = max(longest, len(secret))
		case bytes.HasPrefix(secret, text):
			open = true
		}
	}
	return longest, open
}

// in returns a text without the secrets.
func (s *secrets) in(text string) string {
	hidden, _ := s.hide(nil, []byte(text), false)
	return string(hidden)
}
