package downstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planloop/planloop/internal/downstream"
	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/outbound/outboundtest"
	"github.com/planloop/planloop/internal/toolbox"
)

const token = "topsecret-token-of-mine"

// atWeb runs a test with a server at an address of a network without sockets, on a fake clock.
func atWeb(t *testing.T, handler http.HandlerFunc, test func(t *testing.T, s *downstream.Servers, e *outboundtest.Endpoint)) {
	synctest.Test(t, func(t *testing.T) {
		network := outboundtest.Network{}
		endpoint := network.Serve(t, "127.0.0.1:80", handler)
		network.Serve(t, "127.0.0.1:81", func(http.ResponseWriter, *http.Request) { t.Error("another host was asked") })
		s := started(t, downstream.Config{"ours": {URL: "http://127.0.0.1/mcp?key=" + token,
			Headers: map[string]outbound.Secret{"Authorization": "Bearer " + token}}},
			func(o *downstream.Options) { o.HTTP = network.Client() })
		test(t, s, endpoint)
	})
}

// asked returns the request and leaves its body readable.
func asked(r *http.Request) (m incoming) {
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &m)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	return m
}

func json200(text string) http.HandlerFunc {
	return outboundtest.Answer(200, text, "Content-Type", "application/json")
}

func events(text string) http.HandlerFunc {
	return outboundtest.Answer(200, text+"\n\n", "Content-Type", "text/event-stream")
}

// TestAnswersThatAreNone: invalid HTTP answers, to a greeting and to a call.
func TestAnswersThatAreNone(t *testing.T) {
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    string
		cut     bool
	}{
		"to another host": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:81/mcp", http.StatusTemporaryRedirect)
		}, `redirects to another address, which planloop does not follow (it says "http://127.0.0.1:81")`, false},
		"to another method": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1/other", http.StatusFound)
		}, "redirects to another address", false},
		"who are you": {outboundtest.Answer(401, `{"error":{"message":"no `+token+`"}}`),
			`answered 401 (it says "no [hidden]"); set its token in headers in the configuration`, false},
		"a page":          {outboundtest.Answer(503, "<html>"), "answered 503 with a web page", false},
		"no kind":         {outboundtest.Answer(200, "hello"), `answered with "text/plain", not with JSON or events`, true},
		"nothing":         {outboundtest.Answer(202, ""), `answered with "", not with JSON or events`, true},
		"rubbish":         {json200(`{"jsonrpc`), "text that is not JSON", true},
		"too much":        {json200(`{"a":"` + strings.Repeat("a", 5<<20) + `"}`), "more than 4 MB", true},
		"too much events": {events("data: " + strings.Repeat("a", 5<<20)), "more than 4 MB", true},
		"too many pieces": {events(strings.Repeat("data: "+strings.Repeat("a", 1<<20)+"\n", 5)), "more than 4 MB", true},
		"rubbish events":  {events(": hi\n\ndata: 7\n\n" + `data: {"jsonrpc":"2.0","id":99,"result":{}}`), "text that is not JSON", true},
		"half an event": {outboundtest.Answer(200, `data: {"jsonrpc`, "Content-Type", "text/event-stream"),
			"text that is not JSON", true},
		"the answer of another": {events(`data: {"jsonrpc":"2.0","id":99,"result":{}}`),
			"the server ours ended its answer without a result; check the server's log", true},
		"no event": {events(": bye"), "the server ours ended its answer without a result; check the server's log", true},
		"silence":  {outboundtest.Hang, "did not answer tools/call within 1m0s", true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(behaviour{}, nil)
			atWeb(t, func(w http.ResponseWriter, r *http.Request) {
				if asked(r).Method == "tools/call" {
					test.handler(w, r)
					return
				}
				p.ServeHTTP(w, r)
			}, func(t *testing.T, s *downstream.Servers, _ *outboundtest.Endpoint) {
				out, err := refreshed(t, s)["ours__echo"].Call(t.Context(), nil, toolbox.Watch{})
				told := strings.Contains(out.Error, test.want) && !strings.Contains(out.Error, token)
				if err != nil || out.OK || out.Cut != test.cut || !told {
					t.Errorf("%+v, %v", out, err)
				}
			})
			if name == "silence" {
				return
			}
			atWeb(t, test.handler, func(t *testing.T, s *downstream.Servers, _ *outboundtest.Endpoint) {
				if tools := refreshed(t, s); len(tools) > 0 {
					t.Errorf("%v", tools)
				}
				st := s.Status()[0]
				if st.State != downstream.Failed || !strings.Contains(st.Error, test.want) || strings.Contains(st.Error, token) {
					t.Errorf("%s, %s", st.State, st.Error)
				}
			})
		})
	}
}

