package teamserver

import (
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// metrics counts requests, records and streams. Its labels name no team, member or track.
type metrics struct {
	mu       sync.Mutex
	requests map[string]*requests // by pattern
	records  atomic.Int64
	streams  atomic.Int64
}

// requests counts the requests of a pattern.
type requests struct {
	statuses map[int]int64
	within   map[float64]int64 // each of durationBounds
	took     time.Duration
}

// durationBounds are in seconds.
func durationBounds() []float64 {
	return []float64{.002, .005, .01, .025, .05, .1, .5, 2.5, math.Inf(1)}
}

func (m *metrics) note(pattern string, status int, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.requests[pattern]
	if r == nil {
		r = &requests{statuses: map[int]int64{}, within: map[float64]int64{}}
		m.requests[pattern] = r
	}
	r.statuses[status]++
	for _, bound := range durationBounds() {
		if took.Seconds() <= bound {
			r.within[bound]++
		}
	}
	r.took += took
}

// MetricsHandler returns the handler of /metrics in Prometheus' text form. It asks for no token, so serve it
// on an address of its own.
func (s *Server) MetricsHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		s.metrics.write(w)
		pool := s.pool.Stat()
		for _, m := range []struct {
			name, kind, help string
			value            int64
		}{
			{"planloop_records_total", "counter", "Records appended", s.metrics.records.Load()},
			{"planloop_streams", "gauge", "Open event streams", s.metrics.streams.Load()},
			{"planloop_database_connections", "gauge", "Connections to the database", int64(pool.TotalConns())},
			{"planloop_database_connections_busy", "gauge", "Connections to the database in use", int64(pool.AcquiredConns())},
		} {
			fmt.Fprintf(w, "# HELP %[1]s %[2]s.\n# TYPE %[1]s %[3]s\n%[1]s %[4]d\n", m.name, m.help, m.kind, m.value)
		}
	})
}

func (m *metrics) write(w io.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	patterns := slices.Sorted(maps.Keys(m.requests))
	fmt.Fprint(w, "# HELP planloop_requests_total Requests answered.\n# TYPE planloop_requests_total counter\n")
	for _, pattern := range patterns {
		for _, status := range slices.Sorted(maps.Keys(m.requests[pattern].statuses)) {
			fmt.Fprintf(w, "planloop_requests_total{request=%q,status=\"%d\"} %d\n", pattern, status, m.requests[pattern].statuses[status])
		}
	}
	const name = "planloop_request_seconds"
	fmt.Fprintf(w, "# HELP %s Time to answer a request.\n# TYPE %s histogram\n", name, name)
	for _, pattern := range patterns {
		r := m.requests[pattern]
		for _, bound := range durationBounds() {
			fmt.Fprintf(w, "%s_bucket{request=%q,le=\"%g\"} %d\n", name, pattern, bound, r.within[bound])
		}
		fmt.Fprintf(w, "%[1]s_sum{request=%[2]q} %[3]g\n%[1]s_count{request=%[2]q} %[4]d\n", name, pattern, r.took.Seconds(),
			r.within[math.Inf(1)])
	}
}
