package plan_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/planloop/planloop/plan"
)

func TestValidationErrorSaysWhereWhatAndWhatToDo(t *testing.T) {
	for want, err := range map[string]plan.ValidationError{
		"/title: is blank; give one": {Field: "/title", Problem: "is blank", Fix: "give one"},
		"there is no plan; set one":  {Problem: "there is no plan", Fix: "set one"},
		"/title: is blank":           {Field: "/title", Problem: "is blank"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, test := range []struct {
		in   string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"ab cd", 4, "ab…"}, {"\u00e9\u00e9\u00e9", 3, "\u00e9\u00e9\u00e9"},
		{"\u00e9\u00e9\u00e9\u00e9", 3, "\u00e9\u00e9…"}, {"", 0, ""}, {"abc", 1, "…"},
	} {
		got := plan.Shorten(test.in, test.n)
		if got != test.want || utf8.RuneCountInString(got) > test.n {
			t.Errorf("Shorten(%q, %d) = %q, want %q", test.in, test.n, got, test.want)
		}
	}
}

func TestQuoteShowsNothingHidden(t *testing.T) {
	if got := plan.Quote("a\x1b[31m\u202eb\n\u200b"); got != `"a\x1b[31m\u202eb\n\u200b"` {
		t.Errorf("quoted as %s", got)
	}
	if got := plan.Quote(strings.Repeat("x", 100)); got != `"`+strings.Repeat("x", 59)+`…"` {
		t.Errorf("quoted as %s", got)
	}
}

func TestIDs(t *testing.T) {
	for want, ids := range map[string][]plan.StepID{
		"":                                nil,
		"S001":                            {1},
		"S001 and S002":                   {1, 2},
		"S001, S002 and S003":             {1, 2, 3},
		"S001, S002, S003, S004 and S005": {1, 2, 3, 4, 5},
		"S001, S002, S003, S004, S005 and 2 more":  {1, 2, 3, 4, 5, 6, 7},
		"S1000, S002, S003, S004, S005 and 1 more": {1000, 2, 3, 4, 5, 6},
	} {
		if got := plan.IDs(ids); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestCountedFormsThePlural(t *testing.T) {
	for want, got := range map[string]string{
		"1 match": plan.Pluralize(1, "match"), "2 matches": plan.Pluralize(2, "match"), "0 entries": plan.Pluralize(0, "entry"),
		"1 entry": plan.Pluralize(1, "entry"), "3 long lines": plan.Pluralize(3, "long line"),
		"1 more path it creates":           plan.Pluralize(1, "more path it creates"),
		"8 more paths it creates":          plan.Pluralize(8, "more path it creates"),
		"2 more criteria":                  plan.Pluralize(2, "more criterion"),
		"0 more criteria to be met":        plan.Pluralize(0, "more criterion to be met"),
		"2 more commands to verify it":     plan.Pluralize(2, "more command to verify it"),
		"2 steps of the draft":             plan.Pluralize(2, "step of the draft"),
		"2 more files of its dependencies": plan.Pluralize(2, "more file of its dependencies"),
		"2 more lines":                     plan.Pluralize(2, "more line"),
		"2 other fields":                   plan.Pluralize(2, "other field"), "2 affected files": plan.Pluralize(2, "affected file"),
		"2 more dependencies": plan.Pluralize(2, "more dependency"), "2 earlier notes": plan.Pluralize(2, "earlier note"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestQuoteShowsWhatHides(t *testing.T) {
	for in, want := range map[string]string{
		"a\u3164b":        `"a\u3164b"`,
		"a\ufe0fb":        `"a\ufe0fb"`,
		"\u2714\ufe0f ok": "\"\u2714 ok\"",
		"a\u202e\x1b":     `"a\u202e\x1b"`,
		"a\U000E0100":     `"a\U000e0100"`,
	} {
		if got := plan.Quote(in); got != want {
			t.Errorf("Quote(%+q) = %s, want %s", in, got, want)
		}
	}
}
