package engine

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// People see the last line a few times a second for any amount of output, and the final line at the end.
func TestPeopleAreToldTheLastLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		s := &secrets{}
		s.add("topsecret99")
		o := newAgentOutput(AgentAssignment{Nonce: testNonce, Line: func(line string) { told = append(told, line) }}, s)
		out, errs := o.stream(), o.stream()
		ctx, cancel := context.WithCancel(t.Context())
		go o.showLines(ctx)
		for i := range 3000 { // for three seconds
			_, _ = fmt.Fprintf(out, "line %d\n\n", i)
			time.Sleep(time.Millisecond)
		}
		_, _ = fmt.Fprint(errs, "the key is topsecret99 ", strings.Repeat("x", 500))
		cancel()
		synctest.Wait()
		o.close()
		if len(told) < 10 || len(told) > 13 || told[0] != "line 249" && told[0] != "line 250" {
			t.Errorf("%d: %q", len(told), told)
		}
		if last := told[len(told)-1]; !strings.HasPrefix(last, "the key is [hidden] xxx") || len([]rune(last)) != maxShown {
			t.Errorf("%q", last)
		}
	})
}

// Parts of a line, or of a secret, are joined despite output on the other stream.
func TestStreamsAreApart(t *testing.T) {
	var log strings.Builder
	s := &secrets{}
	s.add("topsecret99")
	o := newAgentOutput(AgentAssignment{Nonce: testNonce, Log: &log}, s)
	out, errs := o.stream(), o.stream()
	for i := range len(good) {
		_, _ = out.Write([]byte(good[i : i+1]))
		_, _ = errs.Write([]byte("topsecret99"[i%11 : i%11+1]))
		if reported := o.report != nil; reported != (i == len(good)-1) {
			t.Fatalf("%d: %t", i, reported)
		}
	}
	_, _ = errs.Write([]byte("\n" + strings.Replace(good, `"x"`, `"topsecret99"`, 1) + "\n"))
	_, _ = out.Write([]byte("\n"))
	o.close()
	if strings.Contains(log.String(), "topsecret99") || strings.Count(log.String(), "[hidden]") < 8 {
		t.Error(log.String())
	}
	if o.report.Output != "x" { // that line ended last
		t.Errorf("%+v", o.report)
	}
}

// A report is found for any division into writes.
func TestReportsAcrossWrites(t *testing.T) {
	outputs := spellings(t)
	names := slices.Sorted(maps.Keys(outputs))
	rapidtest.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "spelling")
		o := newAgentOutput(AgentAssignment{Nonce: testNonce}, &secrets{})
		out := o.stream()
		for rest := outputs[name]; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "write")
			_, _ = out.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		o.close()
		if r := o.report; r == nil || r.Status != plan.Done || r.Output != "x" || r.Note != "y" {
			t.Fatalf("%s: %+v", name, r)
		}
	})
}

func TestSecretsOfReports(t *testing.T) {
	s := &secrets{}
	s.add("planloop") // a word of the report format
	s.add("topsecret99")
	o := newAgentOutput(AgentAssignment{Nonce: testNonce}, s)
	_, _ = o.stream().Write([]byte(`{"planloop":"K7QM4TZN","status":"done","output":"a topsecret99","affected_files":["topsecret99"],` +
		`"note":"planloop"}`))
	o.close()
	if r := o.report; r == nil || r.Output != "a [hidden]" || r.Note != "[hidden]" || r.AffectedFiles[0] != "[hidden]" {
		t.Errorf("%+v", r)
	}
}

func TestWhichValuesAreSecret(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key.pem")
	testenv.Check(t, os.WriteFile(key, nil, 0o600))
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
