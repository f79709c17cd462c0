package llm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/llm"
	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/safetext"
)

func ask(ctx context.Context, c *llm.Client) (string, error) {
	return c.Complete(ctx, llm.Request{System: "be brief", Prompt: "why?"})
}

func TestWhatIsSent(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		e := w.serve(host, says("because"))
		half := 0.5
		c := w.client(func(c *llm.Config) { c.MaxTokens, c.Temperature, c.BaseURL = 100, &half, base+"/" })
		got, err := c.Complete(t.Context(), llm.Request{System: "be brief", Prompt: "why?", MaxTokens: 500, JSON: true})
		if got != "because" || err != nil {
			t.Fatal(got, err)
		}
		r := e.Requests()[0]
		if got := r.Header.Get("Authorization"); r.Path != "/v1/chat/completions" || got != "Bearer "+planted {
			t.Error(r.Path, got)
		}
		want := map[string]any{
			"model": "m-1", "stream": false, "max_tokens": 100.0, "temperature": 0.5,
			"response_format": map[string]any{"type": "json_object"},
			"messages": []any{map[string]any{"role": "system", "content": "be brief"},
				map[string]any{"role": "user", "content": "why?"}},
		}
		if diff := cmp.Diff(want, sent(r)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOptionalFieldsAreLeftOut(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		e := w.serve(host, says("because"))
		c := w.client(func(c *llm.Config) { c.APIKeyEnv = llm.NoKey })
		if _, err := c.Complete(t.Context(), llm.Request{Prompt: "why?"}); err != nil {
			t.Fatal(err)
		}
		r := e.Requests()[0]
		want := map[string]any{"model": "m-1", "stream": false, "messages": []any{map[string]any{"role": "user", "content": "why?"}}}
		if diff := cmp.Diff(want, sent(r)); diff != "" {
			t.Error(diff)
		}
		if _, sent := r.Header["Authorization"]; sent {
			t.Error("a key was sent")
		}
	})
}

func TestTemperatureOfZeroIsSent(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		e := w.serve(host, says("because"))
		zero := 0.0
		if _, err := ask(t.Context(), w.client(func(c *llm.Config) { c.Temperature = &zero })); err != nil {
			t.Fatal(err)
		}
		if got, ok := sent(e.Requests()[0])["temperature"].(float64); !ok || got > 1e-40 {
			t.Error(sent(e.Requests()[0]))
		}
	})
}

