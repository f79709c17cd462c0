package toolbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	finding "github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/plan"
)

// Check returns all faults in the arguments of a call, each with its JSON pointer (execution: Plan Validation).
func (t Tool) Check(args json.RawMessage) []*plan.ValidationError {
	return t.CheckWith(args, func(string) bool { return false })
}

// CheckWith is Check for arguments in which texts stand for values not known yet: a text for which isReference is true
// fits everywhere.
func (t Tool) CheckWith(args json.RawMessage, isReference func(text string) bool) []*plan.ValidationError {
	if text := bytes.TrimSpace(args); len(text) == 0 || string(text) == "null" {
		args = json.RawMessage("{}")
	}
	faults, in, read := t.decodeArgs(&args, isReference)
	if !read {
		return faults
	}
	for _, one := range append(t.schemaFaults(args, isReference), t.inputFaults(args, in, isReference)...) {
		if !slices.ContainsFunc(faults, func(told *plan.ValidationError) bool { return told.Field == one.Field }) {
			faults = append(faults, one)
		}
	}
	return faults
}

// checkable is an input that can be checked before the call is made; check returns the path that the call concerns.
type checkable interface {
	check(b *Box) (rel string, err error)
}

// inputFaults returns the tool's own objections to its input.
func (t Tool) inputFaults(args json.RawMessage, input any, isReference func(string) bool) (faults []*plan.ValidationError) {
	in, ok := input.(checkable)
	if !ok {
		return nil
	}
	_, err := in.check(t.box)
	refused, ok := errors.AsType[*plan.ValidationError](err)
	if !ok {
		return nil
	}
	for _, one := range refused.All() {
		var text string
		var all map[string]json.RawMessage
		_ = json.Unmarshal(args, &all) // we wrote it
		if json.Unmarshal(all[strings.TrimPrefix(one.Field, "/")], &text) == nil && isReference(text) {
			continue
		}
		faults = append(faults, one)
	}
	return faults
}

// decodeArgs decodes the arguments into the tool's input, and replaces them with their JSON as understood, without the
// faulty parts. It returns false if nothing could be decoded.
func (t Tool) decodeArgs(args *json.RawMessage, isReference func(string) bool) (faults []*plan.ValidationError, in any, read bool) {
	if t.in == nil {
		return nil, nil, true
	}
	in = reflect.New(t.in).Interface()
	if bad, ok := errors.AsType[*strict.Error](strict.Decode(*args, in, nil)); ok {
		for _, one := range append([]*strict.Error{bad}, bad.Others...) {
			if one.Given != "" && isReference(one.Given) {
				continue
			}
			alone := *one
			alone.Others = nil
			faults = append(faults, alone.Refusal())
		}
		if bad.Pointer == "" || !strict.Partly(*args, in, nil) {
			return faults, nil, false
		}
	}
	*args, _ = json.Marshal(in) // decoded values always encode
	return faults, in, true
}

// schemaFaults returns the schema's objections to the arguments.
func (t Tool) schemaFaults(args json.RawMessage, isReference func(string) bool) []*plan.ValidationError {
	unusable := func(err error) []*plan.ValidationError {
		return []*plan.ValidationError{{Kind: plan.InvalidInput, Problem: safetext.EscapeLine(plan.Shorten(err.Error(), 300))}}
	}
	load := t.compiled
	if load == nil {
		load = func() (*jsonschema.Schema, error) { return compile(t.Schema) }
	}
	schema, err := load()
	if err != nil {
		return unusable(fmt.Errorf("%s has a schema that cannot be used: %w", t.Name, err))
	}
	if !jsontext.Value(args).IsValid() { // a duplicate name is invalid too: readers disagree on it
		return unusable(errors.New("it is not valid JSON"))
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return unusable(err)
	}
	var bad *jsonschema.ValidationError
	switch err := schema.Validate(value); {
	case err == nil:
		return nil
	case !errors.As(err, &bad):
		return unusable(err)
	}
	m := schemaCheck{value: value, isReference: isReference, words: message.NewPrinter(language.English)}
	m.look(bad)
	return m.faults
}

// compile reads a schema, which may refer only to itself.
func compile(schema []byte) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	const name = "arguments.json"
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(nowhere{})
	compiler.UseRegexpEngine(pattern)
	if err := compiler.AddResource(name, document); err != nil {
		return nil, err
	}
	return compiler.Compile(name)
}

// pattern compiles a pattern of a schema. A pattern in a dialect that Go lacks, such as one with look-ahead, matches
// everything: the tool's owner checks it.
func pattern(text string) (jsonschema.Regexp, error) {
	compiled, err := regexp.Compile(text)
	var wrong *syntax.Error
	foreign := []syntax.ErrorCode{syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape, syntax.ErrInvalidRepeatSize}
	switch {
	case errors.As(err, &wrong) && slices.Contains(foreign, wrong.Code):
		return regexp.MustCompile(""), nil
	case err != nil:
		return nil, err
	}
	return compiled, nil
}

// nowhere refuses to load schemas from outside.
type nowhere struct{}

func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s, which is not read", plan.Quote(url))
}

// schemaCheck collects a schema's objections to a value.
type schemaCheck struct {
	value       any
	isReference func(string) bool
	words       *message.Printer
	faults      []*plan.ValidationError
}

// look unpacks a finding. If all alternatives fail, one that fails only because of references is enough to pass.
func (m *schemaCheck) look(e *jsonschema.ValidationError) {
	text, isText := at(m.value, e.InstanceLocation).(string)
	switch found := e.ErrorKind.(type) {
	case *finding.Required:
		for _, name := range found.Missing {
			m.fault(e, name, "missing required field "+strconv.Quote(name))
		}
		return
	case *finding.AdditionalProperties:
		for _, name := range found.Properties {
			m.fault(e, name, "unknown field "+strconv.Quote(name))
		}
		return
	case *finding.AnyOf, *finding.OneOf:
		var why []string
		for _, alternative := range e.Causes {
			inner := schemaCheck{value: m.value, isReference: m.isReference, words: m.words}
			inner.look(alternative)
			if len(inner.faults) == 0 {
				return
			}
			why = append(why, inner.faults[0].Problem)
		}
		if len(why) > 0 {
			m.fault(e, "", "fits none of its alternatives: "+strings.Join(why, "; or "))
			return
		}
	default:
		for _, cause := range e.Causes {
			m.look(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
	}
	if !isText || !m.isReference(text) {
		m.fault(e, "", e.ErrorKind.LocalizedString(m.words))
	}
}

func (m *schemaCheck) fault(e *jsonschema.ValidationError, name, problem string) {
	pointer := jsontext.Pointer("")
	for _, token := range e.InstanceLocation {
		pointer = pointer.AppendToken(token)
	}
	if name != "" {
		pointer = pointer.AppendToken(name)
	}
	m.faults = append(m.faults, &plan.ValidationError{Kind: plan.InvalidInput, Field: strict.ShownPointer(string(pointer)),
		Problem: safetext.EscapeLine(plan.Shorten(problem, 300)), Fix: "follow the schema of the tool"})
}

// at returns the value at a location in a JSON value, or nil.
func at(value any, location []string) any {
	for _, token := range location {
		switch inside := value.(type) {
		case map[string]any:
			value = inside[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(inside) {
				return nil
			}
			value = inside[i]
		default:
			return nil
		}
	}
	return value
}
