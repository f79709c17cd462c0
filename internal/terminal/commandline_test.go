package terminal

import (
	"testing"

	"github.com/planloop/planloop/internal/verbs"
)

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{
		"/usr/bin/planloop":     "/usr/bin/planloop",
		"/My Apps/planloop":     "'/My Apps/planloop'",
		"it's":                  `'it'\''s'`,
		`C:\tools\planloop.exe`: `'C:\tools\planloop.exe'`,
		"":                      "''",
		"$(rm -rf)":             "'$(rm -rf)'",
	} {
		if got := ShellWord(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// Whatever can be called next has a command; a person is asked without one.
func TestEveryActHasACommand(t *testing.T) {
	for _, act := range verbs.Acts() {
		if text, can := (CommandLine{}).Word(verbs.Call{Act: act}); text == "" || can == (act == verbs.ActAsk) {
			t.Errorf("%s has no command", act)
		}
	}
}
