package verbs_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// TestAWaitEndsWithTheMode: without a server that watches the clock, a waiting status does.
func TestAWaitEndsWithTheMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := plan.Limits{GatheringTimeout: 5 * time.Minute}
		s := verbs.New(session.New(store.NewMemory(), session.Options{Limits: limits}), verbs.Options{Limits: limits})
		if _, err := s.EnterPlanMode(t.Context(), ann, verbs.EnterPlanMode{Reason: "it is large"}); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		reply, err := s.Status(t.Context(), ann, verbs.Status{Wait: 600})
		if waited := time.Since(begun); err != nil || waited > 5*time.Minute+time.Second {
			t.Errorf("answered after %v: %v", waited, err)
		}
		if reply.Phase != "" || reply.Decision == nil || reply.Decision.Outcome != plan.Expired {
			t.Errorf("told %+v", reply)
		}
	})
}
