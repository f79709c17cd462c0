package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", f.what, f.value, dash(f.floor), dash(f.limit), f.state)
	}
	_ = w.Flush()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// within compares the medians of two samples taken in turn.
func within(what string, value, floor samples, limit float64) figure {
	ratio := float64(value.p50()) / float64(floor.p50())
	return figure{what: what, value: fmt.Sprintf("%s = %.2f x", value, ratio), floor: floor.String(),
		limit: fmt.Sprintf("<= %.1f x", limit), state: judge(ratio <= limit)}
}
