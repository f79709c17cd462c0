package terminal

import (
	"testing"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/verbs"
)

// Every possible call has a command, except asking a person.
func TestEveryActHasACommand(t *testing.T) {
	for _, value := range testenv.Constants(t, "../verbs/caller.go", "CallKind") {
		act := verbs.CallKind(value)
		if text, can := (CommandLine{}).Word(verbs.Call{Kind: act}); text == "" || can == (act == verbs.CallAsk) {
			t.Errorf("%s has no command", act)
		}
	}
}
