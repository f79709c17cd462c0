package main

import (
	"fmt"
	"slices"
	"time"
)

// samples are durations of the same thing.
type samples []time.Duration

func (s samples) quantile(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

func (s samples) p50() time.Duration { return s.quantile(0.5) }

func (s samples) String() string {
	if len(s) < 100 {
		return "p50 " + milliseconds(s.p50())
	}
	return "p50 " + milliseconds(s.p50()) + ", p99 " + milliseconds(s.quantile(0.99))
}

func milliseconds(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	if ms < 10 {
		return fmt.Sprintf("%.3f ms", ms)
	}
	return fmt.Sprintf("%.1f ms", ms)
}

// trial is one repetition of something that is timed.
type trial func() (time.Duration, error)

// inTurn repeats the trials, one after the other in each round. The first
// rounds warm up and do not count.
func inTurn(rounds, warmUp int, trials ...trial) ([]samples, error) {
	taken := make([]samples, len(trials))
	for round := range warmUp + rounds {
		for i := range trials {
			i = (i + round) % len(trials) // none always comes first
			d, err := trials[i]()
			if err != nil {
				return nil, err
			}
			if round >= warmUp {
				taken[i] = append(taken[i], d)
			}
		}
	}
	return taken, nil
}