// TestGreetingsThatAreNotValid are reported without Go's types and without the server's text.
func TestGreetingsThatAreNotValid(t *testing.T) {
	for _, result := range []string{`7`, `[]`, `"x"`, `true`, `{"protocolVersion":5}`, `{"protocolVersion":"2025-06-18","capabilities":7}`,
		`{"protocolVersion":"2025-06-18","capabilities":{"tools":[]}}`, `{"protocolVersion":"2025-06-18","serverInfo":[]}`} {
		t.Run(result, func(t *testing.T) {
			atWeb(t, func(w http.ResponseWriter, r *http.Request) {
				json200(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, asked(r).ID, result))(w, r)
			}, func(t *testing.T, s *downstream.Servers, _ *outboundtest.Endpoint) {
				refreshed(t, s)
				const want = "the server ours answered with an invalid MCP result; check its command or url, or update the server"
				if st := s.Status()[0]; st.State != downstream.Failed || st.Error != want {
					t.Errorf("%s, %s", st.State, st.Error)
				}
			})
		})
	}
}

// TestSilenceEndsACall at its timeout; signs of life extend it, up to a limit.
func TestSilenceEndsACall(t *testing.T) {
	p := newPeer(behaviour{}, nil)
	var pause atomic.Int64
	atWeb(t, func(w http.ResponseWriter, r *http.Request) {
		m := asked(r)
		if m.Method != "tools/call" {
			p.ServeHTTP(w, r)
			return
		}
		var params called
		_ = json.Unmarshal(m.Params, &params)
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			const sign = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`
			fmt.Fprintf(w, "data: "+sign+"\n\n", params.Meta.Token)
			w.(http.Flusher).Flush()
			select {
			case <-time.After(time.Duration(pause.Load())):
			case <-r.Context().Done():
				return
			}
		}
	}, func(t *testing.T, s *downstream.Servers, _ *outboundtest.Endpoint) {
		tools := refreshed(t, s)
		for after, want := range map[time.Duration]struct {
			took  time.Duration
			error string
		}{30 * time.Second: {10 * time.Minute, "was still busy with tools/call after 10m0s"},
			2 * time.Minute: {time.Minute, "did not answer tools/call within 1m0s"}} {
			pause.Store(int64(after))
			begun := time.Now()
			out, err := tools["ours__echo"].Call(t.Context(), nil, toolbox.Watch{})
			took := time.Since(begun)
			if err != nil || !out.TimedOut || !out.Cut || !strings.Contains(out.Error, want.error) || took != want.took {
				t.Errorf("%s: %+v, %v, after %s", after, out, err, took)
			}
		}
	})
}

// TestTheAnswerOfAPersonIsWaitedFor longer than a server's answer.
func TestTheAnswerOfAPersonIsWaitedFor(t *testing.T) {
	for _, modern := range []bool{false, true} {
		p := newPeer(behaviour{Modern: modern}, nil)
		atWeb(t, p.ServeHTTP, func(t *testing.T, s *downstream.Servers, _ *outboundtest.Endpoint) {
			tools := refreshed(t, s)
			slow := toolbox.RemoteClient{Elicit: slowly(20 * time.Minute)}
			got, err := tools["ours__ask"].Invoke(t.Context(), nil, slow)
			if err != nil || !strings.HasSuffix(got.Text(), `{"action":"accept"}`) {
				t.Errorf("%+v, %v", got, err)
			}
			never := toolbox.RemoteClient{Elicit: slowly(20 * time.Hour)}
			got, err = tools["ours__ask"].Invoke(t.Context(), nil, never)
			if err != nil || !strings.HasSuffix(got.Text(), `{"action":"cancel"}`) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// TestServersAreTriedAgainMoreAndMoreSeldom.
func TestServersAreTriedAgainMoreAndMoreSeldom(t *testing.T) {
	atWeb(t, outboundtest.Answer(500, "down"), func(t *testing.T, s *downstream.Servers, e *outboundtest.Endpoint) {
		begun := time.Now()
		var starts []time.Duration
		for time.Since(begun) < 5*time.Minute {
			before := len(e.Requests())
			if err := s.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(e.Requests()) > before {
				starts = append(starts, time.Since(begun))
			}
			time.Sleep(time.Second) // on the bubble's clock
		}
		if got := fmt.Sprint(starts); got != "[0s 1s 3s 7s 15s 31s 1m3s 2m3s 3m3s 4m3s]" {
			t.Error(got)
		}
	})
}

// TestAServerThatKeepsSilentAboutWhatItDoesNotKnow also gets the older greeting. A server that starts slowly and
// supports only the newer era still connects.
func TestAServerThatKeepsSilentAboutWhatItDoesNotKnow(t *testing.T) {
	for name, b := range map[string]behaviour{"old": {}, "modern": {Modern: true}} {
		p := newPeer(b, nil)
		var wait sync.Map
		atWeb(t, func(w http.ResponseWriter, r *http.Request) {
			m := asked(r)
			if m.Method == "server/discover" {
				if name == "old" {
					outboundtest.Hang(w, r)
					return
				}
				if _, again := wait.LoadOrStore(1, 1); !again {
					select {
					case <-time.After(5 * time.Second):
					case <-r.Context().Done():
						return
					}
				}
			}
			p.ServeHTTP(w, r)
		}, func(t *testing.T, s *downstream.Servers, _ *outboundtest.Endpoint) {
			begun := time.Now()
			if tools := refreshed(t, s); len(tools) != len(standard()) {
				t.Errorf("%s: %+v", name, s.Status())
			}
			if took := time.Since(begun); took > 6*time.Second {
				t.Errorf("%s: it took %s", name, took)
			}
		})
	}
}

// TestStreamsThatDoNotBeginHoldUpNothing: a server need not support a listening stream.
func TestStreamsThatDoNotBeginHoldUpNothing(t *testing.T) {
	for _, modern := range []bool{false, true} {
		p := newPeer(behaviour{Modern: modern}, nil)
		atWeb(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet || asked(r).Method == "subscriptions/listen" {
				outboundtest.Hang(w, r)
				return
			}
			p.ServeHTTP(w, r)
		}, func(t *testing.T, s *downstream.Servers, _ *outboundtest.Endpoint) {
			begun := time.Now()
			out, err := refreshed(t, s)["ours__echo"].Call(t.Context(), nil, toolbox.Watch{})
			if took := time.Since(begun); err != nil || !out.OK || took > 5*time.Second {
				t.Errorf("%+v, %v, after %s", out, err, took)
			}
		})
	}
}

// TestSessions are kept, renewed when the server has lost them, and ended.
func TestSessions(t *testing.T) {
	for name, lost := range map[string]string{
		"nothing":   "",
		"text":      "session not found",
		"no id":     `{"jsonrpc":"2.0","error":{"code":-32001,"message":"session not found"}}`,
		"null":      `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"session not found"}}`,
		"other id":  `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"session has been terminated"}}`,
		"its id":    `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"session not found"}}`,
		"no method": `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no such method"}}`,
	} {
		t.Run(name, func(t *testing.T) { testSessions(t, lost, name != "no method") })
	}
}

