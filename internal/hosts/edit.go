package hosts

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/strict"
)

// Edit is a host's file before and after a change.
type Edit struct {
	Path         string // the path that the host reads
	Target       string // the end of the link if Path is one, else Path
	Server       State  // before the change; None if the file has no such part
	Hooks        State
	Notes        []string
	HookProblems []string // hooks whose call planloop does not know, or that are not called for every tool
	Programs     []string // the programs by which it starts planloop, without duplicates
	Fault        error    // why it is left unchanged: a *Refusal or an input/output error

	Paste string // text that a person must paste into it, or ""

	Exists, WillExist bool // whether the file exists before and after
	Before, After     []byte

	info      fs.FileInfo // nil if it does not exist
	record    record
	scope     Scope
	isRemoval bool
}

// HasChanges reports whether there is anything to write or delete.
func (e Edit) HasChanges() bool {
	return e.Fault == nil && (e.Exists != e.WillExist || !bytes.Equal(e.Before, e.After))
}

type target struct {
	path       string
	server     *server
	hooks      *hooks
	keepsHooks bool    // leave the hooks as they are
	wholeText  *string // the whole text, if the file belongs to planloop alone
}

type wholeFile struct{ path, text string } // belongs to planloop alone

func (h host) targets(w Request) []target {
	var all []target
	if h.server != nil && h.server.file != "" {
		all = append(all, target{path: h.server.file, server: h.server})
	}
	if h.hooks == nil {
		return all
	}
	switch i := slices.IndexFunc(all, func(t target) bool { return t.path == h.hooks.file }); {
	case i >= 0:
		all[i].hooks, all[i].keepsHooks = h.hooks, w.NoHooks
	case w.NoHooks:
		return all
	case h.hooks.file != "":
		all = append(all, target{path: h.hooks.file, hooks: h.hooks})
	}
	if h.hooks.whole != nil {
		all = append(all, target{path: h.hooks.whole.path, wholeText: &h.hooks.whole.text})
	}
	return all
}

func (m Machine) edit(h host, t target, w Request) Edit {
	e := Edit{Path: t.path, Target: t.path, scope: w.Scope, isRemoval: w.Remove}
	err := m.prepare(&e, h, t, w.Remove && !h.byHand)
	if refused, ok := errors.AsType[*Refusal](err); ok && refused.Path == "" {
		refused.Path = t.path
	}
	if e.Fault = err; err != nil && t.server != nil {
		e.Server = cmp.Or(e.Server, Unreadable)
	}
	if err != nil && (t.hooks != nil && !t.keepsHooks || t.wholeText != nil) {
		e.Hooks = cmp.Or(e.Hooks, Unreadable)
	}
	if err != nil || h.byHand {
		e.After, e.WillExist = e.Before, e.Exists
	}
	switch state := worst(e.Server, e.Hooks); {
	case h.byHand && w.Remove:
		e.Server, e.Hooks = e.Server.asKept(), e.Hooks.asKept()
	case h.byHand && !state.IsInstalled(), h.byHand && state == Old:
		e.Paste = m.snippet(h, t)
	}
	return e
}

func (m Machine) prepare(e *Edit, h host, t target, remove bool) (err error) {
	if err := m.read(e, remove); err != nil {
		return err
	}
	e.After, e.WillExist = e.Before, e.Exists
	if e.record, err = m.readRecord(e.Target); err != nil {
		return err
	}
	switch format := filepath.Ext(t.path); {
	case t.wholeText != nil:
		return e.editWhole(*t.wholeText, remove)
	case t.server == nil && (format == ".toml" || format == ".yaml"): // a plugin has the server
		return nil
	case format == ".toml":
		err = t.server.editTOML(m, e, remove)
	case format == ".yaml":
		err = t.server.readYAML(m, e)
	default:
		err = m.editJSON(e, h, t, remove)
	}
	text := strings.TrimSpace(strings.TrimPrefix(string(e.After), byteOrderMark)) // with any comment it stays
	if e.WillExist = e.Exists || len(e.After) > 0; remove && e.record.Created && (text == "" || text == "{}") {
		e.After, e.WillExist = nil, false
	}
	if !e.Exists {
		e.record.Created = true
	}
	if !bytes.Equal(e.Before, e.After) && e.Exists && linkCount(e.info) > 1 {
		e.Notes = append(e.Notes, "the file has a second name (a hard link), which keeps the former text")
	}
	return err
}

