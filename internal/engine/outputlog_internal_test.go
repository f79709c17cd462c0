package engine

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// For any pattern of writes, reads and rotations, everything is read in order, except parts that were overwritten
// before.
func TestLogIsReadWhileItIsWritten(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		dir := testenv.Must(os.MkdirTemp("", "log"))(t)
		defer os.RemoveAll(dir)
		const half = 100
		log := Log{filepath.Join(dir, "x")}
		w := logWriter{base: log.base, half: half}
		defer w.close()
		r := log.Open()
		defer r.Close()
		var written, read []byte
		unread := 0
		lost := false
		for i := range rapid.IntRange(1, 60).Draw(t, "writes") {
			data := []byte(fmt.Sprintf("%03d:%s\n", i, bytes.Repeat([]byte("x"), rapid.IntRange(0, 40).Draw(t, "length"))))
			_, _ = w.Write(data)
			written = append(written, data...)
			if unread += len(data); unread > half {
				lost = true
			}
			if rapid.Bool().Draw(t, "read") {
				some := testenv.Must(io.ReadAll(r))(t)
				read, unread = append(read, some...), 0
			}
		}
		rest := testenv.Must(io.ReadAll(r))(t)
		read = append(read, rest...)
		if !lost && !bytes.Equal(read, written) {
			t.Fatalf("read\n%s\nof\n%s", read, written)
		}
		for line := range bytes.Lines(read) { // in order, each once
			at := bytes.Index(written, line)
			if at < 0 {
				t.Fatalf("%q was not written, or not after what was read before it", line)
			}
			written = written[at+len(line):]
		}
		if len(written) > 0 {
			t.Fatalf("the end was not read: %q", written)
		}
	})
}

func TestKeptLogs(t *testing.T) {
	dir := t.TempDir()
	e := New(nil, nil, nil, Options{StateDir: dir})
	for _, a := range []plan.Attempt{{Plan: "p-1", Step: 2, Attempt: 10}, {Plan: "p-1", Step: 2, Attempt: 9},
		{Plan: "p-12", Step: 2, Attempt: 1}, {Plan: "p-1-2", Step: 3, Attempt: 1}} {
		log := e.newAgentLog(a)
		_, _ = log.Write([]byte("x"))
		log.close()
		if kept := AgentLog(dir, a); !kept.Exists() {
			t.Errorf("%+v is not there", a)
		}
	}
	if got := fmt.Sprint(KeptLogs(dir, "p-1")); got != "map[S002:[9 10]]" {
		t.Error(got)
	}
}
