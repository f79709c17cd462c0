package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/outbound"
)

// secrets are texts to remove from agents' output, indexed by their first byte.
type secrets [256][][]byte

// secretsOf returns the values of the variables in named, and of variables with a telling name. The path of an existing
// file, such as a socket or a key file, does not count. Each line of a multi-line value is a secret.
func secretsOf(all, named []string) *secrets {
	s := &secrets{}
	for _, variable := range all {
		name, value, _ := strings.Cut(variable, "=")
		if !slices.Contains(named, name) && !outbound.IsSecretName(name) {
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

// add adds a secret, also in its JSON encoding.
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

// remove appends text to to without the secrets. If more follows, a possible beginning of a secret at the end is held
// back and returned.
func (s *secrets) remove(to, text []byte, more bool) (hidden, held []byte) {
	start := 0 // start of the text not yet appended
	for i := 0; i < len(text); {
		if s[text[i]] == nil {
			i++
			continue
		}
		length, open := s.matchAt(text[i:])
		if open && more {
			return append(to, text[start:i]...), text[i:]
		}
		if length == 0 {
			i++
			continue
		}
		to = append(append(to, text[start:i]...), outbound.Hidden...)
		i += length
		start = i
	}
	return append(to, text[start:]...), nil
}

// matchAt returns the length of the longest secret at the beginning of text, or 0, and whether text is the beginning of a
// longer secret.
func (s *secrets) matchAt(text []byte) (longest int, open bool) {
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

// removeFrom returns text without the secrets.
func (s *secrets) removeFrom(text string) string {
	hidden, _ := s.remove(nil, []byte(text), false)
	return string(hidden)
}
