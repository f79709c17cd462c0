package store

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/planloop/planloop/plan"
)

// EncodeAction returns an action as JSON, to be decided elsewhere.
func EncodeAction(a plan.Action) ([]byte, error) {
	data, err := json.Marshal(&a, actionCodec().encode)
	if err != nil {
		return nil, fmt.Errorf("encode action: %w", err)
	}
	return data, nil
}

// DecodeAction reads the output of EncodeAction. The error wraps ErrNewer if data holds an action or a field that this version does
// not know.
func DecodeAction(data []byte) (a plan.Action, err error) {
	if err := json.Unmarshal(data, &a, actionCodec().decode); err != nil {
		return nil, fmt.Errorf("decode action: %w", markNewer(err))
	}
	return a, nil
}

// EncodeFacts returns the facts that only the caller of an action knows: resolutions, definitions of tools, and missing files.
func EncodeFacts(f plan.Facts) ([]byte, error) {
	data, err := json.Marshal(callerFacts{f.Resolutions, f.Definitions, f.Missing}, actionCodec().encode)
	if err != nil {
		return nil, fmt.Errorf("encode facts: %w", err)
	}
	return data, nil
}

// DecodeFacts reads the output of EncodeFacts. The error wraps ErrNewer if data holds a field that this version does not know.
func DecodeFacts(data []byte) (plan.Facts, error) {
	var f callerFacts
	if err := json.Unmarshal(data, &f, actionCodec().decode); err != nil {
		return plan.Facts{}, fmt.Errorf("decode facts: %w", markNewer(err))
	}
	return plan.Facts{Resolutions: f.Resolutions, Definitions: f.Definitions, Missing: f.Missing}, nil
}

type callerFacts struct {
	Resolutions map[plan.StepID]plan.Resolution
	Definitions map[string]string
	Missing     map[plan.StepID][]string
}

// actionCodec returns the codec of actions. It has steps that name none, so it differs from that of records.
var actionCodec = sync.OnceValue(func() *codec {
	legacy := jsonv1.OmitEmptyWithLegacySemantics(true)
	c := &codec{kinds: map[string]reflect.Type{}}
	c.encode = json.JoinOptions(legacy, json.Deterministic(true), jsontext.PreserveRawStrings(true), json.OmitZeroStructFields(true),
		json.WithMarshalers(json.JoinMarshalers(json.MarshalToFunc(writeAction), json.MarshalToFunc(writeNewStep),
			json.MarshalToFunc(writeStepID), json.MarshalToFunc(encodeTime))))
	c.decode = json.JoinOptions(legacy, json.RejectUnknownMembers(true),
		json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(c.readAction), json.UnmarshalFromFunc(readNewStep),
			json.UnmarshalFromFunc(readStepID), json.UnmarshalFromFunc(decodeErased))))
	for kind, a := range plan.Actions() {
		c.kinds[kind] = reflect.TypeOf(a)
	}
	return c
})

// writeAction writes an action, and each one within it, as its kind and its fields.
func writeAction(enc *jsontext.Encoder, a *plan.Action) error {
	kind := plan.ActionKind(*a)
	if kind == "" {
		return fmt.Errorf("%T is not an action that plan.Actions lists", *a)
	}
	return json.MarshalEncode(enc, struct {
		Kind   string `json:"kind"`
		Fields any    `json:"fields"`
	}{kind, *a})
}

// maxDepth bounds the objects and lists around an action within others.
const maxDepth = 200

func (c *codec) readAction(dec *jsontext.Decoder, a *plan.Action) error {
	if dec.StackDepth() > maxDepth {
		return fmt.Errorf("it is nested more than %d times", maxDepth)
	}
	var kind string
	for i, want := range []string{"{", "kind", "", "fields"} {
		switch token, err := dec.ReadToken(); {
		case err != nil:
			return err
		case i == 2:
			kind = token.String()
		case token.String() != want:
			return errors.New("it does not begin with its kind and its fields")
		}
	}
	known, ok := c.kinds[kind]
	if !ok {
		return fmt.Errorf("its kind %s is not known: %w", plan.Quote(kind), ErrNewer)
	}
	read := reflect.New(known)
	if err := json.UnmarshalDecode(dec, read.Interface()); err != nil {
		return err
	}
	*a = read.Elem().Interface().(plan.Action)
	if end, err := dec.ReadToken(); err != nil || end.Kind() != jsontext.KindEndObject {
		return cmp.Or(err, json.ErrUnknownName)
	}
	return nil
}

// writtenStep is a new step with the fields that other written forms leave out.
type writtenStep struct {
	*plan.NewStep
	ID        *plan.StepID
	Execution **plan.Execution
	Splits    *plan.StepID
	Name      *string
}

func written(s *plan.NewStep) *writtenStep {
	return &writtenStep{s, &s.ID, &s.Execution, &s.Splits, &s.Name}
}

func writeNewStep(enc *jsontext.Encoder, s *plan.NewStep) error {
	return json.MarshalEncode(enc, written(s))
}

func readNewStep(dec *jsontext.Decoder, s *plan.NewStep) error {
	return json.UnmarshalDecode(dec, written(s))
}

// writeStepID writes an id as a number: an action may have 0 for no step.
func writeStepID(enc *jsontext.Encoder, id plan.StepID) error {
	return enc.WriteToken(jsontext.String(strconv.Itoa(int(id))))
}

func readStepID(dec *jsontext.Decoder, id *plan.StepID) error {
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(token.String())
	if err != nil {
		return errors.New("a step is not a number")
	}
	*id = plan.StepID(n)
	return nil
}
