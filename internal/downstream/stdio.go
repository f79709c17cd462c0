package downstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

const (
	noTimeout     = 100 * 365 * 24 * time.Hour
	exitGrace     = time.Second      // for a server to end by itself after its input has ended
	writeTimeout  = 10 * time.Second // for a server to read a message
	maxComplaints = 8 << 10          // bytes kept of its output for people
)

// pipes is the SDK's transport to a server over its standard input and output. The SDK's own ends the connection at the
// first line that is not a message, which servers do print, and waits forever for a server that does not read.
type pipes struct {
	*conn
	out        *bufio.Reader
	in         io.Writer
	turn       chan struct{} // to write
	complaints *safetext.TailWriter
}

// startStdio starts a server, which ends with the connection, as does everything it starts. Its standard error goes
// to complaints.
func startStdio(launcher *process.Launcher, t *target, c *conn, complaints *safetext.TailWriter) (mcp.Transport, error) {
	if problem := t.missing(); problem != "" {
		return nil, c.fail("could not be started: %s", c.excerpt(problem))
	}
	far, near, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, printed := io.Pipe()
	cmd := exec.Command(t.command, t.args...)
	cmd.Dir, cmd.Env = t.dir, append(process.Environment(os.Environ()), t.env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = far, printed, complaints
	ctx, kill := context.WithCancel(context.Background())
	context.AfterFunc(c.life, func() {
		time.AfterFunc(exitGrace, kill)
		_ = out.Close()  // not read from here on
		_ = near.Close() // a message may be blocked in it
	})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		result, err := launcher.Run(ctx, cmd, process.Options{Timeout: noTimeout,
			Started: func(process.Identity) { _ = far.Close() }})
		_ = far.Close() // if the start failed
		_ = printed.CloseWithError(c.ended(result, err, complaints))
		kill()
	}()
	c.wait = func() { <-gone }
	return &pipes{c, bufio.NewReaderSize(out, 64<<10), near, make(chan struct{}, 1), complaints}, nil
}

// missing says why a server cannot be started; "" if no reason is known.
func (t *target) missing() string {
	if info, err := os.Stat(t.dir); t.dir != "" && (err != nil || !info.IsDir()) {
		return "the folder " + t.dir + ", its cwd, does not exist"
	}
	if _, err := exec.LookPath(t.command); err == nil {
		return ""
	}
	problem := "the program " + plan.Quote(t.command) + " was not found"
	if strings.ContainsAny(t.command, " \t") {
		problem += "; write its arguments in args"
	}
	return problem
}

func (c *conn) ended(result process.Result, err error, complaints *safetext.TailWriter) *Error {
	problem := fmt.Sprintf("ended with exit code %d", result.ExitCode)
	if err != nil && !errors.Is(err, context.Canceled) {
		problem = "could not be started: " + c.excerpt(strings.TrimPrefix(err.Error(), "start the command: "))
	}
	if last := lastLines(complaints, 1, c.secrets); len(last) > 0 {
		problem += `; it printed "` + last[0] + `"`
	}
	return c.fail("%s", problem)
}

// lastLines returns the last lines that a server printed, safe to show.
func lastLines(complaints *safetext.TailWriter, limit int, secrets []string) []string {
	var lines []string
	for line := range strings.Lines(complaints.End().Text) {
		if line = safetext.Line(line); line != "" {
			lines = append(lines, outbound.Excerpt(line, secrets...))
		}
	}
	return lines[max(0, len(lines)-limit):]
}

// Connect returns the pipes, which are a connection of the SDK's as well.
func (p *pipes) Connect(context.Context) (mcp.Connection, error) { return p, nil }

// SessionID is empty: pipes have no sessions.
func (p *pipes) SessionID() string { return "" }

// Close ends the server.
func (p *pipes) Close() error {
	p.end(errClosed)
	return nil
}

// Read returns the next message. Other lines are kept for people to see.
func (p *pipes) Read(context.Context) (jsonrpc.Message, error) {
	for p.failure() == nil {
		line, err := p.line()
		if err != nil {
			p.end(err)
			break
		}
		m, err := jsonrpc.DecodeMessage(line)
		switch {
		case err == nil:
			p.inspect(m, len(line))
			return m, nil
		case bytes.Contains(line, []byte(`"jsonrpc"`)):
			p.failAll(p.notJSON())
		case len(line) > 0:
			p.countUnasked(len(line))
			_, _ = p.complaints.Write(append(line[:min(len(line), 200)], '\n'))
		}
	}
	return nil, p.failure()
}

// line returns the next line, empty if it was too long to be kept.
func (p *pipes) line() (line []byte, err error) {
	for length := 0; p.life.Err() == nil; {
		part, err := p.out.ReadSlice('\n')
		length += len(part)
		switch {
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case length <= maxFrame:
			line = append(line, part...)
		case err == nil:
			p.failAll(p.tooLong())
			return nil, nil
		default:
			line = nil
			p.countUnasked(0) // the line may never end
		}
		if err == nil {
			return line, nil
		}
	}
	return nil, p.failure()
}

// Write sends a message. A server that does not read it is ended: half of it may have arrived.
func (p *pipes) Write(ctx context.Context, m jsonrpc.Message) error {
	frame, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
	case <-p.life.Done():
		return p.failure()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if one, ok := ctx.Value(callKey{}).(*call); ok {
		p.expect(m, one)
		one.sent.Store(true)
	}
	defer time.AfterFunc(writeTimeout, func() { p.end(p.fail("was ended because it does not read its messages")) }).Stop()
	_, err = p.in.Write(append(frame, '\n'))
	return err
}
