package hosts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/atomicfile"
	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/private"
	"github.com/planloop/planloop/internal/splice"
)

// Edit is a file of a host's as it stands and as it would be.
type Edit struct {
	Path   string // as the host reads it
	Target string // where it leads, when it is a link; else Path
	Server State  // as the file stands; None where nothing of the kind belongs in it
	Hooks  State
	Notes  []string
	Wrong  []string // hooks in it that ask planloop what it does not answer, or not about every tool
	Starts []string // the programs by which it starts planloop, each once
	Fault  error    // why it is left as it is: a *Refusal, or what the disk said

	Exists, Stays bool // whether there is such a file, and whether there will be
	Before, After []byte

	file   file
	record *record // to be kept; nil: none
	scope  Scope
}

// Changes reports whether there is anything to do.
func (e Edit) Changes() bool {
	return e.Fault == nil && (e.Exists != e.Stays || !bytes.Equal(e.Before, e.After))
}

// target is a file with all that planloop has in it.
type target struct {
	path   string
	format splice.Format
	server *server
	hooks  *hooks
	leave  bool    // the hooks are not asked for
	whole  *string // the file is planloop's alone, and holds this
}

// wholeFile is a file that is planloop's alone.
type wholeFile struct{ path, text string }

// targets are the files of a host in a scope.
func (h host) targets(m Machine, w Want) []target {
	var all []target
	if h.server != nil {
		if s := h.server(m, w.Scope); s != nil {
			all = append(all, target{path: s.file, format: s.format, server: s})
		}
	}
	if h.hooks == nil {
		return all
	}
	on := h.hooks(m, w.Scope)
	switch i := slices.IndexFunc(all, func(t target) bool { return t.path == on.file }); {
	case i >= 0:
		all[i].hooks, all[i].leave = on, w.NoHooks
	case w.NoHooks:
		return all
	case on.file != "":
		all = append(all, target{path: on.file, format: splice.JSON, hooks: on})
	}
	for _, file := range on.whole {
		all = append(all, target{path: file.path, whole: &file.text})
	}
	return all
}

// edit says what becomes of a file.
func (m Machine) edit(h host, t target, w Want) Edit {
	e := Edit{Path: t.path, Target: t.path, scope: w.Scope}
	fail := func(err error) Edit {
		var fault *splice.Fault
		if errors.As(err, &fault) {
			err = &Refusal{Problem: "has no place for it: " + fault.Error(), Fix: "mend it, then run this again"}
		}
		if refused, ok := errors.AsType[*Refusal](err); ok && refused.Path == "" {
			refused.Path = t.path
		}
		e.Fault, e.After, e.Stays = err, e.Before, e.Exists
		e.Server, e.Hooks = orUnreadable(t.server != nil, e.Server), orUnreadable(t.hooks != nil && !t.leave || t.whole != nil, e.Hooks)
		return e
	}
	var err error
	if e.file, err = m.read(t.path, w.Scope); err != nil {
		return fail(err)
	}
	e.Target, e.Exists, e.Before = e.file.target, e.file.info != nil, e.file.text
	e.After, e.Stays = e.Before, e.Exists
	known, err := m.recall(e.Target)
	if err != nil {
		return fail(err)
	}
	switch {
	case t.whole != nil:
		err = m.editWhole(&e, *t.whole, known, w)
	case w.Remove:
		err = m.takeOut(h, t, &e, known)
	default:
		err = m.putIn(h, t, &e, known)
	}
	if err != nil {
		return fail(err)
	}
	return e
}

// parse reads a file of settings. What cannot be read is a Refusal.
func parse(format splice.Format, text []byte) (*splice.Document, error) {
	d, err := splice.Parse(format, text)
	if err != nil {
		return nil, &Refusal{Problem: fmt.Sprintf("cannot be read as %s: %v", format, err), Fix: "mend it, then run this again"}
	}
	return d, nil
}

func orUnreadable(belongs bool, state State) State {
	if belongs && state == None {
		return Unreadable
	}
	return state
}

