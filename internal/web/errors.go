package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/origin"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/plan"
)

type kind string // of a refusal; the words are part of the contract with the page

// The kinds of refusal in addition to those of plan.
const (
	notEntered  kind = "not_entered" // no session: field names the way to open one
	forbidden   kind = "forbidden"   // from elsewhere, or for a session that only looks
	locked      kind = "locked"      // the terminal's code must be typed first
	wrongMethod kind = "wrong_method"
	wrongForm   kind = "wrong_form" // of the request
	wrongType   kind = "wrong_type" // of its body
	tooLarge    kind = "too_large"
	tooSlow     kind = "too_slow"
	tooMany     kind = "too_many" // tries: later ones may succeed
	busy        kind = "busy"
	fault       kind = "fault" // of ours
)

func (k kind) status() int {
	return cmp.Or(map[kind]int{
		kind(plan.InvalidInput): http.StatusUnprocessableEntity,
		kind(plan.NotFound):     http.StatusNotFound,
		kind(plan.Conflict):     http.StatusConflict,
		notEntered:              http.StatusUnauthorized,
		forbidden:               http.StatusForbidden,
		locked:                  http.StatusForbidden,
		wrongMethod:             http.StatusMethodNotAllowed,
		wrongForm:               http.StatusBadRequest,
		wrongType:               http.StatusUnsupportedMediaType,
		tooLarge:                http.StatusRequestEntityTooLarge,
		tooSlow:                 http.StatusRequestTimeout,
		tooMany:                 http.StatusTooManyRequests,
		busy:                    http.StatusServiceUnavailable,
	}[k], http.StatusInternalServerError)
}

// refusal is the reason a request was not answered as asked.
type refusal struct {
	Kind    kind   `json:"kind"`
	Problem string `json:"problem"`
	Fix     string `json:"fix"`
	Field   string `json:"field"`

	after time.Duration // when it may be tried again
}

func (r *refusal) Error() string { return r.Problem + "; " + r.Fix }

// refusalOf describes an error for the page. Internal errors are reported without details.
func refusalOf(err error) *refusal {
	if own, ok := errors.AsType[*refusal](err); ok {
		return own
	}
	if refused, ok := errors.AsType[*plan.ValidationError](err); ok {
		r := &refusal{Kind: kind(refused.Kind), Problem: refused.Problem, Fix: refused.Fix, Field: refused.Field}
		for _, other := range refused.Others {
			r.Problem += "; also " + other.Error()
		}
		if mayNot, ok := errors.AsType[*review.ForbiddenError](err); ok {
			r.Kind = forbidden
			if mayNot.Code {
				r.Kind = locked
			}
		}
		return r
	}
	return &refusal{Kind: fault, Problem: "planloop had an internal error; the change may or may not have been made",
		Fix: "check the plan; the terminal of planloop shows details"}
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	refused := refusalOf(err)
	if refused.Kind == fault && !errors.Is(err, context.Canceled) {
		s.log.Error("the review page", "method", r.Method, "path", r.URL.Path, "err", err)
	}
	if refused.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((refused.after+time.Second-1)/time.Second)))
	}
	s.answer(w, refused.Kind.status(), struct {
		Error *refusal `json:"error"`
	}{refused})
}

func (s *Server) answer(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		s.log.Error("encode an answer of the review page", "err", err)
		status, body = http.StatusInternalServerError, []byte(`{"error":{"kind":"fault","problem":"","fix":"","field":""}}`)
	}
	origin.LimitWrite(w) // again: computing the answer may have taken long
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no answer
}
