package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
)

func TestWhichValuesAreSecret(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(key, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := secretsOf([]string{
		"OPENAI_API_KEY=sk-aaaaaaaaaa", "github_token=ghp_bbbbbbbb", "DB_PASSWORD=hunter2-hunter2", "MYSQL_PASSWD=passwd-cccc",
		"HTTP_AUTHORIZATION=Bearer dddddd", "AWS_CREDENTIALS=eeeeeeee", "CLIENT_SECRET=ffffffff", "NAMED=gggggggg",
		"QUOTED_KEY=hh\"hh\\hhhh",
		"PRIVATE_KEY=-----BEGIN KEY-----\niiiiiiiiiiiiiiii\njjjjjjjjjjjjjjjj\n-----END KEY-----\n", "EMPTY_KEY=",
		"SHORT_KEY=1234567", "KEY_FILE=" + key, "GIT_AUTHOR_NAME=Jane Developer", "OTHER=not secret at all", "HOME=/home/jane",
	}, []string{"NAMED"})
	for _, secret := range []string{"sk-aaaaaaaaaa", "ghp_bbbbbbbb", "hunter2-hunter2", "passwd-cccc", "Bearer dddddd", "eeeeeeee",
		"ffffffff", "gggggggg", `hh"hh\hhhh`, `hh\"hh\\hhhh`, "iiiiiiiiiiiiiiii", "jjjjjjjjjjjjjjjj"} {
		if got := s.removeFrom("before " + secret + " after"); got != "before [hidden] after" {
			t.Errorf("%q: %q", secret, got)
		}
	}
	for _, text := range []string{"1234567", key, "Jane Developer", "not secret at all", "/home/jane", ""} {
		if got := s.removeFrom(text); got != text {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// For any division of an output into writes, all secrets are removed, and never more than a secret's length is held
// back.
func TestSecretsAcrossWrites(t *testing.T) {
	letters := rapid.StringOfN(rapid.RuneFrom([]rune("ab\n")), 0, 60, -1)
	rapidtest.Check(t, func(t *rapid.T) {
		s, longest := &secrets{}, 0
		words := rapid.SliceOfN(rapid.StringMatching(`[ab]{8,12}`), 1, 4).Draw(t, "secrets")
		for _, word := range words {
			s.add(word)
			longest = max(longest, len(word))
		}
		text := letters.Draw(t, "text") + rapid.SampledFrom(words).Draw(t, "one") + letters.Draw(t, "more")
		whole := s.removeFrom(text)
		var got, held []byte
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "write")
			got, held = s.remove(got, append(slices.Clone(held), rest[:n]...), true)
			if rest = rest[n:]; len(held) >= longest {
				t.Fatalf("%q is held back", held)
			}
		}
		got, held = s.remove(got, held, false)
		if string(got) != whole || len(held) > 0 {
			t.Fatalf("%q of %q in parts, %q in one", got, text, whole)
		}
		for _, word := range words {
			for part := range strings.SplitSeq(whole, "[hidden]") {
				if strings.Contains(part, word) {
					t.Fatalf("%q is left in %q", word, whole)
				}
			}
		}
	})
}

func BenchmarkHide(b *testing.B) {
	s := &secrets{}
	for _, secret := range []string{"sk-proj-0123456789abcdef", "ghp_0123456789abcdef", "another long secret", "https://example.com/hook"} {
		s.add(secret)
	}
	text := bytes.Repeat([]byte("what an agent has to say, at some length, about its work\n"), 500)
	room := make([]byte, 0, 2*len(text))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s.remove(room, text, true)
	}
}
