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
	troubleFile     = "trouble.jsonl"
	maxTroubleBytes = 32 << 10 // bytes of a file; beyond that the older half is removed
	maxTroubleText  = 400      // characters of a text
)

// troubleEntry is one warning or error.
type troubleEntry struct {
	At      time.Time `json:"at"` // of the last occurrence
	Who     string    `json:"who"`
	Version string    `json:"version"` // of planloop
	Text    string    `json:"text"`
	Times   int       `json:"times,omitempty"` // number of recorded occurrences
}

// troubleBook records the troubles of one process. A nil troubleBook records nothing. Its methods are safe for concurrent use.
type troubleBook struct {
	who, version string
	environ      []string // its secrets are removed from texts

	mu      sync.Mutex
	folders []string
}

// newTroubleBook returns the book of a process.
func newTroubleBook(who, version string, environ []string) *troubleBook {
	return &troubleBook{who: who, version: version, environ: environ}
}

// In sets the folders for later entries; the first one that exists is used.
func (b *troubleBook) In(folders ...string) {
	if b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.folders = folders
	}
}

// Note records a text.
func (b *troubleBook) Note(text string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.folders, func(folder string) bool { return safefile.CheckFolder(folder) == nil })
	if i < 0 {
		return
	}
	text = safetext.Line(text)
	for _, variable := range b.environ {
		if name, value, _ := strings.Cut(variable, "="); outbound.IsSecretName(name) {
			text = outbound.Redact(text, value)
		}
	}
	entry := troubleEntry{At: time.Now().Round(0), Who: b.who, Version: b.version, Text: plan.Shorten(text, maxTroubleText)}
	line, err := json.Marshal(entry)
	if err == nil {
		_ = appendTrouble(filepath.Join(b.folders[i], troubleFile), append(line, '\n')) // no caller could handle the error
	}
}

// appendTrouble appends a line with a single write call, since other processes append, too.
func appendTrouble(path string, line []byte) error {
	file, err := safefile.Open(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = file.Write(line)
	info, unknown := file.Stat()
	if closed := file.Close(); err != nil || unknown != nil || closed != nil || info.Size() <= maxTroubleBytes {
		return err
	}
	text, err := safefile.Read(path, 2*maxTroubleBytes)
	if err != nil {
		return err
	}
	_, text, _ = bytes.Cut(text[len(text)/2:], []byte("\n"))
	return safefile.WriteFile(path, text, safefile.Options{Mode: safefile.FileMode})
}

// lastTroubles returns the last n entries of some folders, the latest last. Repeated ones are returned once.
func lastTroubles(n int, folders ...string) []troubleEntry {
	var all []troubleEntry
	for _, folder := range folders {
		text, _ := safefile.Read(filepath.Join(folder, troubleFile), 2*maxTroubleBytes) // a missing file has no entries
		for line := range bytes.Lines(text) {
			entry := troubleEntry{}
			if json.Unmarshal(line, &entry) == nil && entry.Text != "" {
				all = append(all, entry)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b troubleEntry) int { return a.At.Compare(b.At) })
	var last []troubleEntry
	for _, entry := range all {
		entry.Times = 1
		if i := slices.IndexFunc(last, func(e troubleEntry) bool { return e.Who == entry.Who && e.Text == entry.Text }); i >= 0 {
			entry.Times += last[i].Times
			last = slices.Delete(last, i, i+1)
		}
		last = append(last, entry)
	}
	return last[max(0, len(last)-n):]
}

// removeTroubles removes the entries in a folder.
func removeTroubles(folder string) error { return os.RemoveAll(filepath.Join(folder, troubleFile)) }

// Handler records warnings and errors, and passes records on to next.
func (b *troubleBook) Handler(next slog.Handler) slog.Handler {
	if b == nil {
		return next
	}
	return troubleHandler{next, b, nil}
}

type troubleHandler struct {
	slog.Handler
	book  *troubleBook
	attrs []slog.Attr
}

// Enabled reports whether the book or the next troubleHandler takes a level.
func (h troubleHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || h.Handler.Enabled(ctx, level)
}

// Handle records a warning or error and passes it on.
func (h troubleHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		text := strings.Builder{}
		text.WriteString(r.Message)
		add := func(a slog.Attr) bool {
			text.WriteString("; " + a.Key + ": " + a.Value.Resolve().String())
			return true
		}
		for _, a := range h.attrs {
			add(a)
		}
		r.Attrs(add)
		h.book.Note(text.String())
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs keeps the attributes for recorded entries, too.
func (h troubleHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return troubleHandler{h.Handler.WithAttrs(attrs), h.book, slices.Concat(h.attrs, attrs)}
}

// WithGroup does not affect recorded entries.
func (h troubleHandler) WithGroup(name string) slog.Handler {
	return troubleHandler{h.Handler.WithGroup(name), h.book, h.attrs}
}
