package origin

import (
	"net"
	"net/http"
	"net/netip"
	"sync"

	"golang.org/x/time/rate"
)

// ClientOf identifies the client of a request by its address: for IPv6 by the network of 64 bits, which one client can own.
func ClientOf(r *http.Request) string {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.Unmap().Is4() {
		return host
	}
	network, _ := ip.WithZone("").Prefix(64) // every IPv6 address has one
	return network.String()
}

// maxLimited bounds the keys that are counted at a time.
const maxLimited = 10_000

// Rates bounds how often something happens, by a key such as a client. The zero value is ready for use.
type Rates struct {
	mu       sync.Mutex
	limiters map[string]*rate.Limiter
}

// Take counts one use of a key, unless the key has used up its rate and its burst.
func (r *Rates) Take(key string, perSecond float64, burst int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.limiters[key]
	if own == nil {
		if r.limiters == nil || len(r.limiters) >= maxLimited { // a bound per address cannot stop a client with so many
			r.limiters = map[string]*rate.Limiter{}
		}
		own = rate.NewLimiter(rate.Limit(perSecond), burst)
		r.limiters[key] = own
	}
	return own.Allow()
}
