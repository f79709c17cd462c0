package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

const (
	errorLogFile     = "trouble.jsonl"
	maxErrorLogBytes = 32 << 10 // bytes of a file; beyond that the older half is removed
	maxErrorText     = 400      // characters of a text
)

type errorEntry struct {
	At      time.Time `json:"at"` // of the last occurrence
	Who     string    `json:"who"`
	Version string    `json:"version"` // of planloop
	Text    string    `json:"text"`
	Times   int       `json:"times,omitempty"` // number of recorded occurrences
}

// errorLog records the troubles of one process. A nil errorLog records nothing. Its methods are safe for concurrent use.
type errorLog struct {
	who, version string
	environ      []string // its secrets are removed from texts

	mu      sync.Mutex
	folders []string
}

func newErrorLog(who, version string, environ []string) *errorLog {
	return &errorLog{who: who, version: version, environ: environ}
}

// setFolders sets the folders for later entries; the first one that exists is used.
func (b *errorLog) setFolders(folders ...string) {
	if b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.folders = folders
	}
}

func (b *errorLog) record(text string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.folders, func(folder string) bool { return safefile.CheckFolder(folder) == nil })
	if i < 0 {
		return
	}
	text = safetext.Line(plan.Mask(text))
	for _, variable := range b.environ {
		if name, value, _ := strings.Cut(variable, "="); outbound.IsSecretName(name) {
			text = outbound.Redact(text, value)
		}
	}
	entry := errorEntry{At: time.Now().Round(0), Who: b.who, Version: b.version, Text: plan.Shorten(text, maxErrorText)}
	line, err := json.Marshal(entry)
	if err == nil {
		_ = appendError(filepath.Join(b.folders[i], errorLogFile), append(line, '\n')) // no caller could handle the error
	}
}

// appendError appends a line with a single write call, since other processes append, too.
func appendError(path string, line []byte) error {
	file, err := safefile.Open(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = file.Write(line)
	info, unknown := file.Stat()
	if closed := file.Close(); err != nil || unknown != nil || closed != nil || info.Size() <= maxErrorLogBytes {
		return err
	}
	text, err := safefile.Read(path, 2*maxErrorLogBytes)
	if err != nil {
		return err
	}
	_, text, _ = bytes.Cut(text[len(text)/2:], []byte("\n"))
	return safefile.WriteFile(path, text, safefile.Options{Mode: safefile.FileMode})
}

// lastErrors returns the last n entries of some folders, the latest last. Repeated ones are returned once.
func lastErrors(n int, folders ...string) []errorEntry {
	var all []errorEntry
	for _, folder := range folders {
		text, _ := safefile.Read(filepath.Join(folder, errorLogFile), 2*maxErrorLogBytes) // a missing file has no entries
		for line := range bytes.Lines(text) {
			entry := errorEntry{}
			if json.Unmarshal(line, &entry) == nil && entry.Text != "" {
				all = append(all, entry)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b errorEntry) int { return a.At.Compare(b.At) })
	var last []errorEntry
	for _, entry := range all {
		entry.Times = 1
		if i := slices.IndexFunc(last, func(e errorEntry) bool { return e.Who == entry.Who && e.Text == entry.Text }); i >= 0 {
			entry.Times += last[i].Times
			last = slices.Delete(last, i, i+1)
		}
		last = append(last, entry)
	}
	return last[max(0, len(last)-n):]
}

func removeErrors(folder string) error { return os.RemoveAll(filepath.Join(folder, errorLogFile)) }

// handler records warnings and errors, and passes records on to next.
func (b *errorLog) handler(next slog.Handler) slog.Handler {
	if b == nil {
		return next
	}
	return slog.NewMultiHandler(errorLogHandler{b, nil}, next)
}

type errorLogHandler struct {
	book  *errorLog
	attrs []slog.Attr
}

func (h errorLogHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

func (h errorLogHandler) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	add := func(a slog.Attr) bool {
		text += "; " + a.Key + ": " + a.Value.Resolve().String()
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	h.book.record(text)
	return nil
}

func (h errorLogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return errorLogHandler{h.book, slices.Concat(h.attrs, attrs)}
}

// WithGroup does not affect recorded entries.
func (h errorLogHandler) WithGroup(string) slog.Handler { return h }
