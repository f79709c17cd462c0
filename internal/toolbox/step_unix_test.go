//go:build unix

package toolbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/toolbox"
)

// TestCommandsAsSteps: a command's standard output without newlines at its end is its value, and a failed command explains its failure.
func TestCommandsAsSteps(t *testing.T) {
	t.Parallel()
	box := open(t, map[string]string{"a b.txt": "text\n"}, toolbox.Options{Launcher: launcher()})
	for name, test := range map[string]struct {
		args  string
		value string
		says  []string // in the error, or in the text if there is none
		again bool
	}{
		"prints":            {args: `{"command":"printf 'a\\tb\\n\\n'; echo no >&2"}`, value: `"a\tb"`},
		"prints nothing":    {args: `{"command":":"}`, value: `""`},
		"like a reference":  {args: `{"command":"echo '$S001'"}`, value: `"$S001"`},
		"like JSON":         {args: `{"command":"echo '{\"a\":1}'"}`, value: `"{\"a\":1}"`},
		"control":           {args: `{"command":"printf '\\033[1mx'"}`, value: `"\u001b[1mx"`},
		"not UTF-8":         {args: `{"command":"printf 'a\\377'"}`, says: []string{"no value", "not UTF-8"}},
		"too much":          {args: `{"command":"head -c 5000000 /dev/zero"}`, says: []string{"it was done, but", "longer than 4096 KB"}},
		"as much as can be": {args: `{"command":"head -c 4194304 /dev/zero | tr '\\0' x"}`, value: `"` + strings.Repeat("x", 4<<20) + `"`},
		"too much as JSON":  {args: `{"command":"head -c 1000000 /dev/zero"}`, says: []string{"it was done, but", "longer than 4096 KB"}},
		"fails":             {args: `{"command":"echo out; echo why >&2; exit 3"}`, says: []string{"Exit code 3", "why"}},
		"fails, on stdout":  {args: `{"command":"echo why; exit 3"}`, says: []string{"Exit code 3", "why"}},
		"fails, at length":  {args: `{"command":"seq 100000; echo FAIL: it; seq 999; exit 1"}`, says: []string{"FAIL: it", "999"}},
		"later":             {args: `{"command":"exit 75"}`, says: []string{"Exit code 75"}, again: true},
		"dies":              {args: `{"command":"kill -SEGV $$"}`, says: []string{"Exit code 139"}},
		"is killed":         {args: `{"command":"kill -KILL $$"}`, says: []string{"Exit code 137"}},
		"times out":         {args: `{"command":"echo so far; sleep 1000","timeout":3}`, says: []string{"the time-out", "so far"}},
		"by a variable":     {args: `{"command":"cat \"$FILE\"","env":{"FILE":"a b.txt"}}`, value: `"text"`},
		"by many": {args: `{"command":"printf %s, \"$N\" \"$B\" \"$L\" \"$O\" \"$Z\"",` +
			`"env":{"N":1.50,"B":true,"L":[ 1, "a" ],"O":{"x": "é"},"Z":null}}`, value: `"1.50,true,[1,\"a\"],{\"x\":\"é\"},null,"`},
		"no code": {args: `{"command":"echo \"$X\" $X","env":{"X":"$(touch planted); touch planted #"}}`,
			value: `"$(touch planted); touch planted # $(touch planted); touch planted #"`},
		"one of ours":         {args: `{"command":"echo \"$HOME\"","env":{"HOME":"/planted"}}`, says: []string{"/env/HOME", "cannot be"}},
		"unknown interpreter": {args: `{"command":"no-such-program"}`, says: []string{"Exit code 127", "not found"}},
	} {
		out := called(t, box, "bash_execute", test.args)
		late, cut := name == "times out", name == "times out" || name == "is killed"
		if string(out.Value) != test.value || out.OK != (out.Error == "") || out.Transient != test.again ||
			out.TimedOut != late || out.Cut != cut {
			t.Errorf("%s: %+v\nvalue %.200s", name, out, out.Value)
		}
		for _, says := range test.says {
			if text := out.Error; !strings.Contains(text, says) && (text != "" || !strings.Contains(out.Text, says)) {
				t.Errorf("%s: %q does not say %q", name, text, says)
			}
		}
		if len(out.Error) > 1_200 {
			t.Errorf("%s: the error has %d bytes", name, len(out.Error))
		}
	}
	if _, err := open(t, nil, toolbox.Options{}).View(t.Context(), toolbox.View{Path: "planted"}); err == nil {
		t.Error("a value was run")
	}
}

// TestValuesReachCommandsAsTheyAre: values of variables reach the command unchanged, and no part of them is run.
func TestValuesReachCommandsAsTheyAre(t *testing.T) {
	box := open(t, nil, toolbox.Options{})
	rapidtest.Check(t, func(t *rapid.T) {
		code := rapid.SampledFrom([]string{"$(touch planted)", "`touch planted`", "'; touch planted; '", "\"; touch planted; \"",
			"${X:=planted}", "\n touch planted\n", "() { :; }; touch planted", "$S001", "$item", "-n", "*", "\\", "é\u202e\x1b[2J"})
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(code, rapid.StringN(0, 20, 40)), 1, 6).Draw(t, "parts"), "")
		text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "")
		args, err := json.Marshal(map[string]any{"command": `printf %s "$VALUE"; : $VALUE`, "env": map[string]string{"VALUE": text}})
		if err != nil {
			t.Fatal(err)
		}
		out, err := tool(t, box, "bash_execute").Call(t.Context(), args, toolbox.Watch{})
		var got string
		if err != nil || !out.OK || json.Unmarshal(out.Value, &got) != nil || got != strings.TrimRight(text, "\r\n") {
			t.Fatalf("%q became %q: %+v, %v", text, got, out, err)
		}
		if entries, err := os.ReadDir(box.Path()); err != nil || len(entries) > 0 {
			t.Fatalf("%q left %v, %v", text, entries, err)
		}
	})
}

