package origin

import (
	"encoding/binary"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// ConnectionOwner returns the user that owns the client's end of a local TCP connection to server, both host:port. It is unknown
// if the system does not list the connection. If the client has closed its end, so that it cannot receive an answer,
// the owner is -1.
func ConnectionOwner(client, server string) (uid int, known bool) {
	from, err := netip.ParseAddrPort(client)
	to, err2 := netip.ParseAddrPort(server)
	if err != nil || err2 != nil {
		return 0, false
	}
	for range 3 { // the kernel does not provide a consistent snapshot
		for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
			text, err := os.ReadFile(table)
			if err != nil {
				continue
			}
			if uid, known = ownerIn(string(text), plain(from), plain(to)); known {
				return uid, true
			}
		}
	}
	return 0, false
}

// ownerIn searches a table of the kernel. After a number, each line has the addresses of both ends, state, queues,
// timer, retries, user, timeout, and inode, which is 0 once the end is closed.
func ownerIn(table string, client, server netip.AddrPort) (uid int, known bool) {
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 10 || address(fields[1]) != client || address(fields[2]) != server {
			continue
		}
		uid, err := strconv.Atoi(fields[7])
		if fields[9] == "0" {
			uid = -1
		}
		return uid, err == nil
	}
	return 0, false
}

// address parses the kernel's notation: words in the machine's byte order, and the port, in hexadecimal.
func address(text string) netip.AddrPort {
	host, port, _ := strings.Cut(text, ":")
	number, err := strconv.ParseUint(port, 16, 16)
	var ip []byte
	for ; len(host) >= 8 && err == nil; host = host[8:] {
		var word uint64
		word, err = strconv.ParseUint(host[:8], 16, 32)
		ip = binary.NativeEndian.AppendUint32(ip, uint32(word))
	}
	addr, ok := netip.AddrFromSlice(ip)
	if err != nil || !ok {
		return netip.AddrPort{}
	}
	return plain(netip.AddrPortFrom(addr, uint16(number)))
}

// plain returns an address in its shortest form, for comparison.
func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}
