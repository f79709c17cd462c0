package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/transport"
)

func TestEverythingReadIsAnsweredAtEndOfInput(t *testing.T) {
	f := newFixture()
	var in strings.Builder
	in.WriteString(initialize + "\n")
	for i := range 2000 { // more than may wait in the queue
		fmt.Fprintln(&in, call(i, "append", `{"v":1}`))
	}
	in.WriteString(call(2000, "append", `{"v":1}`)) // no line end
	var out bytes.Buffer
	if err := transport.ServeStdio(t.Context(), f.MCPServer, strings.NewReader(in.String()), &out, transport.StdioOptions{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 2002 {
		t.Fatalf("%d answers", len(lines))
	}
	if !strings.Contains(lines[2001], `"id":2000,`) || len(f.seen()) != 2001 {
		t.Fatalf("last answer %s, %d effects", lines[2001], len(f.seen()))
	}
}

func TestRunningCallsGoOnAtEndOfInput(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	c.send(call(1, "block", ""), call(2, "wait", ""))
	await(t, f.started)
	c.in.Close()
	f.release <- struct{}{}
	c.wantText("1", "released")
	await(t, f.started)
	f.release <- struct{}{}
	c.wantText("2", "released")
	if _, err := c.end(); err != nil {
		t.Fatal(err)
	}
}

func TestTheDrainBoundsWaitingCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		c := dial(t, f.MCPServer, transport.StdioOptions{Drain: 5 * time.Second})
		c.handshake()
		c.send(call(1, "wait", ""), call(2, "block", ""), call(3, "append", `{"v":3}`))
		<-f.started
		<-f.started
		start := time.Now()
		rest, err := c.end()
		if err != nil || len(rest) != 3 {
			t.Fatalf("%v, %v", rest, err)
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Fatalf("took %v", took)
		}
		if got := f.seen(); len(got) != 0 {
			t.Fatalf("started after the drain: %v", got)
		}
	})
}

func TestListenStreamsEndAtOnceAtEndOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		c := dial(t, f.MCPServer, transport.StdioOptions{})
		c.send(listen(1, `{"toolsListChanged":true}`))
		c.next() // acknowledged
		start := time.Now()
		rest, err := c.end()
		if err != nil || len(rest) != 1 || string(rest[0].ID) != "1" || rest[0].Error != nil {
			t.Fatalf("%v, %v", rest, err)
		}
		if took := time.Since(start); took != 0 {
			t.Fatalf("took %v", took)
		}
	})
}

func TestACancelledContextEndsServeWhileReading(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	c.send(call(1, "block", ""))
	await(t, f.started)
	c.cancel()
	if err := await(t, c.served); err != nil {
		t.Fatal(err)
	}
	if r := c.next(); string(r.ID) != "1" || r.Error == nil {
		t.Fatalf("the running call was not answered: %s", r)
	}
}

func TestACancelledContextDoesNotWaitForAStubbornHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		c := dial(t, f.MCPServer, transport.StdioOptions{})
		c.handshake()
		c.send(call(1, "stubborn", ""), call(2, "append", `{"v":2}`))
		<-f.started
		start := time.Now()
		c.cancel()
		if err := <-c.served; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Fatalf("took %v", took)
		}
		f.release <- struct{}{}
	})
}

func TestAClientThatDoesNotReadCannotHoldServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- transport.ServeStdio(ctx, f.MCPServer, inR, outW, transport.StdioOptions{}) }()
		go func() { // as much as the connection takes, and more
			fmt.Fprintln(inW, initialize)
			for i := range 5000 {
				fmt.Fprintln(inW, call(i, "append", `{"v":1}`))
				fmt.Fprintln(inW, "nonsense")
			}
		}()
		synctest.Wait()
		cancel()
		if err := <-served; err != nil {
			t.Fatal(err)
		}
		outR.Close()
		inR.Close()
	})
}

