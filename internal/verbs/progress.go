package verbs

import (
	"fmt"

	"github.com/planloop/planloop/plan"
)

// progress writes how far a plan has come: "1/3 done".
func progress(p *plan.Plan) string {
	return fmt.Sprintf("%d/%d done", p.Steps.Count(plan.Done), p.Steps.Len())
}
