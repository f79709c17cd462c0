package plan

import (
	"strconv"
	"strings"
)

// Cycle returns a dependency cycle that can be reached from start, as the ids
// along it with the first repeated at the end, or nil. deps returns what a step
// depends on.
func Cycle(start []StepID, deps func(StepID) []StepID) []StepID {
	const (
		open   = 1
		closed = 2
	)
	seen := map[StepID]int{}
	type frame struct {
		id   StepID
		rest []StepID
	}
	for _, root := range start {
		if seen[root] != 0 {
			continue
		}
		seen[root] = open
		stack := []frame{{root, deps(root)}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if len(top.rest) == 0 {
				seen[top.id] = closed
				stack = stack[:len(stack)-1]
				continue
			}
			next := top.rest[0]
			top.rest = top.rest[1:]
			switch seen[next] {
			case 0:
				seen[next] = open
				stack = append(stack, frame{next, deps(next)})
			case open:
				var path []StepID
				for _, f := range stack {
					if len(path) > 0 || f.id == next {
						path = append(path, f.id)
					}
				}
				return append(path, next)
			}
		}
	}
	return nil
}

// cyclePath writes a cycle for a message: S001 -> S002 -> S001.
func cyclePath(ids []StepID) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = id.String()
	}
	if len(words) > 12 {
		words = append(append(words[:8:8], "…"), words[len(words)-3:]...)
	}
	return strings.Join(words, " -> ")
}

// ListIDs returns all ids in a list with commas.
func ListIDs(ids []StepID) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = id.String()
	}
	return strings.Join(words, ", ")
}

// IDs writes step ids for a message: "S001", "S001 and S002", "S001, S002 and 3 more".
func IDs(ids []StepID) string {
	const shown = 5
	words := make([]string, 0, shown)
	for _, id := range ids[:min(len(ids), shown)] {
		words = append(words, id.String())
	}
	switch {
	case len(ids) > shown:
		return strings.Join(words, ", ") + " and " + strconv.Itoa(len(ids)-shown) + " more"
	case len(words) < 2:
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
