package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"strings"

	"github.com/planloop/planloop/internal/transport"
)

// newName returns a fresh host name of this machine. A browser may keep data of another program for 127.0.0.1 and the same port, such as a
// service worker that answers in the server's place; it does not apply to a new name. Browsers resolve every name below localhost to their
// own machine. Safari asks the system, and macOS may not know the name.
func newName(goos string) string {
	if goos == "darwin" {
		return ""
	}
	return strings.ToLower(rand.Text()[:16]) + ".localhost"
}

const portTries = 20

// listenLocally listens on a port, 0 for a free one, at both addresses of a name below localhost: browsers would try another program at
// [::1] first. If this machine has no such address, no other program can use it.
func listenLocally(ctx context.Context, port int) ([]net.Listener, error) {
	for tries := 1; ; tries++ {
		first, err := transport.Listen(ctx, fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return nil, err
		}
		_, taken, _ := net.SplitHostPort(first.Addr().String())
		second, err := transport.Listen(ctx, "[::1]:"+taken)
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

// originOf returns the page's origin under a name at a local address; "" if it has none.
func originOf(name string, at net.Addr) string {
	if name == "" {
		return addressAt(at)
	}
	_, port, _ := net.SplitHostPort(at.String())
	return "http://" + net.JoinHostPort(name, port)
}
