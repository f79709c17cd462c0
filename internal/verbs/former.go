package verbs

import (
	"fmt"

	"github.com/planloop/planloop/plan"
)

// PastWord returns the reason why a former plan is past.
func PastWord(s plan.State, head plan.PastPlan) string {
	switch head.Reason {
	case "restored_over":
		return "replaced by a restored one"
	case "replanned":
		return fmt.Sprintf("replaced by version %d", nextVersion(s, head))
	}
	return head.Reason
}

// PastStatus returns the final status of a former plan; if it did not end, the reason why it is past.
func PastStatus(s plan.State, head plan.PastPlan) string {
	switch head.Status {
	case plan.StatusCompleted, plan.StatusFailed, plan.StatusAbandoned:
		return string(head.Status)
	}
	return PastWord(s, head)
}

// nextVersion returns the number of the version that replaced head: one above the highest at that time.
func nextVersion(s plan.State, head plan.PastPlan) int {
	last := head.Version
	for other := range s.Versions(head.Root()) {
		if other.Revision <= head.Revision {
			last = max(last, other.Version)
		}
	}
	return last + 1
}
