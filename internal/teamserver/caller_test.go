package teamserver

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/teamwire"
)

// TestASilentDatabaseEndsNoStream: a long request ends with the rights of its caller, and not because they cannot be read.
func TestASilentDatabaseEndsNoStream(t *testing.T) {
	s := &Server{opts: Options{CheckEvery: time.Millisecond}}
	ctx, end := context.WithCancel(t.Context())
	answers := []error{nil, context.DeadlineExceeded, wrong(teamwire.CodeUnready, "silent", ""), wrong(teamwire.CodeToken, "revoked", "")}
	asked := 0
	s.endWithRights(ctx, end, func(context.Context) (*caller, error) {
		asked++
		return nil, answers[min(asked, len(answers))-1]
	})
	if asked < len(answers) {
		t.Errorf("the request ended after %d answers", asked)
	}
}

// limitedWriter is a writer whose client may not read.
type limitedWriter struct {
	*httptest.ResponseRecorder
	limited bool
}

func (w *limitedWriter) SetWriteDeadline(time.Time) error {
	w.limited = true
	return nil
}

func (w *limitedWriter) Write(data []byte) (int, error) {
	if !w.limited {
		return 0, errors.New("the write has no time limit")
	}
	return w.ResponseRecorder.Write(data)
}

// TestASlowReaderIsCutOff: the write of an answer of the API has a time limit, also that of a refusal.
func TestASlowReaderIsCutOff(t *testing.T) {
	s := &Server{log: slog.New(slog.DiscardHandler), metrics: metrics{requests: map[string]*requests{}}}
	w := &limitedWriter{ResponseRecorder: httptest.NewRecorder()}
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/v1/me", nil))
	if w.Code != 401 || w.Body.Len() == 0 {
		t.Errorf("the answer is %d with %d bytes", w.Code, w.Body.Len())
	}
}
