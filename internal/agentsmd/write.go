package agentsmd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/planloop/planloop/internal/atomicfile"
)

// Options are how a file is changed.
type Options struct {
	DryRun bool // find out what would be done, with all refusals, and do nothing
}

// Action is what was done, or would be in a dry run.
type Action string

// The actions.
const (
	Unchanged Action = "unchanged" // the file is as it should be
	Created   Action = "created"   // there was no file
	Added     Action = "added"     // a block was added to the user's file
	Updated   Action = "updated"   // an older block was replaced
	Restored  Action = "restored"  // an edited block was replaced; its text is in Edits
	Removed   Action = "removed"   // the block was taken out
	Deleted   Action = "deleted"   // the file is gone: it held nothing but the block
)

// Result is what was done to a file.
type Result struct {
	Action Action
	File   string // as asked for
	Target string // the file that was changed, other than File when that is a link
	Before []byte // the whole file before, nil when there was none
	After  []byte // the whole file after, nil when there is none
	Edits  string // what an edited block held that is gone now
}

// Write brings a file's block up to the canonical text, and creates the file and
// its folders where there are none. What Inspect refuses is refused with an
// *Error; so is a file that is read-only (ReadOnly), and one that somebody else
// changes at the same time (Changed). The file is replaced in one go: nobody
// sees half of it, and after a refusal it is as it was.
func Write(workspace, file, canonical string, opts Options) (Result, error) {
	content, err := contentOf(canonical)
	if err != nil {
		return Result{}, err
	}
	root, err := openWorkspace(workspace)
	if err != nil {
		return Result{}, err
	}
	defer root.Close()
	actions := map[State]Action{Absent: Created, NoBlock: Added, Outdated: Updated, Edited: Restored}
	s, found := inspect(root, file, content)
	if found.Refusal != nil {
		return Result{}, found.Refusal
	}
	result := Result{Action: cmp.Or(actions[found.State], Unchanged), File: file, Target: found.Target,
		Before: found.Before, After: found.Content, Edits: found.Edits}
	if result.Action == Unchanged {
		return result, nil
	}
	return result, change(root, s, result, opts)
}

// Remove takes the block out of a file. What is left is byte for byte what was
// there before Write added the block, provided that the text around it is still
// the same; a file that Write created is deleted, its folder stays. It refuses
// what Write refuses. No block is no error.
func Remove(workspace, file string, opts Options) (Result, error) {
	root, err := openWorkspace(workspace)
	if err != nil {
		return Result{}, err
	}
	defer root.Close()
	s, refused := read(root, file)
	if refused != nil {
		return Result{}, refused
	}
	d, refused := s.document()
	if refused != nil {
		return Result{}, refused
	}
	result := Result{Action: Unchanged, File: file, Target: s.target, Before: s.data, After: s.data}
	if d.block == nil {
		return result, nil
	}
	if !d.block.intact {
		result.Edits = d.block.content
	}
	text, gone := d.without()
	if result.Action, result.After = Removed, []byte(text); gone {
		result.Action, result.After = Deleted, nil
	}
	return result, change(root, s, result, opts)
}

// change makes a file what the result says.
func change(root *os.Root, s source, result Result, opts Options) error {
	if err := mayWrite(root, s); err != nil || opts.DryRun {
		return err
	}
	if result.After == nil {
		return remove(root, s)
	}
	return replace(root, s, result.After)
}

// mayWrite refuses a file that is read-only, whether marked so or not ours to
// write: renaming another over it would go round that.
func mayWrite(root *os.Root, s source) error {
	if !s.exists() {
		return nil
	}
	if s.info.Mode().Perm()&0o222 == 0 {
		return readOnly(s.file, "it is read-only", nil)
	}
	f, err := root.OpenFile(s.path(), os.O_WRONLY, 0)
	if err != nil {
		return readOnly(s.file, "it cannot be written: "+cause(err), err)
	}
	return f.Close()
}

// replace puts a new text in the place of a file, with its mode and owner, unless
// the file is no longer what it was: then what somebody else wrote would be lost.
func replace(root *os.Root, was source, text []byte) error {
	if err := root.MkdirAll(filepath.Dir(was.path()), 0o777); err != nil {
		return notWritten(was, err)
	}
	err := atomicfile.Write(root, was.path(), text, atomicfile.Options{Like: was.info, New: !was.exists(),
		Confirm: func() error { return unchanged(root, was) }})
	if !was.exists() && errors.Is(err, fs.ErrExist) {
		return changed(was.file)
	}
	return notWritten(was, err)
}

// remove deletes a file, unless it is no longer what it was.
func remove(root *os.Root, was source) error {
	if err := unchanged(root, was); err != nil {
		return err
	}
	return notWritten(was, root.Remove(was.path()))
}

// unchanged reads a file again and refuses when it is not what it was.
func unchanged(root *os.Root, was source) error {
	now, err := read(root, was.file)
	if err != nil || !was.same(now) {
		return changed(was.file)
	}
	return nil
}

// notWritten tells a place that may not be written from one that cannot be.
func notWritten(was source, err error) error {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return readOnly(was.file, "its folder cannot be written: "+cause(err), err)
	}
	return fmt.Errorf("write %s: %w", was.file, err)
}
