// Package loopback tells which addresses are reachable from this machine alone, and
// which Host headers name a listener.
package loopback

import (
	"net"
	"net/netip"
)

// Is tells whether addr, host:port, is reachable from this machine alone. A name other
// than localhost could be anything.
func Is(addr string) bool {
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

// Hosts are the values of the Host header that name a server which a connection has
// reached at local, an IP address with its port. A name that was rebound to that address is
// not among them; own, where it is not empty, is one more that names a server of this machine alone.
func Hosts(local, own string) []string {
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
		if port == "80" { // clients leave out the port that http implies
			hosts = append(hosts, name)
		}
	}
	return hosts
}
