package teamserver_test

import (
	"bytes"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// wire carries connections to a server. While it is silent nothing arrives, and no side hears why.
type wire struct {
	network string
	address string // of the wire
	targets func() []string

	mu       sync.Mutex
	change   sync.Cond
	isSilent bool
	isClosed bool
	only     string // silence concerns connections on which the client has sent this; "": all
	after    string // silence begins after the next request with this
	conns    map[*carried]struct{}
}

type carried struct {
	client, server net.Conn
	isNamed        bool // its client has sent wire.only
	isForgotten    bool // nothing arrives
}

// newWire returns a wire from an address to the first of the targets that accepts a connection.
func newWire(t *testing.T, network, address string, targets func() []string) *wire {
	t.Helper()
	listener, err := net.Listen(network, address)
	check(t, err)
	w := &wire{network: network, address: listener.Addr().String(), targets: targets, conns: map[*carried]struct{}{}}
	w.change.L = &w.mu
	t.Cleanup(func() {
		listener.Close()
		w.mu.Lock()
		w.isClosed = true
		w.change.Broadcast()
		w.mu.Unlock()
		w.cut()
	})
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go w.carry(&carried{client: client})
		}
	}()
	return w
}

// newTCPWire returns a wire to one of some servers.
func newTCPWire(t *testing.T, servers ...*process) *wire {
	return newWire(t, "tcp", "127.0.0.1:0", func() (all []string) {
		for _, p := range servers {
			all = append(all, p.address)
		}
		return all
	})
}

// newDatabaseWire returns a wire to a database, and the database's address at its end.
func newDatabaseWire(t *testing.T, dsn string) (*wire, string) {
	const socket = "/.s.PGSQL.5432"
	dir, _, _ := strings.Cut(strings.TrimPrefix(dsn, "host="), " ")
	own := t.TempDir()
	w := newWire(t, "unix", filepath.Join(own, socket), func() []string { return []string{dir + socket} })
	return w, strings.Replace(dsn, "host="+dir, "host="+own, 1)
}

// silence keeps everything that is sent later.
func (w *wire) silence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isSilent = true
}

// silenceAfter keeps everything that is sent after the next request with a word, first of all its answer.
func (w *wire) silenceAfter(word string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.after = word
}

// heal delivers everything that was kept. If the connections are forgotten, this and all that they send later is lost, as in a firewall
// that has dropped them.
func (w *wire) heal(isForgotten bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isSilent = false
	for c := range w.conns {
		c.isForgotten = c.isForgotten || isForgotten && w.concerns(c)
	}
	w.change.Broadcast()
}

// cut closes all connections.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		c.client.Close()
		if c.server != nil {
			c.server.Close()
		}
	}
	clear(w.conns)
}

func (w *wire) concerns(c *carried) bool { return w.only == "" || c.isNamed }

// pass waits until a connection may send, and reports whether it arrives.
func (w *wire) pass(c *carried, request []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.isNamed = c.isNamed || w.only != "" && bytes.Contains(request, []byte(w.only))
	for w.isSilent && w.concerns(c) && !w.isClosed {
		w.change.Wait()
	}
	if w.after != "" && bytes.Contains(request, []byte(w.after)) {
		w.after, w.isSilent = "", true
		w.change.Broadcast()
	}
	return !c.isForgotten && !w.isClosed
}

func (w *wire) carry(c *carried) {
	w.mu.Lock()
	w.conns[c] = struct{}{}
	w.mu.Unlock()
	if w.pass(c, nil) {
		var server net.Conn
		for _, target := range w.targets() {
			var err error
			if server, err = net.Dial(w.network, target); err == nil {
				break
			}
		}
		if server == nil {
			c.client.Close()
			return
		}
		w.mu.Lock()
		c.server = server
		w.mu.Unlock()
		go w.pump(c, server, c.client, false)
		w.pump(c, c.client, server, true)
	}
}

func (w *wire) pump(c *carried, from, to net.Conn, isRequest bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		request := buffer[:n]
		if !isRequest {
			request = nil
		}
		arrives := w.pass(c, request)
		if arrives && n > 0 {
			_, _ = to.Write(buffer[:n]) // the next read fails if it is closed
		}
		if err != nil {
			if arrives {
				to.Close()
			}
			return
		}
	}
}
