package team_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/team"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

const token = "plt_0123456789abcdefghijklmnop"

// server is a team's server with one track, in memory.
type server struct {
	http    *httptest.Server
	log     *store.Memory
	session *session.Session

	broken  atomic.Int32 // the answers to so many changes are lost
	refused atomic.Pointer[teamwire.Error]
	later   atomic.Pointer[teamwire.Error] // refused, once an answer is lost
	calls   atomic.Int32
	polls   atomic.Int32  // requests for records that wait
	polled  chan struct{} // closed by the first
	mu      sync.Mutex
	keys    map[string]plan.Revision
	seen    chan teamwire.Seen // the signs of life that were reported
	agents  []string
	shared  []string // records
	onMe    func(*teamwire.Me)
	onShare func(teamwire.ShareRequest)
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{log: store.NewMemory(), keys: map[string]plan.Revision{}, polled: make(chan struct{}), seen: make(chan teamwire.Seen, 100)}
	s.session = session.New(s.log, session.Options{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/me", func(w http.ResponseWriter, _ *http.Request) {
		me := teamwire.Me{Team: "acme", Member: "ann", Machine: "laptop", Role: teamwire.RoleMember, Format: teamwire.Format}
		if s.onMe != nil {
			s.onMe(&me)
		}
		answer(w, me)
	})
	const track = "/v1/w/site/t/main/"
	mux.HandleFunc("GET "+track+"records", s.records)
	mux.HandleFunc("POST "+track+"do", s.do)
	mux.HandleFunc("PUT "+track+"values/{name}", func(w http.ResponseWriter, r *http.Request) {
		value, _ := io.ReadAll(r.Body)
		if _, err := s.session.PutValue(r.Context(), value); err != nil {
			t.Error(err)
		}
		answer(w, struct{}{})
	})
	mux.HandleFunc("GET "+track+"values/{name}", func(w http.ResponseWriter, r *http.Request) {
		value, err := s.session.Value(r.Context(), r.PathValue("name"))
		if err != nil {
			complain(w, &teamwire.Error{Code: teamwire.CodeNotFound, Problem: "none"})
			return
		}
		_, _ = w.Write(value)
	})
	mux.HandleFunc("POST "+track+"share", func(w http.ResponseWriter, r *http.Request) {
		var in teamwire.ShareRequest
		err := json.UnmarshalRead(r.Body, &in)
		if err != nil || in.After != plan.Revision(len(s.shared)) || len(in.Records) == 0 && !in.Last {
			complain(w, &teamwire.Error{Code: teamwire.CodeInvalid, Problem: "not the next part"})
			return
		}
		s.shared = append(s.shared, in.Records...)
		s.onShare(in)
		answer(w, teamwire.ShareReply{})
	})
	mux.HandleFunc("GET /v1/w/site/events", s.events)
	mux.HandleFunc("POST /v1/w/site/seen", func(w http.ResponseWriter, r *http.Request) {
		var seen teamwire.Seen
		_ = json.UnmarshalRead(r.Body, &seen)
		select {
		case s.seen <- seen:
		default: // no test reads so many
		}
		answer(w, struct{}{})
	})
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		if wrong := s.refused.Load(); wrong != nil {
			complain(w, wrong)
			return
		}
		if r.Header.Get("Authorization") != "Bearer "+token {
			complain(w, &teamwire.Error{Code: teamwire.CodeToken, Problem: "unknown token " + r.Header.Get("Authorization")})
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.http.Close)
	return s
}

func answer(w http.ResponseWriter, value any) {
	_ = json.MarshalWrite(w, value)
}

func complain(w http.ResponseWriter, e *teamwire.Error) {
	w.WriteHeader(e.Code.Status())
	answer(w, e)
}

// read returns the records that a request wants; false if it names another chain.
func (s *server) read(r *http.Request, chain string, after plan.Revision) (teamwire.Records, bool) {
	head, _ := s.log.Head(r.Context())
	reply := teamwire.Records{Head: head}
	if after > 0 && chain != head.Chain {
		return reply, false
	}
	for record, err := range s.log.Read(r.Context(), after) {
		line, wrong := store.EncodeRecord(record)
		if errors.Join(err, wrong) != nil {
			panic(err)
		}
		reply.Records = append(reply.Records, string(line))
	}
	return reply, true
}

