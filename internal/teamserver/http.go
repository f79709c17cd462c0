package teamserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/build"
	"github.com/planloop/planloop/internal/origin"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// endpoint answers a request of a caller with a value, which is written as JSON, or nil if it has
// written the answer itself.
type endpoint func(http.ResponseWriter, *http.Request, *caller) (any, error)

// Handler returns the handler of the API, of health, and of the page.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, answer := range map[string]endpoint{
		"GET /v1/me":                             s.me,
		"GET /v1/members":                        s.listMembers,
		"GET /v1/w/{ws}/tracks":                  s.listTracks,
		"GET /v1/w/{ws}/events":                  s.streamHeads,
		"POST /v1/w/{ws}/seen":                   s.noteSeen,
		"GET /v1/w/{ws}/t/{track}/records":       s.readRecords,
		"POST /v1/w/{ws}/t/{track}/do":           s.do,
		"POST /v1/w/{ws}/t/{track}/share":        s.share,
		"GET /v1/w/{ws}/t/{track}/values/{name}": s.readValue,
		"PUT /v1/w/{ws}/t/{track}/values/{name}": s.putValue,
	} {
		mux.Handle(pattern, s.serve(pattern, answer))
	}
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, wrong(teamwire.CodeNotFound, "the API has no such path", "update planloop or the server"))
	})
	mux.Handle("/w/{team}/{ws}/t/{track}/mcp", s.mcp())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", s.ready)
	if s.people != nil {
		mux.Handle("/", s.people)
	}
	return mux
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), presenceWait)
	defer cancel()
	if err := s.pool.Ping(ctx); err != nil || s.ending.Err() != nil {
		http.Error(w, "the database does not answer, or the server is stopping", http.StatusServiceUnavailable)
		return
	}
	io.WriteString(w, "ok\n")
}

// answerWithin bounds the time of a request while the database is silent.
const answerWithin = 20 * time.Second

// serve authenticates the caller, limits the rate, and writes the endpoint's answer.
func (s *Server) serve(pattern string, answer endpoint) http.Handler {
	mayWait := strings.HasSuffix(pattern, "/events") || strings.HasSuffix(pattern, "/records") || strings.HasSuffix(pattern, "/mcp")
	find := s.authenticate
	if strings.HasSuffix(pattern, "/do") || strings.HasSuffix(pattern, "/records") { // they confirm the caller themselves
		find = s.recall
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		out := &response{ResponseWriter: w}
		out.Header().Set("Cache-Control", "no-store")
		out.Header().Set("X-Content-Type-Options", "nosniff")
		r.Body = http.MaxBytesReader(w, r.Body, teamwire.MaxBody)
		if !mayWait {
			ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
			defer cancel()
			r = r.WithContext(ctx)
		}
		c, err := s.admit(r, find)
		var value any
		if err == nil {
			value, err = answer(out, r, c)
		}
		origin.LimitWrite(out)
		switch {
		case err != nil && out.status == 0:
			s.fail(out, r, err)
		case err == nil && value != nil:
			out.Header().Set("Content-Type", "application/json")
			if err := json.MarshalWrite(out, value); err != nil {
				s.log.Debug("an answer was not written", "error", err)
			}
		}
		took, status := time.Since(began), cmp.Or(out.status, http.StatusOK)
		s.metrics.note(pattern, status, took)
		fields := []any{"request", pattern, "status", status, "took_ms", took.Milliseconds()}
		if c != nil {
			fields = append(fields, "ws", r.PathValue("ws"), "track", r.PathValue("track"), "team", c.teamName, "member", c.member)
		}
		s.log.Info("answered", fields...)
	})
}

// admit returns the caller of a request that may be answered, found by s.authenticate or s.recall.
func (s *Server) admit(r *http.Request, find func(context.Context, string) (*caller, error)) (*caller, error) {
	header := r.Header.Get("Authorization")
	err := s.mayLookUp(r, s.callers.get(tokenKey(header)) != nil)
	if err != nil {
		return nil, err
	}
	c, err := find(r.Context(), header)
	if err != nil {
		return nil, err
	}
	if !take(&s.rates, fmt.Sprint("token ", c.token), s.opts.Rate) {
		return nil, wrong(teamwire.CodeTooMany, "this token sends too many requests", "wait a second")
	}
	return c, s.checkFormat(r, c)
}

// mayLookUp refuses to look up more tokens and sign-ins of an address that this server has not known as valid.
func (s *Server) mayLookUp(r *http.Request, isKnown bool) error {
	if isKnown || take(&s.strangers, origin.ClientOf(r), lookUpsPerSecond) {
		return nil
	}
	return wrong(teamwire.CodeTooMany, "too many requests from this address had an unknown token or sign-in", "wait a second")
}

