package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// endpoint starts an OpenAI-compatible endpoint that gives the answers of its
// arguments, one for each request, and sets ENDPOINT to its address:
//
//	answer FILE    the text of a file
//	say TEXT       that text
//	prose N        N bytes without any JSON
//	status CODE    an HTTP error
//	hang           no answer as long as the client waits
//
// It keeps each request in requests/N.txt: the Authorization header, then the
// prompt. Further requests are answered with 500.
func endpoint(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: endpoint ANSWER...")
	}
	requests := ts.MkAbs("requests")
	ts.Check(os.RemoveAll(requests))
	ts.Check(os.MkdirAll(requests, 0o755))
	answers := make([]func(http.ResponseWriter, *http.Request), len(args))
	for i, arg := range args {
		answers[i] = scripted(ts, arg)
	}
	var lock sync.Mutex
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		asked++
		number := asked
		lock.Unlock()
		keepRequest(filepath.Join(requests, strconv.Itoa(number)+".txt"), r)
		if number > len(answers) || r.URL.Path != "/v1/chat/completions" {
			http.Error(w, "nobody expected that", http.StatusInternalServerError)
			return
		}
		answers[number-1](w, r)
	}))
	ts.Defer(server.Close)
	ts.Setenv("ENDPOINT", server.URL+"/v1")
}

func scripted(ts *testscript.TestScript, answer string) func(http.ResponseWriter, *http.Request) {
	kind, rest, _ := strings.Cut(answer, " ")
	number := func() int {
		n, err := strconv.Atoi(rest)
		ts.Check(err)
		return n
	}
	switch kind {
	case "answer":
		return completion(ts.ReadFile(rest))
	case "say":
		return completion(rest)
	case "prose":
		const line = "I would rather tell you about my plans at length. "
		return completion(strings.Repeat(line, number()/len(line)))
	case "status":
		code := number()
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprint(w, `{"error":{"message":"the endpoint says no","type":"refused"}}`)
		}
	case "hang":
		return func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	}
	ts.Fatalf("endpoint: %q is no answer", answer)
	return nil
}

func completion(text string) func(http.ResponseWriter, *http.Request) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	type choice struct {
		Message      message `json:"message"`
		FinishReason string  `json:"finish_reason"`
	}
	body, err := json.Marshal(map[string]any{"object": "chat.completion", "choices": []choice{{message{"assistant", text}, "stop"}}})
	return func(w http.ResponseWriter, _ *http.Request) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // a client that has left is its own affair
	}
}

// keepRequest writes what a client sent; a script that looks for it sees if it is
// not there.
func keepRequest(path string, r *http.Request) {
	var body struct {
		Model    string `json:"model"`
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	text := r.Header.Get("Authorization") + "\n"
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		text += err.Error() + "\n"
	}
	text += body.Model + "\n"
	for _, m := range body.Messages {
		text += m.Content + "\n"
	}
	_ = os.WriteFile(path, []byte(text), 0o600)
}

// expand writes a file with the variables of the script filled in: expand IN OUT.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: expand IN OUT")
	}
	out := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(filepath.Dir(out), 0o755))
	ts.Check(os.WriteFile(out, []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o600))
}