// TestFailures has one row for each way an endpoint can fail: the kind, how often
// it is asked, words the error holds.
func TestFailures(t *testing.T) {
	page := "<!doctype html><html><body>nginx</body></html>"
	for name, row := range map[string]struct {
		script []http.HandlerFunc
		kind   error
		status int
		tries  int
		words  []string
	}{
		"hangs":          {[]http.HandlerFunc{hangs}, llm.ErrUnavailable, 0, 1, []string{"1m0s", "timeout"}},
		"drips":          {[]http.HandlerFunc{drips(200)}, llm.ErrUnavailable, 200, 1, []string{"1m0s"}},
		"drips an error": {[]http.HandlerFunc{drips(403)}, llm.ErrUnavailable, 403, 1, []string{"answered 403", "m-1"}},
		"a megabyte of prose": {[]http.HandlerFunc{answers(200, strings.Repeat("Certainly! ", 1<<17))}, llm.ErrUnavailable, 200, 1,
			[]string{"512 KiB"}},
		"a megabyte in JSON": {[]http.HandlerFunc{says(strings.Repeat("Certainly! ", 1<<17))}, llm.ErrUnavailable, 200, 1, nil},
		"a megabyte of error": {[]http.HandlerFunc{answers(400, strings.Repeat("No! ", 1<<18))}, llm.ErrUnavailable, 400, 1,
			[]string{"No! No!"}},
		"prose":      {[]http.HandlerFunc{answers(200, "Certainly!")}, llm.ErrMalformed, 200, 1, []string{"Certainly!"}},
		"a web page": {[]http.HandlerFunc{answers(200, page)}, llm.ErrMalformed, 200, 1, []string{"web page", "base_url"}},
		"a web page of an error": {[]http.HandlerFunc{answers(404, page)}, llm.ErrUnavailable, 404, 1,
			[]string{"404 with a web page", "/v1"}},
		"401": {[]http.HandlerFunc{answers(401,
			`{"error":{"message":"Incorrect API key provided: sk-proj-********cJ7."}}`)}, llm.ErrUnavailable, 401, 1,
			[]string{"OPENAI_API_KEY"}},
		"402": {[]http.HandlerFunc{answers(402, ``)}, llm.ErrUnavailable, 402, 1, []string{"balance"}},
		"403": {[]http.HandlerFunc{echoes(403)}, llm.ErrUnavailable, 403, 1, []string{"may use model m-1"}},
		"404 of a model": {[]http.HandlerFunc{answers(404, `{"error":"model \"m-1\" not found, try pulling it first"}`)},
			llm.ErrUnavailable, 404, 1, []string{"try pulling it first"}},
		"413": {[]http.HandlerFunc{answers(413, ``)}, llm.ErrUnavailable, 413, 1, []string{"too long"}},
		"422 as a list": {[]http.HandlerFunc{answers(422, `[{"error":{"code":422,"message":"odd"}}]`)}, llm.ErrUnavailable, 422,
			1, []string{"odd"}},
		"422 in detail": {[]http.HandlerFunc{answers(422, `{"detail":"odd"}`)}, llm.ErrUnavailable, 422, 1, []string{"odd"}},
		"304":           {[]http.HandlerFunc{answers(304, ``)}, llm.ErrUnavailable, 304, 1, nil},
		"429 for ever": {[]http.HandlerFunc{answers(429, ``, "Retry-After", "1")}, llm.ErrUnavailable, 429, 3,
			[]string{"on attempt 3", "later"}},
		"429 asks for an hour": {[]http.HandlerFunc{answers(429, ``, "Retry-After", "3600")}, llm.ErrUnavailable, 429, 1,
			[]string{"wait 1h0m0s"}},
		"429 without money": {[]http.HandlerFunc{answers(429, `{"error":{"message":"no quota","code":"insufficient_quota"}}`)},
			llm.ErrUnavailable, 429, 3, []string{"no quota"}},
		"500 for ever": {[]http.HandlerFunc{answers(500, `{"error":{"message":"sorry"}}`)}, llm.ErrUnavailable, 500, 3,
			[]string{"sorry", "on attempt 3"}},
		"cut short":       {[]http.HandlerFunc{breaks}, llm.ErrUnavailable, 200, 3, []string{"EOF"}},
		"500, then hangs": {[]http.HandlerFunc{answers(500, ``), hangs}, llm.ErrUnavailable, 0, 2, nil},
		"truncated JSON": {[]http.HandlerFunc{answers(200, `{"choices":[{"message":{"content":"be`)}, llm.ErrMalformed, 200, 1,
			[]string{"not one whole JSON object"}},
		"a stream": {[]http.HandlerFunc{answers(200, "data: {}\n\ndata: [DONE]\n")}, llm.ErrMalformed, 200, 1, nil},
		"nothing":  {[]http.HandlerFunc{answers(200, "")}, llm.ErrMalformed, 200, 1, nil},
		"null":     {[]http.HandlerFunc{answers(200, "null")}, llm.ErrMalformed, 200, 1, []string{"not a chat completion"}},
		"no choices": {[]http.HandlerFunc{answers(200, `{"choices":[]}`)}, llm.ErrMalformed, 200, 1,
			[]string{"without a choice"}},
		"choices of another": {[]http.HandlerFunc{answers(200, `{"choices":{"a":1}}`)}, llm.ErrMalformed, 200, 1,
			[]string{"not a chat completion"}},
		"a completion of null": {[]http.HandlerFunc{answers(200, `{"choices":[{"message":{"content":null}}]}`)}, llm.ErrMalformed, 200,
			1, []string{"no text"}},
		"a blank completion":   {[]http.HandlerFunc{says(" \n")}, llm.ErrMalformed, 200, 1, []string{"no text"}},
		"thoughts without end": {[]http.HandlerFunc{says("<think>hm")}, llm.ErrMalformed, 200, 1, []string{"no text"}},
		"invalid UTF-8": {[]http.HandlerFunc{answers(200, "{\"choices\":[{\"message\":{\"content\":\"a\xff\"}}]}")},
			llm.ErrMalformed, 200, 1, []string{"UTF-8"}},
		"cut off at the limit": {[]http.HandlerFunc{finishes("because of", "length")}, llm.ErrMalformed, 200, 1, []string{"max_tokens"}},
		"filtered":             {[]http.HandlerFunc{finishes("", "content_filter")}, llm.ErrMalformed, 200, 1, nil},
		"a refusal": {[]http.HandlerFunc{answers(200, `{"choices":[{"message":{"refusal":"I can't"}}]}`)}, llm.ErrMalformed,
			200, 1, []string{"I can't"}},
		"an error as a success": {[]http.HandlerFunc{answers(200, `{"error":{"message":"odd","code":"x"}}`)}, llm.ErrMalformed, 200, 1,
			[]string{"odd"}},
		"a 502 as a success": {[]http.HandlerFunc{answers(200, `{"error":{"message":"upstream","code":502}}`)}, llm.ErrMalformed, 200,
			1, []string{"upstream"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				e := w.serve(host, row.script...)
				began := time.Now()
				answer, err := ask(t.Context(), w.client(nil))
				if answer != "" || !errors.Is(err, row.kind) {
					t.Fatalf("%q, %v; want %v", answer, err, row.kind)
				}
				var failure *outbound.Error
				if answered := row.kind != llm.ErrUnavailable; errors.As(err, &failure) == answered ||
					!answered && (failure.Status != row.status || failure.Tries != row.tries || failure.Host != host) {
					t.Errorf("%+v", failure)
				}
				if got := len(e.Requests()); got != row.tries {
					t.Errorf("asked %d times", got)
				}
				for _, word := range row.words {
					if !strings.Contains(err.Error(), word) {
						t.Errorf("no %q in: %v", word, err)
					}
				}
				if took := time.Since(began); took > 2*llm.DefaultTimeout {
					t.Errorf("took %s", took)
				}
				w.mustNotLeak(err)
			})
		})
	}
}

