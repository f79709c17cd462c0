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
	cmd       *exec.Cmd
	in        io.WriteCloser
	out       *bufio.Reader
	last      int
	complaint bytes.Buffer // what the server wrote to standard error
}

// serve starts a planloop server on a workspace and performs the handshake, under the
// client's name.
func (b *bench) serve(ctx context.Context, dir, name string) (*client, error) {
	return b.handshake(b.command(ctx, b.planloop, "serve", "--workspace", dir), name)
}

// pair starts two servers on a workspace with few steps. close ends both.
func (b *bench) pair(ctx context.Context, name string) (reader, writer *client, end func(), err error) {
	place, err := b.workspace(ctx, name, fewSteps, 1)
	if err != nil {
		return nil, nil, nil, err
	}
	if reader, err = b.serve(ctx, place.Path, "reader"); err != nil {
		return nil, nil, nil, err
	}
	if writer, err = b.serve(ctx, place.Path, "writer"); err != nil {
		reader.close()
		return nil, nil, nil, err
	}
	return reader, writer, func() { writer.close(); reader.close() }, nil
}

// floorServer starts the server that does nothing but commit.
func (b *bench) floorServer(ctx context.Context, database string) (*client, error) {
	return b.handshake(b.command(ctx, b.commit, database), "bench")
}

// handshake starts a server and sends a host's first messages.
func (b *bench) handshake(cmd *exec.Cmd, name string) (*client, error) {
	c := &client{cmd: cmd}
	cmd.Stderr = &c.complaint
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, c.out = in, bufio.NewReaderSize(out, 64<<10)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if err := c.hello(name); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *client) hello(name string) error {
	_, err := c.request("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": name, "version": "1"}})
	if err != nil {
		return err
	}
	if err := c.write([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
		return err
	}
	_, err = c.request("tools/list", map[string]any{})
	return err
}

// close ends the server by closing its input, as a host does.
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

func (c *client) write(line []byte) error {
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write to %s: %w\n%s", c.cmd, err, c.complaint.String())
	}
	return nil
}

// receive returns the server's next message and the time of its last byte.
func (c *client) receive() (m message, at time.Time, err error) {
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return m, at, fmt.Errorf("read from %s: %w\n%s", c.cmd, err, c.complaint.String())
	}
	at = time.Now()
	return m, at, json.Unmarshal(line, &m)
}

// begin sends a request and does not wait for the answer.
func (c *client) begin(method string, params any) (id int, sent time.Time, err error) {
	c.last++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.last, "method": method, "params": params})
	sent = time.Now()
	if err == nil {
		err = c.write(line)
	}
	return c.last, sent, err
}

// request sends a request and waits for its answer, and ignores notifications. It returns the time from
// the first byte sent to the last byte received, 0 without an answer.
func (c *client) request(method string, params any) (time.Duration, error) {
	id, sent, err := c.begin(method, params)
	if err != nil {
		return 0, err
	}
	_, at, err := c.answerTo(id)
	if at.IsZero() {
		return 0, err
	}
	return at.Sub(sent), err
}

// answerTo returns the answer to a request and its time, and ignores notifications. A refusal is an error.
func (c *client) answerTo(id int) (message, time.Time, error) {
	for {
		m, at, err := c.receive()
		if err != nil {
			return m, time.Time{}, err
		}
		if m.Method == "" {
			return m, at, m.refused(id)
		}
	}
}

// refused returns an error unless m answers a request without an error.
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
	return c.request("tools/call", toolCall(tool, arguments))
}

func toolCall(tool string, arguments map[string]any) map[string]any {
	return map[string]any{"name": tool, "arguments": arguments}
}

// waitBeside lets the agent wait for news in planloop_status, and returns that request once it waits:
// calls of a connection begin in order, so it waits when the following call is answered.
func (c *client) waitBeside(tool string, arguments map[string]any) (waiting int, err error) {
	waiting, _, err = c.begin("tools/call", toolCall("planloop_status", map[string]any{"wait": 60}))
	if err != nil {
		return 0, err
	}
	_, err = c.call(tool, arguments)
	return waiting, err
}
