// Package origin guards the HTTP servers on this machine: from which addresses, under which Host header and from pages of
// which web origin requests may come, and how large and slow they may be.
package origin

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// IsLoopback reports whether addr, host:port, is reachable only from this machine. Names other than localhost are not.
func IsLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// RequestHosts returns the valid values of a request's Host header: the names of the IP address and port that the connection
// reached, so they hold for any listener; fallback is used if that address is unknown. A name rebound to that address (DNS
// rebinding) is not among them. own, if not empty, is a further name for a server on a loopback address.
func RequestHosts(r *http.Request, fallback, own string) []string {
	local := fallback
	if reached, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && reached != nil {
		local = reached.String()
	}
	bound, err := netip.ParseAddrPort(local)
	if err != nil {
		return nil
	}
	ip := bound.Addr().Unmap().WithZone("")
	names := []string{ip.String()}
	if ip.Is6() {
		names = []string{"[" + ip.String() + "]"}
	}
	if ip.IsLoopback() {
		names = []string{"127.0.0.1", "localhost", "[::1]"}
		if own != "" {
			names = append(names, own)
		}
	}
	_, port, _ := net.SplitHostPort(local)
	hosts := make([]string, 0, 2*len(names))
	for _, name := range names {
		hosts = append(hosts, name+":"+port)
		if port == "80" { // clients omit the default port of http
			hosts = append(hosts, name)
		}
	}
	return hosts
}

// Allowed reports whether a request comes from a program, a page of this server or a page of an allowed web origin.
// Programs send no Origin. A browser omits it in plain loads, but then Sec-Fetch-Site shows that another site asked.
func Allowed(r *http.Request, hosts, allowed []string) bool {
	origins := r.Header.Values("Origin")
	switch len(origins) {
	case 0:
		site := r.Header.Get("Sec-Fetch-Site")
		return site == "" || site == "none" || site == "same-origin"
	case 1:
		own, isHTTP := strings.CutPrefix(origins[0], "http://")
		return isHTTP && slices.Contains(hosts, own) || slices.Contains(allowed, origins[0])
	default:
		return false
	}
}

// IsOwn reports whether a request comes from this server's own page: a request that changes something must state its
// origin. The scheme is http:// or https://.
func IsOwn(r *http.Request, scheme string) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return r.Method != http.MethodPost
	}
	return len(origins) == 1 && origins[0] == scheme+r.Host
}

// IsSameSite reports whether a request comes from the same site, or a person opened the page at / by its address or a
// link. Programs do not state it.
func IsSameSite(r *http.Request) bool {
	site := r.Header.Values("Sec-Fetch-Site")
	opened := r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return len(site) == 0 || len(site) == 1 && (site[0] == "same-origin" || opened)
}
