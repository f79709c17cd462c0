package agentsmd

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestManyEventsAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, told := make(chan struct{}), make(chan struct{}, 1)
		go settle(t.Context(), events, told, time.Second)
		start := time.Now()
		for range 3 {
			events <- struct{}{}
			time.Sleep(900 * time.Millisecond) // of a clock that nobody waits for
		}
		<-told
		if took := time.Since(start); took != 2800*time.Millisecond {
			t.Errorf("told after %v", took)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(told) != 0 {
			t.Error("told twice")
		}
		events <- struct{}{}
		<-told
		close(events)
		if _, ok := <-told; ok {
			t.Error("told after the end")
		}
	})
}

func TestEndlessEventsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		events, told := make(chan struct{}, 1), make(chan struct{}, 1)
		go settle(ctx, events, told, time.Second)
		go func() {
			for tick := time.Tick(time.Second / 2); ; {
				select {
				case <-tick:
					tell(events)
				case <-ctx.Done():
					return
				}
			}
		}()
		start := time.Now()
		for range 3 {
			<-told
		}
		if took := time.Since(start); took < 30*time.Second || took > 32*time.Second {
			t.Errorf("told three times in %v", took)
		}
		cancel()
		for range told {
		}
		synctest.Wait()
	})
}
