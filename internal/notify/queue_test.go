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
)

// TestNotifyNeverWaits: the bubble's clock stands still while anything runs, so
// that any wait would show.
func TestNotifyNeverWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		e := w.serve(host, hangs)
		other := w.serve("127.0.0.1:9301", answers(200))
		n := w.notifier(notify.Config{Webhooks: []notify.Webhook{{URL: hook}, {URL: "http://127.0.0.1:9301"}}})
		began := time.Now()
		n.Notify(notify.Notice{Event: notify.PlanWaits, Title: "first"})
		synctest.Wait() // it hangs at the one, and has arrived at the other
		for i := range 100 {
			n.Notify(notify.Notice{Event: notify.PlanWaits, Title: fmt.Sprint("plan ", i)})
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("took %s", took)
		}
		synctest.Wait()
		if got := len(other.Requests()); got < 33 || time.Since(began) != 0 {
			t.Errorf("the other target has %d notices after %s", got, time.Since(began))
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

// TestOldestAreDropped: of more than the queue holds, the newest arrive, in their
// order, and the log says how many did not.
func TestOldestAreDropped(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		open := make(chan struct{})
		e := w.serve(host, func(w http.ResponseWriter, _ *http.Request) { <-open; w.WriteHeader(200) })
		n := w.notifier(notify.Config{})
		for i := range 40 {
			n.Notify(notify.Notice{Event: notify.PlanWaits, Title: fmt.Sprintf("plan %02d", i)})
			if i == 0 {
				time.Sleep(time.Second) // the first is on its way
			}
		}
		close(open)
		closed(t, n)
		var got []string
		for _, r := range e.Requests() {
			got = append(got, r.Body[strings.Index(r.Body, "plan "):][:7])
		}
		if len(got) != 33 || got[0] != "plan 00" || got[1] != "plan 08" || got[32] != "plan 39" {
			t.Error(got)
		}
		if log := w.log.String(); !strings.Contains(log, `"dropped":7`) {
			t.Error(log)
		}
	})
}

// TestNoticeIsItsOwn: what the caller changes after Notify is not told.
func TestNoticeIsItsOwn(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		e := w.serve(host, answers(500), answers(200))
		n := w.notifier(notify.Config{})
		notice := aPlan()
		n.Notify(notice)
		notice.Steps[0].Title, notice.Questions[0] = "changed", "changed"
		closed(t, n)
		for _, r := range e.Requests() {
			if strings.Contains(r.Body, "changed") {
				t.Error(r.Body)
			}
		}
	})
}

func TestClose(t *testing.T) {
	t.Run("waits for what is on its way", func(t *testing.T) {
		inBubble(t, func(t *testing.T, w *world) {
			e := w.serve(host, answers(500), answers(200))
			n := w.notifier(notify.Config{})
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
			n := w.notifier(notify.Config{})
			n.Notify(aPlan())
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			if err := n.Close(ctx); !errors.Is(err, notify.ErrUndelivered) || time.Since(began) != time.Second {
				t.Error(err, time.Since(began))
			}
		})
	})
	t.Run("ends though a programme does not", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			n, err := notify.New(notify.Config{Desktop: true}, environment,
				notify.Options{Run: func(context.Context, []string, []string) error {
					<-release
					return nil
				}})
			if err != nil {
				t.Fatal(err)
			}
			n.Notify(aPlan())
			began := time.Now()
			if err := n.Close(t.Context()); !errors.Is(err, notify.ErrUndelivered) || time.Since(began) != 7*time.Second {
				t.Error(err, time.Since(began))
			}
			close(release)
		})
	})
	t.Run("with nothing configured", func(t *testing.T) {
		n, err := notify.New(notify.Config{}, nil, notify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		n.Notify(aPlan())
		closed(t, n)
	})
}

// TestManyAtOnce is for the race detector: each notice arrives once at most, and
// none is lost without a word.
func TestManyAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		e := w.serve(host, answers(200))
		n := w.notifier(notify.Config{})
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
			ids[strings.Split(r.Body, `"`)[5]] = true
		}
		if len(ids) != 32 || len(e.Requests()) != 32 {
			t.Error(len(ids), len(e.Requests()))
		}
	})
}
