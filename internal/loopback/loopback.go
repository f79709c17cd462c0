// Package loopback decides which addresses are reachable only from this machine, and which Host headers name a
// listener.
package loopback

import (
	"net"
	"net/netip"
)

// Is reports whether addr, host:port, is reachable only from this machine. Names other than localhost are not.
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

// Hosts returns the valid values of the Host header for a connection that reached the server at local, an IP address
// with port. A name rebound to that address (DNS rebinding) is not among them. own, if not empty, is a further name for
// a server on a loopback address.
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
		if port == "80" { // clients omit the default port of http
			hosts = append(hosts, name)
		}
	}
	return hosts
}
