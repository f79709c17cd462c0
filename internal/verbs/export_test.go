package verbs

import "github.com/planloop/planloop/plan"

// ReviewText returns a plan for a person's review, without tools and comments.
func ReviewText(p, former *plan.Plan) string { return reviewText(p, former, none, none) }

func none(*plan.Step) string { return "" }
