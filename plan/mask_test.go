package plan_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

const root = "../"

func TestMaskHidesSecrets(t *testing.T) {
	for _, s := range testenv.Secrets(t, root).Secrets {
		name, secret := s.Name, s.Before+s.Text
		for around, text := range map[string]string{"alone": secret,
			"in a line": "before " + secret + "\nafter", "in JSON": quoted(secret)} {
			got := plan.Mask(text)
			for _, piece := range s.Pieces {
				if strings.Contains(got, piece) {
					t.Errorf("%s %s shows %q:\n%s", name, around, piece, got)
				}
			}
			if !strings.Contains(got, "[masked]") {
				t.Errorf("%s %s says not that it is masked:\n%s", name, around, got)
			}
			if again := plan.Mask(got); again != got {
				t.Errorf("%s %s: masked again, %q became %q", name, around, got, again)
			}
		}
	}
}

func TestMaskKeepsLookAlikes(t *testing.T) {
	for _, text := range testenv.Secrets(t, root).LookAlikes {
		if got := plan.Mask(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// quoted returns text as a string of JSON within a string of JSON.
func quoted(text string) string {
	once, _ := json.Marshal(text)
	return string(once)
}

// TestMaskedEvidenceVerifies: the record of a verify command with a secret counts for the command.
func TestMaskedEvidenceVerifies(t *testing.T) {
	const command = "curl -H 'Authorization: Bearer x7KqJ65JzfNZ8IW4QMBK' https://staging.example"
	step := &plan.Step{Spec: plan.Spec{Verify: command}}
	for _, recorded := range []string{command, plan.Mask(command)} {
		step.Evidence = []plan.Evidence{{Command: recorded, ExitCode: new(0), Recorded: true}}
		if !plan.IsVerified(step) {
			t.Errorf("%q does not count", recorded)
		}
	}
	if step.Evidence[0].Command == command {
		t.Error("the command is not masked")
	}
}

// TestMaskIsStable: masking again changes nothing, whatever the text.
func TestMaskIsStable(t *testing.T) {
	var pieces []string
	for _, s := range testenv.Secrets(t, root).Secrets {
		pieces = append(pieces, s.Before+s.Text)
	}
	pieces = append(pieces,
		"password=", "token: ", "[masked]", "…", "\n", "\"", " ", "sk-", "@", ":", "-----BEGIN PRIVATE KEY-----", "'")
	rapidtest.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 6).Draw(t, "pieces"), "")
		once := plan.Mask(text)
		if again := plan.Mask(once); again != once {
			t.Fatalf("%q became %q, then %q", text, once, again)
		}
	})
}

// TestMaskTakesLinearTime: twice the text takes about twice the time, for texts made to slow a matcher down.
func TestMaskTakesLinearTime(t *testing.T) {
	for _, unit := range []string{"sk-", "password=", "password: \"", "eyJ.", "a://b:",
		"-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAAAAAA\n",
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n", "PRIVATE KEY AAAAAAAAAAAAAAAAAA", "token=\\", "authorization: bearer ",
		"--password ", "\n-u a:", " ", "a=", "\\"} {
		took := func(n int) time.Duration {
			text, best := strings.Repeat(unit, n/len(unit)), time.Hour
			for range 3 { // other processes may slow one down
				begun := time.Now()
				plan.Mask(text)
				best = min(best, time.Since(begun))
			}
			return best
		}
		if short, long := took(1<<16), took(1<<18); long > 10*short+time.Second {
			t.Errorf("%q: 64 KB take %s, 256 KB %s", unit, short, long)
		}
	}
}

func BenchmarkMask(b *testing.B) {
	line := "    mask_test.go:12: got 3f786850e387550fdab836ed7e6dc881de23001b, want task-1 in /work/rows/text: token := lexer.Next()\n"
	for name, text := range map[string]string{
		"output":  strings.Repeat(line, 1<<20/len(line)),
		"secrets": strings.Repeat("password=hunter2\n", 1<<20/17),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				plan.Mask(text)
			}
		})
	}
}
