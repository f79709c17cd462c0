package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

func testWatch(t *testing.T, p place) {
	watcher, writer := p.open(), p.open()
	grown := mustWatch(t, t.Context(), watcher) // before there is anything
	mustAppend(t, writer, SetUp(3))
	await(t, grown)
	mustAppend(t, watcher, Mark(2, 1)) // its own growth counts too
	await(t, grown)
	if head := mustHead(t, watcher); head.Seq != 2 {
		t.Errorf("told of growth, but the head is %+v", head)
	}
}

// Whatever is appended after Watch has returned is noticed, at every point of
// the watcher's own work.
func testNoLostWakeUp(t *testing.T, p place) {
	watcher, writer := p.open(), p.open()
	grown := mustWatch(t, t.Context(), watcher)
	for seq := plan.Revision(1); seq <= 200; seq++ {
		mustAppend(t, writer, Mark(seq, 1))
		for mustHead(t, watcher).Seq < seq {
			await(t, grown)
		}
		if seq%3 == 0 {
			await(t, grown) // each append is announced, even one already seen
		}
	drain:
		for {
			select {
			case <-grown:
			default:
				break drain
			}
		}
	}
}

func testWatchEnds(t *testing.T, p place) {
	log := p.open()
	fill(t, log, 1)
	ctx, cancel := context.WithCancel(t.Context())
	one, other := mustWatch(t, ctx, log), mustWatch(t, t.Context(), log)
	cancel()
	awaitEnd(t, one)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, other)
}

func mustWatch(t *testing.T, ctx context.Context, log store.Log) <-chan struct{} {
	t.Helper()
	grown, err := log.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return grown
}

func await(t *testing.T, grown <-chan struct{}) {
	t.Helper()
	select {
	case _, ok := <-grown:
		if !ok {
			t.Fatal("the watching ended")
		}
	case <-time.After(patience):
		t.Fatal("the growth was not noticed")
	}
}

func awaitEnd(t *testing.T, grown <-chan struct{}) {
	t.Helper()
	limit := time.After(patience)
	for {
		select {
		case _, ok := <-grown:
			if !ok {
				return
			}
		case <-limit:
			t.Fatal("the watching did not end")
		}
	}
}
