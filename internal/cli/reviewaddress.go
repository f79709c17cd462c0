package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/transport"
)

// newHostName returns a fresh host name of this machine. A browser may keep data of another program for 127.0.0.1 and the same port, such
// as a service worker that answers in the server's place; it does not apply to a new name. Browsers resolve every name below localhost to
// their own machine. Safari asks the system, and macOS may not know the name.
func newHostName(goos string) string {
	if goos == "darwin" {
		return ""
	}
	return strings.ToLower(rand.Text()[:16]) + ".localhost"
}

// pageAddress is the page's host name and port at its last start.
type pageAddress struct {
	Name string `json:"name"`
	Port int    `json:"port"`
}

var hostName = regexp.MustCompile(`^([a-z2-7]{16}\.localhost)?$`)

// listenAsBefore listens at the address of the last start, since browsers keep unsent texts by address. It takes a new one if that is taken
// or the user wants another port.
func (a *app) listenAsBefore(ctx context.Context, home string, port int) (name string, listeners []net.Listener, err error) {
	if a.flags.ephemeral {
		listeners, err = listenLocally(ctx, port)
		return newHostName(runtime.GOOS), listeners, err
	}
	var kept pageAddress
	path := filepath.Join(home, "page-address.json")
	data, err := safefile.Read(path, maxMessage)
	isKept := err == nil && json.Unmarshal(data, &kept) == nil && hostName.MatchString(kept.Name) && kept.Port > 0
	if isKept && (port == 0 || port == kept.Port) {
		if listeners, err := listenLocally(ctx, kept.Port); err == nil {
			return kept.Name, listeners, nil
		}
	}
	if listeners, err = listenLocally(ctx, port); err != nil {
		return "", nil, err
	}
	kept = pageAddress{Name: newHostName(runtime.GOOS), Port: listeners[0].Addr().(*net.TCPAddr).Port}
	data, err = json.Marshal(kept)
	if err = errors.Join(err, safefile.MakeFolder(home)); err == nil {
		err = safefile.WriteFile(path, data, safefile.Options{Mode: safefile.FileMode})
	}
	if err != nil {
		a.logger().Warn("the page will have another address at its next start, and browsers will not find unsent texts", "error", err)
	}
	return kept.Name, listeners, nil
}

const portTries = 20

// listenLocally listens on a port, 0 for a free one, at both addresses of a name below localhost: browsers would try another program at
// [::1] first. If this machine has no such address, no other program can use it.
func listenLocally(ctx context.Context, port int) ([]net.Listener, error) {
	// Windows never returns the errors of package syscall, which Go invented there, but its own two.
	noAddress := []error{syscall.EADDRNOTAVAIL, syscall.EAFNOSUPPORT, syscall.Errno(10049), syscall.Errno(10047)}
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
		case slices.ContainsFunc(noAddress, func(missing error) bool { return errors.Is(err, missing) }):
			return []net.Listener{first}, nil
		}
		_ = first.Close()
		if port != 0 || tries == portTries {
			return nil, err
		}
	}
}

// pageOrigin returns the page's origin under a name at a local address; "" if it has none.
func pageOrigin(name string, at net.Addr) string {
	if name == "" {
		return localAddress(at)
	}
	_, port, _ := net.SplitHostPort(at.String())
	return "http://" + net.JoinHostPort(name, port)
}

// localAddress returns the page's local URL for a listening address, "" if that address is not local: the page is only for this machine.
func localAddress(listening net.Addr) string {
	host, port, _ := net.SplitHostPort(listening.String())
	switch ip := net.ParseIP(host); {
	case ip.IsUnspecified():
		return "http://127.0.0.1:" + port
	case ip.IsLoopback():
		return "http://" + net.JoinHostPort(host, port)
	}
	return ""
}

// forwardCommand returns the command that makes the page at an address reachable from the own machine of a person who is logged in from
// another, else "".
func (a *app) forwardCommand(address string) string {
	if cmp.Or(a.getenv("SSH_CONNECTION"), a.getenv("SSH_TTY")) == "" {
		return ""
	}
	host, at := "", ""
	if words := strings.Fields(a.getenv("SSH_CONNECTION")); len(words) == 4 {
		if host = words[2]; words[3] != "22" {
			at = "-p " + words[3] + " "
		}
	} else if name, err := os.Hostname(); err == nil {
		host = name
	}
	if name := a.login(); name != "" {
		host = name + "@" + host
	}
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(address, "http://"))
	return fmt.Sprintf("ssh -L %s:127.0.0.1:%s %s%s", port, port, at, safetext.QuoteWord(host))
}
