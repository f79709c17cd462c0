package downstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tail"
	"github.com/planloop/planloop/plan"
)

const (
	forever  = 100 * 365 * 24 * time.Hour
	parting  = time.Second // that a server has to end by itself when its input has ended
	complain = 8 << 10     // bytes of what it prints for people that are kept
)

// stdio is a server that is spoken to over its standard input and output. Nothing that it
// starts outlives it.
type stdio struct {
	conn  *conn
	queue chan *handover
	input *os.File
	kill  context.CancelFunc
	gone  chan struct{} // it has ended
}

// handover is a frame on its way to the one who writes.
type handover struct {
	frame []byte
	of    *call
}

// startStdio starts a server. What it prints on standard error goes to complaints.
func startStdio(launcher *process.Launcher, t *target, c *conn, complaints *tail.Writer) error {
	if problem := t.missing(); problem != "" {
		return c.fail("could not be started: %s", c.excerpt(problem))
	}
	far, near, err := os.Pipe()
	if err != nil {
		return err
	}
	ctx, kill := context.WithCancel(context.Background())
	s := &stdio{conn: c, queue: make(chan *handover), input: near, kill: kill, gone: make(chan struct{})}
	c.wire = s
	c.noise = func(line []byte) { _, _ = complaints.Write(append(bytes.Clone(line), '\n')) }
	cmd := exec.Command(t.command, t.args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = t.dir, append(process.Environment(os.Environ()), t.env...), far, complaints
	cmd.Stdout = &frames{
		whole: func(frame []byte) { c.receive(frame, nil) },
		long:  func(head, end []byte) { c.tooLong(head, end, nil) },
		ended: func() { c.end(c.fail("was ended because it answered with more than %d MB", maxSkipped>>20)); kill() },
	}
	go func() {
		defer close(s.gone)
		result, err := launcher.Run(ctx, cmd, process.Options{Timeout: forever,
			Started: func(process.Identity) { _ = far.Close() }})
		_ = far.Close() // if it was never started
		c.end(c.ended(result, err, complaints))
		_ = near.Close()
		kill()
	}()
	go s.write(ctx)
	return nil
}

// missing says what is not there that a server needs to be started; "" for nothing that is known of.
func (t *target) missing() string {
	if info, err := os.Stat(t.dir); t.dir != "" && (err != nil || !info.IsDir()) {
		return "there is no folder " + t.dir + ", its cwd"
	}
	if _, err := exec.LookPath(t.command); err == nil {
		return ""
	} else if strings.ContainsAny(t.command, " \t") {
		return "there is no program " + plan.Quote(t.command) + "; what follows its name belongs into args"
	}
	return "there is no program " + plan.Quote(t.command)
}

// ended says how a server ended.
func (c *conn) ended(result process.Result, err error, complaints *tail.Writer) *Error {
	problem := fmt.Sprintf("ended with exit code %d", result.ExitCode)
	if err != nil && !errors.Is(err, context.Canceled) {
		problem = "could not be started: " + c.excerpt(strings.TrimPrefix(err.Error(), "start the command: "))
	}
	if last := c.lines(complaints, 1); len(last) > 0 {
		problem += `; it printed "` + c.excerpt(last[0]) + `"`
	}
	return c.fail("%s", problem)
}

// lines returns the last lines that a server printed, fit to be shown.
func (c *conn) lines(complaints *tail.Writer, most int) []string {
	var lines []string
	for line := range strings.Lines(complaints.End().Text) {
		if line = safetext.Line(line); line != "" {
			lines = append(lines, c.excerpt(line))
		}
	}
	return lines[max(0, len(lines)-most):]
}

// write hands frames to the server, one after the other.
func (s *stdio) write(ctx context.Context) {
	for {
		select {
		case h := <-s.queue:
			if h.of != nil && !h.of.take() {
				continue
			}
			if _, err := s.input.Write(append(h.frame, '\n')); err != nil {
				return // it has ended, or ends
			}
		case <-ctx.Done():
			return
		}
	}
}

func (s *stdio) send(one *call) {
	select {
	case s.queue <- &handover{one.frame, one}:
	case <-one.ctx.Done():
	case <-s.conn.done:
	}
}

func (s *stdio) post(frame []byte) {
	late := time.NewTimer(parting)
	defer late.Stop()
	select {
	case s.queue <- &handover{frame: frame}:
	case <-s.conn.done:
	case <-late.C: // it does not read
	}
}

// close lets the server end by itself for a moment, then ends it with all that it started.
func (s *stdio) close() {
	_ = s.input.Close()
	late := time.NewTimer(parting)
	defer late.Stop()
	select {
	case <-s.gone:
	case <-late.C:
		s.kill()
		<-s.gone
	}
}
