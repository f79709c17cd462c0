package verbs

import (
	"fmt"

	"github.com/planloop/planloop/plan"
)

// PastWord says why a former plan of a state is past.
func PastWord(s plan.State, head plan.PastPlan) string {
	switch head.Reason {
	case "restored_over":
		return "replaced by a restored one"
	case "replanned":
		return fmt.Sprintf("replaced by version %d", nextVersion(s, head))
	}
	return head.Reason
}

// PastStatus is what a former plan came to; of one that was not at its end, why it is past.
func PastStatus(s plan.State, head plan.PastPlan) string {
	switch head.Status {
	case plan.StatusCompleted, plan.StatusFailed, plan.StatusAbandoned:
		return string(head.Status)
	}
	return PastWord(s, head)
}

// nextVersion is the number of the version that took the place of one: the highest that there was then, and one more.
func nextVersion(s plan.State, head plan.PastPlan) int {
	last := head.Version
	for other := range s.Versions(head.Root()) {
		if other.Revision <= head.Revision {
			last = max(last, other.Version)
		}
	}
	return last + 1
}
