package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// client is an MCP client of one server process, for one goroutine.
type client struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	last int
	said bytes.Buffer // what the server wrote to standard error
}

// connect starts a server. Nothing is said to it yet.
func connect(cmd *exec.Cmd) (*client, error) {
	c := &client{cmd: cmd}
	cmd.Stderr = &c.said
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, c.out = in, bufio.NewReaderSize(out, 64<<10)
	return c, cmd.Start()
}

// serve starts a planloop server on a workspace and shakes hands with it under a
// name of its own.
func (b *bench) serve(ctx context.Context, dir, name string) (*client, error) {
	return b.handshake(b.command(ctx, b.planloop, "serve", "--workspace", dir), name)
}

// floorServer starts the server that does nothing but commit.
func (b *bench) floorServer(ctx context.Context, database string) (*client, error) {
	return b.handshake(b.command(ctx, b.commit, database), "bench")
}

func (b *bench) handshake(cmd *exec.Cmd, name string) (*client, error) {
	c, err := connect(cmd)
	if err != nil {
		return nil, err
	}
	if err := c.hello(name); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// hello is what a host says to a server it has started.
func (c *client) hello(name string) error {
	_, err := c.request("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": name, "version": "1"}})
	if err != nil {
		return err
	}
	if err := c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"}); err != nil {
		return err
	}
	_, err = c.request("tools/list", map[string]any{})
	return err
}

// close ends the server as a host does, by ending its input.
func (c *client) close() {
	_ = c.in.Close()
	_, _ = io.Copy(io.Discard, c.out)
	_ = c.cmd.Wait()
}

type message struct {
	ID     int    `json:"id"`
	Method string `json:"method"`
	Result struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"result"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (c *client) send(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.write(line)
}

func (c *client) write(line []byte) error {
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write to %s: %w\n%s", c.cmd, err, c.said.String())
	}
	return nil
}

// receive returns the next message of the server.
func (c *client) receive() (message, error) {
	var m message
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return m, fmt.Errorf("read from %s: %w\n%s", c.cmd, err, c.said.String())
	}
	return m, json.Unmarshal(line, &m)
}

// request sends a request and waits for its answer. It returns how long that
// took, from the first byte sent to the last byte received.
func (c *client) request(method string, params any) (time.Duration, error) {
	c.last++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.last, "method": method, "params": params})
	if err != nil {
		return 0, err
	}
	return c.exchange(line)
}

func (c *client) exchange(line []byte) (time.Duration, error) {
	begin := time.Now()
	if err := c.write(line); err != nil {
		return 0, err
	}
	answer, err := c.out.ReadBytes('\n')
	took := time.Since(begin)
	if err != nil {
		return 0, fmt.Errorf("read from %s: %w\n%s", c.cmd, err, c.said.String())
	}
	var m message
	if err := json.Unmarshal(answer, &m); err != nil {
		return 0, err
	}
	return took, m.refused(c.last)
}

// refused returns an error unless m is the good answer to a request.
func (m message) refused(id int) error {
	switch {
	case m.Error != nil:
		return fmt.Errorf("refused: %s", m.Error.Message)
	case m.Result.IsError:
		return fmt.Errorf("refused: %+v", m.Result.Content)
	case m.ID != id:
		return fmt.Errorf("an answer to %d %s where one to %d was expected", m.ID, m.Method, id)
	}
	return nil
}

// call calls a tool.
func (c *client) call(tool string, arguments map[string]any) (time.Duration, error) {
	return c.request("tools/call", map[string]any{"name": tool, "arguments": arguments})
}
