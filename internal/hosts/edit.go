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

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/strict"
)

// Edit is a host's file before and after a change.
type Edit struct {
	Path   string // the path that the host reads
	Target string // the end of the link if Path is one, else Path
	Server State  // before the change; None if the file has no such part
	Hooks  State
	Notes  []string
	Wrong  []string // hooks whose call planloop does not know, or that are not called for every tool
	Starts []string // the programs by which it starts planloop, without duplicates
	Fault  error    // why it is left unchanged: a *Refusal or an input/output error

	Paste string // text that a person must paste into it, or ""

	Exists, Stays bool // whether the file exists before and after
	Before, After []byte

	file    file
	record  record
	scope   Scope
	removes bool
}

// Changes reports whether there is anything to write or delete.
func (e Edit) Changes() bool {
	return e.Fault == nil && (e.Exists != e.Stays || !bytes.Equal(e.Before, e.After))
}

// target is a file with all of planloop's parts in it.
type target struct {
	path   string
	server *server
	hooks  *hooks
	leave  bool    // leave the hooks as they are
	whole  *string // the whole text, if the file belongs to planloop alone
}

// wholeFile is a file that belongs to planloop alone.
type wholeFile struct{ path, text string }

// targets lists the files of a host.
func (h host) targets(w Want) []target {
	var all []target
	if h.server != nil && h.server.file != "" {
		all = append(all, target{path: h.server.file, server: h.server})
	}
	if h.hooks == nil {
		return all
	}
	switch i := slices.IndexFunc(all, func(t target) bool { return t.path == h.hooks.file }); {
	case i >= 0:
		all[i].hooks, all[i].leave = h.hooks, w.NoHooks
	case w.NoHooks:
		return all
	case h.hooks.file != "":
		all = append(all, target{path: h.hooks.file, hooks: h.hooks})
	}
	if h.hooks.whole != nil {
		all = append(all, target{path: h.hooks.whole.path, whole: &h.hooks.whole.text})
	}
	return all
}

// edit prepares the change of a file.
func (m Machine) edit(h host, t target, w Want) Edit {
	e := Edit{Path: t.path, Target: t.path, scope: w.Scope, removes: w.Remove}
	err := m.fill(&e, h, t, w.Remove && !h.byHand)
	if refused, ok := errors.AsType[*Refusal](err); ok && refused.Path == "" {
		refused.Path = t.path
	}
	if e.Fault = err; err != nil {
		e.Server, e.Hooks = orUnreadable(t.server != nil, e.Server), orUnreadable(t.hooks != nil && !t.leave || t.whole != nil, e.Hooks)
	}
	if err != nil || h.byHand {
		e.After, e.Stays = e.Before, e.Exists
	}
	switch state := worst(e.Server, e.Hooks); {
	case h.byHand && w.Remove:
		e.Server, e.Hooks = e.Server.kept(), e.Hooks.kept()
	case h.byHand && !state.Known(), h.byHand && state == Old:
		e.Paste = m.snippet(h, t)
	}
	return e
}

func orUnreadable(belongs bool, state State) State {
	if belongs && state == None {
		return Unreadable
	}
	return state
}

// fill reads a file and computes its text after the change.
func (m Machine) fill(e *Edit, h host, t target, remove bool) (err error) {
	if e.file, err = m.read(t.path, e.scope, remove); err != nil {
		return err
	}
	e.Target, e.Exists, e.Before = e.file.target, e.file.info != nil, e.file.text
	e.After, e.Stays = e.Before, e.Exists
	if e.record, err = m.recall(e.Target); err != nil {
		return err
	}
	switch format := filepath.Ext(t.path); {
	case t.whole != nil:
		return e.putWhole(*t.whole, remove)
	case t.server == nil && (format == ".toml" || format == ".yaml"): // a plugin has the server
		return nil
	case format == ".toml":
		err = t.server.editTOML(m, e, remove)
	case format == ".yaml":
		err = t.server.readYAML(m, e)
	default:
		err = m.editJSON(e, h, t, remove)
	}
	if e.Stays = e.Exists || len(e.After) > 0; remove && e.record.Created && holdsNothing(e.After) {
		e.After, e.Stays = nil, false
	}
	if !e.Exists {
		e.record.Created = true
	}
	if !bytes.Equal(e.Before, e.After) && e.Exists && names(e.file.info) > 1 {
		e.Notes = append(e.Notes, "the file has another name (a hard link), under which the former text stays")
	}
	return err
}

// holdsNothing reports whether a text is empty, without even a comment.
func holdsNothing(text []byte) bool {
	return slices.Contains([]string{"", "{}"}, strings.TrimSpace(strings.TrimPrefix(string(text), mark)))
}

