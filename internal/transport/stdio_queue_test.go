package transport_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/planloop/planloop/internal/transport"
)

func TestCallsTakeEffectInTheOrderSent(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	var lines, want []string
	lines = append(lines, call(0, "block", ""))
	for i := 1; i <= 300; i++ {
		lines = append(lines, call(i, "append", fmt.Sprintf(`{"v":%d}`, i)))
		want = append(want, fmt.Sprint(i))
	}
	c.send(lines...)
	await(t, f.started)
	c.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`) // read after all of them, and outside the queue
	c.want(`"p"`)
	if got := f.seen(); len(got) != 0 {
		t.Fatalf("%v ran while the call before was running", got)
	}
	f.release <- struct{}{}
	for i := range 301 {
		c.want(fmt.Sprint(i))
	}
	if got := f.seen(); !slices.Equal(got, want) {
		t.Fatalf("order %v", got)
	}
	c.close()
}

func TestAListRunsAfterTheCallBeforeIt(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	c.send(call(1, "block", ""), `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	await(t, f.started)
	f.release <- struct{}{}
	c.want("1")
	c.want("2")
	c.close()
}

func TestYieldLetsTheNextCallsRun(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	for i := range 20 { // many more waiting calls than any pool of workers
		c.send(call(i, "wait", ""))
		await(t, f.started)
	}
	c.send(call(100, "append", `{"v":1}`), call(101, "append", `{"v":2}`))
	c.want("100")
	c.want("101")
	for range 20 {
		f.release <- struct{}{}
		if r := c.next(); r.Error != nil {
			t.Fatal(r)
		}
	}
	c.close()
}

func TestYieldElsewhereDoesNothing(t *testing.T) {
	transport.Yield(context.Background())
	//lint:ignore SA1012 a nil context must not panic
	transport.Yield(nil)
}

func TestYieldTwiceKeepsTheOrder(t *testing.T) {
	f := newFixture()
	f.tool("twice", f.blocking(func(ctx context.Context) { transport.Yield(ctx); transport.Yield(ctx) }))
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	c.send(call(1, "twice", ""), call(2, "block", ""), call(3, "append", `{"v":3}`))
	await(t, f.started)
	await(t, f.started)
	c.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	c.want(`"p"`)
	if got := f.seen(); len(got) != 0 {
		t.Fatalf("%v overtook a call that had not yielded", got)
	}
	f.release <- struct{}{}
	f.release <- struct{}{}
	for range 3 {
		c.next()
	}
	c.close()
}
