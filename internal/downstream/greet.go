package downstream

import (
	"context"
	"time"

	"github.com/planloop/planloop/internal/tail"
)

// Greeting is the result of greeting a server.
type Greeting struct {
	Version string        // of the protocol
	Tools   int           // number of tools listed
	Took    time.Duration // from its start to its list
}

// Greet starts a server that is a command, lists its tools as a stateless client or as one with a handshake
// does, and ends it. It takes at most limit, plus a moment to end the server.
func Greet(ctx context.Context, name string, s Server, o Options, isStateless bool, limit time.Duration) (told Greeting, err error) {
	t, err := s.target(name, o.Dir, o.Getenv)
	if err != nil {
		return told, err
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	begun := time.Now()
	c := newConn(ctx, name, t, o.Version)
	defer c.end(nil)
	version := handshake
	if isStateless {
		version = stateless
	}
	transport, err := startStdio(o.Launcher, t, c, &tail.Writer{Max: complain})
	if err == nil {
		err = c.connect(limited, transport, version, limit)
	}
	if err == nil {
		told, err = c.greeted(limited, isStateless)
	}
	if told.Took = time.Since(begun); limited.Err() == context.DeadlineExceeded {
		err = c.fail("did not answer within %s", limit)
	}
	return told, err
}

// greeted lists the tools of a connected server, and ends it.
func (c *conn) greeted(ctx context.Context, isStateless bool) (Greeting, error) {
	told := Greeting{Version: c.version()}
	defer c.follow()
	defer c.end(c.fail("was ended"))
	if isStateless != (told.Version >= stateless) {
		return told, c.fail("does not speak revision %s", stateless)
	}
	tools, _, err := c.list(ctx, forever)
	told.Tools = len(tools)
	return told, err
}