func (s *server) records(w http.ResponseWriter, r *http.Request) {
	var after plan.Revision
	_, _ = fmt.Sscan(r.URL.Query().Get("after"), &after)
	if wait, _ := time.ParseDuration(r.URL.Query().Get("wait")); wait > 0 {
		if s.polls.Add(1) == 1 {
			close(s.polled)
		}
		ctx, stop := context.WithTimeout(r.Context(), wait)
		defer stop()
		grown, _ := s.log.Watch(ctx)
		if head, _ := s.log.Head(ctx); head.Seq == after {
			<-grown
		}
	}
	reply, ok := s.read(r, r.URL.Query().Get("chain"), after)
	if !ok {
		complain(w, &teamwire.Error{Code: teamwire.CodeChain, Problem: "another chain"})
		return
	}
	answer(w, reply)
}

func (s *server) do(w http.ResponseWriter, r *http.Request) {
	var in teamwire.DoRequest
	if err := json.UnmarshalRead(r.Body, &in, json.RejectUnknownMembers(true)); err != nil {
		complain(w, &teamwire.Error{Code: teamwire.CodeInvalid, Problem: err.Error()})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agents = append(s.agents, in.Agent)
	own, isKnown := s.keys[in.Key]
	if !isKnown {
		action, err := store.DecodeAction(in.Action)
		facts, wrong := store.DecodeFacts([]byte(cmp.Or(string(in.Facts), "{}")))
		if err = errors.Join(err, wrong); err != nil {
			complain(w, &teamwire.Error{Code: teamwire.CodeInvalid, Problem: err.Error()})
			return
		}
		actor := plan.NewActor(plan.ChannelScript, "ann")
		if in.Agent != "" {
			actor = plan.NewActor(plan.ChannelMCP, "ann/"+in.Agent)
		}
		outcome, err := s.session.Do(r.Context(), actor, action, func(now plan.State, f *plan.Facts) error {
			if in.Basis != nil && *in.Basis != plan.BasisOf(now) {
				return session.ErrChanged
			}
			f.Missing, f.Definitions, f.Resolutions = facts.Missing, facts.Definitions, facts.Resolutions
			return nil
		})
		if refused, ok := errors.AsType[*plan.ValidationError](err); ok {
			complain(w, &teamwire.Error{Code: teamwire.CodeRefused, Problem: err.Error(), Refusal: refused})
			return
		}
		if err != nil {
			complain(w, &teamwire.Error{Code: teamwire.CodeChanged, Problem: err.Error()})
			return
		}
		if outcome.After.Revision != outcome.Before.Revision {
			own = outcome.After.Revision
		}
		s.keys[in.Key] = own
	}
	if s.broken.Add(-1) >= 0 {
		s.refused.Store(s.later.Load())
		panic(http.ErrAbortHandler)
	}
	reply, _ := s.read(r, in.Chain, in.After)
	answer(w, teamwire.DoReply{Head: reply.Head, Seq: own, Records: reply.Records})
}

func (s *server) events(w http.ResponseWriter, r *http.Request) {
	grown, _ := s.log.Watch(r.Context())
	for {
		head, _ := s.log.Head(r.Context())
		data, _ := json.Marshal(teamwire.HeadEvent{Track: "main", Head: head})
		fmt.Fprintf(w, "event: head\ndata: %s\n\n", data)
		w.(http.Flusher).Flush()
		if _, open := <-grown; !open {
			return
		}
	}
}

// behindProxy returns the server's address behind a proxy that passes an answer on once it is complete.
func (s *server) behindProxy(t *testing.T) string {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, _ := http.NewRequestWithContext(r.Context(), r.Method, s.http.URL+r.URL.String(), r.Body)
		request.Header = r.Header
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return
		}
		defer response.Body.Close()
		if body, err := io.ReadAll(response.Body); err == nil {
			w.WriteHeader(response.StatusCode)
			_, _ = w.Write(body)
		}
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// laptop is a machine with a copy of the track.
type laptop struct {
	team.Membership
	folder, stateHome, dir string
	copy                   *team.Copy
	session                *session.Session
	log                    store.Log
	signs                  func(dir string) team.Signs // nil: all are alive
}

func (s *server) member() team.Membership {
	return team.Membership{Address: s.http.URL, Token: token, Team: "acme", Member: "ann", Machine: "laptop", Role: teamwire.RoleMember}
}

const soon = 5 * time.Second
