package origin

import (
	"net"
	"net/netip"
	"os"
	"runtime"
	"syscall"
	"testing"
)

// connected returns both ends of a connection; dial makes the client's.
func connected(t *testing.T, at string, dial func(address string) net.Conn) (client, server net.Conn) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", at)
	if err != nil {
		t.Skip(err) // the address family is not available
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	to := net.JoinHostPort("127.0.0.1", port)
	if at == "[::1]:0" {
		to = l.Addr().String()
	}
	client = dial(to)
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return client, server
}

func dialed(t *testing.T) func(string) net.Conn {
	return func(to string) net.Conn {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", to)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
}

// TestOwnerOfAConnection is the owner of its client's end, for both address families.
func TestOwnerOfAConnection(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		client, server := connected(t, at, dialed(t))
		from, to := server.RemoteAddr().String(), server.LocalAddr().String()
		if uid, known := ConnectionOwner(from, to); !known || uid != os.Geteuid() {
			t.Errorf("%s: %d, %v", at, uid, known)
		}
		if err := client.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if uid, known := ConnectionOwner(from, to); !known || uid != os.Geteuid() {
			t.Errorf("%s, that sends no more: %d, %v", at, uid, known)
		}
		_ = client.Close()
		if uid, known := ConnectionOwner(from, to); known && uid != -1 {
			t.Errorf("%s, closed: %d", at, uid)
		}
		if _, known := ConnectionOwner("127.0.0.1:1", to); known {
			t.Errorf("%s: one that there is not is known", at)
		}
	}
	for _, bad := range []string{"", "127.0.0.1", "localhost:80"} {
		if _, known := ConnectionOwner(bad, "127.0.0.1:80"); known {
			t.Errorf("%q is known", bad)
		}
	}
}

// TestOwnerIsAnother connects as another user, which requires root.
func TestOwnerIsAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes connections as another user")
	}
	const nobody = 65534
	made := make(chan net.Conn)
	_, server := connected(t, "127.0.0.1:0", func(to string) net.Conn {
		go func() {
			runtime.LockOSThread() // which ends with the goroutine
			if err := syscall.Setfsuid(nobody); err != nil {
				t.Error(err)
			}
			made <- dialed(t)(to)
		}()
		return <-made
	})
	if uid, known := ConnectionOwner(server.RemoteAddr().String(), server.LocalAddr().String()); !known || uid != nobody {
		t.Errorf("%d, %v", uid, known)
	}
}

func TestOwnerInATable(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 71 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     7        0 72 1 0 20 4 30 10 -1
   2: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 73 1 0 20 4 30 10 -1
   3: 0100007F:C351 0100007F:1F90 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0
   4: 0100007F:C352 0100007F:1F90 01 00000000
   5: 0000000000000000FFFF00000100007F:C353 0000000000000000FFFF00000100007F:1F90 01 0:0 0:0 0  1001  0 74 1 0
   6: 00000000000000000000000001000000:C354 00000000000000000000000001000000:1F90 01 0:0 0:0 0  1002  0 75 1 0
   7: 0100007F:C355 0100007F:1F91 01 00000000:00000000 00:00000000 00000000     3        0 76 1 0 20 4 30 10 -1
   8: 0100007F:C355 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     x        0 77 1 0 20 4 30 10 -1
   9: nonsense x:y
`
	for from, want := range map[string]int{"127.0.0.1:50000": 1000, "127.0.0.1:50001": -1, "127.0.0.1:50003": 1001, "[::1]:50004": 1002,
		"127.0.0.1:50002": -2, "127.0.0.1:50005": -2, "127.0.0.2:50000": -2} {
		to := "127.0.0.1:8080"
		if from[0] == '[' {
			to = "[::1]:8080"
		}
		uid, known := ownerIn(table, netip.MustParseAddrPort(from), netip.MustParseAddrPort(to))
		if !known {
			uid = -2
		}
		if uid != want {
			t.Errorf("%s: %d, want %d", from, uid, want)
		}
	}
}
