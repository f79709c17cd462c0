package cli

import (
	"context"
	"net"
	"strconv"
	"testing"
)

// A port is taken at both addresses of the machine, or not at all: browsers would try another program at the second address first.
func TestPageHasItsPortAtBothAddresses(t *testing.T) {
	stranger, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "[::1]:0")
	if err != nil {
		t.Skip(err) // this machine lacks the address
	}
	defer stranger.Close()
	_, port, _ := net.SplitHostPort(stranger.Addr().String())
	taken, _ := strconv.Atoi(port)
	if _, err := listenLocally(t.Context(), taken); err == nil {
		t.Error("a port is served of which somebody else has half")
	}
	if free, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
		_ = free.Close()
		t.Error("the other half is kept")
	}
	listeners, err := listenLocally(context.Background(), 0)
	if err != nil || len(listeners) != 2 {
		t.Fatalf("%v: %d", err, len(listeners))
	}
	for _, l := range listeners {
		defer l.Close()
	}
	if a, b := newHostName("linux"), newHostName("linux"); a == b || len(a) != len("abcdefghijklmnop.localhost") {
		t.Errorf("%s and %s", a, b)
	}
	if got := pageOrigin("once.localhost", listeners[1].Addr()); got != "http://once.localhost:"+portOf(listeners[0]) {
		t.Errorf("the page is at %s", got)
	}
}

func portOf(l net.Listener) string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
