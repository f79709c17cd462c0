package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	var s samples
	for i := 101; i > 0; i-- {
		s = append(s, time.Duration(i))
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 51, 0.99: 100, 1: 101} {
		if got := s.quantile(q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
	if got := (samples{}).p50(); got != 0 {
		t.Errorf("the median of nothing is %d", got)
	}
}

func TestWithinComparesMedians(t *testing.T) {
	floor := samples{2 * time.Millisecond, 2 * time.Millisecond, time.Second}
	for value, want := range map[time.Duration]state{3 * time.Millisecond: holds, 3100 * time.Microsecond: fails} {
		if got := within("x", samples{value, 0, time.Second}, floor, 1.5); got.state != want {
			t.Errorf("%v against 2 ms: %+v", value, got)
		}
	}
}

func TestInTurnLeavesOutTheWarmUp(t *testing.T) {
	calls := make([]int, 2)
	count := func(i int) trial {
		return func() (time.Duration, error) { calls[i]++; return time.Duration(calls[i]), nil }
	}
	taken, err := inTurn(3, 2, count(0), count(1))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range taken {
		if calls[i] != 5 || len(s) != 3 || s.quantile(0) != 3 {
			t.Errorf("trial %d was called %d times and kept %v", i, calls[i], s)
		}
	}
}

// TestExitCodes holds that a limit that does not hold is told by the exit code.
func TestExitCodes(t *testing.T) {
	if !broken([]figure{{state: holds}, {state: fails}}) || broken([]figure{{state: holds}, {state: recorded}, {state: skipped}}) {
		t.Error("broken is for figures that do not hold, and no others")
	}
	var out, log bytes.Buffer
	code := run(t.Context(), []string{"-only", "nothing of that name"}, &out, &log)
	if code != 1 || !strings.Contains(log.String(), "nothing of that name") {
		t.Errorf("an unknown name: code %d, %s", code, &log)
	}
	if code := run(t.Context(), []string{"-unknown"}, &out, &log); code != 2 {
		t.Errorf("an unknown flag: code %d", code)
	}
}
