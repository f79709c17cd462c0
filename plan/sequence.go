package plan

import "iter"

// Exists reports whether a sequence has a value that matches.
func Exists[T any](values iter.Seq[T], match func(T) bool) bool {
	for value := range values {
		if match(value) {
			return true
		}
	}
	return false
}

// First returns the first value that matches, nil without one. A nil match accepts all.
func First[T any](values iter.Seq[*T], match func(*T) bool) *T {
	for value := range values {
		if match == nil || match(value) {
			return value
		}
	}
	return nil
}

// Collect returns the results of f for the values that it accepts, nil without any.
func Collect[T, R any](values iter.Seq[T], f func(T) (R, bool)) (list []R) {
	for value := range values {
		if made, ok := f(value); ok {
			list = append(list, made)
		}
	}
	return list
}

// Map returns the result of f for each value, nil without any.
func Map[T, R any](list []T, f func(T) R) (made []R) {
	for _, value := range list {
		made = append(made, f(value))
	}
	return made
}

// StepIDs returns the ids of steps.
func StepIDs(steps iter.Seq[*Step]) []StepID {
	return Collect(steps, func(step *Step) (StepID, bool) { return step.ID, true })
}
