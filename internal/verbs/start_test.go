package verbs_test

import (
	"testing"

	"github.com/planloop/planloop/internal/verbs"
)

// The sentence of a start ends before its warnings, which end by themselves.
func TestStartWarnsInLinesOfItsOwn(t *testing.T) {
	reply := verbs.StartReply{SessionID: "s-1", StepIDs: "S001", Score: 90, Warnings: []string{"It is vague."}}
	if got, want := reply.Text(), "Session s-1 created with S001, score 90.\nWarning: It is vague.\nNext: "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
