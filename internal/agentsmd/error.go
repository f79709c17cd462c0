package agentsmd

import (
	"errors"
	"fmt"
	"io/fs"
)

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
	return &Error{File: file, State: Unreadable, Problem: "it cannot be read: " + cause(err), Fix: "make it a readable file or remove it", Err: err}
}

func notPlain(file string) *Error {
	return &Error{File: file, State: Unreadable, Problem: "it is not a plain file", Fix: "put a file there or remove it"}
}

func tooLarge(file, problem string) *Error {
	return &Error{File: file, State: TooLarge, Problem: problem, Fix: "shorten it, or name another file as agents_file"}
}

func readOnly(file, problem string, err error) *Error {
	return &Error{File: file, State: ReadOnly, Problem: problem, Fix: "make it writable and try again, or leave it as it is", Err: err}
}

func changed(file string) *Error {
	return &Error{File: file, State: Changed, Problem: "somebody else changed it at the same time, so nothing was written", Fix: "try again"}
}
