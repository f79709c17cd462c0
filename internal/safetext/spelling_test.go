package safetext_test

import (
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/safetext"
)

func TestNearest(t *testing.T) {
	words := []string{"step_id", "title", "timeouts", "profile", strings.Repeat("long", 30)}
	for given, want := range map[string]string{
		"stepId": "step_id", "STEP-ID": "step_id", "step id": "step_id", " tilte ": "title", "tite": "title", "Titel": "title",
		"time-outs": "timeouts", "timeout": "timeouts", "prifole": "profile",
		"": "", " ": "", "x": "", "colour": "", "s001": "",
		"tlite": "", strings.Repeat("long", 30): "", strings.Repeat("x", 10_000): "",
	} {
		if got := safetext.Nearest(given, words); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
	if got := safetext.Nearest("title", nil); got != "" {
		t.Errorf("%q", got)
	}
}

func TestRelated(t *testing.T) {
	words := []string{"id", "status", "relevant_file_paths", "verify", "context_hints"}
	for given, want := range map[string]string{
		"priority": "", "file_list": "relevant_file_paths", "step_id": "", "x": "", "": "",
		strings.Repeat("x", 10_000): "", "hints": "context_hints", "İ": "",
	} {
		if got := safetext.Related(given, words); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}
