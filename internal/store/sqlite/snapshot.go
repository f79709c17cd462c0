package sqlite

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// snapshotHeader is the first line of a snapshot's file, after a checksum of itself: enough to
// choose a snapshot and to pin its head without reading the state.
type snapshotHeader struct {
	Fold       int    `json:"fold_version"`
	store.Head        // pinned by the snapshot
	Bytes      int    `json:"bytes"`    // of the state that follows
	Sum        uint32 `json:"checksum"` // of the state

	path string
}

// keptSnapshots is how many are kept: if the newest is unreadable, the one before is used.
const keptSnapshots = 2

// Snapshot implements store.Log.
func (l *Log) Snapshot(ctx context.Context, seq plan.Revision) (s *store.Snapshot, err error) {
	err = l.withDatabase(ctx, func(ctx context.Context, db *database) error {
		s, err = l.snapshot(ctx, db.reader, seq)
		return err
	})
	return s, err
}

func (l *Log) snapshot(ctx context.Context, v *view, seq plan.Revision) (*store.Snapshot, error) {
	headers, err := l.snapshotHeaders()
	if err != nil {
		return nil, err
	}
	for _, h := range headers {
		if seq > 0 && h.Seq > seq {
			continue
		}
		contained, former, err := v.contains(ctx, h.Head)
		switch {
		case err != nil:
			return nil, err
		case !contained && !former:
			return nil, v.checkPin(ctx, pin{h.Head, h.path})
		case former || h.Fold != plan.FoldVersion:
			continue
		}
		if state, err := h.readState(); err == nil {
			return &store.Snapshot{Head: h.Head, State: state}, nil
		}
	}
	return nil, nil
}

// SaveSnapshot implements store.Log.
func (l *Log) SaveSnapshot(ctx context.Context, s store.Snapshot) error {
	if err := l.checkOpen(); err != nil {
		return err
	}
	state, err := store.EncodeState(s.State)
	if err != nil {
		return err
	}
	if err := l.checkContains(ctx, s.Head); err != nil {
		return err
	}
	// Writing takes a while; nothing else has to wait for it.
	if err := writeSnapshot(l.snapshotPath(s.Head.Seq), s.Head, state); err != nil {
		return explain(l.snapshotPath(s.Head.Seq), err)
	}
	if err := l.checkContains(ctx, s.Head); err != nil {
		// The log was purged in the meantime: its content must not survive.
		return errors.Join(err, os.Remove(l.snapshotPath(s.Head.Seq)))
	}
	headers, err := l.snapshotHeaders()
	if err != nil {
		return err
	}
	safefile.Sweep(l.dir)
	return l.removeSnapshots(headers[:min(keptSnapshots, len(headers))])
}

// checkContains returns an error unless the log contains h.
func (l *Log) checkContains(ctx context.Context, h store.Head) error {
	contained := false
	err := l.withDatabase(ctx, func(ctx context.Context, db *database) (err error) {
		contained, _, err = db.reader.contains(ctx, h)
		return err
	})
	if err == nil && !contained {
		return fmt.Errorf("a snapshot at record %d of another chain: %w", h.Seq, store.ErrConflict)
	}
	return err
}

func (l *Log) snapshotPath(seq plan.Revision) string {
	return filepath.Join(l.dir, fmt.Sprintf("snapshot-%d.json", seq))
}

// snapshotHeaders lists the snapshots with a readable header, newest first.
func (l *Log) snapshotHeaders() ([]snapshotHeader, error) {
	paths, err := l.snapshotPaths()
	if err != nil {
		return nil, err
	}
	var headers []snapshotHeader
	for _, path := range paths {
		if h, err := readHeader(path); err == nil {
			headers = append(headers, h)
		}
	}
	slices.SortFunc(headers, func(a, b snapshotHeader) int { return cmp.Compare(b.Seq, a.Seq) })
	return headers, nil
}

func (l *Log) snapshotPaths() ([]string, error) {
	entries, err := os.ReadDir(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, explain(l.dir, err)
	}
	var paths []string
	for _, e := range entries {
		if ok, _ := filepath.Match("snapshot-*.json", e.Name()); ok && e.Type().IsRegular() {
			paths = append(paths, filepath.Join(l.dir, e.Name()))
		}
	}
	return paths, nil
}

func readHeader(path string) (snapshotHeader, error) {
	f, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return snapshotHeader{}, err
	}
	defer f.Close()
	line, err := bufio.NewReaderSize(io.LimitReader(f, 4096), 1024).ReadBytes('\n')
	if err != nil {
		return snapshotHeader{}, err
	}
	sum, text, ok := bytes.Cut(bytes.TrimSuffix(line, []byte{'\n'}), []byte{' '})
	if !ok || string(sum) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(text)) {
		return snapshotHeader{}, fmt.Errorf("%s: its first line has changed", path)
	}
	h := snapshotHeader{path: path}
	if err := json.Unmarshal(text, &h); err != nil {
		return snapshotHeader{}, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}

func (h snapshotHeader) readState() (plan.State, error) {
	data, err := os.ReadFile(h.path)
	if err != nil {
		return plan.State{}, err
	}
	_, state, _ := bytes.Cut(data, []byte{'\n'})
	if len(state) != h.Bytes || crc32.ChecksumIEEE(state) != h.Sum {
		return plan.State{}, fmt.Errorf("%s: the state has changed", h.path)
	}
	return store.DecodeState(state)
}

// writeSnapshot writes or replaces a file as a whole, or leaves it alone.
func writeSnapshot(path string, head store.Head, state []byte) error {
	header, err := json.Marshal(snapshotHeader{Fold: plan.FoldVersion, Head: head, Bytes: len(state), Sum: crc32.ChecksumIEEE(state)})
	if err != nil {
		return err
	}
	text := fmt.Appendf(make([]byte, 0, len(header)+len(state)+16), "%08x %s\n", crc32.ChecksumIEEE(header), header)
	return safefile.WriteFile(path, append(text, state...), safefile.Options{Mode: safefile.FileMode})
}

// removeSnapshots removes all but the given snapshots, also unreadable ones: they are copies of data
// in the log.
func (l *Log) removeSnapshots(kept []snapshotHeader) error {
	paths, err := l.snapshotPaths()
	if err != nil {
		return err
	}
	for _, path := range paths {
		if slices.ContainsFunc(kept, func(h snapshotHeader) bool { return h.path == path }) {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return explain(path, err)
		}
	}
	return nil
}
