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
	if got := lastErrors(3, near, far); got != nil {
		t.Fatalf("nothing has happened: %v", got)
	}
	b := newErrorLog("serve", "1.0", []string{"API_TOKEN=hush-hush-hush", "HOME=/home/ann-and-bob"})
	b.record("nowhere to keep it")
	b.setFolders(filepath.Join(near, "missing"), far)
	b.record("first\nof /home/ann-and-bob")
	b.setFolders(near, far)
	b.record("it said hush-hush-hush")
	newErrorLog("hook", "1.0", nil).record("nowhere either")
	(*errorLog)(nil).record("nor this")
	logger := slog.New(b.handler(slog.DiscardHandler)).With("tool", "view")
	logger.Info("not this")
	logger.Warn("the disk is slow", "error", errors.New("2 s"))
	b.record("it said hush-hush-hush")
	var got []string
	for _, e := range lastErrors(3, near, far) {
		got = append(got, fmt.Sprintf("%s %s %dx %s", e.Who, e.Version, e.Times, e.Text))
	}
	want := []string{"serve 1.0 1x first of /home/ann-and-bob", "serve 1.0 1x the disk is slow; tool: view; error: 2 s",
		"serve 1.0 2x it said [hidden]"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if err := removeErrors(far); err != nil || len(lastErrors(9, near, far)) != 2 {
		t.Errorf("it is still known in one folder alone: %v %v", err, lastErrors(9, near, far))
	}
	if last := lastErrors(1, near, far); len(last) != 1 || last[0].Times != 2 {
		t.Errorf("%v", last)
	}
}

// With any number of entries and processes, the file stays small, private, and intact.
func TestTheFileIsBounded(t *testing.T) {
	folder := t.TempDir()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			b := newErrorLog("serve", "1.0", nil)
			b.setFolders(folder)
			for j := range 200 {
				b.record(fmt.Sprintf("%d %d %s", i, j, strings.Repeat("long ", 1_000)))
			}
		})
	}
	all.Wait()
	info, err := os.Stat(filepath.Join(folder, "trouble.jsonl"))
	if err != nil || info.Size() > 40<<10 || info.Mode().Perm()&0o077 != 0 {
		t.Fatalf("%v %v", info, err)
	}
	if last := lastErrors(5, folder); len(last) != 5 || !strings.Contains(last[4].Text, "199") {
		t.Errorf("%v", last)
	}
}

// Damaged or inserted lines are skipped.
func TestNonsenseIsPassedOver(t *testing.T) {
	folder := t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "trouble.jsonl"), []byte("{\"text\":\n\n[]\n\xff{}\n{\"at\":1}\n"), 0o600))
	b := newErrorLog("serve", "1.0", nil)
	b.setFolders(folder)
	b.record("after it")
	if last := lastErrors(5, folder); len(last) != 1 || last[0].Text != "after it" {
		t.Errorf("%v", last)
	}
}