// mustNotLeak fails when an error, or the log, holds what it must not.
func (w *world) mustNotLeak(err error) {
	w.t.Helper()
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v %#v", err, err), w.log.String()} {
		for i := 0; i+12 <= len(planted); i++ {
			if strings.Contains(text, planted[i:i+12]) {
				w.t.Fatalf("the key is in: %s", text)
			}
		}
		if strings.Contains(text, "Bearer") && !strings.Contains(text, outbound.Hidden) || strings.Contains(text, "Content-Type") {
			w.t.Errorf("a header is in: %s", text)
		}
	}
	if length := utf8.RuneCountInString(err.Error()); length > 600 {
		w.t.Errorf("an error of %d characters", length)
	}
	if !safetext.Printable(err.Error()) || strings.Contains(err.Error(), "\n") {
		w.t.Errorf("not printable: %q", err)
	}
}

func TestAnswers(t *testing.T) {
	completion := `{"choices":[{"message":{"content":"because"}}]}`
	for name, row := range map[string]struct {
		script []http.HandlerFunc
		want   string
	}{
		"500, then an answer":    {[]http.HandlerFunc{answers(500, ``), says("because")}, "because"},
		"429, then an answer":    {[]http.HandlerFunc{answers(429, ``, "Retry-After", "7"), says("because")}, "because"},
		"broken, then an answer": {[]http.HandlerFunc{breaks, says("because")}, "because"},
		"another content type":   {[]http.HandlerFunc{answers(200, completion, "Content-Type", "text/html")}, "because"},
		"odd types beside it": {[]http.HandlerFunc{answers(200, `{"id":7,"created":1.5e9,"usage":"much","error":null,`+completion[1:])},
			"because"},
		"in parts": {[]http.HandlerFunc{answers(200,
			`{"choices":[{"message":{"content":[{"type":"text","text":"be"},{"type":"text","text":"cause"}]}}]}`)}, "because"},
		"several choices": {[]http.HandlerFunc{answers(200,
			`{"choices":[{"message":{"content":"because"}},{"message":{"content":"why not"}}]}`)}, "because"},
		"after thoughts": {[]http.HandlerFunc{says("<think>\nhm {\"a\":1}\n</think>\n\nbecause\n")}, "because"},
		"control characters": {[]http.HandlerFunc{says("be\x1b[31mcause\x00\r\n\tof\u202eit\u009b\r")},
			"be\ufffd[31mcause\ufffd\n\tof\ufffdit\ufffd"},
		"half a surrogate": {[]http.HandlerFunc{answers(200, `{"choices":[{"message":{"content":"be\ud800cause"}}]}`)},
			"be\ufffdcause"},
		"the key":               {[]http.HandlerFunc{says("your key is " + planted + "!")}, "your key is [hidden]!"},
		"moved within the host": {[]http.HandlerFunc{answers(307, ``, "Location", "/v2/chat/completions"), says("because")}, "because"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.serve(host, row.script...)
				got, err := ask(t.Context(), w.client(nil))
				if err != nil || got != row.want {
					t.Errorf("%q, %v; want %q", got, err, row.want)
				}
				if strings.Contains(w.log.String(), planted) || strings.Contains(w.log.String(), "because") {
					t.Error(w.log.String())
				}
			})
		})
	}
}