func (m Machine) editJSON(e *Edit, h host, t target, remove bool) error {
	d, err := parseJSON(e.Before)
	if err != nil {
		return &Refusal{Problem: "cannot be read as JSON: " + err.Error(), Fix: "correct it, then run this again"}
	}
	w, on := &draft{document: d, written: e.record.Parts}, hook.Host(h.name)
	if remove {
		if t.server != nil {
			e.Server = t.server.remove(m, w)
		}
		if t.hooks != nil {
			e.Hooks = t.hooks.remove(m, on, w)
		}
	} else {
		err = m.putJSON(e, on, t, w)
	}
	if e.Notes = w.notes; d.changed {
		e.After = d.bytes()
	}
	return err
}

func (m Machine) putJSON(e *Edit, on hook.Host, t target, w *draft) error {
	var command []string
	var events map[string]any
	var faults [2]error
	if t.server != nil {
		command = commandWords(w.value(t.server.path...), t.server.program)
	}
	if t.hooks != nil {
		events = t.hooks.eventLists(w.document)
		e.HookProblems = append(m.misspelledHooks(on, events), m.uncoveredTools(on, events)...)
	}
	e.Programs = m.programs(on, command, events)
	if t.server != nil {
		e.Server, faults[0] = t.server.install(m, w)
	}
	if t.hooks != nil && !t.keepsHooks {
		e.Hooks, faults[1] = t.hooks.install(m, on, w)
	}
	err := cmp.Or(faults[0], faults[1])
	if _, refused := errors.AsType[*Refusal](err); err != nil && !refused {
		err = &Refusal{Problem: "cannot take planloop's entry: " + err.Error(), Fix: "correct it, then run this again"}
	}
	return err
}

func (s *server) readYAML(m Machine, e *Edit) error {
	if e.Server = Missing; len(bytes.TrimSpace(e.Before)) == 0 {
		return nil
	}
	read, err := strict.ReadYAML(e.Before, maxFile)
	var document any
	if err == nil {
		err = json.Unmarshal(read.JSON, &document)
	}
	if err != nil {
		e.Server = Unreadable
		return &Refusal{Problem: "cannot be read as YAML: " + err.Error(), Fix: "correct the file, or edit planloop's entry by hand"}
	}
	entry, ok := lookUp(document, s.path...)
	if !ok {
		return nil
	}
	e.Programs = m.programs("", commandWords(entry, s.program), nil)
	e.Server, _, e.Notes, err = s.assess(m, entry, "")
	return err
}

func (m Machine) snippet(h host, t target) string {
	if t.wholeText != nil {
		return *t.wholeText
	}
	if filepath.Ext(t.path) == ".yaml" {
		return t.server.yaml()
	}
	e := Edit{record: newRecord(t.path)}
	if m.editJSON(&e, h, t, false) != nil { // the empty record and file allow it
		return ""
	}
	return string(e.After)
}

// yaml returns the server's entry as YAML. The values are JSON, which is also YAML.
func (s *server) yaml() string {
	var lines strings.Builder
	for i, name := range s.path {
		lines.WriteString(strings.Repeat("  ", i) + name + ":\n")
	}
	for _, member := range s.entry {
		lines.WriteString(strings.Repeat("  ", len(s.path)) + member.key + ": " + inlineJSON(member.value) + "\n")
	}
	return lines.String()
}

