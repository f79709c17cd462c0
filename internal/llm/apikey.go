package llm

import (
	"strings"
	"unicode"
)

// variable reports whether s can be the name of an environment variable.
func variable(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// keyLike reports whether s looks like a key rather than the name of a variable:
// it begins as keys do, or it is long and mixed as nobody's names are.
func keyLike(s string) bool {
	return knownKey(s) || len(s) >= 24 && !strings.ContainsAny(s, "_-/:. ") &&
		strings.ContainsAny(s, "0123456789") && strings.ContainsFunc(s, unicode.IsLetter)
}

// knownKey reports whether s begins as the keys of well-known services do.
func knownKey(s string) bool {
	for _, prefix := range []string{"sk-", "sk_", "gsk_", "hf_", "xai-", "AIza", "pplx-", "nvapi-", "ghp_", "gho_", "github_pat_", "glpat-", "csk-", "Bearer "} {
		if strings.HasPrefix(s, prefix) && len(s) >= len(prefix)+12 {
			return true
		}
	}
	return false
}

// apiKey returns the key, "" when none is sent. It is read anew for every call,
// so that nothing keeps it and a changed one counts.
func (c *Client) apiKey() (string, error) {
	name := c.config.APIKeyEnv
	if name == NoKey || !c.keyRequired {
		return "", nil // the key of one service is not another's to see
	}
	key := strings.TrimSpace(c.getenv(name))
	if key == "" {
		return "", &Error{Kind: ErrNotConfigured, Problem: "the environment variable " + name + " holds no key for " + c.host,
			Want: "set it, or name another with api_key_env under model"}
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", &Error{Kind: ErrNotConfigured, Problem: "the environment variable " + name + " holds a space or a character that no key has",
			Want: "set it to the key alone"}
	}
	return key, nil
}

const (
	// shortest is the length of the shortest key worth hiding: endpoints that ask
	// for none are often given a word such as "ollama".
	shortest = 8
	// telling is the length of a piece of a key that is hidden too: endpoints
	// quote keys in part.
	telling = 12
	hidden  = "[key]"
)

// withoutKey returns text with the key, and every telling piece of it, taken out.
func withoutKey(text, key string) string {
	if len(key) < shortest {
		return text
	}
	size := min(len(key), telling)
	var b strings.Builder
	for i := 0; i < len(text); {
		n := pieceAt(text[i:], key, size)
		if n == 0 {
			b.WriteByte(text[i])
			i++
			continue
		}
		b.WriteString(hidden)
		i += n
	}
	return b.String()
}

// pieceAt returns the length of the longest piece of key, of at least size
// bytes, that text begins with; 0 without one.
func pieceAt(text, key string, size int) int {
	if len(text) < size || !strings.Contains(key, text[:size]) {
		return 0
	}
	n := size
	for n < len(text) && n < len(key) && strings.Contains(key, text[:n+1]) {
		n++
	}
	return n
}