// putIn says what the file is with all that is planloop's.
func (m Machine) putIn(h host, t target, e *Edit, known *record) error {
	d, err := parse(t.format, e.Before)
	if err != nil {
		return err
	}
	writing := &writing{Document: d, was: map[string]string{}, now: map[string]string{}}
	if known != nil {
		writing.was = known.Parts
	}
	e.Starts = m.starts(h, t, d)
	if t.hooks != nil {
		e.Wrong = append(t.hooks.misspelt(m, hook.Host(h.name), d), m.unasked(hook.Host(h.name), t.hooks.root, d)...)
	}
	var faults [2]error
	if t.server != nil {
		e.Server, faults[0] = t.server.put(m, writing)
	}
	if t.hooks != nil && !t.leave {
		e.Hooks, faults[1] = t.hooks.put(m, hook.Host(h.name), writing)
	}
	if err := cmp.Or(faults[0], faults[1]); err != nil {
		return err
	}
	e.Notes, e.After, e.Stays = writing.notes, d.Bytes(), true
	if bytes.Equal(e.After, e.Before) {
		e.Stays = e.Exists
		return nil
	}
	if e.Exists && names(e.file.info) > 1 {
		e.Notes = append(e.Notes, "the file has another name (a hard link), under which the former text stays")
	}
	kept := record{Path: e.Target, Created: !e.Exists, Before: e.Before, Parts: writing.now}
	if e.Exists {
		kept.Before, kept.Created, kept.Folders, err = m.former(h, t, e.Before, known)
	}
	kept.Sums.After = sum(e.After)
	e.record = &kept
	return err
}

// former is what the file would be if planloop had never written into it.
func (m Machine) former(h host, t target, now []byte, known *record) (text []byte, created bool, folders []string, err error) {
	if known != nil && known.Sums.After == sum(now) {
		return known.Before, known.Created, known.Folders, nil
	}
	d, err := parse(t.format, now)
	if err != nil {
		return nil, false, nil, err
	}
	if err := m.take(h, t, d, known); err != nil {
		return nil, false, nil, err
	}
	if known != nil {
		created, folders = known.Created && bare(d.Bytes()), known.Folders
	}
	return d.Bytes(), created, folders, nil
}

// takeOut says what the file is without what is planloop's.
func (m Machine) takeOut(h host, t target, e *Edit, known *record) error {
	if !e.Exists {
		e.Server, e.Hooks = missing(t.server != nil), missing(t.hooks != nil)
		return nil
	}
	d, err := parse(t.format, e.Before)
	if err != nil {
		return err
	}
	writing := &writing{Document: d, was: map[string]string{}, now: map[string]string{}}
	if t.server != nil { // only to tell what stands there
		e.Server, _ = t.server.put(m, writing)
	}
	if t.hooks != nil {
		e.Hooks, _ = t.hooks.put(m, hook.Host(h.name), writing)
	}
	text, created, folders, err := m.former(h, t, e.Before, known)
	if err != nil {
		return err
	}
	e.After, e.Stays = text, !created
	if created {
		e.After = nil
	}
	e.file.folders = folders
	return nil
}

func missing(belongs bool) State {
	if belongs {
		return Missing
	}
	return None
}

// take takes out what is planloop's, and what planloop made to hold it.
func (m Machine) take(h host, t target, d *splice.Document, known *record) error {
	var held [][]splice.Key
	if t.server != nil {
		paths, err := t.server.take(m, d)
		if err != nil {
			return err
		}
		held = append(held, paths...)
	}
	if t.hooks != nil {
		paths, err := t.hooks.take(m, hook.Host(h.name), d)
		if err != nil {
			return err
		}
		held = append(held, paths...)
	}
	if known == nil {
		return nil
	}
	before, err := parse(t.format, known.Before)
	if err != nil {
		return err
	}
	for _, path := range held {
		_, stood := before.Value(path...)
		value, stands := d.Value(path...)
		_, filled := d.Value(t.root()...)
		fixed := t.hooks != nil && slices.ContainsFunc(t.hooks.fixed, func(m splice.Member) bool { return path[0] == splice.Key(m.Key) })
		if stood || !stands || fixed && filled || !fixed && !hollow(value) {
			continue
		}
		if err := d.Remove(path...); err != nil {
			return err
		}
	}
	return nil
}

