package terminal

import (
	"testing"

	"github.com/planloop/planloop/internal/verbs"
)

// Whatever can be called next has a command; a person is asked without one.
func TestEveryActHasACommand(t *testing.T) {
	for _, act := range verbs.Acts() {
		if text, can := (CommandLine{}).Word(verbs.Call{Act: act}); text == "" || can == (act == verbs.ActAsk) {
			t.Errorf("%s has no command", act)
		}
	}
}
