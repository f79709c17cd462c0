package verbs

import "github.com/planloop/planloop/plan"

// ReviewText is what a person is shown of a plan alone.
func ReviewText(p, former *plan.Plan) string { return reviewText(p, former, nil, nil) }
