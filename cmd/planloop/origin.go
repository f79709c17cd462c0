package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"strings"

	"github.com/planloop/planloop/internal/httpserve"
)

// newName is a host of this machine that no page was ever served by: what another program has left in the browser for 127.0.0.1
// and the same port, such as a service worker, which answers in the server's place, is not for it. Browsers take every
// name below localhost for the machine they run on. Safari asks the system, and macOS may not know.
func newName(goos string) string {
	if goos == "darwin" {
		return ""
	}
	return strings.ToLower(rand.Text()[:16]) + ".localhost"
}

const portTries = 20

// listenLocally takes a port at both addresses that a name below localhost stands for, 0 for a free one: a program of
// somebody else at the second would be asked first. Where there is no such address nobody else has it.
func listenLocally(ctx context.Context, port int) ([]net.Listener, error) {
	for tries := 1; ; tries++ {
		first, err := httpserve.Listen(ctx, fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return nil, err
		}
		_, taken, _ := net.SplitHostPort(first.Addr().String())
		second, err := httpserve.Listen(ctx, "[::1]:"+taken)
		switch {
		case err == nil:
			return []net.Listener{first, second}, nil
		case noSuchAddress(err):
			return []net.Listener{first}, nil
		}
		_ = first.Close()
		if port != 0 || tries == portTries {
			return nil, err
		}
	}
}

// originOf is where the page is that is served at an address of this machine under a name, "" for none.
func originOf(name string, at net.Addr) string {
	if name == "" {
		return addressAt(at)
	}
	_, port, _ := net.SplitHostPort(at.String())
	return "http://" + net.JoinHostPort(name, port)
}
