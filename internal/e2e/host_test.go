package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// host talks to its own stdio server in the simplest way: it writes lines and checks that every received line is a JSON-RPC message. All
// methods except those that end the test may be called concurrently.
type host struct {
	t      testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	errors *output
	ended  chan struct{} // standard output has ended

	ids      atomic.Int64
	writing  sync.Mutex
	mu       sync.Mutex
	waiting  map[string]chan frame // by id
	foul     []string              // lines that are not messages
	messages chan frame            // messages other than answers
}

// frame is a JSON-RPC message from the server.
type frame struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// parseFrame accepts only JSON-RPC messages.
func parseFrame(line []byte) (frame, error) {
	var f frame
	if err := json.Unmarshal(line, &f); err != nil {
		return f, err
	}
	kinds := 0
	for _, is := range []bool{f.Method != "", f.Result != nil, f.Error != nil} {
		if is {
			kinds++
		}
	}
	if f.JSONRPC != "2.0" || kinds != 1 {
		return f, errors.New("neither a request nor an answer")
	}
	return f, nil
}

// output collects the output of a process.
type output struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.data.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.data.String()
}

// serve starts a stdio server. The end of the test shuts it down as hosts do, unless the test has done so.
func (p *place) serve(args ...string) *host {
	p.t.Helper()
	h, err := p.tryServe(args...)
	if err != nil {
		p.t.Fatal(err)
	}
	return h
}

func (p *place) tryServe(args ...string) (*host, error) {
	return p.start(p.command(append([]string{"serve"}, args...)...))
}

// start starts a command that is a stdio server.
func (p *place) start(cmd *exec.Cmd) (*host, error) {
	h := &host{t: p.t, cmd: cmd, errors: &output{}, ended: make(chan struct{}),
		waiting: map[string]chan frame{}, messages: make(chan frame, 10_000)}
	h.cmd.Stderr = h.errors
	var err error
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	p.t.Cleanup(h.cleanUp)
	go h.read(out)
	return h, nil
}

// read reads lines until the server closes its standard output.
func (h *host) read(out io.Reader) {
	defer close(h.ended)
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			h.take(line, err == nil)
		}
		if err != nil {
			break
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, answer := range h.waiting {
		close(answer)
		delete(h.waiting, id)
	}
}

func (h *host) take(line []byte, whole bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f, err := parseFrame(line)
	if err != nil {
		if whole { // a killed server may break off in a line
			h.foul = append(h.foul, string(line))
		}
		return
	}
	if answer := h.waiting[string(f.ID)]; answer != nil && f.Method == "" {
		answer <- f
		delete(h.waiting, string(f.ID))
		return
	}
	h.messages <- f
}

// write sends a line verbatim.
func (h *host) write(line string) error {
	h.writing.Lock()
	defer h.writing.Unlock()
	_, err := io.WriteString(h.in, line+"\n")
	return err
}

// pending is an unanswered request.
type pending struct {
	method string
	answer chan frame
}

var errGone = errors.New("the server has gone")

// ask sends a request without waiting.
func (h *host) ask(method string, params any) (pending, error) {
	id := fmt.Sprint(h.ids.Add(1))
	if params == nil {
		params = struct{}{}
	}
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method, "params": params})
	if err != nil {
		return pending{}, err
	}
	answer := make(chan frame, 1)
	h.mu.Lock()
	select {
	case <-h.ended:
		close(answer)
	default:
		h.waiting[id] = answer
	}
	h.mu.Unlock()
	if err := h.write(string(line)); err != nil {
		return pending{}, fmt.Errorf("%w: %w", errGone, err)
	}
	return pending{method, answer}, nil
}

// wait returns the answer.
func (p pending) wait() (frame, error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case f, ok := <-p.answer:
		if !ok {
			return frame{}, errGone
		}
		return f, nil
	case <-late.C:
		return frame{}, fmt.Errorf("%s: no answer in %v", p.method, patience)
	}
}

func (h *host) request(method string, params any) (frame, error) {
	sent, err := h.ask(method, params)
	if err != nil {
		return frame{}, err
	}
	return sent.wait()
}