// root leads to the object of the events.
func (t target) root() []splice.Key {
	if t.hooks == nil {
		return nil
	}
	return t.hooks.root
}

// hollow reports whether a value is an object or a list that holds nothing.
func hollow(value any) bool {
	members, isObject := value.(map[string]any)
	elements, isList := value.([]any)
	return (isObject || isList) && len(members)+len(elements) == 0
}

// bare reports whether a text holds nothing at all, not even a comment.
func bare(text []byte) bool {
	return slices.Contains([]string{"", "{}"}, strings.TrimSpace(strings.TrimPrefix(string(text), "\ufeff")))
}

// editWhole says what becomes of a file that is planloop's alone.
func (m Machine) editWhole(e *Edit, text string, known *record, w Want) error {
	former := record{Path: e.Target, Created: !e.Exists, Before: e.Before}
	switch {
	case !e.Exists:
		e.Hooks = Missing
	case string(e.Before) == text:
		e.Hooks, former = Current, record{Created: true}
	case known != nil && known.Sums.After == sum(e.Before):
		e.Hooks = Old
	case strings.TrimSpace(string(e.Before)) == "":
		e.Hooks = Missing
	case strings.Contains(string(e.Before), "planloop"):
		e.Hooks = Edited
		return &Refusal{Problem: "was changed by hand, or written by another version", Fix: "delete it yourself; init writes it anew"}
	default:
		e.Hooks = Foreign
		return &Refusal{Problem: "is not planloop's", Fix: "rename it, then run this again"}
	}
	if known != nil && (e.Hooks == Current || e.Hooks == Old) {
		former = *known
	}
	switch {
	case w.Remove && e.Hooks != Missing:
		e.After, e.Stays, e.file.folders = former.Before, !former.Created, former.Folders
	case !w.Remove && e.Hooks != Current:
		e.After, e.Stays, e.record = []byte(text), true, &former
		e.record.Sums.After = sum(e.After)
	}
	return nil
}

// Write carries out an edit. A file that is not any more what it was when the edit was made
// is left alone: ErrChanged.
func (m Machine) Write(e Edit) error {
	atomicfile.Sweep(filepath.Dir(e.Target))
	if !e.Changes() {
		return nil
	}
	unchanged := func() error {
		now, err := readAll(e.Target)
		if err == nil && !bytes.Equal(now, e.Before) || errors.Is(err, fs.ErrNotExist) {
			err = ErrChanged
		}
		return err
	}
	if !e.Stays {
		if err := unchanged(); err != nil {
			return err
		}
		if err := os.Remove(e.Target); err != nil {
			return err
		}
		removeFolders(e.file.folders)
		return m.forget(e.Target)
	}
	options := atomicfile.Options{Like: e.file.info, Confirm: unchanged}
	if !e.Exists {
		options = atomicfile.Options{New: true}
		folderMode := os.FileMode(0o777)
		if e.scope == User {
			folderMode, options.Mode = private.FolderMode, private.FileMode
		}
		folders, err := makeFolders(e.Target, folderMode)
		if err != nil {
			return err
		}
		if e.record != nil {
			e.record.Folders = m.made(e.Target, folders)
		}
	}
	if e.record != nil { // first: what is not written then is only known
		if err := m.remember(*e.record); err != nil {
			return err
		}
	}
	err := atomicfile.WriteFile(e.Target, e.After, options)
	if errors.Is(err, fs.ErrExist) { // it has come meanwhile
		return ErrChanged
	}
	if err != nil {
		return err
	}
	if e.record == nil {
		return m.forget(e.Target)
	}
	return nil
}
