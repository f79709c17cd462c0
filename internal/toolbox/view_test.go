package toolbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestView(t *testing.T) {
	tests := []struct {
		name, text string
		in         toolbox.View
		want       string
	}{
		{"whole", "one\ntwo\n", toolbox.View{}, "f: lines 1-2 of 2\n1\tone\n2\ttwo"},
		{"empty", "", toolbox.View{}, "f: empty"},
		{"one blank line", "\n", toolbox.View{}, "f: lines 1-1 of 1\n1\t"},
		{"no newline", "one", toolbox.View{}, "f: lines 1-1 of 1 (no newline at the end)\n1\tone"},
		{"first page", numbered(1, 12), toolbox.View{},
			"f: lines 1-5 of 12\n1\tline 1\n2\tline 2\n3\tline 3\n4\tline 4\n5\tline 5\nMore: view \"f\" from 6."},
		{"last page", numbered(1, 12), toolbox.View{From: 11}, "f: lines 11-12 of 12\n11\tline 11\n12\tline 12"},
		{"last line without a newline, uncounted", numbered(1, 6) + "x", toolbox.View{From: 6, To: 6},
			"f: lines 6-6 of 7\n6\tline 6\nMore: view \"f\" from 7."},
		{"a piece", numbered(1, 12), toolbox.View{From: 3, To: 4}, "f: lines 3-4 of 12\n3\tline 3\n4\tline 4\nMore: view \"f\" from 5."},
		{"to alone", numbered(1, 3), toolbox.View{To: 1}, "f: lines 1-1 of 3\n1\tline 1\nMore: view \"f\" from 2."},
		{"to behind the end", numbered(1, 2), toolbox.View{From: 2, To: 9}, "f: lines 2-2 of 2\n2\tline 2"},
		{"CR LF", "one\r\ntwo\r\n", toolbox.View{}, "f: lines 1-2 of 2 (lines end with CR LF)\n1\tone\n2\ttwo"},
		{"mixed", "one\ntwo\r\n", toolbox.View{},
			"f: lines 1-2 of 2 (line endings are mixed: \\x0d marks CR LF after the first LF)\n1\tone\n2\ttwo\\x0d"},
		{"byte order mark", "\ufeffone\n", toolbox.View{}, "f: lines 1-1 of 1 (begins with a byte order mark)\n1\tone"},
		{"control characters", "\x1b]0\x07\t\x7f\u009b\u202e\n", toolbox.View{}, `f: lines 1-1 of 1` +
			"\n1\t\\x1b]0\\x07\t\\x7f\\x9b\\u202e"},
		{"Latin-1", "caf\xe9\n", toolbox.View{}, `f: lines 1-1 of 1 (not UTF-8, other bytes shown as \xNN)` + "\n1\tcaf\\xe9"},
		{"a long line", strings.Repeat("x", 50) + "\nend\n", toolbox.View{}, "f: lines 1-2 of 2 (long lines cut)\n1\t" +
			strings.Repeat("x", 30) + " … +20 bytes\n2\tend"},
		{"a long line of long characters", strings.Repeat("é", 40) + "\r\n", toolbox.View{},
			"f: lines 1-1 of 1 (lines end with CR LF; long lines cut)\n1\t" + strings.Repeat("é", 15) + " … +50 bytes"},
		{"binary", "ab\x00c", toolbox.View{}, "f: binary, 4 bytes."},
		{"UTF-16", "\xff\xfea\x00", toolbox.View{}, "f: text in UTF-16; convert it with a command to read it, 4 bytes."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			box := open(t, map[string]string{"f": test.text}, toolbox.Options{Limits: toolbox.Limits{PageLines: 5, LineBytes: 30}})
			test.in.Path = "f"
			reply := testenv.Must(box.View(t.Context(), test.in))(t)
			if got := reply.Text(); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			if reply.Bytes != int64(len(test.text)) {
				t.Errorf("%d bytes of %d", reply.Bytes, len(test.text))
			}
		})
	}
}

// The pages of a file, in order, make up the file.
func TestPagesFollowEachOther(t *testing.T) {
	text := numbered(1, 1_000) + strings.Repeat("long ", 100) + "\n" + numbered(1, 20) + "the end"
	box := open(t, map[string]string{"f": text}, toolbox.Options{Limits: toolbox.Limits{PageLines: 70, PageBytes: 700}})
	var got []string
	for from := 1; from > 0; {
		reply := testenv.Must(box.View(t.Context(), toolbox.View{Path: "f", From: from}))(t)
		if len(reply.Content) > 700 || reply.From != from {
			t.Fatalf("a page of %d bytes from %d, not %d", len(reply.Content), reply.From, from)
		}
		for i, line := range strings.Split(reply.Content, "\n") {
			number, line, _ := strings.Cut(line, "\t")
			if number != fmt.Sprint(from+i) {
				t.Fatalf("line %s, not %d", number, from+i)
			}
			got = append(got, line)
		}
		from = reply.Next
	}
	if strings.Join(got, "\n") != text {
		t.Error("the pages differ from the file")
	}
}

