// Package agentsmd keeps one marked block in a Markdown file that belongs to the
// user: the rule book for agents in docs/agents.md, AGENTS.md or wherever the
// configuration says. It finds out whether the block on disk is the right one,
// says what the whole file should be, writes it, takes it out again, and tells
// when the file may have changed.
//
// The block stands between two comments on lines of their own:
//
//	<!-- planloop:begin v=1 sha256=HEX -->
//	the text
//	<!-- planloop:end -->
//
// HEX is the hash of the lines in between, each ended by a line feed whatever
// ends it in the file. So a block that is merely old can be told from one that
// somebody has edited. Everything outside the block is kept byte for byte: a
// byte order mark, line endings, a missing last newline.
//
// Comments that stand in a fenced code block are a quotation and do not count,
// but for a whole block whose hash holds: that is ours wherever it stands, for
// instance after a fence that somebody forgot to close.
//
// A file is replaced by a new one of the same mode and, where we may, owner. Hard
// links and extended attributes stay with the former file.
//
// The package must not know what the rule book says, who asks for it, or what a
// plan is. It opens nothing outside the workspace, remembers nothing between two
// calls, and believes the disk alone.
package agentsmd

import (
	"errors"
	"fmt"
	"io/fs"
)

// MaxBytes is the largest file that is read or written.
const MaxBytes = 1 << 20

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

// Error says where, what, and what to do, in one line.
func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	return where + ": " + e.Problem + "; " + e.Fix
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// cause returns what a file system said, without the path it said it of.
func cause(err error) string {
	if detail, ok := errors.AsType[*fs.PathError](err); ok {
		return detail.Err.Error()
	}
	return err.Error()
}

func unreadable(file string, err error) *Error {
	return &Error{File: file, State: Unreadable, Problem: "it cannot be read: " + cause(err),
		Fix: "make it a readable file", Err: err}
}

func tooLarge(file, problem string) *Error {
	return &Error{File: file, State: TooLarge, Problem: problem, Fix: "shorten it, or name another file as agents_file"}
}

func readOnly(file, problem string, err error) *Error {
	return &Error{File: file, State: ReadOnly, Problem: problem, Fix: "make it writable and try again, or leave it as it is", Err: err}
}

func changed(file string) *Error {
	return &Error{File: file, State: Changed, Problem: "somebody else changed it at the same time, so nothing was written",
		Fix: "try again"}
}
