package teamserver

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// metrics counts requests, records and streams. Its labels name no team, member or track.
type metrics struct {
	mu       sync.Mutex
	requests map[requestLabels]int64
	times    map[string]*durations // by request
	records  atomic.Int64
	streams  atomic.Int64
}

type requestLabels struct {
	request string
	status  int
}

// durations counts requests by how long they took.
type durations struct {
	counts []int64 // up to each of durationBounds, and the longer ones
	sum    time.Duration
}

// durationBounds are in seconds.
func durationBounds() []float64 { return []float64{.002, .005, .01, .025, .05, .1, .5, 2.5} }

func (m *metrics) note(request string, status int, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.requests == nil {
		m.requests, m.times = map[requestLabels]int64{}, map[string]*durations{}
	}
	m.requests[requestLabels{request, status}]++
	d := m.times[request]
	if d == nil {
		d = &durations{counts: make([]int64, len(durationBounds())+1)}
		m.times[request] = d
	}
	at, _ := slices.BinarySearch(durationBounds(), took.Seconds())
	d.counts[at]++
	d.sum += took
}

// MetricsHandler returns the handler of /metrics in Prometheus' text form. It asks for no token, so serve it
// on an address of its own.
func (s *Server) MetricsHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		s.metrics.write(w)
		pool := s.pool.Stat()
		gauge(w, "planloop_database_connections", "Connections to the database", int64(pool.TotalConns()))
		gauge(w, "planloop_database_connections_busy", "Connections to the database in use", int64(pool.AcquiredConns()))
	})
}

func gauge(w io.Writer, name, help string, value int64) {
	fmt.Fprintf(w, "# HELP %s %s.\n# TYPE %s gauge\n%s %d\n", name, help, name, name, value)
}

func (m *metrics) write(w io.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fmt.Fprint(w, "# HELP planloop_requests_total Requests answered.\n# TYPE planloop_requests_total counter\n")
	for _, l := range slices.SortedFunc(maps.Keys(m.requests), func(a, b requestLabels) int {
		return cmp.Or(cmp.Compare(a.request, b.request), cmp.Compare(a.status, b.status))
	}) {
		fmt.Fprintf(w, "planloop_requests_total{request=%q,status=\"%d\"} %d\n", l.request, l.status, m.requests[l])
	}
	const name = "planloop_request_seconds"
	fmt.Fprintf(w, "# HELP %s Time to answer a request.\n# TYPE %s histogram\n", name, name)
	for _, request := range slices.Sorted(maps.Keys(m.times)) {
		d, total := m.times[request], int64(0)
		for i, bound := range durationBounds() {
			total += d.counts[i]
			fmt.Fprintf(w, "%s_bucket{request=%q,le=\"%g\"} %d\n", name, request, bound, total)
		}
		total += d.counts[len(durationBounds())]
		fmt.Fprintf(w, "%s_bucket{request=%q,le=\"+Inf\"} %d\n", name, request, total)
		fmt.Fprintf(w, "%s_sum{request=%q} %g\n%s_count{request=%q} %d\n", name, request, d.sum.Seconds(), name, request, total)
	}
	fmt.Fprintf(w, "# HELP planloop_records_total Records appended.\n# TYPE planloop_records_total counter\nplanloop_records_total %d\n",
		m.records.Load())
	gauge(w, "planloop_streams", "Open event streams", m.streams.Load())
}
