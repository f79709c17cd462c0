package verbs

import (
	"fmt"

	"github.com/planloop/planloop/plan"
)

// cleanLines cleans a list of lines; blank ones are left out.
func cleanLines(field string, in []string, max int) ([]string, error) {
	if len(in) > plan.MaxList {
		return nil, &plan.ValidationError{Kind: plan.InvalidInput, Field: field,
			Problem: fmt.Sprintf("has %d entries", len(in)), Fix: fmt.Sprintf("give at most %d", plan.MaxList)}
	}
	var out []string
	for i, text := range in {
		clean, err := plan.Text{Field: fmt.Sprintf("%s/%d", field, i), Max: max}.Clean(text)
		if err != nil {
			return nil, err
		}
		if clean != "" {
			out = append(out, clean)
		}
	}
	return out, nil
}
