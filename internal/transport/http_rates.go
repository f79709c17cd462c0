package transport

import (
	"net"
	"net/http"
	"net/netip"
	"sync"

	"golang.org/x/time/rate"
)

// tokenHolder is the client with the right token, at any address.
const tokenHolder = "token"

// client identifies the client of a request: the token's holder, or an address. For IPv6 it is the network of 64 bits,
// which one client can own.
func (s *HTTPServer) client(r *http.Request) string {
	if s.opts.Token != "" && hasToken(r, s.opts.Token) {
		return tokenHolder
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.Unmap().Is4() {
		return host
	}
	network, _ := ip.WithZone("").Prefix(64) // every IPv6 address has one
	return network.String()
}

// maxClients bounds the clients counted at a time.
const maxClients = 10_000

// rates bounds the requests per second of each client.
type rates struct {
	limit int // 0: unlimited

	mu      sync.Mutex
	clients map[string]*rate.Limiter
}

// allow counts one request, unless the client has used up its rate.
func (r *rates) allow(client string) bool {
	if r.limit == 0 {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.clients[client]
	if own == nil {
		if len(r.clients) >= maxClients { // a bound per address cannot stop a client with so many
			clear(r.clients)
		}
		own = rate.NewLimiter(rate.Limit(r.limit), r.limit)
		r.clients[client] = own
	}
	return own.Allow()
}