// testSessions uses a server that answers 404 and lost, in which ID is the request's, to requests of a lost session.
func testSessions(t *testing.T, lost string, isRenewed bool) {
	p := newPeer(behaviour{}, nil)
	var mu sync.Mutex
	session, ended, listening := 0, "", 0
	synctest.Test(t, func(t *testing.T) {
		network := outboundtest.Network{}
		network.Serve(t, "127.0.0.1:80", func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			given, m := r.Header.Get("Mcp-Session-Id"), asked(r)
			switch {
			case r.Header.Get("Authorization") != "Bearer "+token:
				t.Error("without its token")
			case r.Method == http.MethodDelete:
				ended += given
			case r.Method == http.MethodGet:
				listening++
				w.WriteHeader(http.StatusMethodNotAllowed)
			case m.Method == "initialize":
				session++
				w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", session))
				p.ServeHTTP(w, r)
			case m.Method == "server/discover":
				w.WriteHeader(http.StatusBadRequest)
			case given != fmt.Sprint("s", session):
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprint(w, strings.ReplaceAll(lost, "ID", string(m.ID)))
			case r.Header.Get("Mcp-Protocol-Version") != "2025-06-18":
				t.Errorf("%s is sent in the revision %q", m.Method, r.Header.Get("Mcp-Protocol-Version"))
			default:
				p.ServeHTTP(w, r)
			}
		})
		s := started(t, downstream.Config{"ours": {URL: "http://127.0.0.1/mcp",
			Headers: map[string]outbound.Secret{"Authorization": "Bearer " + token}}},
			func(o *downstream.Options) { o.HTTP = network.Client() })
		tools := refreshed(t, s)
		for i := range 2 {
			out, err := tools["ours__echo"].Call(t.Context(), nil, toolbox.Watch{})
			if err != nil || out.OK != (i == 0 || isRenewed) {
				t.Errorf("%+v, %v", out, err)
			}
			mu.Lock()
			session++ // the server has lost the previous one
			mu.Unlock()
		}
		s.Close()
	})
	want := map[bool]string{true: "s3 of 4", false: "s1 of 3"}[isRenewed]
	if fmt.Sprintf("%s of %d", ended, session) != want || listening == 0 {
		t.Errorf("%q was ended, %d streams, %d sessions", ended, listening, session)
	}
}

