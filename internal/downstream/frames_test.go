package downstream

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/safetext"
)

// pieces reads a text in pieces of the given sizes.
type pieces struct {
	text string
	size func() int
}

func (p *pieces) Read(into []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(into, p.text[:min(len(p.text), p.size())])
	p.text = p.text[n:]
	return n, nil
}

// reading returns a connection to a server that prints r.
func reading(t testing.TB, r io.Reader) *pipes {
	c := newConn(t.Context(), "s", &target{secrets: []string{"hunter22hunter22"}}, "1")
	return &pipes{c, bufio.NewReaderSize(r, 64<<10), nil, make(chan struct{}, 1), &safetext.TailWriter{Max: maxComplaints}}
}

// TestFramesAreLines reads whole lines up to the limit, however they arrive, and no part of longer ones.
func TestFramesAreLines(t *testing.T) {
	long := strings.Repeat("l", maxFrame-1)
	rapidtest.Check(t, func(r *rapid.T) { // megabytes each
		want := rapid.SliceOfN(rapid.SampledFrom([]string{"", " ", "a", `{"a":1}`, "x" + long, long + "yz", long}), 0, 5).Draw(r, "lines")
		text := &pieces{text: strings.Join(append(want, ""), "\n"), size: func() int {
			return rapid.SampledFrom([]int{7 << 10, 64 << 10, maxFrame, maxFrame + 1, 3 * maxFrame}).Draw(r, "n")
		}}
		p := reading(t, text)
		p.calls[1] = &call{end: func(error) {}}
		for _, want := range want {
			if len(want) >= maxFrame {
				want = ""
			}
			got, err := p.line()
			if err != nil || strings.TrimSuffix(string(got), "\n") != want {
				r.Fatalf("%d bytes of %d, %v", len(got), len(want), err)
			}
		}
		if _, err := p.line(); !errors.Is(err, io.EOF) {
			r.Error(err)
		}
	})
}

// TestEndlessLinesEndTheServer, because they can block all others.
func TestEndlessLinesEndTheServer(t *testing.T) {
	endless := &pieces{text: "x", size: func() int { return 1 }}
	p := reading(t, io.MultiReader(endless, zeroes{}))
	if m, err := p.Read(t.Context()); m != nil || err == nil || !strings.Contains(err.Error(), "floods planloop") {
		t.Errorf("%v, %v", m, err)
	}
}

type zeroes struct{}

func (zeroes) Read(into []byte) (int, error) {
	clear(into)
	return len(into), nil
}

// TestAServerThatDoesNotReadIsEnded, because its messages block all others.
func TestAServerThatDoesNotReadIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := reading(t, strings.NewReader(""))
		_, in := io.Pipe()
		p.in = in
		context.AfterFunc(p.life, func() { _ = in.Close() })
		one := &call{method: "tools/call", tool: "x", maxIdle: time.Hour}
		_, err := p.request(t.Context(), one, func(ctx context.Context) error {
			return p.Write(ctx, &jsonrpc.Request{Method: "tools/call"})
		})
		var failed *Error
		if !errors.As(err, &failed) || !failed.Sent || !strings.Contains(err.Error(), "does not read its messages") {
			t.Error(err)
		}
	})
}

// TestWhatIsReportedAsNotSentIsNotSent, even later: the caller may repeat the call.
func TestWhatIsReportedAsNotSentIsNotSent(t *testing.T) {
	id, err := jsonrpc.MakeID("1")
	if err != nil {
		t.Fatal(err)
	}
	for _, early := range []bool{true, false} {
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p := reading(t, strings.NewReader(""))
		p.in = in
		if !early {
			p.turn <- struct{}{} // another message is being written
		}
		ctx, cancel := context.WithCancel(t.Context())
		one := &call{method: "tools/call", tool: "x", maxIdle: time.Hour}
		_, err = p.request(ctx, one, func(ctx context.Context) error {
			if !early { // it waits for its turn until then
				time.AfterFunc(time.Millisecond, cancel)
			}
			err := p.Write(ctx, &jsonrpc.Request{ID: id, Method: "tools/call"})
			cancel()
			return err
		})
		var failed *Error
		if !errors.As(err, &failed) || failed.Sent != early || failed.Transient() == early {
			t.Errorf("early=%v: %v", early, err)
		}
		_ = in.Close()
		if text, err := io.ReadAll(out); err != nil || (len(text) > 0) != early {
			t.Errorf("early=%v: %q, %v", early, text, err)
		}
		_ = out.Close()
	}
}
