package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

const opening = `{"jsonrpc":"2.0","id":0,"method":"initialize",` +
	`"params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"pipe","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// TestPipedInput feeds a server from a pipe that ends: it answers all input, in order, before it ends.
func TestPipedInput(t *testing.T) {
	t.Parallel()
	const calls = 200
	p := newBusyPlace(t)
	setUp(p, 1)
	var input strings.Builder
	input.WriteString(opening)
	for n := range calls {
		fmt.Fprintf(&input, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"planning_mark_step",`+
			`"arguments":{"step_id":"S001","status":"in_progress","note":"piped %d"}}}`+"\n", n+1, n+1)
	}
	got := p.feed(strings.TrimSuffix(input.String(), "\n"), "serve")
	if got.code != 0 || got.err != "" {
		t.Errorf("exit code %d, on standard error: %s", got.code, got.err)
	}
	lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
	if len(lines) != calls+1 {
		t.Fatalf("%d lines, want %d", len(lines), calls+1)
	}
	for n, line := range lines {
		f, err := parseFrame([]byte(line))
		if err != nil || f.Error != nil || string(f.ID) != fmt.Sprint(n) {
			t.Fatalf("line %d is %.200s", n, line)
		}
	}
	logged := notes(p.records(1))
	for n := range calls {
		if len(logged) != calls || logged[n] != fmt.Sprintf("piped %d", n+1) {
			t.Fatalf("the log has %d notes, not in the order sent: %q", len(logged), logged)
		}
	}
}

// TestEmptyInput is a host that ends before its first message.
func TestEmptyInput(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, input := range []string{"", "\n", "\n\n\n", " "} {
		if got := p.feed(input, "serve"); got.code != 0 || got.out != "" || got.err != "" {
			t.Errorf("%q: %+v", input, got)
		}
	}
}

// TestHostThatLeaves closes both ends of a server at once, in mid-answer.
func TestHostThatLeaves(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 200)
	cmd, in, out, errors := answering(p, 50)
	_ = out.Close()
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, errors)
	}
	p.sound()
}

// answering starts a server that has begun to answer requests for a long document. The caller closes in and out.
func answering(p *place, requests int) (cmd *exec.Cmd, in io.WriteCloser, out io.ReadCloser, errors *output) {
	p.t.Helper()
	cmd, errors = p.command("serve"), &output{}
	cmd.Stderr = errors
	in = testenv.Must(cmd.StdinPipe())(p.t)
	out = testenv.Must(cmd.StdoutPipe())(p.t)
	testenv.Check(p.t, cmd.Start())
	testenv.Must(in.Write([]byte(opening + strings.Repeat(readCurrent, requests))))(p.t)
	testenv.Must(out.Read(make([]byte, 1)))(p.t)
	return cmd, in, out, errors
}

// readCurrent requests a document that is long if the plan is.
const readCurrent = `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"plan://current"}}` + "\n"

// TestVersionAndHelpAreClean checks the output for a person who merely looks around.
func TestVersionAndHelpAreClean(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, args := range [][]string{{"version"}, {"--help"}, {"serve", "--help"}} {
		if got := p.run(args...); got.code != 0 || got.out == "" || got.err != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
	if got := p.run("version", "--json"); got.code != 0 || !json.Valid(bytes.TrimSpace([]byte(got.out))) {
		t.Errorf("version --json: %+v", got)
	}
	if got := p.run("no-such-command"); got.code != 2 || got.out != "" || !strings.Contains(got.err, "planloop --help") {
		t.Errorf("an unknown command: %+v", got)
	}
}