// initialize opens the connection in the handshake era.
func (h *host) initialize() error { return h.initializeWith(arguments{}) }

// initializeWith opens the connection for a client with capabilities.
func (h *host) initializeWith(capabilities arguments) error {
	f, err := h.request("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": capabilities,
		"clientInfo": map[string]string{"name": "raw", "version": "1"}})
	switch {
	case err != nil:
		return err
	case f.Error != nil:
		return errors.New(f.Error.Message)
	}
	return h.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// open starts a server and opens the connection.
func (p *place) open(args ...string) *host {
	p.t.Helper()
	h := p.serve(args...)
	if err := h.initialize(); err != nil {
		p.t.Fatal(err)
	}
	return h
}

// reply is a tool's answer.
type reply struct {
	text       string
	structured json.RawMessage
	refused    bool // isError
}

// asTool reads the answer of a tool.
func (f frame) asTool() (reply, error) {
	if f.Error != nil {
		return reply{}, fmt.Errorf("error %d: %s", f.Error.Code, f.Error.Message)
	}
	var result struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	if err := json.Unmarshal(f.Result, &result); err != nil {
		return reply{}, err
	}
	if len(result.Content) != 1 || result.Content[0].Type != "text" || result.Content[0].Text == "" {
		return reply{}, fmt.Errorf("no text in %s", f.Result)
	}
	return reply{result.Content[0].Text, result.Structured, result.IsError}, nil
}

type arguments = map[string]any

// askTool calls a tool without waiting.
func (h *host) askTool(tool string, args any) (pending, error) {
	return h.ask("tools/call", map[string]any{"name": tool, "arguments": args})
}

// tool calls a tool.
func (h *host) tool(tool string, args any) (reply, error) {
	sent, err := h.askTool(tool, args)
	if err != nil {
		return reply{}, err
	}
	f, err := sent.wait()
	if err != nil {
		return reply{}, err
	}
	return f.asTool()
}

// do calls a tool that must accept.
func (h *host) do(tool string, args any) reply {
	h.t.Helper()
	got, err := h.tool(tool, args)
	if err != nil {
		h.t.Fatalf("%s: %v\n%s", tool, err, h.errors)
	}
	if got.refused {
		h.t.Fatalf("%s: %s\n%s", tool, got.text, h.errors)
	}
	return got
}

// refusal calls a tool that must refuse, and returns the reason.
func (h *host) refusal(tool string, args any) string {
	h.t.Helper()
	got, err := h.tool(tool, args)
	if err != nil {
		h.t.Fatalf("%s: %v\n%s", tool, err, h.errors)
	}
	if !got.refused {
		h.t.Fatalf("%s was accepted: %s", tool, got.text)
	}
	return got.text
}

// next waits for a message, other than an answer, that contains all the words.
func (h *host) next(words ...string) frame {
	h.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case f := <-h.messages:
			text, _ := json.Marshal(f)
			if containsAll(string(text), words) {
				return f
			}
		case <-late.C:
			h.t.Fatalf("no message with %q in %v\n%s", words, patience, h.errors)
		}
	}
}

func containsAll(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// kill kills the server and waits until it is gone.
func (h *host) kill() {
	_ = h.cmd.Process.Kill()
	<-h.ended
	_ = h.cmd.Wait()
}

// leave closes the server's input, as an ending host does, and returns the exit code.
func (h *host) leave() int {
	h.t.Helper()
	_ = h.in.Close()
	return h.wait()
}

// wait returns the exit code of a server that is ending.
func (h *host) wait() int {
	h.t.Helper()
	late := time.AfterFunc(patience, func() {
		h.t.Errorf("the server did not end in %v", patience)
		_ = h.cmd.Process.Kill()
	})
	defer late.Stop()
	<-h.ended
	_ = h.cmd.Wait()
	return h.cmd.ProcessState.ExitCode()
}

func (h *host) cleanUp() {
	if h.cmd.ProcessState == nil {
		if code := h.leave(); code != 0 {
			h.t.Errorf("the server ended with exit code %d\n%s", code, h.errors)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, line := range h.foul {
		h.t.Errorf("no message on standard output: %.200q", line)
	}
}