// TestKeyIsAskedFor: an endpoint without a key configured turns out to want one.
func TestKeyIsAskedFor(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.serve(host, answers(401, ``), answers(403, ``))
		c := w.client(func(c *llm.Config) { c.APIKeyEnv = llm.NoKey })
		for range 2 {
			if _, err := ask(t.Context(), c); !errors.Is(err, llm.ErrUnavailable) || !strings.Contains(err.Error(), "asks for a key") {
				t.Error(err)
			}
		}
	})
}

func TestNoRetries(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		none := 0
		e := w.serve(host, answers(500, ``), says("because"))
		if _, err := ask(t.Context(), w.client(func(c *llm.Config) { c.Retries = &none })); !errors.Is(err, llm.ErrUnavailable) ||
			len(e.Requests()) != 1 {
			t.Error(err)
		}
	})
}

func TestBlankQuestion(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		if _, err := w.client(nil).Complete(t.Context(), llm.Request{System: "x", Prompt: " \n"}); !errors.Is(err, llm.ErrInvalid) {
			t.Error(err)
		}
	})
}

// TestEchoedKeyIsHidden: endpoints that answer with what they were sent.
func TestEchoedKeyIsHidden(t *testing.T) {
	for _, status := range []int{200, 201, 400, 401, 404, 429, 500} {
		inBubble(t, func(t *testing.T, w *world) {
			w.serve(host, echoes(status))
			_, err := ask(t.Context(), w.client(nil))
			if err == nil {
				t.Fatal(status)
			}
			w.mustNotLeak(err)
		})
	}
	for _, body := range []string{
		planted[:20], planted[8:], strings.Repeat(planted, 50), strings.Repeat(" ", 190) + planted, strings.Repeat("x", 190) + planted,
		planted[:16] + "\u200b" + planted[16:], `{"error":{"message":"\u0073` + planted[1:] + `"}}`, "\x1b[1m" + planted + "\x1b[0m",
	} {
		inBubble(t, func(t *testing.T, w *world) {
			w.serve(host, answers(400, body))
			_, err := ask(t.Context(), w.client(nil))
			w.mustNotLeak(err)
		})
	}
}

