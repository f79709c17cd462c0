package transport_test

import (
	"testing"

	"github.com/planloop/planloop/internal/transport"
)

func TestCancellingARunningCallEndsItsContext(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	c.send(call(7, "block", ""))
	await(t, f.started)
	c.send(cancelled(`"7"`), cancelled(8)) // other ids: the string is not the number
	c.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	c.want(`"p"`)
	c.send(cancelled(7), call(9, "append", `{"v":9}`)) // it has waited for 7
	c.want("9")
	c.close()
}

func TestCancellingAWaitingCallDropsIt(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	c.send(call(1, "block", ""), call(2, "append", `{"v":2}`), call(`"3"`, "append", `{"v":3}`), call(4, "append", `{"v":4}`))
	await(t, f.started)
	c.send(cancelled(2), cancelled(`"\u0033"`)) // another spelling of "3"
	c.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	c.want(`"p"`)
	f.release <- struct{}{}
	c.want("1")
	c.want("4")
	if got := f.seen(); len(got) != 1 || got[0] != "4" {
		t.Fatalf("ran: %v", got)
	}
	c.close()
}

func TestACancelledCallWithAResultIsNotAnswered(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	c.send(call(1, "stubborn", ""))
	await(t, f.started)
	c.send(cancelled(1), `{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	c.want(`"p"`)
	f.release <- struct{}{}
	c.close()
}

func TestInitializeCannotBeCancelled(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.send(initialize, cancelled(`"init"`))
	c.wantText(`"init"`, "serverInfo")
	c.close()
}

func TestMalformedCancellationsAreIgnored(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}`,
		call(1, "append", `{"v":1}`))
	c.want("1")
	c.close()
}
