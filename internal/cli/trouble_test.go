package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestWhatHappenedIsTold(t *testing.T) {
	near, far := t.TempDir(), t.TempDir()
	if got := lastTroubles(3, near, far); got != nil {
		t.Fatalf("nothing has happened: %v", got)
	}
	b := newTroubleBook("serve", "1.0", []string{"API_TOKEN=hush-hush-hush", "HOME=/home/ann-and-bob"})
	b.Note("nowhere to keep it")
	b.In(filepath.Join(near, "missing"), far)
	b.Note("first\nof /home/ann-and-bob")
	b.In(near, far)
	b.Note("it said hush-hush-hush")
	newTroubleBook("hook", "1.0", nil).Note("nowhere either")
	(*troubleBook)(nil).Note("nor this")
	logger := slog.New(b.Handler(slog.DiscardHandler)).With("tool", "view")
	logger.Info("not this")
	logger.Warn("the disk is slow", "error", errors.New("2 s"))
	b.Note("it said hush-hush-hush")
	var got []string
	for _, e := range lastTroubles(3, near, far) {
		got = append(got, fmt.Sprintf("%s %s %dx %s", e.Who, e.Version, e.Times, e.Text))
	}
	want := []string{"serve 1.0 1x first of /home/ann-and-bob", "serve 1.0 1x the disk is slow; tool: view; error: 2 s",
		"serve 1.0 2x it said [hidden]"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if err := removeTroubles(far); err != nil || len(lastTroubles(9, near, far)) != 2 {
		t.Errorf("it is still known in one folder alone: %v %v", err, lastTroubles(9, near, far))
	}
	if last := lastTroubles(1, near, far); len(last) != 1 || last[0].Times != 2 {
		t.Errorf("%v", last)
	}
}

// With any number of entries and processes, the file stays small, private, and intact.
func TestTheFileIsBounded(t *testing.T) {
	folder := t.TempDir()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			b := newTroubleBook("serve", "1.0", nil)
			b.In(folder)
			for j := range 200 {
				b.Note(fmt.Sprintf("%d %d %s", i, j, strings.Repeat("long ", 1_000)))
			}
		})
	}
	all.Wait()
	info, err := os.Stat(filepath.Join(folder, "trouble.jsonl"))
	if err != nil || info.Size() > 40<<10 || info.Mode().Perm()&0o077 != 0 {
		t.Fatalf("%v %v", info, err)
	}
	if last := lastTroubles(5, folder); len(last) != 5 || !strings.Contains(last[4].Text, "199") {
		t.Errorf("%v", last)
	}
}

// Damaged or inserted lines are skipped.
func TestNonsenseIsPassedOver(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "trouble.jsonl"), []byte("{\"text\":\n\n[]\n\xff{}\n{\"at\":1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newTroubleBook("serve", "1.0", nil)
	b.In(folder)
	b.Note("after it")
	if last := lastTroubles(5, folder); len(last) != 1 || last[0].Text != "after it" {
		t.Errorf("%v", last)
	}
}