// TestModernRequestsSayWhatTheyAre in their headers, as in their body.
func TestModernRequestsSayWhatTheyAre(t *testing.T) {
	tool := `{"name":"größe","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}`
	bad := `{"name":"bad","inputSchema":{"type":"object","properties":{"region":{"type":"object","x-mcp-header":"Re gion"}}}}`
	p := newPeer(behaviour{Modern: true, Tools: []string{tool, bad, described("echo", "")}}, nil)
	var mu sync.Mutex
	var sent []http.Header
	atWeb(t, func(w http.ResponseWriter, r *http.Request) {
		if m := asked(r); m.Method == "tools/call" {
			mu.Lock()
			sent = append(sent, r.Header.Clone())
			mu.Unlock()
		}
		p.ServeHTTP(w, r)
	}, func(t *testing.T, s *downstream.Servers, e *outboundtest.Endpoint) {
		refreshed(t, s)
		for _, tool := range s.Tools() {
			_, _ = tool.Invoke(t.Context(), json.RawMessage(`{"region":"us-west1"}`), toolbox.RemoteClient{})
		}
		if len(sent) != 2 || sent[0].Get("Mcp-Param-Region") != "us-west1" || sent[0].Get("Mcp-Method") != "tools/call" ||
			sent[0].Get("Mcp-Name") == "" || sent[1].Get("Mcp-Name") != "echo" || sent[1].Get("Mcp-Param-Region") != "" ||
			sent[1].Get("Mcp-Protocol-Version") != "2026-07-28" || sent[1].Get("Mcp-Session-Id") != "" {
			t.Errorf("%v", sent)
		}
		if bad := s.Status()[0].Unusable; len(bad) != 1 || bad[0].Own != "bad" {
			t.Errorf("%v", bad)
		}
	})
}

