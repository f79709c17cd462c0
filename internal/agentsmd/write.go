package agentsmd

import "os"

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
	s, found := inspect(root, file, content)
	if found.Refusal != nil {
		return Result{}, found.Refusal
	}
	result := Result{Action: actionFor(found.State), File: file, Target: found.Target,
		Before: found.Before, After: found.Content, Edits: found.Edits}
	if result.Action == Unchanged {
		return result, nil
	}
	return result, change(root, s, result, opts)
}

func actionFor(state State) Action {
	switch state {
	case Absent:
		return Created
	case NoBlock:
		return Added
	case Outdated:
		return Updated
	case Edited:
		return Restored
	}
	return Unchanged
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
	s, err := read(root, file)
	if err != nil {
		return Result{}, err
	}
	d, err := s.document()
	if err != nil {
		return Result{}, err
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
	r, err := prepare(root, s, result.After)
	if err != nil {
		return err
	}
	defer r.discard()
	return r.commit()
}
