package toolbox

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/planloop/planloop/internal/tree"
	"github.com/planloop/planloop/plan"
)

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

// head returns at most most bytes of the beginning of text, in whole characters.
func head(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return string(tree.WholeCharacters([]byte(text[:most])))
}

// size formats a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d MB", n>>20)
}

// seconds formats a duration for people.
func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// join joins the notes that are not empty.
func join(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(note string) bool { return note == "" }), "; ")
}

// when returns the note if holds is true.
func when(holds bool, note string) string {
	if !holds {
		return ""
	}
	return note
}
