package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	strictjson "github.com/go-json-experiment/json"
	"github.com/mark3labs/mcp-go/mcp"
)

// probe is how long a server has to say that it knows the stateless era, before it is
// greeted in the older one as well.
const probe = 3 * time.Second

// greet agrees with the server on a revision of the protocol: the stateless one if it
// knows that, else one of the handshake; old greets in that way alone.
func (c *conn) greet(ctx context.Context, long time.Duration, old bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type met struct {
		version string
		err     error
	}
	answers := make(chan met, 2)
	open, shaking, refused := 0, false, false
	shake := func() {
		if shaking {
			return
		}
		open, shaking = open+1, true
		c.speak("")
		go func() {
			version, err := c.initialize(ctx, long)
			answers <- met{version, err}
		}()
	}
	if old {
		shake()
	} else {
		open++
		c.speak(mcp.LATEST_PROTOCOL_VERSION)
		go func() { answers <- met{mcp.LATEST_PROTOCOL_VERSION, c.discover(ctx, long)} }()
	}
	late := time.NewTimer(probe) // it starts slowly, or does not answer what it does not know
	defer late.Stop()
	var failed error
	for open > 0 {
		select {
		case m := <-answers:
			if m.err == nil {
				c.settle(m.version)
				return nil
			}
			open, failed = open-1, m.err
			if c.lives() {
				shake()
			}
			if refused = m.version == ""; refused {
				late.Reset(probe)
			}
		case <-late.C:
			if refused {
				return failed
			}
			shake()
		}
	}
	return failed
}

// settle goes on in what was agreed on.
func (c *conn) settle(version string) {
	if c.speak(version); !mcp.IsModernProtocol(version) {
		c.wire.post(encode(message{Method: "notifications/initialized"}))
	}
}

// listen hears of changes of the list, until the connection is over. A server of the
// stateless era is asked for them; others tell by themselves, over HTTP on a stream.
func (c *conn) listen(ctx context.Context) {
	if !mcp.IsModernProtocol(c.speaks()) {
		if w, ok := c.wire.(*web); ok {
			w.listen()
		}
		return
	}
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		_, err := c.roundTrip(ctx, request{method: "subscriptions/listen", idle: forever, long: forever,
			params: map[string]any{"notifications": map[string]any{"toolsListChanged": true}}})
		var failed *Error
		if errors.As(err, &failed) && failed.Answered || !c.lives() {
			return // it has nothing to say, or there is no server any more
		}
		select {
		case <-time.After(pause):
			c.changed() // it may have, meanwhile
		case <-c.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// discover asks a server whether it knows the stateless era.
func (c *conn) discover(ctx context.Context, long time.Duration) error {
	result, err := c.roundTrip(ctx, request{method: "server/discover", idle: long, long: long})
	if err != nil {
		return err
	}
	var told struct {
		Versions []string `json:"supportedVersions"`
	}
	if err := strictjson.Unmarshal(result, &told); err != nil || !slices.Contains(told.Versions, mcp.LATEST_PROTOCOL_VERSION) {
		return c.fail("does not speak revision %s", mcp.LATEST_PROTOCOL_VERSION)
	}
	return nil
}

// initialize shakes hands with a server of an older era, and returns the revision.
func (c *conn) initialize(ctx context.Context, long time.Duration) (version string, err error) {
	result, err := c.roundTrip(ctx, request{method: "initialize", idle: long, long: long, params: map[string]any{
		"protocolVersion": mcp.LATEST_LEGACY_PROTOCOL_VERSION, "clientInfo": c.client,
		"capabilities": map[string]any{"elicitation": map[string]any{}}}})
	if err != nil {
		return "", err
	}
	var told struct {
		Version string `json:"protocolVersion"`
	}
	if err := strictjson.Unmarshal(result, &told); err != nil {
		return "", c.fail("answered initialize with what is no result of it")
	}
	if !mcp.IsValidProtocolVersion(told.Version) || mcp.IsModernProtocol(told.Version) {
		return "", c.fail(`speaks revision "%s", which planloop does not`, c.excerpt(told.Version))
	}
	return told.Version, nil
}

// Bounds of a list of tools.
const (
	mostPages = 100
	mostTools = 500
	mostBytes = 16 << 20
)

// list asks for all tools, page by page, as the server describes them. What is beyond the
// bounds is left out, and cut says so.
func (c *conn) list(ctx context.Context, idle time.Duration) (tools []json.RawMessage, cut string, err error) {
	seen, cursor, size := map[string]bool{}, "", 0
	for range mostPages {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		result, err := c.roundTrip(ctx, request{method: "tools/list", params: params, idle: idle, long: idle})
		var failed *Error
		if errors.As(err, &failed) && failed.Code == methodNotFound {
			return nil, "", nil // it has none
		}
		if err != nil {
			return nil, "", err
		}
		var page struct {
			Tools []json.RawMessage `json:"tools"`
			Next  string            `json:"nextCursor"`
		}
		if err := strictjson.Unmarshal(result, &page); err != nil {
			return nil, "", c.fail("answered tools/list with what is no list of tools")
		}
		for _, tool := range page.Tools {
			if size += len(tool); len(tools) == mostTools || size > mostBytes {
				return tools, "its list is cut: it has more than 500 tools, or 16 MB of them", nil
			}
			tools = append(tools, tool)
		}
		switch cursor = page.Next; {
		case cursor == "":
			return tools, "", nil
		case seen[cursor]:
			return tools, "its list is cut: it goes round in circles", nil
		}
		seen[cursor] = true
	}
	return tools, "its list is cut: it has more than 100 pages", nil
}
