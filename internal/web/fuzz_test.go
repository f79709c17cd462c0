package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzBody posts any body to every path, in and out of a session that may approve: the answer is JSON with the policy,
// never a fault, and a plan is approved only by its digest.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		"", "{", "[]", "null", `"`, "{}", "{}{}", `{"code":"123456"}`, `{"code":1}`, `{"code":null,"token":null}`, `{"token":""}`,
		`{"workspace":"w1"}`, `{"workspace":"w1","act":"approve","input":{}}`, `{"workspace":"w1","act":"approve","input":[]}`,
		`{"workspace":"w1","act":"approve","input":{"request":"x","digest":"y"}}`,
		`{"workspace":"w1","act":"comment","input":{"text":"x"}}`,
		`{"workspace":"w1","act":"reject","input":{"digest":"x","comment":"x","comments":[{"step":1,"text":"x"}]}}`,
		`{"workspace":"w1","act":"edit_step","input":{"digest":"","step":1,"fields":{"title":"x"}}}`,
		`{"workspace":"w1","act":"approve_step","input":{"step":"S001","digest":"x","args":{}}}`,
		`{"workspace":"w1","act":"enter_mode","input":{"task":"x"}}`, `{"workspace":"w1","act":"start_run","input":{}}`,
		`{"workspace":"w1","workspace":"w2"}`, `{"Workspace":"w1"}`, "{\"workspace\":\"w1\\u0000\"}", "\xff\xfe",
		`{"workspace":"w1","texts":[{"field":"task","text":"x"},{"field":"task","text":""}]}`, strings.Repeat("[", 10000),
		strings.Repeat(`{"input":`, 1000), `{"workspace":"w1","act":"comment","input":{"text":"` + strings.Repeat("x", 100_000) + `"}}`,
	} {
		for path := range 5 {
			f.Add(seed, uint8(path), true)
		}
		f.Add(seed, uint8(3), false)
	}
	paths := []string{"/api/enter", "/api/code", "/api/unlock", "/api/act", "/api/keep"}
	f.Fuzz(func(t *testing.T, body string, path uint8, inside bool) {
		s := prepare(t, nil)
		defer s.Close()
		s.workspaces.sheets["w1"].Unsent = t.TempDir()
		s.submit("w1")
		r := httptest.NewRequest(http.MethodPost, paths[int(path)%len(paths)], strings.NewReader(body))
		r = r.WithContext(here(t, "", "127.0.0.1:8137", "", http.MethodGet, "/", "").Context())
		r.Host, r.RemoteAddr = "127.0.0.1:8137", "127.0.0.1:1"
		r.Header.Set("Origin", "http://127.0.0.1:8137")
		r.Header.Set("Content-Type", "application/json")
		if inside {
			cookie, key, err := s.sessions.open(true, "")
			if err != nil {
				t.Fatal(err)
			}
			own := s.sessions.sessions[digestOf(cookie)]
			code, err := s.sessions.newCode(own)
			if err != nil {
				t.Fatal(err)
			}
			proof, err := s.sessions.unlock(own, code)
			if err != nil {
				t.Fatal(err)
			}
			(&browser{cookie: &http.Cookie{Name: "planloop-8137", Value: cookie}, key: key, unlock: proof}).in(r)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		carriesPolicy(t, body, w.Header())
		if w.Code >= 500 || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %d %s", r.URL.Path, w.Code, w.Body)
		}
		state, err := s.workspaces.sheets["w1"].Service.State(t.Context())
		if err != nil || state.Plan != nil && state.Plan.Approval != nil {
			t.Errorf("approved by %q (%v)", body, err)
		}
	})
}