func TestViewRefuses(t *testing.T) {
	box := open(t, map[string]string{"f": "one\ntwo\n", "empty/f": ""}, toolbox.Options{})
	view := func(in toolbox.View) error { _, err := box.View(t.Context(), in); return err }
	refused(t, view(toolbox.View{Path: "missing"}), plan.NotFound, "/path", "does not exist")
	refused(t, view(toolbox.View{Path: "f/g"}), plan.InvalidInput, "/path", "not a directory")
	refused(t, view(toolbox.View{Path: "f", From: 3}), plan.InvalidInput, "/from", "has 2 lines")
	refused(t, view(toolbox.View{Path: "f", From: -1}), plan.InvalidInput, "/from", "less than 1")
	refused(t, view(toolbox.View{Path: "f", To: -1}), plan.InvalidInput, "/to", "less than 1")
	refused(t, view(toolbox.View{Path: "f", From: 2, To: 1}), plan.InvalidInput, "/to", "before from")
	refused(t, view(toolbox.View{Path: "empty", From: 5}), plan.InvalidInput, "/from", "has 1 entry")
	refused(t, view(toolbox.View{}), plan.InvalidInput, "/path", "empty")
}

func TestViewDirectory(t *testing.T) {
	box := open(t, map[string]string{"d/b.go": "package b\n", "d/a/x": "", "d/.hidden": "x", "d/a.b": ""},
		toolbox.Options{Limits: toolbox.Limits{PageLines: 4}})
	if err := os.Symlink("b.go", filepath.Join(box.Path(), "d/link")); err != nil {
		t.Skip(err)
	}
	reply, err := box.View(t.Context(), toolbox.View{Path: "d"})
	if err != nil {
		t.Fatal(err)
	}
	want := "d/: entries 1-4 of 5\n.hidden (1 byte)\na.b (0 bytes)\na/\nb.go (10 bytes)\nMore: view \"d\" from 5."
	if got := strings.ReplaceAll(reply.Text(), "(1 bytes)", "(1 byte)"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	reply, err = box.View(t.Context(), toolbox.View{Path: "d/", From: 5})
	if err != nil || reply.Content != "link -> b.go" || reply.Next != 0 {
		t.Errorf("%+v, %v", reply, err)
	}
	reply, err = box.View(t.Context(), toolbox.View{Path: "d/a", From: 1})
	if err != nil || reply.Text() != "d/a/: entries 1-1 of 1\nx (0 bytes)" {
		t.Errorf("%+v, %v", reply, err)
	}
}

// A huge file needs only the memory of a page, for any page and lines of any length.
func TestHugeFiles(t *testing.T) {
	const size = 256 << 20
	box := open(t, map[string]string{"f": numbered(1, 10_000)}, toolbox.Options{Limits: toolbox.Limits{SearchTime: 5 * time.Minute}})
	path := filepath.Join(box.Path(), "f")
	if err := os.Truncate(path, size); err != nil {
		t.Skip(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for from, want := range map[int]string{1: "1\tline 1\n", 9_000: "9000\tline 9000\n", 10_001: "10001\t" + strings.Repeat(`\x00`,
		500) + " … +"} {
		reply, err := box.View(t.Context(), toolbox.View{Path: "f", From: from})
		if err != nil || !strings.HasPrefix(reply.Content, want) {
			t.Fatalf("from %d: %.100q, %v", from, reply.Content, err)
		}
		if more := from < 10_001; (reply.Next > 0) != more || reply.Bytes != size {
			t.Errorf("from %d: next %d, %d bytes", from, reply.Next, reply.Bytes)
		}
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
	if _, err := box.View(t.Context(), toolbox.View{Path: "f", From: 10_002}); err == nil {
		t.Error("a line behind the end was shown")
	}
	_, err := box.ReadFile(t.Context(), toolbox.ReadFile{Path: "f"})
	refused(t, err, plan.InvalidInput, "/path", "larger than")
	_, err = box.StrReplace(t.Context(), toolbox.StrReplace{Path: "f", Old: "a", New: "b"})
	refused(t, err, plan.InvalidInput, "/path", "larger than")
}

func TestViewStopsWithItsCaller(t *testing.T) {
	box := open(t, map[string]string{"f": "x"}, toolbox.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := box.View(ctx, toolbox.View{Path: "f"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestViewStopsWhenTheTimeIsUp(t *testing.T) {
	box := open(t, map[string]string{"f": "x"}, toolbox.Options{Limits: toolbox.Limits{SearchTime: 1}})
	_, err := box.View(t.Context(), toolbox.View{Path: "f"})
	refused(t, err, plan.Conflict, "", "took too long")
}

// FuzzView: a page keeps its bounds and shows only text.
func FuzzView(f *testing.F) {
	for _, text := range []string{"", "a\nb", "\r\n\r", "\ufeff\xff\n", strings.Repeat("é\x1b", 40), "a\x00"} {
		f.Add([]byte(text), 1)
	}
	top := f.TempDir()
	box, err := toolbox.Open(top, toolbox.Options{Limits: toolbox.Limits{PageLines: 3, PageBytes: 100, LineBytes: 20}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = box.Close() })
	f.Fuzz(func(t *testing.T, text []byte, from int) {
		testenv.Check(t, os.WriteFile(filepath.Join(top, "f"), text, 0o600))
		reply, err := box.View(t.Context(), toolbox.View{Path: "f", From: from})
		var bad *plan.ValidationError
		if errors.As(err, &bad) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(reply.Content) > 100 || strings.Count(reply.Content, "\n") > 2 || !utf8.ValidString(reply.Content) ||
			strings.ContainsAny(reply.Content, "\x00\x1b\r\x7f") {
			t.Fatalf("%q became %q", text, reply.Content)
		}
		if reply.Next > 0 && reply.Next != reply.To+1 || reply.Total > 0 && reply.To > reply.Total {
			t.Fatalf("%+v", reply)
		}
	})
}
