package outbound

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/testenv"
)

// TestNamesOfThisMachineLeadNowhereElse: if http:// is allowed because of a host's name, the resolved address is
// checked as well.
func TestNamesOfThisMachineLeadNowhereElse(t *testing.T) {
	for _, to := range []string{"192.0.2.1:9", "[2001:db8::1]:9", "[::ffff:192.0.2.1]:9"} {
		if _, err := transport(true).DialContext(t.Context(), "tcp", to); err == nil || !strings.Contains(err.Error(), "another machine") {
			t.Errorf("%s: %v", to, err)
		}
	}
	for _, to := range []string{"127.0.0.1:1", "127.9.9.9:1"} {
		if _, err := transport(true).DialContext(t.Context(), "tcp", to); err != nil && strings.Contains(err.Error(), "another machine") {
			t.Errorf("%s: %v", to, err)
		}
	}
	for address, only := range map[string]bool{"http://box.localhost/x": true, "https://box.localhost/x": false,
		"http://192.0.2.1/": false} {
		u, err := url.Parse(address)
		testenv.Check(t, err)
		_, err = New(u, Limits{}, nil, nil).http.Transport.(*http.Transport).DialContext(t.Context(), "udp", "192.0.2.1:9")
		if held := err != nil && strings.Contains(err.Error(), "another machine"); held != only {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestServiceMessage(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"odd"}}`:                       "odd",
		`{"error":"odd"}`:                                   "odd",
		`{"message":"odd"}`:                                 "odd",
		`{"detail":[{"message":"odd"},{"message":"even"}]}`: "odd",
		`[{"error":{"code":422,"message":"odd"}}]`:          "odd",
		`{"error":{"code":7}}`:                              `{"error":{"code":7}}`,
		"odd":                                               "odd",
		"":                                                  "",
	} {
		if got := serviceMessage([]byte(body)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 22, 4, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "0.25": time.Second / 4, "-5": 0, "NaN": 0, "1e300": 24 * time.Hour, "soon": 0,
		now.Add(9 * time.Second).Format(http.TimeFormat): 9 * time.Second, now.Add(-time.Hour).Format(http.TimeFormat): 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestRedact(t *testing.T) {
	const secret = "sk-proj-Zq8vT3nLw0xR5bYkHd2mUcJ7"
	for text, want := range map[string]string{
		"your key is " + secret + "!":     "your key is [hidden]!",
		secret + secret:                   "[hidden][hidden]",
		"begins " + secret[:12] + " ends": "begins [hidden] ends",
		"ends " + secret[14:]:             "ends [hidden]",
		"too little: " + secret[:11]:      "too little: " + secret[:11],
		"sk-proj":                         "sk-proj",
	} {
		if got := Redact(text, secret); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Redact("ask ollama", "ollama"); got != "ask ollama" {
		t.Error(got)
	}
	if got := Redact("the word is password1", "password1"); got != "the word is [hidden]" {
		t.Error(got)
	}
}

// FuzzExcerpt: any answer of an endpoint becomes one short printable line without the secret.
func FuzzExcerpt(f *testing.F) {
	const secret = "Zq8vT3nLw0xR5bYkHd2mUcJ7"
	for _, seed := range []string{secret, secret[:9] + "\u200b" + secret[9:], "\x1b[2J\u202e\xff\r\n", `"` + secret + `"`,
		strings.Repeat("x", 190) + secret} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Excerpt(text, secret)
		if utf8.RuneCountInString(got) > 200 || strings.ContainsAny(got, "\n\"") || !safetext.Printable(got) ||
			strings.Contains(got, secret[:12]) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

// FuzzAddress: an accepted address is encrypted or on this machine, and a refusal does not repeat the planted text.
func FuzzAddress(f *testing.F) {
	const planted = "Zq8vT3nLw0xR5bYkHd2mUcJ7"
	for _, seed := range []string{"https://example.com/", "http://127.0.0.1/", "http://box.localhost/", "http://", "", "://", "https://a@",
		"https://a:", "http://[::1%25", "javascript:", "HTTPS://X/", "//x/"} {
		f.Add(seed, "/a?b#c")
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		u, problem := Rules{Example: "https://example.com", Credentials: "x", Unencrypted: "x"}.Parse(before + planted + after)
		switch {
		case problem != nil && strings.Contains(problem.Error(), planted):
			t.Fatal(problem)
		case problem == nil && u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
			t.Fatalf("%s was taken", u)
		}
	})
}

func TestOnlyWhatShowsIsVisible(t *testing.T) {
	for _, text := range []string{"gpt-4.1", "Bearer a b", "modèle"} {
		if !IsHeaderValue(text) {
			t.Errorf("%q shows, and does not count as visible", text)
		}
	}
	for _, hidden := range []string{"\u3164", "\u115f", "\u1160", "\uffa0", "\u2800", "\ufe0f", "\u00ad", "\u200b", "\u202e", "\U000e0041",
		"\n", "\t", "\x1b", "\x7f", "\u00a0", "\ue000", "\xff"} {
		if IsHeaderValue("a" + hidden + "b") {
			t.Errorf("%q hides something, and counts as visible", "a"+hidden+"b")
		}
	}
}
