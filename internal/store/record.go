package store

import (
	"bytes"
	encodingjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"golang.org/x/sync/errgroup"

	"github.com/planloop/planloop/plan"
)

// EncodeRecord returns r as one line of JSON, the same bytes for the same record. Each event is an
// object that begins with its kind.
func EncodeRecord(r plan.Record) ([]byte, error) {
	c := sharedCodec()
	body := recordBody{
		Seq: r.Seq, Action: r.Action, Actor: r.Actor, Time: r.Time, Phase: r.Phase,
		Events: make([]jsontext.Value, len(r.Events)),
	}
	for i, e := range r.Events {
		event, err := c.encodeEvent(e)
		if err != nil {
			return nil, fmt.Errorf("encode record %d: %w", r.Seq, err)
		}
		body.Events[i] = event
	}
	data, err := json.Marshal(body, c.encode)
	if err != nil {
		return nil, fmt.Errorf("encode record %d: %w", r.Seq, err)
	}
	return data, nil
}

// DecodeRecord reads the output of EncodeRecord. The error wraps ErrNewer if data holds a kind of
// event or a field that this version does not know.
func DecodeRecord(data []byte) (plan.Record, error) {
	c := sharedCodec()
	var body recordBody
	if err := json.Unmarshal(data, &body, c.decode); err != nil {
		return plan.Record{}, fmt.Errorf("decode record: %w", markNewer(err))
	}
	r := plan.Record{
		Seq: body.Seq, Action: body.Action, Actor: body.Actor, Time: body.Time, Phase: body.Phase,
		Events: make([]plan.Event, len(body.Events)),
	}
	for i, data := range body.Events {
		event, err := c.decodeEvent(data)
		if err != nil {
			return plan.Record{}, fmt.Errorf("decode record %d: event %d: %w", body.Seq, i, markNewer(err))
		}
		r.Events[i] = event
	}
	return r, nil
}

// recordBody is a record in its written form.
type recordBody struct {
	Seq    plan.Revision    `json:"seq"`
	Action string           `json:"action"`
	Actor  plan.Actor       `json:"actor"`
	Time   time.Time        `json:"time"`
	Phase  plan.Phase       `json:"phase"`
	Events []jsontext.Value `json:"events"`
}

// codec holds the options of the JSON library and the type of each kind of event.
type codec struct {
	encode json.Options
	decode json.Options
	kinds  map[string]reflect.Type
}

// sharedCodec returns the only codec, built on first use so that a command that reads no log does not
// pay for it.
var sharedCodec = sync.OnceValue(func() *codec {
	// Only with the older meaning of omitempty does a patch keep a pointer to an empty value, which
	// erases a field, distinct from a nil pointer.
	legacy := jsonv1.OmitEmptyWithLegacySemantics(true)
	c := &codec{
		encode: json.JoinOptions(legacy, json.Deterministic(true), jsontext.PreserveRawStrings(true),
			json.WithMarshalers(json.JoinMarshalers(
				json.MarshalToFunc(encodeSteps), json.MarshalToFunc(encodeStepID), json.MarshalToFunc(encodeTime)))),
		decode: json.JoinOptions(legacy, json.RejectUnknownMembers(true),
			json.WithUnmarshalers(json.JoinUnmarshalers(
				json.UnmarshalFromFunc(decodeStep), json.UnmarshalFromFunc(decodeStepID), json.UnmarshalFromFunc(decodeErased)))),
		kinds: map[string]reflect.Type{},
	}
	for _, e := range plan.Events() {
		c.kinds[plan.EventKind(e)] = reflect.TypeOf(e)
	}
	return c
})

// kindMember is the beginning of an event.
const kindMember = `{"kind":"`

func (c *codec) encodeEvent(e plan.Event) (jsontext.Value, error) {
	kind := plan.EventKind(e)
	if kind == "" {
		return nil, fmt.Errorf("%T is not an event that plan.Events lists", e)
	}
	fields, err := json.Marshal(e, c.encode)
	if err != nil {
		return nil, err
	}
	if string(fields) == "{}" {
		return jsontext.Value(kindMember + kind + `"}`), nil
	}
	return append([]byte(kindMember+kind+`",`), fields[1:]...), nil
}

// decodeEvent decodes an event and overwrites data: with a brace in place of the comma after the
// kind, the rest is an object of its own.
func (c *codec) decodeEvent(data jsontext.Value) (plan.Event, error) {
	name, fields, ok := bytes.Cut(bytes.TrimPrefix(data, []byte(kindMember)), []byte{'"'})
	if !ok || !bytes.HasPrefix(data, []byte(kindMember)) {
		return nil, errors.New("its kind is not the first field")
	}
	kind, ok := c.kinds[string(name)]
	if !ok {
		return nil, fmt.Errorf("its kind %s is not known: %w", plan.Quote(string(name)), ErrNewer)
	}
	if fields[0] == ',' {
		fields[0] = '{'
	} else {
		fields = []byte("{}")
	}
	event := reflect.New(kind)
	if err := json.Unmarshal(fields, event.Interface(), c.decode); err != nil {
		return nil, err
	}
	return event.Elem().Interface().(plan.Event), nil
}

// markNewer marks an unknown field as written by a newer planloop.
func markNewer(err error) error {
	if errors.Is(err, json.ErrUnknownName) {
		return fmt.Errorf("%w: %w", ErrNewer, err)
	}
	return err
}

// encodeTime writes a time in UTC, whatever zone an import had.
func encodeTime(enc *jsontext.Encoder, t time.Time) error {
	if t.Location() == time.UTC {
		return errors.ErrUnsupported
	}
	return json.MarshalEncode(enc, t.UTC())
}

