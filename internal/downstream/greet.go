package downstream

import (
	"context"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/planloop/planloop/internal/tail"
)

// Greeting is what came of greeting a server.
type Greeting struct {
	Version string        // of the protocol
	Tools   int           // that it lists
	Took    time.Duration // from its start to its list
}

// Greet starts a server that is a command, as a client that knows one era of the protocol alone
// does, lists its tools, and ends it: that of the handshake, or the stateless one. All of it
// takes no longer than long, and a moment to part.
func Greet(ctx context.Context, name string, s Server, o Options, stateless bool, long time.Duration) (Greeting, error) {
	t, err := s.target(name, o.Dir, o.Getenv)
	if err != nil {
		return Greeting{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	begun := time.Now()
	c := newConn(name, t.secrets, implementation{"planloop", o.Version})
	c.changed = func() {} // it is asked once
	if err := startStdio(o.Launcher, t, c, &tail.Writer{Max: complain}); err != nil {
		return Greeting{}, err
	}
	defer c.wire.close()
	told, err := c.greeted(ctx, stateless)
	if told.Took = time.Since(begun); ctx.Err() == context.DeadlineExceeded {
		err = c.fail("did not answer within %s", long)
	}
	return told, err
}

// greeted greets a server in one era alone, and lists its tools. Only ctx bounds the wait.
func (c *conn) greeted(ctx context.Context, stateless bool) (told Greeting, err error) {
	if stateless {
		c.speak(mcp.LATEST_PROTOCOL_VERSION)
		told.Version, err = mcp.LATEST_PROTOCOL_VERSION, c.discover(ctx, forever)
	} else {
		c.speak("")
		told.Version, err = c.initialize(ctx, forever)
	}
	if err != nil {
		return told, err
	}
	c.settle(told.Version)
	tools, _, err := c.list(ctx, forever)
	told.Tools = len(tools)
	return told, err
}