func TestConcurrentCalls(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.serve(host, says("because"))
		c := w.client(nil)
		done := make(chan error)
		for range 8 {
			go func() { _, err := ask(t.Context(), c); done <- err }()
		}
		for range 8 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestWhatIsNotSupportedIsLeftOut holds the bargaining: JSON mode and the name of
// the limit are given up when the endpoint says it is about them, and only then.
func TestWhatIsNotSupportedIsLeftOut(t *testing.T) {
	for name, row := range map[string]struct {
		script []http.HandlerFunc
		asked  int
		fails  bool
	}{
		"JSON mode": {[]http.HandlerFunc{answers(400,
			`{"error":{"message":"Invalid parameter: 'response_format' of type 'json_object' is not supported with this model."}}`),
			says("{}")}, 2, false},
		"JSON mode by parameter": {[]http.HandlerFunc{answers(422, `{"error":{"message":"unsupported","param":"response_format"}}`),
			says("{}")}, 2, false},
		"JSON mode in prose": {[]http.HandlerFunc{answers(400, `This model has no JSON mode.`), says("{}")}, 2, false},
		"the limit's name": {[]http.HandlerFunc{answers(400,
			`{"error":{"message":"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}}`), says("{}")}, 2, false},
		"both": {[]http.HandlerFunc{answers(400, `response_format`), answers(400, `use max_completion_tokens`),
			says("{}")}, 3, false},
		"both, and it still minds": {[]http.HandlerFunc{answers(400, `response_format and max_completion_tokens`)}, 3, true},
		"something else":           {[]http.HandlerFunc{answers(400, `context length exceeded`), says("{}")}, 1, true},
		"another status":           {[]http.HandlerFunc{answers(404, `response_format`), says("{}")}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				e := w.serve(host, row.script...)
				_, err := w.client(nil).Complete(t.Context(), llm.Request{Prompt: "why?", JSON: true, MaxTokens: 9})
				if (err != nil) != row.fails || len(e.Requests()) != row.asked {
					t.Fatal(err, len(e.Requests()))
				}
				if row.fails {
					return
				}
				last := sent(e.Requests()[row.asked-1])
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
		if _, err := ask(t.Context(), c); err != nil || sent(e.Requests()[0])["max_completion_tokens"] != 50.0 ||
			sent(e.Requests()[0])["max_tokens"] != nil {
			t.Error(err, e.Requests())
		}
	})
}

func TestWhatTheLibraryKnowsToFailIsNotSent(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		e := w.serve(host, says("because"))
		half := 0.5
		c := w.client(func(c *llm.Config) { c.Model, c.Temperature = "o3-mini", &half })
		if _, err := ask(t.Context(), c); !errors.Is(err, llm.ErrInvalid) || len(e.Requests()) != 0 ||
			!strings.Contains(err.Error(), "temperature") {
			t.Error(err, e.Requests())
		}
	})
}

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
		`{"choices":[{"message":{"content":"because"},"finish_reason":"stop"}]}`, `{"error":{"message":"no","code":502}}`,
		`{"error":"no"}`, `[{"error":{}}]`,
		`{"choices":[{"message":{"content":[{"type":"text","text":"a"}]}}]}`, `{"choices":[null]}`, `{"choices":[{"message":null}]}`,
		"<html>", "\xff", "", "null", "[null]", "7",
		`{"choices":[{"message":{"content":"\u001b[2J\u202e"}}]}`, "data: {}", planted, `{"error":{"message":["a","b"],"param":7}}`,
		`{"choices":"` + planted + `"}`,
	} {
		for _, status := range []int{200, 400, 404, 429, 500} {
			f.Add(status, body)
		}
	}
	none := 0
	f.Fuzz(func(t *testing.T, status int, body string) {
		c, err := llm.New(llm.Config{BaseURL: base, APIKeyEnv: llm.DefaultAPIKeyEnv, Model: "m-1", Retries: &none}, environment(planted),
			llm.Options{HTTPClient: &http.Client{Transport: always{status, body}}})
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
		if answer != "" || !errors.As(err, &failure) || utf8.RuneCountInString(err.Error()) > 600 || failure.Problem == "" ||
			failure.Want == "" ||
			!safetext.Printable(err.Error()) || strings.Contains(err.Error(), "\n") {
			t.Fatalf("%q, %q", answer, err)
		}
	})
}
