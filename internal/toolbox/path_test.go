package toolbox

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// FuzzRelative: any accepted text names one place below the workspace, in its only spelling.
func FuzzRelative(f *testing.F) {
	root := filepath.Join(f.TempDir(), "w")
	for _, text := range []string{"a", "./a/../b", "..", "a/../..", root, root + "/a", root + "/../x", root + "x", "/", "//a", "~", "./~",
		"C:", "./C:/a",
		`a\b`, "a\x00", "a\u202eb", "\xff", "a/", "...", ". .", "-rf", "a//b", "", " "} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		box := &Box{names: []string{root}}
		rel, err := box.place(text)
		if err != nil {
			if refusal, ok := errors.AsType[*plan.ValidationError](err); !ok || rel != "" || refusal.Fix == "" {
				t.Fatalf("%q is refused with %q and %v", text, rel, err)
			}
			return
		}
		if !fs.ValidPath(rel) || !filepath.IsLocal(filepath.FromSlash(rel)) {
			t.Fatalf("%q became %q", text, rel)
		}
		if strings.Contains(rel, `\`) || strings.ContainsFunc(rel, unicode.IsControl) {
			t.Fatalf("%q became %q", text, rel)
		}
		for _, again := range []string{"./" + rel, filepath.Join(root, rel)} {
			if len([]rune(again)) > 1_000 {
				return
			}
			if got, err := box.place(again); got != rel {
				t.Fatalf("%q became %q, and %q became %q (%v)", text, rel, again, got, err)
			}
		}
	})
}

func FuzzEnds(f *testing.F) {
	for _, text := range []string{"a\tb\n", "\x1b[31m", "\xe2", "\xff\xfe", "a\u202eb", "\u200d", "\u2028", "\U000e0041", "\x7f\u0085"} {
		f.Add(text, 5)
		f.Add(text, 1)
	}
	f.Fuzz(func(t *testing.T, text string, max int) {
		shown := safetext.Escape(text)
		if max < 0 {
			return
		}
		if first := head(shown, max); len(first) > max || !strings.HasPrefix(shown, first) || !safetext.Printable(first) {
			t.Fatalf("the head of %q is %q", shown, first)
		}
		if last := safetext.Tail(shown, max); len(last) > max || !strings.HasSuffix(shown, last) || !safetext.Printable(last) {
			t.Fatalf("the end of %q is %q", shown, last)
		}
	})
}
