package web

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/origin"
)

// ServeHTTP answers a request. The guard checks its origin and form before anything else.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setPolicy(w.Header())
	defer func() {
		switch trouble := recover(); trouble {
		case nil:
		case http.ErrAbortHandler:
			panic(trouble)
		default:
			s.refuse(w, r, fmt.Errorf("panic: %v\n%s", trouble, debug.Stack()))
		}
	}()
	origin.LimitWrite(w)
	if err := s.checkOrigin(r); err != nil {
		s.refuse(w, r, err)
		return
	}
	// Paths are compared unchanged: no cleaning, no redirects.
	path, query, _ := strings.Cut(r.RequestURI, "?")
	if file := s.files[path]; file != nil {
		s.serve(w, r, file)
		return
	}
	route, ok := s.routes[path]
	if !ok {
		s.refuse(w, r, &refusal{Kind: "not_found", Problem: "this path does not exist", Fix: "open the page at /"})
		return
	}
	if err := s.route(w, r, route, query); err != nil {
		s.refuse(w, r, err)
	}
}

// checkOrigin refuses requests unless they come from this machine, to one of this server's own names, and from its own
// page or no page. A browser does not let a page set these headers.
func (s *Server) checkOrigin(r *http.Request) error {
	elsewhere := func(problem string) error {
		return &refusal{Kind: forbidden, Problem: problem, Fix: "open the page at the address that planloop printed"}
	}
	if !origin.IsLoopback(r.RemoteAddr) {
		return elsewhere("the review page is only for this machine")
	}
	if !strings.HasPrefix(r.RequestURI, "/") {
		return &refusal{Kind: wrongForm, Problem: "the request has no valid path", Fix: "send only the path, such as /"}
	}
	if !slices.Contains(origin.RequestHosts(r, "", s.opts.Name), r.Host) {
		return elsewhere("the Host header does not name this server")
	}
	if r.Header.Get("Service-Worker") != "" { // the page has no service worker
		return elsewhere("service workers are refused")
	}
	if !origin.IsOwn(r) {
		return elsewhere("requests from other web origins are refused")
	}
	if !origin.IsSameSite(r) {
		return elsewhere("requests from other sites are refused")
	}
	return nil
}

// singleHeader returns the single value of a header; ok is false if it is missing, empty or repeated.
func singleHeader(r *http.Request, header string) (value string, ok bool) {
	values := r.Header.Values(header)
	if len(values) != 1 || values[0] == "" {
		return "", false
	}
	return values[0], true
}