// checkFormat notes the format that the caller's planloop knows, and refuses one too old for the team.
func (s *Server) checkFormat(r *http.Request, c *caller) (err error) {
	format := 1
	if text := r.Header.Get(teamwire.FormatHeader); text != "" {
		if format, err = strconv.Atoi(text); err != nil {
			return wrong(teamwire.CodeInvalid, "the header "+teamwire.FormatHeader+" is not a number", "update planloop")
		}
	}
	if err := s.noteUse(r.Context(), c, format); err != nil {
		return err
	}
	if format < c.format {
		return wrong(teamwire.CodeUpdate, fmt.Sprintf("the team uses format %d, and this planloop knows %d", c.format, format),
			"update planloop to "+build.Version)
	}
	return nil
}

// response notes the status of an answer; 0 before there is one.
type response struct {
	http.ResponseWriter
	status int
}

func (r *response) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *response) Write(data []byte) (int, error) {
	r.status = cmp.Or(r.status, http.StatusOK)
	return r.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController flush the stream.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := s.describe(r, err)
	if e.Code == teamwire.CodeTooMany || e.Code == teamwire.CodeUnready {
		w.Header().Set("Retry-After", "1")
	}
	if e.Code == teamwire.CodeToken {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Code.Status())
	json.MarshalWrite(w, e)
}

// describe returns an error in the words of the API. The cause of a failure of the server is only logged.
func (s *Server) describe(r *http.Request, err error) *teamwire.Error {
	var size *http.MaxBytesError
	switch e, isOwn := errors.AsType[*teamwire.Error](err); {
	case isOwn:
		return e
	case errors.As(err, &size):
		return &teamwire.Error{Code: teamwire.CodeTooLarge, Problem: fmt.Sprintf("the request has more than %d bytes", size.Limit),
			Fix: "send less, such as fewer steps at once"}
	case errors.Is(err, store.ErrTooLarge):
		return &teamwire.Error{Code: teamwire.CodeTooLarge, Problem: err.Error()}
	}
	if refused, ok := errors.AsType[*plan.ValidationError](err); ok {
		return &teamwire.Error{Code: teamwire.CodeRefused, Problem: refused.Error(), Refusal: refused}
	}
	if r.Context().Err() == nil {
		s.log.Error("a request failed", "path", r.Pattern, "error", err)
	}
	problem := "the server failed, and its log says why"
	for _, known := range []error{postgres.ErrOld, store.ErrBusy, store.ErrConflict, store.ErrUnreachable, store.ErrFull, store.ErrReadOnly,
		store.ErrDamaged} {
		if errors.Is(err, known) {
			problem = known.Error()
		}
	}
	return &teamwire.Error{Code: teamwire.CodeUnready, Problem: problem, Fix: "try again"}
}

func isWrong(err error, code teamwire.Code) bool {
	e, ok := errors.AsType[*teamwire.Error](err)
	return ok && e.Code == code
}

// decode reads a request's body: one JSON value without unknown or repeated members.
func decode(r *http.Request, into any) error {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind != "application/json" {
		return wrong(teamwire.CodeInvalid, "the request is not JSON", "send the header Content-Type: application/json")
	}
	err := json.UnmarshalRead(r.Body, into, json.RejectUnknownMembers(true))
	if err == nil || errors.As(err, new(*http.MaxBytesError)) {
		return err
	}
	return wrong(teamwire.CodeInvalid, "the request cannot be read: "+plan.Shorten(err.Error(), 200),
		"update planloop if it is older than the server")
}

// lookUpsPerSecond is the rate of look-ups of unknown tokens and sign-ins from one address, which may be a proxy's.
const lookUpsPerSecond = 50

// take takes one from the rate of a key, with a burst of about four seconds.
func take(rates *origin.Rates, key string, perSecond float64) bool {
	return rates.Take(key, perSecond, int(perSecond)*4+16)
}

// cache keeps values that can be made again.
type cache[K comparable, V any] struct {
	mu  sync.Mutex
	all map[K]V
}

const mostCached = 10_000

func (c *cache[K, V]) get(key K) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[key]
}

func (c *cache[K, V]) set(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[K]V{}
	}
	for old := range c.all { // any one
		if len(c.all) < mostCached {
			break
		}
		delete(c.all, old)
	}
	c.all[key] = value
}

func (c *cache[K, V]) drop(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, key)
}
