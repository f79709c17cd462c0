package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	strictjson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/tree"
	"github.com/planloop/planloop/plan"
)

// Watch receives the progress of a call. Each field may be nil.
type Watch struct {
	Log      io.Writer                      // gets a command's output as it arrives, both streams, unchanged; writes do not overlap
	Progress func(percent int, what string) // 0 to 100
	Started  func(process.Identity)         // called with a command's process once it has begun; the log may come first

	Dir     string // directory of a command, relative to the workspace; "": the workspace
	NoValue bool   // nothing uses the value of the outcome

	step bool // the call belongs to a step: it needs the whole output, and its context sets the time-out
}

// Outcome is the result of a call.
type Outcome struct {
	OK    bool
	Value json.RawMessage // value for steps that refer to this one; nil: no value, and Text says why
	Text  string          // for a model
	Error string          // why it is not OK

	Transient bool // the failure may be temporary
	TimedOut  bool
	ExitCode  int  // of a command; it may be 0 without OK
	Cut       bool // ended from outside before it finished, also at a time-out: how much of it took effect is unknown
}

// maxValue bounds the JSON of a value, in bytes.
const maxValue = 4 << 20

// noValue is the reason why a value is missing.
type noValue struct {
	text    string
	tooLong bool // then the step has failed: others may need the value
}

// ending is a Reply of a tool that may fail after it has begun.
type ending interface {
	end(*Outcome)
}

// Call makes a call. Refusals, failures and a deadline of ctx that has passed are outcomes. An error means that ctx was
// cancelled: the call and everything it had started have ended, and how much took effect is unknown; the outcome holds
// the output so far.
func (t Tool) Call(ctx context.Context, args json.RawMessage, w Watch) (Outcome, error) {
	if faults := t.Check(args); len(faults) > 0 {
		first := *faults[0]
		first.Others = faults[1:]
		return failed(&first), nil
	}
	w.step = true
	out, err := t.Run(ctx, args, w)
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() == nil:
		return failed(err), nil
	}
	out.OK, out.Cut, out.Error = false, true, err.Error()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		out.TimedOut = true
		return out, nil
	}
	return out, fmt.Errorf("%s was ended: %w", t.Name, context.Cause(ctx))
}

func failed(err error) Outcome {
	out := Outcome{Text: err.Error(), Error: err.Error(), Transient: transient(err)}
	if errors.As(err, new(*plan.ValidationError)) {
		out.Text = "Nothing was done. " + out.Text
	}
	return out
}

// transient reports whether an error may be temporary: a closed connection, or an error with a Transient method that
// returns true.
func transient(err error) bool {
	var says interface{ Transient() bool }
	if errors.As(err, &says) {
		return says.Transient()
	}
	closed := []error{net.ErrClosed, io.ErrUnexpectedEOF, io.ErrClosedPipe, syscall.ECONNRESET, syscall.ECONNREFUSED,
		syscall.ECONNABORTED, syscall.EPIPE}
	return slices.ContainsFunc(closed, func(one error) bool { return errors.Is(err, one) })
}

// outcome calls a tool of the table.
func (b *Box) outcome(ctx context.Context, row Row, args json.RawMessage, w Watch) (Outcome, error) {
	reply, err := row.Call(ctx, b, func(into any) error { return decode(args, into) }, w)
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{OK: true, Text: reply.Text()}
	var value any = reply
	if own, ok := reply.(Valuer); ok {
		value = own.Value()
	}
	why := noValue{}
	switch value := value.(type) {
	case noValue:
		why = value
	case json.RawMessage:
		out.Value = value
	default:
		out.Value, why = encoded(value)
	}
	if why.text != "" && !why.tooLong && !w.NoValue {
		out.Text += "\nIt has no value for other steps: " + why.text + "."
	}
	if ended, ok := reply.(ending); ok {
		ended.end(&out)
	}
	if out.OK && why.tooLong && !w.NoValue {
		out.OK, out.Error = false, "it was done, but "+why.text+", the limit of a value; write it to a file that the next step reads"
	}
	return out, nil
}

// encoded returns the JSON of a value, or the reason for not having one.
func encoded(value any) (json.RawMessage, noValue) {
	data, err := strictjson.Marshal(value, jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false))
	switch {
	case err != nil:
		return nil, noValue{text: err.Error()}
	case len(data) > maxValue:
		return nil, noValue{"it is longer than " + size(maxValue), true}
	}
	return data, noValue{}
}

func invalid(field, problem, fix string) error {
	return &plan.ValidationError{Kind: plan.InvalidInput, Field: field, Problem: problem, Fix: fix}
}

func conflict(field, problem, fix string) error {
	return &plan.ValidationError{Kind: plan.Conflict, Field: field, Problem: problem, Fix: fix}
}

// refused turns a file system error about a path into a refusal. Errors not caused by the path stay errors of ours.
func refused(rel string, err error) error {
	name := plan.Quote(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &plan.ValidationError{Kind: plan.NotFound, Field: "/path", Problem: name + " does not exist", Fix: "look for it with glob"}
	case errors.Is(err, fs.ErrPermission):
		return conflict("/path", name+" cannot be read or written here", "choose another path")
	case errors.Is(err, syscall.ELOOP):
		return invalid("/path", name+" is a link that leads in a circle", "name the file itself")
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist): // ErrExist: on Windows, if a folder would be made in a file
		return invalid("/path", name+" goes through something that is not a directory", "look at it with view")
	case errors.Is(err, syscall.ENAMETOOLONG):
		return invalid("/path", name+" has a name that is too long", "shorten it")
	case tree.LeadsOut(err):
		return invalid("/path", name+" leads out of the workspace through a link", inside)
	}
	return fmt.Errorf("%s: %w", rel, err)
}

// head returns at most limit bytes of the beginning of text, in whole characters.
func head(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return string(tree.WholeCharacters([]byte(text[:limit])))
}

func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d MB", n>>20)
}

func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func join(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(note string) bool { return note == "" }), "; ")
}

func when(holds bool, note string) string {
	if !holds {
		return ""
	}
	return note
}
