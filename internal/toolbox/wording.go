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

// refused says of a path what the file system has against it. What is no fault
// of the path stays an error of ours.
func refused(rel string, err error) error {
	name := plan.Quote(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &plan.ValidationError{Kind: plan.NotFound, Field: "/path", Problem: name + " does not exist", Fix: "look for it with glob"}
	case errors.Is(err, fs.ErrPermission):
		return conflict("/path", name+" cannot be read or written here", "choose another path")
	case errors.Is(err, syscall.ELOOP):
		return invalid("/path", name+" is a link that leads in a circle", "name the file itself")
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist): // the second where Windows is to make a folder in a file
		return invalid("/path", name+" goes through something that is not a directory", "look at it with view")
	case errors.Is(err, syscall.ENAMETOOLONG):
		return invalid("/path", name+" has a name that is too long", "shorten it")
	case strings.HasSuffix(err.Error(), ": path escapes from parent"): // the error of os.Root, which the library does not export
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

// size writes a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d MB", n>>20)
}

// seconds writes a duration for people.
func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// join writes down the notes that are given.
func join(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(note string) bool { return note == "" }), "; ")
}

// when is a note that holds under a condition.
func when(holds bool, note string) string {
	if !holds {
		return ""
	}
	return note
}
