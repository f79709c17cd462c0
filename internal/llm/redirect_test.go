package llm_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/llm"
)

func TestRedirectsDoNotTakeTheKeyAway(t *testing.T) {
	for _, to := range []string{
		"http://127.0.0.1:9999/v1/chat/completions", "http://evil.test:80/v1", "http://sub.127.0.0.1:11434/v1",
		"https://127.0.0.1:11434/v1/chat/completions", "http://" + planted + ":x@evil.test:80/", "http://" + planted + ".test:80/",
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			t.Run(fmt.Sprint(status, " ", strings.ReplaceAll(to, "/", "|")), func(t *testing.T) {
				inBubble(t, func(t *testing.T, w *world) {
					w.serve(host, answers(status, ``, "Location", to))
					others := []*endpoint{w.serve("127.0.0.1:9999", says("mine")), w.serve("evil.test:80", says("mine")), w.serve("sub.127.0.0.1:11434", says("mine"))}
					answer, err := ask(t.Context(), w.client(nil))
					if answer != "" || !errors.Is(err, llm.ErrUnavailable) || !strings.Contains(err.Error(), "base_url") {
						t.Errorf("%q, %v", answer, err)
					}
					for _, other := range others {
						if len(other.requests()) > 0 {
							t.Errorf("reached: %v", other.requests())
						}
					}
					w.mustNotLeak(err)
				})
			})
		}
	}
}

// TestRedirectThatDropsTheQuestion: a POST that becomes a GET asks nothing.
func TestRedirectThatDropsTheQuestion(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		e := w.serve(host, answers(302, ``, "Location", "/login"), says("mine"))
		if _, err := ask(t.Context(), w.client(nil)); !errors.Is(err, llm.ErrUnavailable) || len(e.requests()) != 1 {
			t.Error(err, e.requests())
		}
	})
}

func TestRedirectsEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		e := w.serve(host, answers(307, ``, "Location", "/again"))
		if _, err := ask(t.Context(), w.client(nil)); !errors.Is(err, llm.ErrUnavailable) || len(e.requests()) != 4 {
			t.Error(err, len(e.requests()))
		}
	})
}
