package llm_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/llm"
)

// TestWhatIsNotSupportedIsLeftOut holds the bargaining: JSON mode and the name of
// the limit are given up when the endpoint says it is about them, and only then.
func TestWhatIsNotSupportedIsLeftOut(t *testing.T) {
	for name, row := range map[string]struct {
		script []http.HandlerFunc
		asked  int
		fails  bool
	}{
		"JSON mode":                {[]http.HandlerFunc{answers(400, `{"error":{"message":"Invalid parameter: 'response_format' of type 'json_object' is not supported with this model."}}`), says("{}")}, 2, false},
		"JSON mode by parameter":   {[]http.HandlerFunc{answers(422, `{"error":{"message":"unsupported","param":"response_format"}}`), says("{}")}, 2, false},
		"JSON mode in prose":       {[]http.HandlerFunc{answers(400, `This model has no JSON mode.`), says("{}")}, 2, false},
		"the limit's name":         {[]http.HandlerFunc{answers(400, `{"error":{"message":"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}}`), says("{}")}, 2, false},
		"both":                     {[]http.HandlerFunc{answers(400, `response_format`), answers(400, `use max_completion_tokens`), says("{}")}, 3, false},
		"both, and it still minds": {[]http.HandlerFunc{answers(400, `response_format and max_completion_tokens`)}, 3, true},
		"something else":           {[]http.HandlerFunc{answers(400, `context length exceeded`), says("{}")}, 1, true},
		"another status":           {[]http.HandlerFunc{answers(404, `response_format`), says("{}")}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				e := w.serve(host, row.script...)
				_, err := w.client(nil).Complete(t.Context(), llm.Request{Prompt: "why?", JSON: true, MaxTokens: 9})
				if (err != nil) != row.fails || len(e.requests()) != row.asked {
					t.Fatal(err, len(e.requests()))
				}
				if row.fails {
					return
				}
				last := e.requests()[row.asked-1].body
				if _, format := last["response_format"]; format && last["max_tokens"] != nil {
					t.Error(last)
				}
				if last["max_tokens"] != 9.0 && last["max_completion_tokens"] != 9.0 {
					t.Error("the limit was lost", last)
				}
			})
		})
	}
}

func TestNewerModelsTakeTheLimitByItsNewerName(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		e := w.serve(host, says("because"))
		c := w.client(func(c *llm.Config) { c.Model, c.MaxTokens = "o3-mini", 50 })
		if _, err := ask(t.Context(), c); err != nil || e.requests()[0].body["max_completion_tokens"] != 50.0 || e.requests()[0].body["max_tokens"] != nil {
			t.Error(err, e.requests())
		}
	})
}

func TestWhatTheLibraryKnowsToFailIsNotSent(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		e := w.serve(host, says("because"))
		half := 0.5
		c := w.client(func(c *llm.Config) { c.Model, c.Temperature = "o3-mini", &half })
		if _, err := ask(t.Context(), c); !errors.Is(err, llm.ErrInvalid) || len(e.requests()) != 0 || !strings.Contains(err.Error(), "temperature") {
			t.Error(err, e.requests())
		}
	})
}
