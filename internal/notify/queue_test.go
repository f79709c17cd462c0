package notify_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planloop/planloop/internal/notify"
	"github.com/planloop/planloop/internal/testenv"
)

// TestNotifyNeverWaits: the bubble's clock only moves while everything waits, so a wait would show.
func TestNotifyNeverWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		e := w.serve(host, hangs)
		n := w.notifier()
		began := time.Now()
		n.Notify(notify.Notice{Event: "plan_waits", Title: "first"})
		synctest.Wait() // its delivery hangs
		for i := range 100 {
			n.Notify(notify.Notice{Event: "plan_waits", Title: fmt.Sprint("plan ", i)})
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("took %s", took)
		}
		err := n.Close(t.Context())
		if took := time.Since(began); took != 5*time.Second || !errors.Is(err, notify.ErrUndelivered) ||
			!strings.HasPrefix(err.Error(), "33 ") {
			t.Errorf("took %s: %v", took, err)
		}
		if log := w.log.String(); !strings.Contains(log, "planloop was shutting down") || len(e.Requests()) != 1 {
			t.Error(log)
		}
	})
}

// TestOldestAreDropped: if the queue is full, the newest notices arrive, in order, and the log
// reports each dropped one.
func TestOldestAreDropped(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		open := make(chan struct{})
		e := w.serve(host, func(w http.ResponseWriter, _ *http.Request) { <-open; w.WriteHeader(200) })
		n := w.notifier()
		for i := range 40 {
			n.Notify(notify.Notice{Event: "plan_waits", Title: fmt.Sprintf("plan %02d", i)})
			if i == 0 {
				time.Sleep(time.Second) // the first is on its way
			}
		}
		close(open)
		closed(t, n)
		var got []string
		for _, r := range e.Requests() {
			got = append(got, r.Body[strings.Index(r.Body, `"title":"`)+9:][:7])
		}
		if len(got) != 33 || got[0] != "plan 00" || got[1] != "plan 08" || got[32] != "plan 39" {
			t.Error(got)
		}
		if log := w.log.String(); strings.Count(log, "dropped") != 7 {
			t.Error(log)
		}
	})
}

func TestClose(t *testing.T) {
	t.Run("waits for what is on its way", func(t *testing.T) {
		inBubble(t, func(t *testing.T, w *world) {
			e := w.serve(host, answers(500), answers(200))
			n := w.notifier()
			n.Notify(aPlan())
			closed(t, n)
			if len(e.Requests()) != 2 {
				t.Errorf("%d requests", len(e.Requests()))
			}
			closed(t, n)
			n.Notify(aPlan())
			settle()
			if len(e.Requests()) != 2 {
				t.Error("a notice was sent after the end")
			}
		})
	})
	t.Run("ends with its context", func(t *testing.T) {
		inBubble(t, func(t *testing.T, w *world) {
			w.serve(host, hangs)
			n := w.notifier()
			n.Notify(aPlan())
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			if err := n.Close(ctx); !errors.Is(err, notify.ErrUndelivered) || time.Since(began) != time.Second {
				t.Error(err, time.Since(began))
			}
		})
	})
	t.Run("with nothing configured", func(t *testing.T) {
		n := testenv.Must(notify.New(notify.Config{}, notify.Options{}))(t)
		n.Notify(aPlan())
		closed(t, n)
	})
}

// TestManyAtOnce is for the race detector: each notice arrives exactly once.
func TestManyAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		e := w.serve(host, answers(200))
		n := w.notifier()
		var senders sync.WaitGroup
		for range 8 {
			senders.Go(func() {
				for range 4 {
					n.Notify(aPlan())
				}
			})
		}
		senders.Wait()
		closed(t, n)
		ids := map[string]bool{}
		for _, r := range e.Requests() {
			_, rest, _ := strings.Cut(r.Body, `"id":"`)
			ids[rest[:26]] = true
		}
		if len(ids) != 32 || len(e.Requests()) != 32 {
			t.Error(len(ids), len(e.Requests()))
		}
	})
}
