package presence_test

import (
	"testing"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/process"
)

// TestMarks: a refused call is changed only after the last mark of its kind has arrived, each mark arrives once, and nothing is changed if
// the settings did not allow it when the program started.
func TestMarks(t *testing.T) {
	a := attest(t)
	below := func() []process.Ancestor { return []process.Ancestor{{PID: 90, Started: 90, Name: "planloop"}, a.host} }
	beside := func() []process.Ancestor {
		return []process.Ancestor{{PID: 90, Started: 90, Name: "planloop"}, {PID: 91, Started: 5}}
	}
	b := presence.Open(a.state, presence.Options{})
	if mark := b.NewMark(below, "kind", true); mark != "" {
		t.Error("a mark although the settings do not allow it")
	}
	b.AllowRewrites(below)
	if b.NewMark(below, "kind", false) != "" {
		t.Error("a refused call was changed without proof")
	}
	first := b.NewMark(below, "kind", true)
	second := b.NewMark(below, "kind", true)
	for _, wrong := range []string{"", "x", "*", first} {
		if b.MarkArrived(below, wrong); b.NewMark(below, "kind", false) != "" {
			t.Errorf("the mark %q arrived", wrong)
		}
	}
	if b.MarkArrived(beside, second); b.NewMark(below, "kind", false) != "" {
		t.Error("the mark arrived below another program")
	}
	b.MarkArrived(below, second)
	if b.NewMark(below, "other", false) != "" {
		t.Error("a mark counts for another session, agent or mode")
	}
	if allowed, arrived := b.Rewrites(below, "kind"); !allowed || !arrived {
		t.Errorf("allowed %t, arrived %t", allowed, arrived)
	}
	third := b.NewMark(below, "kind", false)
	if third == "" || b.NewMark(below, "kind", false) != "" {
		t.Error("not changed once, or changed again before the mark of the first change arrived")
	}
	b.MarkArrived(below, second)
	if _, arrived := b.Rewrites(below, "kind"); arrived {
		t.Error("an old mark arrived again")
	}
	b.MarkArrived(below, third)
	if _, arrived := b.Rewrites(below, "kind"); !arrived {
		t.Error("the mark of a changed call did not arrive")
	}
}
