package main

import (
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
)

// planID returns the id of the one plan of s that is named by its id or the
// beginning of it.
func planID(s plan.State, named string) (string, error) {
	return oneOf(s.PlanIDs(), named, "list them with `planloop plans`")
}

// formerID is planID among the plans that can be restored.
func formerID(s plan.State, named string) (string, error) {
	var ids []string
	for _, head := range s.Former() {
		ids = append(ids, head.ID)
	}
	if s.Plan != nil && s.Plan.ID == named {
		return named, nil // the verb says that it is the current one
	}
	return oneOf(ids, named, "list the former plans with `planloop plans`")
}

func oneOf(ids []string, named, fix string) (string, error) {
	if slices.Contains(ids, named) {
		return named, nil
	}
	var found []string
	for _, id := range ids {
		if named != "" && strings.HasPrefix(id, named) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", &plan.ValidationError{Kind: plan.NotFound, Field: "/plan_id", Problem: "there is no plan " + plan.Quote(named), Fix: fix}
	}
	const shown = 5
	list := strings.Join(found[:min(len(found), shown)], ", ")
	if len(found) > shown {
		list += ", …"
	}
	return "", &plan.ValidationError{Kind: plan.InvalidInput, Field: "/plan_id",
		Problem: plan.Quote(named) + " begins the ids of several plans", Fix: "give more of one: " + list}
}
