package loopback

import (
	"encoding/binary"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// Owner is the user whose program holds the end at client of a TCP connection within this machine to
// server, both host:port. It is not known where the system does not tell. A client that has closed its end,
// which hears no answer any more, has the owner -1.
func Owner(client, server string) (uid int, known bool) {
	from, err := netip.ParseAddrPort(client)
	to, err2 := netip.ParseAddrPort(server)
	if err != nil || err2 != nil {
		return 0, false
	}
	for range 3 { // the table is not read at one instant
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

// ownerIn looks in a table of the kernel, which has in each line behind its number: the addresses of both ends, the
// state, queues, a timer, tries, the user, a timeout, and the file, which is 0 once it is closed.
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

// address reads one as the kernel writes it: words of the machine's byte order, and the port, in hexadecimal.
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

// plain is an address in its shortest form, by which two can be compared.
func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}
