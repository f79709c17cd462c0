package agentsmd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/planloop/planloop/internal/safefile"
)

// Action is the action taken, or in a dry run the one to take.
type Action string

// The actions.
const (
	Unchanged Action = "unchanged" // the file is already correct
	Created   Action = "created"   // the file was created
	Added     Action = "added"     // a block was added to the user's file
	Updated   Action = "updated"   // an older block was replaced
	Restored  Action = "restored"  // an edited block was replaced; its text is in Edits
	Removed   Action = "removed"   // the block was removed
	Deleted   Action = "deleted"   // the file was deleted: it contained only the block
)

// Write updates a file's block to the canonical text, and creates the file and its folders if necessary. It refuses
// with an *Error everything that Inspect refuses, a read-only file (ReadOnly), and a file that another program changes
// at the same time (Changed). The file is replaced atomically; after a refusal or with dryRun it is unchanged.
func Write(workspace, file, canonical string, dryRun bool) (Result, error) {
	root, s, found, err := inspect(workspace, file, canonical)
	if err != nil {
		return Result{}, err
	}
	defer root.Close()
	actions := map[State]Action{Absent: Created, NoBlock: Added, Outdated: Updated, Edited: Restored}
	if found.Refusal != nil {
		return Result{}, found.Refusal
	}
	if found.Action = cmp.Or(actions[found.State], Unchanged); found.Action == Unchanged {
		return found, nil
	}
	return found, change(root, s, found, dryRun)
}

// Remove removes the block from a file. If the text around the block is unchanged, the result is byte for byte the file
// before Write added the block. A file created by Write is deleted, but not its folder. Remove refuses the same files
// as Write. A missing block is not an error.
func Remove(workspace, file string, dryRun bool) (Result, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return Result{}, err
	}
	defer root.Close()
	s, d, refused := parseFile(root, file)
	if refused != nil {
		return Result{}, refused
	}
	result := Result{Action: Unchanged, File: file, Target: s.target, Before: s.data, Content: s.data}
	if d.block == nil {
		return result, nil
	}
	if !d.block.intact {
		result.Edits = d.block.content
	}
	text, isCreated := d.without()
	if result.Action, result.Content = Removed, []byte(text); isCreated {
		result.Action, result.Content = Deleted, nil
	}
	return result, change(root, s, result, dryRun)
}

func change(root *os.Root, s source, result Result, dryRun bool) error {
	if err := mayWrite(root, s); err != nil || dryRun {
		return err
	}
	return replace(root, s, result.Content)
}

// replace replaces a file's text, or deletes the file if text is nil, unless another program changed it since it was read.
func replace(root *os.Root, s source, text []byte) error {
	if text == nil {
		if err := unchanged(root, s); err != nil {
			return err
		}
		return notWritten(s, root.Remove(s.path()))
	}
	if err := root.MkdirAll(filepath.Dir(s.path()), 0o777); err != nil {
		return notWritten(s, err)
	}
	err := safefile.Write(root, s.path(), text, safefile.Options{Like: s.info, New: !s.exists(),
		Confirm: func() error { return unchanged(root, s) }})
	if !s.exists() && errors.Is(err, fs.ErrExist) {
		return changed(s.file)
	}
	return notWritten(s, err)
}

// mayWrite refuses a file that is read-only or not writable for us, because a rename over it would bypass that.
func mayWrite(root *os.Root, s source) error {
	if !s.exists() {
		return nil
	}
	if s.info.Mode().Perm()&0o222 == 0 {
		return readOnly(s.file, "it is read-only", nil)
	}
	f, err := root.OpenFile(s.path(), os.O_WRONLY, 0)
	if err != nil {
		return readOnly(s.file, "it cannot be written: "+safefile.Cause(err).Error(), err)
	}
	return f.Close()
}

func unchanged(root *os.Root, was source) error {
	now, err := read(root, was.file)
	if err != nil || now.target != was.target || now.exists() != was.exists() ||
		was.exists() && (now.info.Mode() != was.info.Mode() || !bytes.Equal(now.data, was.data)) {
		return changed(was.file)
	}
	return nil
}

// notWritten distinguishes missing permission from other errors.
func notWritten(was source, err error) error {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return readOnly(was.file, "its folder cannot be written: "+safefile.Cause(err).Error(), err)
	}
	return fmt.Errorf("write %s: %w", was.file, err)
}
