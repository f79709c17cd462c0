package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
	data, err := actionCodec().encodeAction(a)
	if err != nil {
		return nil, fmt.Errorf("encode action: %w", err)
	}
	return data, nil
}

// DecodeAction reads the output of EncodeAction. The error wraps ErrNewer if data holds an action or a field that this version does
// not know.
func DecodeAction(data []byte) (plan.Action, error) {
	if err := checkDepth(data); err != nil {
		return nil, fmt.Errorf("decode action: %w", err)
	}
	var a plan.Action
	if err := json.Unmarshal(data, &a, actionCodec().decode); err != nil {
		return nil, fmt.Errorf("decode action: %w", markNewer(err))
	}
	return a, nil
}

// maxDepth bounds the objects and lists within each other. Every inner action is read once more, so a deep one would take long.
const maxDepth = 200

func checkDepth(data []byte) error {
	for in := jsontext.NewDecoder(bytes.NewReader(data)); ; {
		_, err := in.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case in.StackDepth() > maxDepth:
			return fmt.Errorf("it is nested more than %d times", maxDepth)
		}
	}
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

// actionBody is an action in its written form.
type actionBody struct {
	Kind   string         `json:"kind"`
	Fields jsontext.Value `json:"fields"`
}

// writtenStep is a new step with the fields that other written forms leave out.
type writtenStep struct {
	plan.NewStep
	ID        plan.StepID
	Execution *plan.Execution
	Splits    plan.StepID
	Name      string
}

// writtenPart is a part of a batch, and writtenEdit an edit of a draft, with the inner action in its written form.
type (
	writtenPart struct {
		Field  string
		Action jsontext.Value
	}
	writtenEdit struct {
		Digest string
		Change jsontext.Value
		After  *plan.StepID
		Remove plan.StepID
	}
)

// actionCodec returns the codec of actions. It has steps that name none, so it differs from that of records.
var actionCodec = sync.OnceValue(func() *codec {
	legacy := jsonv1.OmitEmptyWithLegacySemantics(true)
	c := &codec{kinds: map[string]reflect.Type{}}
	c.encode = json.JoinOptions(legacy, json.Deterministic(true), jsontext.PreserveRawStrings(true),
		json.OmitZeroStructFields(true),
		json.WithMarshalers(json.JoinMarshalers(json.MarshalToFunc(c.writePart), json.MarshalToFunc(c.writeEdit),
			json.MarshalToFunc(writeNewStep), json.MarshalToFunc(writeStepID), json.MarshalToFunc(encodeTime))))
	c.decode = json.JoinOptions(legacy, json.RejectUnknownMembers(true),
		json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(c.readAction), json.UnmarshalFromFunc(readNewStep),
			json.UnmarshalFromFunc(readStepID), json.UnmarshalFromFunc(decodeErased))))
	for kind, a := range plan.Actions() {
		c.kinds[kind] = reflect.TypeOf(a)
	}
	return c
})

func (c *codec) encodeAction(a plan.Action) (jsontext.Value, error) {
	kind := plan.ActionKind(a)
	if kind == "" {
		return nil, fmt.Errorf("%T is not an action that plan.Actions lists", a)
	}
	fields, err := json.Marshal(a, c.encode)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return json.Marshal(actionBody{Kind: kind, Fields: fields}, c.encode)
}

func (c *codec) writePart(enc *jsontext.Encoder, part plan.Part) error {
	action, err := c.encodeAction(part.Action)
	if err != nil {
		return err
	}
	return json.MarshalEncode(enc, writtenPart{part.Field, action})
}

func (c *codec) writeEdit(enc *jsontext.Encoder, edit plan.EditDraft) error {
	written := writtenEdit{Digest: edit.Digest, After: edit.After, Remove: edit.Remove}
	if edit.Change != nil {
		change, err := c.encodeAction(edit.Change)
		if err != nil {
			return err
		}
		written.Change = change
	}
	return json.MarshalEncode(enc, written)
}

func (c *codec) readAction(dec *jsontext.Decoder, a *plan.Action) error {
	var body actionBody
	if err := json.UnmarshalDecode(dec, &body); err != nil {
		return err
	}
	if len(body.Fields) == 0 {
		return errors.New("its fields are missing")
	}
	kind, ok := c.kinds[body.Kind]
	if !ok {
		return fmt.Errorf("its kind %s is not known: %w", plan.Quote(body.Kind), ErrNewer)
	}
	read := reflect.New(kind)
	if err := json.Unmarshal(body.Fields, read.Interface(), c.decode); err != nil {
		return err
	}
	*a = read.Elem().Interface().(plan.Action)
	return nil
}

func writeNewStep(enc *jsontext.Encoder, step plan.NewStep) error {
	return json.MarshalEncode(enc, writtenStep{step, step.ID, step.Execution, step.Splits, step.Name})
}

func readNewStep(dec *jsontext.Decoder, step *plan.NewStep) error {
	var written writtenStep
	if err := json.UnmarshalDecode(dec, &written); err != nil {
		return err
	}
	*step = written.NewStep
	step.ID, step.Execution, step.Splits, step.Name = written.ID, written.Execution, written.Splits, written.Name
	return nil
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
