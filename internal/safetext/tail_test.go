package safetext_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/planloop/planloop/internal/safetext"
)

func TestOf(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"short":            {"one\n", "one\n"},
		"exact":            {"0123456789abcdefghij", "0123456789abcdefghij"},
		"whole lines":      {"first line\nsecond line\nthird\n", "second line\nthird\n"},
		"one long line":    {strings.Repeat("x", 30) + "end", strings.Repeat("x", 17) + "end"},
		"mostly one line":  {strings.Repeat("x", 30) + "\nend", strings.Repeat("x", 16) + "\nend"},
		"whole characters": {strings.Repeat("é", 30) + "x", strings.Repeat("é", 9) + "x"},
		"no UTF-8":         {strings.Repeat("\x80", 30), strings.Repeat("\x80", 20)},
	} {
		if got := safetext.Tail(c.text, 20); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// For any division into writes, the writer keeps the same as Of.
func TestWriterKeepsWhatOfKeeps(t *testing.T) {
	text := strings.Repeat("a line\nand another, longer one\n\né", 9)
	for most := range 60 {
		for size := 1; size < 100; size += 7 {
			w := &safetext.TailWriter{Max: most}
			for rest := text; rest != ""; {
				n, err := w.Write([]byte(rest[:min(size, len(rest))]))
				if err != nil || n != min(size, len(rest)) {
					t.Fatal(n, err)
				}
				rest = rest[n:]
				written := text[:len(text)-len(rest)]
				got, want := w.End(), safetext.Tail(written, most)
				if got.Text != want || got.Left != int64(len(written)-len(want)) {
					t.Fatalf("%d of %q: %+v, want %q", most, written, got, want)
				}
				if before := strings.TrimSuffix(written, want); got.Mid && (got.Left == 0 || strings.HasSuffix(before, "\n") &&
					want != "" && len(want) < most) {
					t.Fatalf("%d of %q: %+v is no middle of a line", most, written, got)
				}
			}
		}
	}
}

func TestConcurrentWriters(t *testing.T) {
	w := &safetext.TailWriter{Max: 100}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				_, _ = w.Write([]byte("one line\n"))
			}
		})
	}
	all.Wait()
	if end := w.End(); end.Text != strings.Repeat("one line\n", 11) || int(end.Left)+len(end.Text) != 36_000 || end.Mid {
		t.Errorf("%+v", end)
	}
}
