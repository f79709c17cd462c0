// Package trouble keeps the last warnings and errors of processes that nobody watches,
// such as servers and hooks, in a small file that is the user's alone, until somebody
// asks what went wrong. A file that cannot be written keeps nothing, and stops nobody.
//
// It must not know what the processes do. Of what it is given it takes out what the
// environment calls a secret.
package trouble

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

	"github.com/planloop/planloop/internal/atomicfile"
	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/private"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

const (
	name    = "trouble.jsonl"
	most    = 32 << 10 // bytes of a file; then the older half of it goes
	longest = 400      // characters of a text
)

// Entry is one thing that went wrong.
type Entry struct {
	At      time.Time `json:"at"` // the last time
	Who     string    `json:"who"`
	Version string    `json:"version"` // of planloop
	Text    string    `json:"text"`
	Times   int       `json:"times,omitempty"` // that it is known to have happened
}

// Book is where one process notes its troubles. A nil one keeps nothing. All methods may be
// called from several goroutines.
type Book struct {
	who, version string
	environ      []string // whose secrets are taken out

	mu      sync.Mutex
	folders []string
}

// New returns the book of a process.
func New(who, version string, environ []string) *Book {
	return &Book{who: who, version: version, environ: environ}
}

// In says where troubles are kept from now on: in the first of the folders that is there.
func (b *Book) In(folders ...string) {
	if b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.folders = folders
	}
}

// Note keeps a text.
func (b *Book) Note(text string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.folders, func(folder string) bool { return private.Folder(folder) == nil })
	if i < 0 {
		return
	}
	text = safetext.Line(text)
	for _, variable := range b.environ {
		if name, value, _ := strings.Cut(variable, "="); outbound.Telling(name) {
			text = outbound.Redact(text, value)
		}
	}
	line, err := json.Marshal(Entry{At: time.Now().Round(0), Who: b.who, Version: b.version, Text: plan.Shorten(text, longest)})
	if err == nil {
		_ = write(filepath.Join(b.folders[i], name), append(line, '\n')) // nobody is there to hear of it
	}
}

// write adds a line to a file, in one piece, since other processes do so as well.
func write(path string, line []byte) error {
	file, err := private.Open(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = file.Write(line)
	info, unknown := file.Stat()
	if closed := file.Close(); err != nil || unknown != nil || closed != nil || info.Size() <= most {
		return err
	}
	text, err := private.Read(path, 2*most)
	if err != nil {
		return err
	}
	_, text, _ = bytes.Cut(text[len(text)/2:], []byte("\n"))
	return atomicfile.WriteFile(path, text, atomicfile.Options{Mode: private.FileMode})
}

// Last returns what was noted in some folders, the latest last, at most n. What happened more
// than once is told once.
func Last(n int, folders ...string) []Entry {
	var all []Entry
	for _, folder := range folders {
		text, _ := private.Read(filepath.Join(folder, name), 2*most) // what is not there did not happen
		for line := range bytes.Lines(text) {
			entry := Entry{}
			if json.Unmarshal(line, &entry) == nil && entry.Text != "" {
				all = append(all, entry)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return a.At.Compare(b.At) })
	var last []Entry
	for _, entry := range all {
		entry.Times = 1
		if i := slices.IndexFunc(last, func(e Entry) bool { return e.Who == entry.Who && e.Text == entry.Text }); i >= 0 {
			entry.Times += last[i].Times
			last = slices.Delete(last, i, i+1)
		}
		last = append(last, entry)
	}
	return last[max(0, len(last)-n):]
}

// Forget removes what was noted in a folder.
func Forget(folder string) error { return os.RemoveAll(filepath.Join(folder, name)) }

// Handler notes warnings and errors besides handing on what the next one takes.
func (b *Book) Handler(next slog.Handler) slog.Handler {
	if b == nil {
		return next
	}
	return handler{next, b, nil}
}

type handler struct {
	slog.Handler
	book  *Book
	attrs []slog.Attr
}

// Enabled reports whether a level is for this one or the next.
func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || h.Handler.Enabled(ctx, level)
}

// Handle notes a record.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
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

// WithAttrs keeps the attributes for what is noted, too.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs), h.book, slices.Concat(h.attrs, attrs)}
}

// WithGroup has no effect on what is noted.
func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.book, h.attrs}
}
