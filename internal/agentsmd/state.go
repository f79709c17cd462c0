package agentsmd

// State is how a file stands to the block that should be in it.
type State string

// The states of a file.
const (
	InSync   State = "in_sync"  // the block on disk is the right one
	Absent   State = "absent"   // there is no such file
	NoBlock  State = "no_block" // a file of the user's, without our block
	Outdated State = "outdated" // our block, as it was written, with another text
	Edited   State = "edited"   // our block, changed by somebody

	Broken     State = "broken"     // the markers cannot be trusted
	Unreadable State = "unreadable" // no plain file, or one that may not be read
	TooLarge   State = "too_large"  // more than MaxBytes, or it would be
	NotText    State = "not_text"   // not UTF-8
	Outside    State = "outside"    // the path or a link in it leads out of the workspace

	ReadOnly State = "read_only" // only of an Error: it may not be written
	Changed  State = "changed"   // only of an Error: somebody else wrote it at the same time
)

// Found is what Inspect found.
type Found struct {
	File     string // as asked for
	Target   string // the file that is read and written, other than File when that is a link; "" when it could not be told
	State    State
	Content  []byte // the whole file as it should be, nil when Refusal is set
	Before   []byte // the whole file as it is, nil when there is none or Refusal is set
	Edits    string // what an edited block holds, and is lost when Content is written
	ReadOnly bool   // the file is marked as read-only, and Write would refuse
	Refusal  *Error // why the file can be neither judged nor written
}

// Error says why a file is left alone, and what to do about it.
type Error struct {
	File    string
	State   State
	Line    int // 0 when it is about the whole file
	Problem string
	Fix     string
	Err     error // the cause, may be nil
}