// encodeSteps refuses nil steps.
func encodeSteps(_ *jsontext.Encoder, steps []*plan.Step) error {
	if slices.Contains(steps, nil) {
		return errors.New("a step is missing")
	}
	return errors.ErrUnsupported
}

// encodeStepID refuses an id that could not be read back: one such record would make the log
// unreadable.
func encodeStepID(enc *jsontext.Encoder, id plan.StepID) error {
	if id < 1 || id > plan.MaxStepID {
		return fmt.Errorf("%d is not the id of a step", int(id))
	}
	return enc.WriteToken(jsontext.String(id.String()))
}

// decodeStep refuses null and a step without an id: the reducers rely on both.
func decodeStep(dec *jsontext.Decoder, step **plan.Step) error {
	if dec.PeekKind() == jsontext.KindNull {
		return errors.New("a step is null")
	}
	*step = new(plan.Step)
	if err := json.UnmarshalDecode(dec, *step); err != nil {
		return err
	}
	if (*step).ID < 1 {
		return errors.New("a step has no id")
	}
	return nil
}

// decodeStepID reads an id from the raw JSON value, without unescaping it.
func decodeStepID(dec *jsontext.Decoder, id *plan.StepID) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if n := len(value); n >= 2 && value[0] == '"' {
		return id.UnmarshalText(value[1 : n-1])
	}
	return id.UnmarshalText(value)
}

// decodeErased reads null as a value that erases: a patch without the field has no such member.
func decodeErased(dec *jsontext.Decoder, raw **encodingjson.RawMessage) error {
	*raw = new(encodingjson.RawMessage)
	if dec.PeekKind() != jsontext.KindNull {
		return json.UnmarshalDecode(dec, *raw)
	}
	_, err := dec.ReadToken()
	return err
}

// stepsPerLine keeps a line small enough for several processors to share the decoding of a long
// plan, and long enough that the overhead per line is negligible.
const stepsPerLine = 256

// stateHead is the first line of an encoded state: everything but the steps, which follow in lines
// of their own, first the plan's, then the draft's.
type stateHead struct {
	State      plan.StateBody `json:"state"`
	PlanLines  int            `json:"plan_lines"`
	DraftLines int            `json:"draft_lines"`
}

// EncodeState returns s as lines of JSON, the same bytes for the same state.
func EncodeState(s plan.State) ([]byte, error) {
	body := s.Body()
	planSteps, draftSteps := detachSteps(body.Plan), detachSteps(body.Draft)
	head := stateHead{State: body, PlanLines: len(planSteps), DraftLines: len(draftSteps)}
	var out bytes.Buffer
	if err := json.MarshalWrite(&out, head, sharedCodec().encode); err != nil {
		return nil, fmt.Errorf("encode state %d: %w", s.Revision, err)
	}
	for _, line := range slices.Concat(planSteps, draftSteps) {
		out.WriteByte('\n')
		if err := json.MarshalWrite(&out, line, sharedCodec().encode); err != nil {
			return nil, fmt.Errorf("encode state %d: %w", s.Revision, err)
		}
	}
	return out.Bytes(), nil
}

// detachSteps removes the steps from a body and returns them in lines.
func detachSteps(b *plan.Body) [][]*plan.Step {
	if b == nil {
		return nil
	}
	lines := slices.Collect(slices.Chunk(b.Steps, stepsPerLine))
	b.Steps = nil
	return lines
}

// DecodeState reads the output of EncodeState. The error wraps ErrNewer if data holds a field that
// this version does not know.
func DecodeState(data []byte) (plan.State, error) {
	lines := bytes.Split(data, []byte{'\n'})
	var head stateHead
	if err := json.Unmarshal(lines[0], &head, sharedCodec().decode); err != nil {
		return plan.State{}, fmt.Errorf("decode state: %w", markNewer(err))
	}
	steps, err := decodeLines(lines[1:])
	if err != nil {
		return plan.State{}, fmt.Errorf("decode state %d: %w", head.State.Revision, markNewer(err))
	}
	if err := head.attachSteps(steps); err != nil {
		return plan.State{}, fmt.Errorf("decode state %d: %w", head.State.Revision, err)
	}
	return head.State.Build(), nil
}

// attachSteps puts the lines back into the bodies they were taken from.
func (h *stateHead) attachSteps(lines [][]*plan.Step) error {
	if h.PlanLines < 0 || h.DraftLines < 0 || h.PlanLines > len(lines) || h.PlanLines+h.DraftLines != len(lines) {
		return fmt.Errorf("%d lines of steps instead of %d and %d", len(lines), h.PlanLines, h.DraftLines)
	}
	for _, b := range []struct {
		body  *plan.Body
		lines [][]*plan.Step
	}{{h.State.Plan, lines[:h.PlanLines]}, {h.State.Draft, lines[h.PlanLines:]}} {
		if b.body == nil && len(b.lines) > 0 {
			return fmt.Errorf("%d lines of steps without a plan", len(b.lines))
		}
		if b.body != nil {
			b.body.Steps = slices.Concat(append([][]*plan.Step{b.body.Steps}, b.lines...)...)
		}
	}
	return nil
}

// decodeLines decodes lines of steps on all processors.
func decodeLines(lines [][]byte) ([][]*plan.Step, error) {
	steps := make([][]*plan.Step, len(lines))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, line := range lines {
		group.Go(func() error { return json.Unmarshal(line, &steps[i], sharedCodec().decode) })
	}
	return steps, group.Wait()
}