// TestAListThatChangesAllTheTimeIsAskedForNowAndThen, and blocks no call.
func TestAListThatChangesAllTheTimeIsAskedForNowAndThen(t *testing.T) {
	p := newPeer(behaviour{}, nil)
	var lists atomic.Int64
	atWeb(t, func(w http.ResponseWriter, r *http.Request) {
		switch m := asked(r); m.Method {
		case "tools/list":
			lists.Add(1)
		case "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			for range 1000 {
				fmt.Fprint(w, `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n\n")
				w.(http.Flusher).Flush()
			}
			fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n\n", m.ID)
			return
		}
		p.ServeHTTP(w, r)
	}, func(t *testing.T, s *downstream.Servers, _ *outboundtest.Endpoint) {
		tools := refreshed(t, s)
		begun := time.Now()
		for range 10 {
			if out, err := tools["ours__echo"].Call(t.Context(), nil, toolbox.Watch{}); err != nil || !out.OK {
				t.Errorf("%+v, %v", out, err)
			}
		}
		if took := time.Since(begun); lists.Load() > 7 || took > time.Second {
			t.Errorf("%d lists in %s", lists.Load(), took)
		}
		before := lists.Load()
		time.Sleep(10 * time.Second) // on the bubble's clock
		if after := lists.Load(); after != before+1 {
			t.Errorf("%d lists, then %d", before, after)
		}
	})
}

// TestAStreamThatEndsIsResumed if the server says how.
func TestAStreamThatEndsIsResumed(t *testing.T) {
	p := newPeer(behaviour{}, nil)
	var id json.RawMessage
	atWeb(t, func(w http.ResponseWriter, r *http.Request) {
		m := asked(r)
		switch last := r.Header.Get("Last-Event-ID"); {
		case m.Method == "tools/call":
			id = m.ID
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: e1\nretry: 500\ndata:\n\n")
		case last == "e1":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "id: e2\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":%s,", id)
			fmt.Fprint(w, `"result":{"content":[{"type":"text","text":"late"}]}}`+"\r\n\r\n")
		default:
			p.ServeHTTP(w, r)
		}
	}, func(t *testing.T, s *downstream.Servers, _ *outboundtest.Endpoint) {
		got, err := refreshed(t, s)["ours__echo"].Invoke(t.Context(), nil, toolbox.RemoteClient{})
		if err != nil || got.Text() != "late" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestAnAnswerAtTheEndOfAStreamCounts, even if its event is not finished by an empty line.
func TestAnAnswerAtTheEndOfAStreamCounts(t *testing.T) {
	const one = `data: {"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`
	const two = "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":ID,\"result\":{}}"
	for _, event := range []string{one, two} {
		for _, end := range []string{"", "\r", "\n", "\r\n", "\n\r\n", "\nid: e1", "\n: bye\n", "\n\n"} {
			t.Run(fmt.Sprintf("%q", event+end), func(t *testing.T) {
				p := newPeer(behaviour{}, nil)
				atWeb(t, func(w http.ResponseWriter, r *http.Request) {
					m := asked(r)
					if m.Method != "tools/call" {
						p.ServeHTTP(w, r)
						return
					}
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprint(w, strings.ReplaceAll(event, "ID", string(m.ID))+end)
				}, func(t *testing.T, s *downstream.Servers, _ *outboundtest.Endpoint) {
					out, err := refreshed(t, s)["ours__echo"].Call(t.Context(), nil, toolbox.Watch{})
					if err != nil || !out.OK {
						t.Errorf("%+v, %v", out, err)
					}
				})
			})
		}
	}
}

// TestAServerThatIsNotThere: nothing was sent, so a retry is safe.
func TestAServerThatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := outboundtest.Network{}
		p := newPeer(behaviour{}, nil)
		network.Serve(t, "127.0.0.1:80", p.ServeHTTP)
		var down atomic.Bool
		client := network.Client()
		client.Transport.(*http.Transport).DialContext = dialUnless(&down, client.Transport.(*http.Transport).DialContext)
		s := started(t, downstream.Config{"ours": {URL: "http://127.0.0.1/mcp"}}, func(o *downstream.Options) { o.HTTP = client })
		tools := refreshed(t, s)
		down.Store(true)
		_, err := tools["ours__echo"].Invoke(t.Context(), nil, toolbox.RemoteClient{})
		var failed *downstream.Error
		if !errors.As(err, &failed) || failed.Sent || !failed.Transient() || !strings.Contains(err.Error(), "could not be reached") {
			t.Errorf("%v", err)
		}
	})
}

// slowly accepts a question after some time.
func slowly(after time.Duration) func(context.Context, string, json.RawMessage) (string, json.RawMessage, error) {
	return func(ctx context.Context, _ string, _ json.RawMessage) (string, json.RawMessage, error) {
		select {
		case <-time.After(after):
			return "accept", json.RawMessage("{}"), nil
		case <-ctx.Done():
			return "", nil, ctx.Err()
		}
	}
}

// dialUnless dials unless down is set.
func dialUnless(down *atomic.Bool, dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (
	net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if down.Load() {
			return nil, syscall.ECONNREFUSED
		}
		return dial(ctx, network, address)
	}
}
