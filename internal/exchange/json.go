package exchange

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// maxExpanded limits the size in bytes of a YAML text as JSON, with aliases resolved.
const maxExpanded = 2 * maxBytes

func parseJSON(text []byte) (*source, error) {
	if pointer, problem := plan.CheckJSON(text, strict.MaxNesting); problem != "" {
		return nil, refuse(pointer, problem, "give one JSON object")
	}
	return parseNative(text, json.RejectUnknownMembers(true))
}

// parseYAML reads our own YAML. In YAML it is hard to see whether a scalar is a string or a number, so a
// number is accepted as a string.
func parseYAML(text []byte) (*source, error) {
	read, err := strict.ReadYAML(text, maxExpanded)
	if err != nil {
		return nil, err
	}
	return parseNative(read.JSON, json.JoinOptions(json.RejectUnknownMembers(true), scalarsAsText()))
}

func membersOf(data []byte) (members map[string]jsontext.Value) {
	if json.Unmarshal(data, &members) != nil {
		return nil
	}
	return members
}

func scalarsAsText() json.Options {
	return json.WithUnmarshalers(json.UnmarshalFromFunc(func(in *jsontext.Decoder, text *string) error {
		switch in.PeekKind() {
		case jsontext.KindNumber, jsontext.KindTrue, jsontext.KindFalse:
			value, err := in.ReadValue()
			*text = string(value)
			return err
		}
		return errors.ErrUnsupported
	}))
}

// parseNative reads a resources.Document or only its plan.
func parseNative(data []byte, options json.Options) (*source, error) {
	members := membersOf(data)
	if members == nil {
		return nil, refuse("", "the text holds no plan", "give an object with an objective and steps")
	}
	d := resources.Document{Plan: &resources.PlanDocument{}}
	root, into := "/plan", any(&d)
	if members["plan"] == nil {
		root, into = "", d.Plan
	}
	faults := unmarshal(data, into, options)
	if d.Plan == nil && faults.Err() == nil {
		return nil, refuse("/plan", "the text has no plan", "export a workspace that has one")
	}
	p := cmp.Or(d.Plan, &resources.PlanDocument{})
	faults.Add(plan.OneOf(root+"/status", p.Status))
	s := &source{faults: faults, outline: p.Outline, draft: p.Status == plan.StatusDraft, root: root, call: plan.StepID.String}
	for _, step := range p.Steps {
		s.steps = append(s.steps, sourceStep{Step: step.Step})
	}
	s.keepOrigin(plan.Import{ID: p.ID, Version: p.Version, PreviousPlanID: p.PreviousPlanID, Changes: p.Changes,
		Discoveries: p.Discoveries, Replans: p.Replans, Status: p.Status,
		CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt, CreatedBy: p.CreatedBy, Highest: p.Highest})
	if p.Approval != nil {
		s.note("Its approval is not carried over: a person has to approve it here.")
	}
	if p.FinalSummary != "" {
		s.note("Its final summary is left out; the plan is not closed here.")
	}
	if p.Status == plan.StatusAbandoned {
		s.note("It was abandoned; here its status follows from its steps.")
	}
	return s, nil
}

// unmarshal reads a JSON value into the struct that into points to. It leaves out each part that cannot be read, and
// returns a fault for it.
func unmarshal(data []byte, into any, options json.Options) (faults plan.Faults) {
	seen := map[jsontext.Pointer]bool{}
	for range 2 * plan.MaxFaults {
		reflect.ValueOf(into).Elem().SetZero()
		err := json.Unmarshal(data, into, options)
		if err == nil {
			break
		}
		semantic, ok := errors.AsType[*json.SemanticError](err)
		if !ok {
			faults.Add(decodeError(err))
			break
		}
		at := semantic.JSONPointer
		for ; seen[at] && at != ""; at = at.Parent() { // its null is not accepted, either
		}
		if at == semantic.JSONPointer {
			faults.Add(decodeError(err))
		}
		if at == "" {
			break
		}
		seen[at] = true
		data = without(data, slices.Collect(at.Tokens()))
	}
	return faults
}

// without returns a JSON value without the member at a path; in a list its place becomes null.
func without(data jsontext.Value, path []string) jsontext.Value {
	var changed any
	switch members := membersOf(data); {
	case len(path) == 0:
		return jsontext.Value("null")
	case members != nil && len(path) == 1:
		delete(members, path[0])
		changed = members
	case members != nil:
		members[path[0]] = without(members[path[0]], path[1:])
		changed = members
	default:
		var list []jsontext.Value
		if i, err := strconv.Atoi(path[0]); err == nil && json.Unmarshal(data, &list) == nil && i < len(list) {
			list[i] = without(list[i], path[1:])
		}
		changed = list
	}
	data, _ = json.Marshal(changed, json.Deterministic(true)) // it was read as JSON
	return data
}

// decodeError explains in our words which field has the wrong form.
func decodeError(err error) error {
	semantic, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return refuse("", plan.Shorten(err.Error(), 160), "compare it with an exported plan")
	}
	field := shortPointer(string(semantic.JSONPointer))
	inner, isOurs := errors.AsType[*plan.ValidationError](err)
	switch {
	case errors.Is(err, json.ErrUnknownName):
		name := plan.Quote(semantic.JSONPointer.LastToken())
		return refuse(field, "the field "+name+" is not known", "remove it")
	case isOurs:
		return refuse(field, inner.Problem, inner.Fix)
	case semantic.GoType != nil && semantic.Err == nil:
		return refuse(field, "is "+kindName(semantic.JSONKind), "give "+wanted(semantic.GoType.Kind()))
	case semantic.Err != nil:
		return refuse(field, "has the wrong form: "+plan.Shorten(semantic.Err.Error(), 120), "compare it with an exported plan")
	}
	return refuse(field, "has the wrong form", "compare it with an exported plan")
}

// shortPointer limits the length of a pointer: its keys are untrusted text.
func shortPointer(pointer string) string { return plan.Shorten(pointer, 200) }

func kindName(kind jsontext.Kind) string {
	return cmp.Or(map[jsontext.Kind]string{
		jsontext.KindString: "a string", jsontext.KindNumber: "a number of the wrong kind", jsontext.KindTrue: "true or false",
		jsontext.KindFalse: "true or false", jsontext.KindBeginObject: "an object", jsontext.KindBeginArray: "a list",
	}[kind], "of the wrong kind")
}

func wanted(kind reflect.Kind) string {
	return cmp.Or(map[reflect.Kind]string{
		reflect.String: "a string", reflect.Int: "a whole number", reflect.Int64: "a whole number", reflect.Bool: "true or false",
		reflect.Slice: "a list", reflect.Array: "a list",
	}[kind], "an object")
}
