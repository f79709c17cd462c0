package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrNoValue is wrapped by errors that say why a step has no value.
var ErrNoValue = errors.New("no value")

// ValueOf returns the value that references to the step get: of its result, of an agent's work the
// output, of a loop the list of its instances' values. kept reads a value that is not in the log,
// by its name.
func (p *Plan) ValueOf(id StepID, kept func(name string) (json.RawMessage, error)) (json.RawMessage, error) {
	step, ok := p.Steps.Get(id)
	if !ok {
		return nil, fmt.Errorf("step %s does not exist: %w", id, ErrNoValue)
	}
	if step.execution().IsExpanded {
		return p.listOf(step, kept)
	}
	none := func(why string) (json.RawMessage, error) {
		return nil, fmt.Errorf("%s %s, so there is %w", id, why, ErrNoValue)
	}
	result := step.Result
	switch {
	case step.Status != Done:
		return none(step.Status.Predicate())
	case result != nil && len(result.Value) > 0:
		return result.Value, nil
	case result != nil && result.StoredName != "":
		value, err := kept(result.StoredName)
		if err != nil {
			return nil, fmt.Errorf("the value of %s: %w", id, err)
		}
		return value, nil
	case step.Tool != "":
		return none("was not done by its tool, or the tool returned no value")
	case step.Output == "":
		return none("is done without an output")
	}
	return json.Marshal(step.Output)
}

// listOf returns the value of a loop; entries that were skipped or have no value are null.
func (p *Plan) listOf(loop *Step, kept func(string) (json.RawMessage, error)) (json.RawMessage, error) {
	if loop.Status != Done {
		return nil, fmt.Errorf("%s %s, so there is %w", loop.ID, loop.Status.Predicate(), ErrNoValue)
	}
	var list strings.Builder
	for _, id := range loop.execution().Instances {
		value := json.RawMessage("null")
		if instance, ok := p.Steps.Get(id); ok && instance.Status == Done {
			var err error
			if value, err = p.ValueOf(id, kept); errors.Is(err, ErrNoValue) {
				value = json.RawMessage("null")
			} else if err != nil {
				return nil, err
			}
		}
		if list.Len()+len(value) > MaxResolved {
			return nil, fmt.Errorf("the values of %s are too large for one list: %w", loop.ID, ErrNoValue)
		}
		list.WriteString("," + string(value))
	}
	return json.RawMessage("[" + strings.TrimPrefix(list.String(), ",") + "]"), nil
}
