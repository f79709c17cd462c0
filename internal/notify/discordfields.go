package notify

import (
	"fmt"
	"strings"
)

// stepFields renders the steps in at most slots fields and left units. Each gets
// an equal share of the room, and what a short one leaves goes to those after it.
func stepFields(steps []Step, slots, left int) []field {
	shown := steps
	if len(steps) > slots {
		shown = steps[:slots-1]
		left -= embedMore
	}
	var fields []field
	for i, s := range shown {
		f := stepField(i, s, left/(len(shown)-i))
		left -= f.units()
		fields = append(fields, f)
	}
	if more := len(steps) - len(shown); more > 0 {
		fields = append(fields, field{"…", fmt.Sprintf("and %d more steps", more)})
	}
	return fields
}

// stepField puts what planloop says of a step into the name and what the plan
// says into the value, so that a title cannot pass for a risk.
func stepField(i int, s Step, room int) field {
	id := line(s.ID)
	if id == "" {
		id = fmt.Sprintf("Step %d", i+1)
	}
	name := circle(s.Risk) + " " + markdown(id, discordName/8)
	if known(s.Risk) {
		name += " · " + s.Risk + " risk"
	}
	title := line(s.Title)
	if title == "" {
		title = untitled
	}
	return field{name, markdown(title, min(discordValue, room-units(name)))}
}

func known(risk string) bool { return colour(risk) != 0 }

// circle is the sign of a risk.
func circle(risk string) string {
	switch risk {
	case "low":
		return "🟢"
	case "medium":
		return "🟡"
	case "high":
		return "🔴"
	}
	return "⚪"
}

// questionFields renders the questions a plan leaves open, in one field or none.
func questionFields(questions []string) []field {
	var lines []string
	for _, question := range questions {
		if question = line(question); question != "" {
			lines = append(lines, "• "+question)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return []field{{"Open questions", markdown(strings.Join(lines, "\n"), discordValue)}}
}
