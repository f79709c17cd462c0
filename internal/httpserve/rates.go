package httpserve

import (
	"net"
	"net/http"
	"net/netip"
	"sync"

	"golang.org/x/time/rate"
)

// tokenHolder is the client that has shown the token, whatever its address.
const tokenHolder = "token"

// client says whom a request counts for: who holds the token, else an address. Of IPv6
// one client has a network of 64 bits.
func (s *Server) client(r *http.Request) string {
	if s.opts.Token != "" && hasToken(r, s.opts.Token) {
		return tokenHolder
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.Unmap().Is4() {
		return host
	}
	network, _ := ip.WithZone("").Prefix(64) // which an IPv6 address always has
	return network.String()
}

// maxClients bounds the clients whose requests are counted at a time.
const maxClients = 10_000

// rates bounds the requests a second of each client.
type rates struct {
	limit int // 0: none

	mu      sync.Mutex
	clients map[string]*rate.Limiter
}

// allow counts one request in, unless the client has had its share.
func (r *rates) allow(client string) bool {
	if r.limit == 0 {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.clients[client]
	if own == nil {
		if len(r.clients) >= maxClients { // who has so many addresses is not held up by a bound on each
			clear(r.clients)
		}
		own = rate.NewLimiter(rate.Limit(r.limit), r.limit)
		r.clients[client] = own
	}
	return own.Allow()
}
