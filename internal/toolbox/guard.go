package toolbox

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
)

// Guard returns the reason why only reading is allowed now at path, or anywhere below it. path is absolute (chorus:
// Context Gathering Phase). An error means that the answer is unknown, and does not permit writing.
type Guard func(ctx context.Context, path string) (Hold, error)

// PlanningMode is Hold.By for the workspace's own planning mode.
const PlanningMode = "planning mode"

// Hold is the reason why only reading is allowed. The zero value means that writing is allowed.
type Hold struct {
	By string // planning mode, and its owner
}

// Refuse returns the refusal of something under the hold: the reason, and a replacement that serves the same need, if there is one. Every
// refusal ends alike.
func (h Hold) Refuse(field, reason, instead string) error {
	if h.By != PlanningMode {
		reason += " (" + h.By + ")"
	}
	if instead != "" {
		reason += "; instead: " + instead
	}
	return plan.Refuse(plan.Conflict, field, reason, plan.ReadOnly)
}

// Wall enforces read-only access at a path and below it.
type Wall struct {
	Path  string
	Guard Guard // nil: writing is allowed everywhere

	// Changed sends after Guard's answer may have changed, until ctx ends; nil: it never changes.
	Changed func(ctx context.Context) (<-chan struct{}, error)
}

// wall returns the Wall at a path below the workspace.
func (b *Box) wall(rel string) Wall {
	return Wall{filepath.Join(b.path, filepath.FromSlash(rel)), b.options.Guard, b.options.Changed}
}

func (w Wall) hold(ctx context.Context) (Hold, error) {
	if w.Guard == nil {
		return Hold{}, nil
	}
	hold, err := w.Guard(ctx, w.Path)
	if err != nil {
		return hold, fmt.Errorf("ask whether only reading is allowed: %w", err)
	}
	return hold, nil
}

// Free returns the reason why only reading is allowed now, if any. Otherwise the returned context ends with cause as
// soon as only reading is allowed. stop ends the goroutine that watches for this.
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
				if hold, err := w.hold(free); hold.By != "" || err != nil {
					cancel(cause)
				}
			}
		}()
	}
	if hold, err = w.hold(ctx); err != nil { // after subscribing, so that no change is missed
		stop()
		return nil, Hold{}, nil, err
	}
	return free, hold, stop, nil
}

// Listed reports whether one of the names of another server's tool matches a list of reading tools, in which * matches
// any text.
func Listed(patterns []string, names ...string) bool {
	flat := strings.NewReplacer("/", "\x00") // path.Match treats / as a border
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			ok, err := path.Match(flat.Replace(pattern), flat.Replace(name))
			return err == nil && ok
		})
	})
}
