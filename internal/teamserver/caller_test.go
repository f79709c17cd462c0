package teamserver

import (
	"context"
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
