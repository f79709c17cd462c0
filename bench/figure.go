package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// figure is one line of the table.
type figure struct {
	what  string
	value string
	floor string
	limit string
	state state
}

type state string

const (
	holds    state = "holds"
	fails    state = "DOES NOT HOLD"
	recorded state = "for the record"
	skipped  state = "skipped"
)

func judge(ok bool) state {
	if ok {
		return holds
	}
	return fails
}

func broken(figures []figure) bool {
	return slices.ContainsFunc(figures, func(f figure) bool { return f.state == fails })
}

func printTable(out io.Writer, figures []figure) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FIGURE\tPLANLOOP\tFLOOR\tLIMIT\t")
	for _, f := range figures {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", f.what, f.value, cmp.Or(f.floor, "-"), cmp.Or(f.limit, "-"), f.state)
	}
	_ = w.Flush()
}

// under judges a median by itself.
func under(what string, taken samples, limit time.Duration) figure {
	return figure{what: what, value: taken.String(), limit: "p50 <= " + milliseconds(limit), state: judge(taken.p50() <= limit)}
}

// within compares the medians of two samples taken in turn.
func within(what string, value, floor samples, limit float64) figure {
	ratio := float64(value.p50()) / float64(floor.p50())
	return figure{what: what, value: fmt.Sprintf("%s = %.2f x", value, ratio), floor: floor.String(),
		limit: fmt.Sprintf("<= %.1f x", limit), state: judge(ratio <= limit)}
}

// samples are durations of one operation.
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

// trial runs a timed operation once.
type trial func() (time.Duration, error)

// inTurn repeats the trials, one after the other in each round. The warm-up
// rounds come first and do not count.
func inTurn(rounds, warmUp int, trials ...trial) ([]samples, error) {
	taken := make([]samples, len(trials))
	for round := range warmUp + rounds {
		for i := range trials {
			i = (i + round) % len(trials) // so that each trial comes first at times
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
