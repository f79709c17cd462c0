package toolbox

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Guard says what allows only reading now at a path, or somewhere below it, which is
// absolute (chorus: Context Gathering Phase). An error means that it could not be told,
// which is no leave to write.
type Guard func(ctx context.Context, path string) (Hold, error)

// Hold is what allows only reading. The zero value is nothing.
type Hold struct {
	By  string // planning mode, and whose
	Fix string // what to do instead
}

// Wall holds to reading what is done at a path and below it.
type Wall struct {
	Path  string
	Guard Guard // nil: writing is allowed everywhere

	// Changed receives after what Guard says may have changed, until ctx ends; nil: it does not change.
	Changed func(ctx context.Context) (<-chan struct{}, error)
}

// wall is that at a path below the workspace.
func (b *Box) wall(rel string) Wall {
	return Wall{filepath.Join(b.path, filepath.FromSlash(rel)), b.options.Guard, b.options.Changed}
}

func (w Wall) held(ctx context.Context) (Hold, error) {
	if w.Guard == nil {
		return Hold{}, nil
	}
	hold, err := w.Guard(ctx, w.Path)
	if err != nil {
		return hold, fmt.Errorf("ask whether only reading is allowed: %w", err)
	}
	return hold, nil
}

// Free says what allows only reading now. Where nothing does, the context that it returns
// ends with the cause once only reading is allowed. The goroutine that sees to it ends with
// stop.
func (w Wall) Free(ctx context.Context, cause error) (free context.Context, hold Hold, stop func(), err error) {
	free, cancel := context.WithCancelCause(ctx)
	stop = func() { cancel(context.Canceled) }
	if w.Changed != nil {
		changes, err := w.Changed(free)
		if err != nil {
			stop()
			return nil, Hold{}, nil, fmt.Errorf("hear when only reading is allowed: %w", err)
		}
		go func() {
			for range changes {
				if hold, err := w.held(free); hold.By != "" || err != nil {
					cancel(cause)
				}
			}
		}()
	}
	if hold, err = w.held(ctx); err != nil { // once changes are heard of: none is missed
		stop()
		return nil, Hold{}, nil, err
	}
	return free, hold, stop, nil
}

// Listed reports whether one of the names of a tool that is not ours stands in a list of those that only read, in
// which * stands for anything.
func Listed(patterns []string, names ...string) bool {
	flat := strings.NewReplacer("/", "\x00") // which path.Match takes for a border
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			ok, err := path.Match(flat.Replace(pattern), flat.Replace(name))
			return err == nil && ok
		})
	})
}
