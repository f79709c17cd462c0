package httpserve

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// methods are the handlers of one path by HTTP method.
type methods map[string]http.HandlerFunc

func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handle, found := m[r.Method]
	if !found {
		allow := strings.Join(slices.Sorted(maps.Keys(m)), ", ")
		w.Header().Set("Allow", allow)
		refuse(w, http.StatusMethodNotAllowed, "this path takes "+allow)
		return
	}
	// With a body left unread, net/http does not notice that a client of a
	// stream has gone.
	if r.Method != http.MethodPost && r.ContentLength != 0 {
		refuse(w, http.StatusBadRequest, r.Method+" takes no body here")
		return
	}
	handle(w, r)
}
