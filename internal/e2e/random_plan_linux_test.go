package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
)

// randomStep is a step of a random plan. The command of a tool step appends its label and the value of its source to the file effects, and
// prints a value of its own.
type randomStep struct {
	id       plan.StepID
	label    string      // in effects
	source   plan.StepID // whose value it refers to; 0: none
	byAgent  bool
	critical bool
	items    []string // of a loop
	fields   map[string]any
}

// features are the parts of planloop that a plan may use, or an act.
type features map[string]bool

// gate is the named pipe that holds steps until the test opens it for writing.
const gate = "gate"

// randomSteps returns the steps of the plan with a number; all ids are known in advance.
func randomSteps(random *rand.Rand, number int, has features) []*randomStep {
	steps := make([]*randomStep, 20+random.IntN(41))
	for i := range steps {
		id := plan.StepID(i + 1)
		s := &randomStep{id: id, label: fmt.Sprintf("p%d.%s", number, id), fields: map[string]any{
			"title": fmt.Sprintf("Write line %d of the effects", i+1)}}
		steps[i] = s
		for range random.IntN(3) * random.IntN(2) {
			if i == 0 {
				continue
			}
			if on := steps[max(0, i-1-random.IntN(8))]; on.fields["always"] == nil { // nothing waits for what runs at the end
				s.depend(on.id)
			}
		}
		switch random.IntN(12) {
		case 0:
			s.byAgent = true
		case 1:
			s.fields["pause"] = "Shall step " + id.String() + " go on?"
			if random.IntN(2) == 0 {
				s.addTool(random, steps[:i], has)
			}
		default:
			s.addTool(random, steps[:i], has)
		}
	}
	return steps
}

func (s *randomStep) depend(on plan.StepID) {
	list, _ := s.fields["depends_on"].([]string)
	if id := on.String(); !slices.Contains(list, id) {
		s.fields["depends_on"] = append(list, id)
	}
}

// addTool makes it a step with a command.
func (s *randomStep) addTool(random *rand.Rand, before []*randomStep, has features) {
	one := func(in int) bool { return random.IntN(in) == 0 }
	env := map[string]string{}
	sources := slices.DeleteFunc(slices.Clone(before), func(b *randomStep) bool { return !b.hasValue() })
	if len(sources) > 0 && one(3) {
		s.source = sources[random.IntN(len(sources))].id
		env["V"] = "$" + s.source.String()
	}
	if len(sources) > 0 && one(8) {
		from, word := sources[random.IntN(len(sources))].id, "v."
		if one(3) {
			word = "other"
		}
		s.fields["when"] = fmt.Sprintf(`steps.%s.value contains %q`, from, word)
	}
	if one(12) {
		s.items = []string{"a", "b", "c"}[:1+random.IntN(3)]
		list, _ := json.Marshal(s.items)
		s.fields["for_each"], env["ITEM"] = string(list), "$item"
	}
	s.fields["idempotent"] = one(2)
	s.fields["requires_approval"] = one(12)
	if s.critical = one(15); s.critical {
		s.fields["critical"] = true
	}
	s.addEndings(random, before, has)
	s.fields["tool"], s.fields["args"] = "bash_execute", map[string]any{"command": s.command(random, has), "env": env}
}

// addEndings adds the fields with which a step reacts to how others end, if planloop has them.
func (s *randomStep) addEndings(random *rand.Rand, before []*randomStep, has features) {
	one := func(in int) bool { return random.IntN(in) == 0 }
	if has["always"] && s.items == nil && s.source == 0 && one(20) {
		s.fields["always"] = true
	}
	others := slices.DeleteFunc(slices.Clone(before), func(b *randomStep) bool { return b.fields["always"] != nil })
	if has["ends"] && len(others) > 0 && s.fields["when"] == nil && one(12) {
		from := others[random.IntN(len(others))]
		s.fields["when"] = fmt.Sprintf(`steps.%s.status == "failed"`, from.id)
		if one(2) {
			s.fields["when"] = fmt.Sprintf(`steps.%s.status != "failed"`, from.id)
		}
	}
	if has["retry"] && s.fields["idempotent"] == true && one(4) {
		s.fields["retry"] = map[string]any{"attempts": 2 + random.IntN(2), "wait": "10ms", "on": []any{3}}
	}
	if has["lock"] && one(6) {
		s.fields["lock"] = fmt.Sprintf("lock%d", random.IntN(2))
	}
}

// command returns the command, which may be held at the gate, by itself or in a child process, and may fail once or twice.
func (s *randomStep) command(random *rand.Rand, has features) string {
	parts := []string{fmt.Sprintf(`me=%s${ITEM:+/$ITEM}; echo "$me $V" >> effects`, s.label)}
	if lock, _ := s.fields["lock"].(string); lock != "" && has["lock"] {
		parts = append(parts, "exec 9>> held."+lock+"; flock -n 9 || echo $me >> collisions")
	}
	switch random.IntN(10) {
	case 0, 1:
		parts = append(parts, ": < "+gate)
	case 2:
		parts = append(parts, "(: < "+gate+"; :) & wait")
	case 3:
		parts = append(parts, "sleep 0.05")
	}
	if random.IntN(6) == 0 {
		parts = append(parts, fmt.Sprintf(`[ "$(grep -c "^$me " effects)" -gt %d ] || exit 3`, 1+random.IntN(2)))
	}
	return strings.Join(append(parts, `printf %s "v.$me.$(grep -c "^$me " effects)"`), "; ")
}

// hasValue reports whether the step has a value of its own whenever it is done.
func (s *randomStep) hasValue() bool {
	return s.fields["tool"] != nil && s.fields["when"] == nil && s.items == nil && s.fields["always"] == nil
}

// planFile returns the plan in the form of `planloop start --file`.
func planFile(objective string, steps []*randomStep) string {
	var list []map[string]any
	for _, s := range steps {
		list = append(list, s.fields)
	}
	data, _ := json.Marshal(map[string]any{"objective": objective, "initial_steps": list})
	return string(data)
}

// submittedPlan returns the plan in the form of `planloop submit`, with all that the gates ask for.
func submittedPlan(summary string, steps []*randomStep) string {
	var list []map[string]any
	for _, s := range steps {
		task := maps.Clone(s.fields)
		task["type"], task["context_hints"], task["relevant_file_paths"] = "chore", []string{"Look at the folder"}, []string{"."}
		if ids, _ := task["depends_on"].([]string); ids != nil {
			task["dependencies"] = ids
			delete(task, "depends_on")
		}
		list = append(list, task)
	}
	data, _ := json.Marshal(map[string]any{"summary": summary, "steps": list})
	return string(data)
}