func TestASlowClientGetsEverything(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	go func() {
		for i := range 3000 {
			fmt.Fprintln(c.in, call(i, "append", `{"v":1}`))
		}
		c.in.Close()
	}()
	for i := range 3000 {
		c.want(fmt.Sprint(i))
	}
	if err := await(t, c.served); err != nil {
		t.Fatal(err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("bad disk") }

func TestAFailedWriteEndsServe(t *testing.T) {
	f := newFixture()
	in, feed := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- transport.ServeStdio(t.Context(), f.MCPServer, in, brokenWriter{}, transport.StdioOptions{})
	}()
	fmt.Fprintln(feed, initialize)
	if err := await(t, served); err == nil || !strings.Contains(err.Error(), "bad disk") {
		t.Fatal(err)
	}
}

func TestAClientThatHangsUpIsNoError(t *testing.T) {
	f := newFixture()
	in, feed := io.Pipe()
	gone, out := io.Pipe()
	gone.Close()
	served := make(chan error, 1)
	go func() { served <- transport.ServeStdio(t.Context(), f.MCPServer, in, out, transport.StdioOptions{}) }()
	fmt.Fprintln(feed, initialize)
	if err := await(t, served); err != nil {
		t.Fatal(err)
	}
}

func TestAFailedReadIsReportedAfterTheAnswers(t *testing.T) {
	f := newFixture()
	in, feed := io.Pipe()
	var out bytes.Buffer
	go func() {
		fmt.Fprintln(feed, initialize)
		feed.CloseWithError(errors.New("bad disk"))
	}()
	err := transport.ServeStdio(t.Context(), f.MCPServer, in, &out, transport.StdioOptions{})
	if err == nil || !strings.Contains(err.Error(), "bad disk") || !strings.Contains(out.String(), "serverInfo") {
		t.Fatalf("%v, %s", err, out.String())
	}
}

func TestAPanicIsAnsweredAndLogged(t *testing.T) {
	f := newFixture()
	var logged bytes.Buffer
	c := dial(t, f.MCPServer, transport.StdioOptions{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	c.handshake()
	c.send(call(1, "panic", ""), call(2, "append", `{"v":2}`))
	r := c.want("1")
	if r.Error == nil || r.Error.Code != -32603 || strings.Contains(r.String(), "secret") {
		t.Fatal(r)
	}
	c.want("2")
	c.close()
	if !strings.Contains(logged.String(), "secret") {
		t.Fatalf("log: %s", logged.String())
	}
}

func TestAnUnencodableResultIsAnswered(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	c.send(call(1, "unencodable", ""))
	c.wantError("1", -32603, "could not be encoded")
	c.close()
}

func TestEachConnectionHasItsOwnSession(t *testing.T) {
	f := newFixture()
	var registered, unregistered []string
	f.hooks.AddOnRegisterSession(func(_ context.Context, s server.ClientSession) {
		registered = append(registered, s.SessionID())
	})
	f.hooks.AddOnUnregisterSession(func(_ context.Context, s server.ClientSession) {
		unregistered = append(unregistered, s.SessionID())
	})
	for range 2 {
		c := dial(t, f.MCPServer, transport.StdioOptions{})
		c.handshake()
		c.send(call(1, "whoami", ""))
		c.wantText("1", registered[len(registered)-1])
		c.close()
	}
	if len(registered) != 2 || registered[0] == registered[1] || fmt.Sprint(registered) != fmt.Sprint(unregistered) {
		t.Fatalf("registered %v, unregistered %v", registered, unregistered)
	}
}

func TestARequestBeforeInitializeIsRefused(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.send(call(1, "append", `{"v":1}`))
	c.wantError("1", -32600, "send initialize before")
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}}`)
	c.wantError("2", -32600, "send initialize before")
	c.send(listenLegacy(3))
	c.wantError("3", -32600, "send initialize before")
	c.send(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	c.wantText("4", "{}")
	c.send(modernCall(5, "append"))
	c.wantText("5", "ok")
	c.send(`{"jsonrpc":"2.0","id":6,"method":"tools/list"}`) // a stateless request is not a handshake
	c.wantError("6", -32600, "send initialize before")
	c.send(initialize, call(7, "append", `{"v":7}`)) // without waiting for the answer
	c.want(`"init"`)
	c.wantText("7", "ok")
	if got := f.seen(); len(got) != 2 {
		t.Fatalf("ran: %v", got)
	}
	c.close()
}
