package llm_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/llm"
	"github.com/planloop/planloop/internal/safetext"
)

// always is an endpoint that gives every request the same answer.
type always struct {
	status int
	body   string
}

func (a always) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

// FuzzComplete feeds whatever an endpoint may answer: the outcome is text that is
// fit to read, or an error that is fit to show.
func FuzzComplete(f *testing.F) {
	for _, body := range []string{
		`{"choices":[{"message":{"content":"because"},"finish_reason":"stop"}]}`, `{"error":{"message":"no","code":502}}`, `{"error":"no"}`, `[{"error":{}}]`,
		`{"choices":[{"message":{"content":[{"type":"text","text":"a"}]}}]}`, `{"choices":[null]}`, `{"choices":[{"message":null}]}`, "<html>", "\xff", "", "null", "[null]", "7",
		`{"choices":[{"message":{"content":"\u001b[2J\u202e"}}]}`, "data: {}", planted, `{"error":{"message":["a","b"],"param":7}}`, `{"choices":"` + planted + `"}`,
	} {
		for _, status := range []int{200, 400, 404, 429, 500} {
			f.Add(status, body)
		}
	}
	none := 0
	f.Fuzz(func(t *testing.T, status int, body string) {
		c, err := llm.New(llm.Config{BaseURL: base, APIKeyEnv: llm.DefaultAPIKeyEnv, Model: "m-1", Retries: &none}, environment(planted), llm.Options{HTTPClient: &http.Client{Transport: always{status, body}}})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := c.Complete(t.Context(), llm.Request{Prompt: "why?", JSON: true, MaxTokens: 1})
		if strings.Contains(fmt.Sprintf("%s %v %#v", answer, err, err), planted) {
			t.Fatal("the key is shown")
		}
		if err == nil {
			if !utf8.ValidString(answer) || strings.TrimSpace(answer) == "" || len(answer) > llm.MaxAnswer ||
				!safetext.Printable(answer) {
				t.Fatalf("%q", answer)
			}
			return
		}
		var failure *llm.Error
		if answer != "" || !errors.As(err, &failure) || utf8.RuneCountInString(err.Error()) > 600 || failure.Problem == "" || failure.Want == "" ||
			!safetext.Printable(err.Error()) || strings.Contains(err.Error(), "\n") {
			t.Fatalf("%q, %q", answer, err)
		}
	})
}
