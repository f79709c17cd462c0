package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

func TestExitCodes(t *testing.T) {
	refused := &plan.ValidationError{Kind: plan.Conflict, Problem: "no", Fix: "yes"}
	for _, c := range []struct {
		err       error
		code      int
		errorType errorType
	}{
		{nil, 0, ""},
		{refused, 2, "conflict"},
		{fmt.Errorf("line 3: %w", refused), 2, "conflict"},
		{&plan.ValidationError{Kind: plan.NotFound, Problem: "no"}, 2, "not_found"},
		{usageError{errors.New("no")}, 2, "invalid_input"},
		{&workspace.ConfigError{Problem: "no"}, 2, "invalid_input"},
		{errReported, 1, "fault"},
		{store.ErrBusy, 1, "fault"},
		{fmt.Errorf("open: %w", store.ErrDamaged), 1, "fault"},
		{context.Canceled, 1, "fault"},
		{errors.New("anything else"), 1, "fault"},
	} {
		if got := exitCode(c.err); got != c.code {
			t.Errorf("exitCode(%v) = %d, want %d", c.err, got, c.code)
		}
		if c.err == nil {
			continue
		}
		if got := errorReply(c.err, ""); got.ErrorType != c.errorType || got.Status != "error" || got.Message != c.err.Error() ||
			got.Details == nil {
			t.Errorf("errorReply(%v) = %+v", c.err, got)
		}
	}
	want := errorJSON{Status: "error", ErrorType: "conflict", Message: "no; yes", Details: []string{"yes"}, NextAction: "next"}
	if diff := cmp.Diff(want, errorReply(refused, "next")); diff != "" {
		t.Error(diff)
	}
}

// TestErrorTypesAreDocumented compares the list in the documentation with the code.
func TestErrorTypesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/formats.md")
	must(t, err)
	_, list, _ := strings.Cut(string(text), "`error_type` is ")
	list, _, _ = strings.Cut(list, "\n\n")
	var documented []string
	for _, word := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(list, -1) {
		documented = append(documented, word[1])
	}
	want := errorType("").Values()
	slices.Sort(want)
	if slices.Sort(documented); !slices.Equal(documented, want) {
		t.Errorf("docs/reference/formats.md lists %q, the code has %q", documented, want)
	}
}

func TestReport(t *testing.T) {
	refused := &plan.ValidationError{Kind: plan.InvalidInput, Field: "/title", Problem: "has \x1b[31m", Fix: "remove it"}
	w, out, stderr := emptyWorld()
	if code := (&app{environment: w}).report(t.Context(), refused); code != 2 {
		t.Errorf("exit code %d", code)
	}
	if want := "planloop: title: has \\x1b[31m; remove it\n"; stderr.String() != want || out.Len() > 0 {
		t.Errorf("standard error %q, want %q; standard output %q", stderr, want, out)
	}
}

func TestJSONFlagIsFoundInABrokenCommandLine(t *testing.T) {
	for _, c := range []struct {
		args []string
		want bool
	}{
		{[]string{"show", "--bogus", "--json"}, true},
		{[]string{"show", "--bogus"}, false},
		{[]string{"step", "add", "--", "--json"}, false},
	} {
		if got := asksForJSON(c.args); got != c.want {
			t.Errorf("%q: %t", c.args, got)
		}
	}
}
