package downstream

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/outbound/outboundtest"
)

// watched counts the functions that wait for the end of a context.
type watched struct {
	context.Context
	waiting *atomic.Int64
}

// Value hides the inner context from the context package, which then uses AfterFunc.
func (watched) Value(any) any { return nil }

// AfterFunc is called by the context package, for each child too.
func (w watched) AfterFunc(f func()) func() bool {
	w.waiting.Add(1)
	stop := context.AfterFunc(w.Context, f)
	return func() bool {
		stopped := stop()
		if stopped {
			w.waiting.Add(-1)
		}
		return stopped
	}
}

// TestRequestsLeaveNothingBehind: neither in their own context nor in the connection's, which may both live for days.
func TestRequestsLeaveNothingBehind(t *testing.T) {
	const call, note = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	const result, refusal = `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}`
	for name, test := range map[string]struct {
		method, body string
		handler      http.HandlerFunc
	}{
		"a notification":      {"POST", note, outboundtest.Answer(202, "")},
		"a notification, 200": {"POST", note, outboundtest.Answer(200, "fine")},
		"JSON":                {"POST", call, outboundtest.Answer(200, result, "Content-Type", "application/json")},
		"rubbish":             {"POST", call, outboundtest.Answer(200, "{", "Content-Type", "application/json")},
		"neither":             {"POST", call, outboundtest.Answer(200, "hello")},
		"events":              {"POST", call, outboundtest.Answer(200, "data: "+result+"\n\n", "Content-Type", "text/event-stream")},
		"a refusal":           {"POST", call, outboundtest.Answer(400, refusal)},
		"no token":            {"POST", call, outboundtest.Answer(401, "")},
		"no listening":        {"GET", "", outboundtest.Answer(405, "")},
		"listening":           {"GET", "", outboundtest.Answer(200, "data: "+result+"\n\n", "Content-Type", "text/event-stream")},
		"silence":             {"GET", "", outboundtest.Hang},
		"a redirect":          {"POST", call, outboundtest.Answer(307, "", "Location", "http://127.0.0.2/")},
		"the end":             {"DELETE", "", outboundtest.Answer(204, "")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := outboundtest.Network{}
				network.Serve(t, "127.0.0.1:80", test.handler)
				var waiting atomic.Int64
				long := watched{t.Context(), &waiting}
				c := newConn(t.Context(), "s", &target{}, "1")
				c.life = watched{c.life, &waiting}
				address := &url.URL{Scheme: "http", Host: "127.0.0.1"}
				w := &httpTransport{conn: c, stream: outbound.NewStream(address, network.Client(), nil), header: http.Header{}}
				r, err := http.NewRequestWithContext(long, test.method, address.String(), strings.NewReader(test.body))
				if err != nil {
					t.Fatal(err)
				}
				response, err := w.RoundTrip(r)
				said := fmt.Sprint(err)
				if err == nil {
					text, _ := io.ReadAll(response.Body)
					said = fmt.Sprintf("%d %s", response.StatusCode, text)
					_ = response.Body.Close()
				}
				synctest.Wait()
				if n := waiting.Load(); n != 0 {
					t.Errorf("%d functions wait after: %s", n, said)
				}
			})
		})
	}
}
