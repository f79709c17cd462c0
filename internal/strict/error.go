package strict

import (
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	shownText    = 40  // runes of a given text or key that a message repeats
	shownPointer = 200 // runes of a pointer that a message repeats
)

// Error is a problem of the input, in words a model can act on.
type Error struct {
	Pointer string // JSON pointer to the offending value or key, "" for the root
	Problem string // what is wrong
	Want    string // what would be accepted instead, "" when only the type itself knows
	Nearest string // the accepted name or word that was probably meant, "" when none is near
	cause   error
}

// Error returns all parts as one sentence. What it repeats of the input is
// shortened and free of control characters.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Pointer != "" {
		b.WriteString(printable(e.Pointer, shownPointer) + ": ")
	}
	b.WriteString(e.Problem)
	nearest := strconv.Quote(e.Nearest)
	if e.Want != "" && e.Want != nearest {
		b.WriteString(", want " + e.Want)
	}
	if e.Nearest != "" {
		b.WriteString("; did you mean " + nearest + "?")
	}
	return b.String()
}

// Unwrap returns the error of a type's own decoding, if that was the problem.
func (e *Error) Unwrap() error { return e.cause }

// fail reports a problem at the value or key being decoded.
func (d *decoding) fail(problem, want string) *Error {
	return &Error{Pointer: d.pointer(len(d.path)), Problem: problem, Want: want}
}

func (d *decoding) mismatch(kind jsontext.Kind, t reflect.Type) error {
	return d.fail("found "+kindName(kind), wanted(t))
}

func (d *decoding) mismatchText(text string, t reflect.Type) error {
	return d.fail("found the string "+quoted(text), wanted(t))
}

// syntax turns an error of the JSON reader into ours.
func (d *decoding) syntax(err error) error {
	where := "invalid JSON"
	if d.inString {
		where = "invalid JSON in a string"
	}
	problem := &Error{Pointer: d.pointer(d.origin), cause: err}
	syntactic, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		problem.Problem = where + ": " + err.Error()
		return problem
	}
	problem.Pointer += string(syntactic.JSONPointer)
	switch {
	case errors.Is(syntactic.Err, jsontext.ErrDuplicateName):
		problem.Problem = "duplicate key " + quoted(syntactic.JSONPointer.LastToken())
		problem.Want = "each key once"
	case errors.Is(syntactic.Err, io.ErrUnexpectedEOF):
		problem.Problem = where + ": it ends too early"
	default:
		at := strconv.FormatInt(syntactic.ByteOffset, 10)
		problem.Problem = where + " at byte " + at + ": " + syntactic.Err.Error()
	}
	return problem
}

// own turns the error of a type's own decoding into ours. Only an error that is
// itself one with a position is taken apart: a wrapped one has text worth keeping.
func (d *decoding) own(err error) error {
	problem := d.fail("", "")
	problem.cause = err
	if semantic, ok := err.(*json.SemanticError); ok {
		problem.Pointer += string(semantic.JSONPointer)
		problem.Problem = "found " + kindName(semantic.JSONKind) + " that does not fit"
		err = semantic.Err
	}
	if inner, ok := err.(*Error); ok {
		problem.Pointer += inner.Pointer
		problem.Problem, problem.Want, problem.Nearest = inner.Problem, inner.Want, inner.Nearest
	} else if err != nil {
		problem.Problem = err.Error()
	}
	return problem
}

// printable shortens s and escapes what could disturb a terminal or a log.
func printable(s string, limit int) string {
	if runes := []rune(s[:min(len(s), 4*limit+4)]); len(runes) > limit {
		s = string(runes[:limit]) + "…"
	}
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}

func quoted(s string) string { return `"` + printable(s, shownText) + `"` }
