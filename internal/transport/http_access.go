package transport

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/origin"
)

// guard runs before every path. Its order limits what an untrusted client can learn: nothing before Host and Origin are
// right, nothing about paths before the token is.
func (s *HTTPServer) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts := origin.RequestHosts(r, s.opts.Addr, "")
		if !slices.Contains(hosts, strings.ToLower(r.Host)) {
			refuse(w, http.StatusForbidden, "the Host header must be the address this server is bound to: "+strings.Join(hosts, ", "))
			return
		}
		if !origin.Allowed(r, hosts, s.opts.AllowOrigins) {
			refuse(w, http.StatusForbidden,
				"requests from this web origin are refused; allow it with --allow-origin")
			return
		}
		s.allowOrigin(w, r)
		if isPreflight(r) {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		client := s.client(r)
		if s.opts.Rate > 0 && !s.rates.Take(client, float64(s.opts.Rate), s.opts.Rate) {
			w.Header().Set("Retry-After", "1")
			refuse(w, http.StatusTooManyRequests,
				fmt.Sprintf("more than %d requests in a second; nothing was done: wait a second and send it again", s.opts.Rate))
			return
		}
		if s.opts.Token != "" && client != tokenHolder {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, "send the server's token in the header Authorization: Bearer TOKEN")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// allowOrigin lets pages of a configured origin read the answer. No other page gets a CORS header.
func (s *HTTPServer) allowOrigin(w http.ResponseWriter, r *http.Request) {
	from := r.Header.Get("Origin")
	if !slices.Contains(s.opts.AllowOrigins, from) {
		return
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", from)
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id")
	h.Set("Vary", "Origin")
	if isPreflight(r) {
		h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		h.Set("Access-Control-Allow-Headers", allowedHeaders(r))
		h.Set("Access-Control-Max-Age", "600")
	}
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" &&
		r.Header.Get("Access-Control-Request-Method") != ""
}

// allowedHeaders grants the protocol's own headers among those asked for.
func allowedHeaders(r *http.Request) string {
	var granted []string
	for asked := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") {
		name := strings.ToLower(strings.TrimSpace(asked))
		own := []string{"content-type", "authorization", "accept", "last-event-id"}
		if slices.Contains(own, name) || strings.HasPrefix(name, "mcp-") {
			granted = append(granted, name)
		}
	}
	return strings.Join(granted, ", ")
}

// hasToken reports, in constant time, whether the request carries the token.
func hasToken(r *http.Request, token string) bool {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return false
	}
	scheme, sent, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	got, want := sha256.Sum256([]byte(strings.TrimSpace(sent))), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// tokenHolder is the client with the right token, at any address.
const tokenHolder = "token"

// client identifies the client of a request: the token's holder, or an address.
func (s *HTTPServer) client(r *http.Request) string {
	if s.opts.Token != "" && hasToken(r, s.opts.Token) {
		return tokenHolder
	}
	return origin.ClientOf(r)
}