// editJSON adds all of planloop's parts to a JSON file, or removes them.
func (m Machine) editJSON(e *Edit, h host, t target, remove bool) error {
	d, err := parseJSON(e.Before)
	if err != nil {
		return &Refusal{Problem: "cannot be read as json: " + err.Error(), Fix: "mend it, then run this again"}
	}
	w, on := &draft{document: d, wrote: e.record.Parts}, hook.Host(h.name)
	if remove {
		if t.server != nil {
			e.Server = t.server.take(m, w)
		}
		if t.hooks != nil {
			e.Hooks = t.hooks.take(m, on, w)
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
		command = words(w.value(t.server.path...), t.server.program)
	}
	if t.hooks != nil {
		events = t.hooks.events(w.document)
		e.Wrong = append(m.misspelt(on, events), m.unasked(on, events)...)
	}
	e.Starts = m.starts(on, command, events)
	if t.server != nil {
		e.Server, faults[0] = t.server.put(m, w)
	}
	if t.hooks != nil && !t.leave {
		e.Hooks, faults[1] = t.hooks.put(m, on, w)
	}
	err := cmp.Or(faults[0], faults[1])
	if _, refused := errors.AsType[*Refusal](err); err != nil && !refused {
		err = &Refusal{Problem: "has no place for it: " + err.Error(), Fix: "mend it, then run this again"}
	}
	return err
}

// readYAML determines the state of the server in a YAML file.
func (s *server) readYAML(m Machine, e *Edit) error {
	if e.Server = Missing; len(bytes.TrimSpace(e.Before)) == 0 {
		return nil
	}
	read, err := strict.ReadYAML(e.Before, most)
	var document any
	if err == nil {
		err = json.Unmarshal(read.JSON, &document)
	}
	if err != nil {
		e.Server = Unreadable
		return &Refusal{Problem: "cannot be read as yaml: " + err.Error(), Fix: "see to the entry by hand"}
	}
	entry, is := lookUp(document, s.path...)
	if !is {
		return nil
	}
	e.Starts = m.starts("", words(entry, s.program), nil)
	e.Server, _, e.Notes, err = s.judge(m, entry, "")
	return err
}

// snippet returns the text that a person pastes into a host's file.
func (m Machine) snippet(h host, t target) string {
	if t.whole != nil {
		return *t.whole
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

// wholePart is the ledger's name for a file that belongs to planloop alone.
const wholePart = "the file"

// putWhole prepares the change of a file that belongs to planloop alone.
func (e *Edit) putWhole(text string, remove bool) error {
	wrote, known := e.record.Parts[wholePart]
	switch before := string(e.Before); {
	case strings.TrimSpace(before) == "":
		e.Hooks = Missing
	case before == text:
		e.Hooks = Current
	case known && sum(before) == wrote:
		e.Hooks = Old
	case strings.Contains(before, "planloop"):
		e.Hooks = Edited
		return &Refusal{Problem: "was changed by hand, or written by another version", Fix: "delete it; init writes a new one"}
	default:
		e.Hooks = Foreign
		return &Refusal{Problem: "is not planloop's", Fix: "rename it, then run this again"}
	}
	switch {
	case remove && e.Hooks != Missing && known:
		e.After, e.Stays = nil, false
	case remove:
		e.Hooks = e.Hooks.kept()
	case e.Hooks != Current:
		e.After, e.Stays = []byte(text), true
		e.record.Parts[wholePart] = sum(text)
	}
	return nil
}

// Write carries out an edit after a backup of the file. It returns ErrChanged, and writes nothing, if the file changed since.
func (m Machine) Write(e Edit) error {
	safefile.Sweep(filepath.Dir(e.Target))
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
	if e.Exists {
		if err := m.backUp(e.Target, e.Before); err != nil {
			return err
		}
	}
	if !e.Stays {
		err := unchanged()
		for _, do := range []func(string) error{os.Remove, m.forget, m.removeFolders} {
			if err == nil {
				err = do(e.Target)
			}
		}
		return err
	}
	options := safefile.Options{Like: e.file.info, Confirm: unchanged}
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
	if !e.removes { // first, because a record without its text does no harm
		if err := m.remember(e.record); err != nil {
			return err
		}
	}
	err := safefile.WriteFile(e.Target, e.After, options)
	if errors.Is(err, fs.ErrExist) { // it was created since the check
		return ErrChanged
	}
	if err == nil && e.removes {
		err = m.forget(e.Target)
	}
	return err
}