// TestTimeOfAStep: a command has its step's time, not the default of a call; earlier output is reported.
func TestTimeOfAStep(t *testing.T) {
	t.Parallel()
	box := kept(t, toolbox.Options{Limits: toolbox.Limits{Timeout: time.Millisecond}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := tool(t, box, "bash_execute").Call(ctx, json.RawMessage(`{"command":"sleep 0.2; echo done"}`), toolbox.Watch{})
	if err != nil || !out.OK {
		t.Errorf("%+v, %v", out, err)
	}
	short, end := context.WithTimeout(t.Context(), 3*time.Second)
	defer end()
	out, err = tool(t, box, "bash_execute").Call(short, json.RawMessage(`{"command":"echo so far; sleep 1000"}`), toolbox.Watch{})
	if err != nil || out.OK || !out.TimedOut || !out.Cut || !strings.Contains(out.Text, "so far") {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestOutputOfAStoppedCommand: a command that a person stops was cut, and its output so far is kept.
func TestOutputOfAStoppedCommand(t *testing.T) {
	t.Parallel()
	box := kept(t, toolbox.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	log := &awaited{dir: box.Path(), until: "so far\n", then: func(string) { cancel(process.ErrStopped) }}
	out, err := tool(t, box, "bash_execute").Call(ctx, json.RawMessage(`{"command":"echo so far; sleep 1000"}`), toolbox.Watch{Log: log})
	if err != nil || out.OK || !out.Cut || !strings.Contains(out.Text, "so far") || !strings.Contains(out.Error, "stopped on request") {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestWatchingACommand: its identity is reported before it ends, and the output of both streams as it arrives.
func TestWatchingACommand(t *testing.T) {
	box := kept(t, toolbox.Options{})
	told := make(chan process.Identity, 1)
	var id process.Identity
	ctx, cancel := context.WithCancelCause(t.Context())
	log := &awaited{dir: box.Path(), until: "three\n", then: func(all string) {
		if all != "one\ntwo\n\xffthree\n" {
			t.Errorf("%q", all)
		}
		if id = <-told; !id.Alive() {
			t.Error("what runs is not what was told")
		}
		cancel(errors.New("seen"))
	}}
	_, err := tool(t, box, "bash_execute").Call(ctx, json.RawMessage(
		`{"command":"echo one; until [ -e 1 ]; do sleep 0.01; done; echo two >&2; until [ -e 2 ]; do sleep 0.01; done; `+
			`printf '\\377three\\n'; sleep 1000"}`),
		toolbox.Watch{Log: log, Started: func(id process.Identity) { told <- id }})
	if err == nil || !strings.Contains(err.Error(), "seen") {
		t.Error(err)
	}
	if id.Alive() {
		t.Error("it is alive after it was cancelled")
	}
}

// awaited is a log that calls a function, once, when the text written ends with a given one. For each line there is a
// file in a folder, named by the line's number.
type awaited struct {
	dir   string
	mu    sync.Mutex
	all   bytes.Buffer
	until string
	then  func(all string)
}

func (a *awaited) Write(data []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all.Write(data)
	lines := strconv.Itoa(bytes.Count(a.all.Bytes(), []byte("\n")))
	if err := os.WriteFile(filepath.Join(a.dir, lines), nil, 0o600); err != nil {
		return 0, err
	}
	if strings.HasSuffix(a.all.String(), a.until) {
		a.then(a.all.String())
	}
	return 0, errors.New("the disk is full") // not the command's fault
}

// TestFloodIsBounded: a step that prints 1 GB adds at most 16 MB, as does one with the longest possible value.
func TestFloodIsBounded(t *testing.T) {
	const most = 16 << 20
	box := open(t, nil, toolbox.Options{})
	for command, prints := range map[string]counting{
		`head -c 500000000 /dev/zero; head -c 500000000 /dev/zero >&2; echo end`: 1_000_000_004,
		`head -c 4194304 /dev/zero | tr '\0' x`:                                  4 << 20,
		`head -c 4194304 /dev/zero`:                                              4 << 20,
	} {
		args := testenv.Must(json.Marshal(map[string]any{"command": command, "timeout": 600}))(t)
		var log counting
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		out, err := tool(t, box, "bash_execute").Call(t.Context(), args, toolbox.Watch{Log: &log})
		runtime.ReadMemStats(&after)
		if err != nil || out.OK != (out.Value != nil) || !out.OK && !strings.Contains(out.Error, "longer than") || len(out.Text) > 64<<10 {
			t.Errorf("%s: %v, %s", command, err, out.Error)
		}
		if grown := int64(after.Sys) - int64(before.Sys); grown > most {
			t.Errorf("%s: %d MB more", command, grown>>20)
		}
		if log != prints {
			t.Errorf("%s: %d bytes were logged", command, log)
		}
	}
}

// counting counts the bytes written to it.
type counting int64

func (c *counting) Write(data []byte) (int, error) {
	*c += counting(len(data))
	return len(data), nil
}