const wholePart = "the file" // the ledger's name for a whole file

// editWhole prepares the change of a file that belongs to planloop alone.
func (e *Edit) editWhole(text string, remove bool) error {
	wrote, isRecorded := e.record.Parts[wholePart]
	switch before := string(e.Before); {
	case strings.TrimSpace(before) == "":
		e.Hooks = Missing
	case before == text:
		e.Hooks = Current
	case isRecorded && hashText(before) == wrote:
		e.Hooks = Old
	case strings.Contains(before, "planloop"):
		e.Hooks = Edited
		return &Refusal{Problem: "was changed by hand, or written by another version", Fix: "delete it, then run this again"}
	default:
		e.Hooks = Foreign
		return &Refusal{Problem: "is not planloop's file", Fix: "rename it, then run this again"}
	}
	switch {
	case remove && e.Hooks != Missing && isRecorded:
		e.After, e.WillExist = nil, false
	case remove:
		e.Hooks = e.Hooks.asKept()
	case e.Hooks != Current:
		e.After, e.WillExist = []byte(text), true
		e.record.Parts[wholePart] = hashText(text)
	}
	return nil
}

// Write carries out an edit after a backup of the file. It returns ErrChanged, and writes nothing, if the file changed since.
func (m Machine) Write(e Edit) error {
	safefile.Sweep(filepath.Dir(e.Target))
	if !e.HasChanges() {
		return nil
	}
	unchanged := func() error {
		now, err := readAll(e.Target)
		if err == nil && !bytes.Equal(now, e.Before) || errors.Is(err, fs.ErrNotExist) {
			err = ErrChanged
		}
		return err
	}
	if e.Exists {
		if err := m.writePrivate(m.recordPath(e.Target, "-"+filepath.Base(e.Target)), e.Before); err != nil {
			return err
		}
	}
	if !e.WillExist {
		err := unchanged()
		for _, do := range []func(string) error{os.Remove, m.removeRecord, m.removeFolders} {
			if err == nil {
				err = do(e.Target)
			}
		}
		return err
	}
	options := safefile.Options{Like: e.info, Confirm: unchanged}
	if !e.Exists {
		options = safefile.Options{New: true}
		folderMode := os.FileMode(0o777)
		if e.scope == User {
			folderMode, options.Mode = safefile.FolderMode, safefile.FileMode
		}
		if err := m.makeFolders(e.Target, folderMode); err != nil {
			return err
		}
	}
	if !e.isRemoval { // first, because a record without its text does no harm
		if err := m.writeRecord(e.record); err != nil {
			return err
		}
	}
	err := safefile.WriteFile(e.Target, e.After, options)
	if errors.Is(err, fs.ErrExist) { // it was created since the check
		return ErrChanged
	}
	if err == nil && e.isRemoval {
		err = m.removeRecord(e.Target)
	}
	return err
}

// maxLineBytes limits a line in a difference, because some programs write a whole file on one line. A hook's line is shown whole.
const maxLineBytes = 2_000

// Difference returns an edit as a unified difference with one line of context, because lines
// nearby may contain secrets. name is the file's name in it.
func (e Edit) Difference(name string) string {
	if !e.HasChanges() {
		return ""
	}
	old, now := name, name
	if !e.Exists {
		old = "/dev/null"
	}
	if !e.WillExist {
		now = "/dev/null"
	}
	unified, err := udiff.ToUnified(old, now, string(e.Before), udiff.Lines(string(e.Before), string(e.After)), 1)
	if err != nil {
		return "--- " + old + "\n+++ " + now + "\n"
	}
	var lines strings.Builder
	for line := range strings.Lines(unified) {
		if text := strings.TrimRight(line, "\n"); len(text) > maxLineBytes {
			line = strings.ToValidUTF8(text[:maxLineBytes], "") + "…\n"
		}
		lines.WriteString(line)
	}
	return lines.String()
}
