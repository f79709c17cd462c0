// Package agentsmd maintains one marked block in a Markdown file that belongs to the user: the rule book for agents in
// docs/agents.md, AGENTS.md or the configured file. It checks the block on disk, computes the correct file, writes it,
// removes the block, and reports changes of the file.
//
// The block is between two comments on lines of their own:
//
//	<!-- planloop:begin v=1 sha256=HEX -->
//	the text
//	<!-- planloop:end -->
//
// HEX is the hash of the lines between them, each ended by a line feed whatever the file uses. It distinguishes an
// outdated block from an edited one. Everything outside the block is kept byte for byte: a byte order mark, line
// endings, a missing last newline.
//
// Comments in a fenced code block are a quotation and do not count, except for a complete block with a valid hash: that
// is ours anywhere, for instance after a fence that the user forgot to close.
//
// A file is replaced by a new one with the same mode and, if permitted, owner. Hard links and extended attributes stay
// with the former file.
//
// The package must not know the content of the rule book, its callers, or plans. It opens nothing outside the
// workspace, keeps no state between two calls, and trusts only the disk.
package agentsmd

import (
	"fmt"

	"github.com/planloop/planloop/internal/safefile"
)

// MaxBytes is the size limit of a file that is read or written.
const MaxBytes = 1 << 20

// State compares a file with the block that should be in it.
type State string

// The states of a file.
const (
	InSync   State = "in_sync"  // the block on disk is correct
	Absent   State = "absent"   // the file does not exist
	NoBlock  State = "no_block" // a user's file without our block
	Outdated State = "outdated" // our block, unedited, with a different text
	Edited   State = "edited"   // our block, edited

	Broken     State = "broken"     // the markers cannot be trusted
	Unreadable State = "unreadable" // not a regular file, or not readable
	TooLarge   State = "too_large"  // more than MaxBytes, or it would be
	NotText    State = "not_text"   // not UTF-8
	Outside    State = "outside"    // the path, or a link in it, leads out of the workspace

	ReadOnly State = "read_only" // only in an Error: no write permission
	Changed  State = "changed"   // only in an Error: another program wrote it at the same time
)

// Result is a file with its block, as Inspect found it and as Write and Remove changed it.
type Result struct {
	Action  Action // of Write and Remove
	State   State  // of Inspect and Write, before the change
	File    string // as requested
	Target  string // the file to read and write, different from File if that is a link; "" if unknown
	Before  []byte // the whole file as it is, nil if it is missing or Refusal is set
	Content []byte // the whole file as it should be, nil if it is deleted or Refusal is set
	Edits   string // the content of an edited block, which is lost when Content is written
	Refusal *Error // why the file can neither be checked nor written
}

// Error says why a file is not changed, and how to fix that.
type Error struct {
	File    string
	State   State
	Line    int // 0 for the whole file
	Problem string
	Fix     string
	Err     error // the cause, may be nil
}

// Error returns place, problem and fix in one line.
func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	return where + ": " + e.Problem + "; " + e.Fix
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func unreadable(file string, err error) *Error {
	return &Error{File: file, State: Unreadable, Problem: "it cannot be read: " + safefile.Cause(err).Error(),
		Fix: "make it readable", Err: err}
}

func tooLarge(file, problem string) *Error {
	return &Error{File: file, State: TooLarge, Problem: problem, Fix: "shorten it, or name another file as agents_file"}
}

func readOnly(file, problem string, err error) *Error {
	return &Error{File: file, State: ReadOnly, Problem: problem, Fix: "make it writable and try again, or leave it as it is", Err: err}
}

func changed(file string) *Error {
	return &Error{File: file, State: Changed, Problem: "another program changed it at the same time, so nothing was written",
		Fix: "try again"}
}
