package plan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// decision is an entry of a recorded history: the input of a decision and its result.
type decision struct {
	Via    plan.Channel    `json:"via,omitempty"`
	Actor  plan.Actor      `json:"actor"`
	Scope  plan.Attempt    `json:"scope"`
	Action json.RawMessage `json:"action"`
	Facts  plan.Facts      `json:"facts"`
	Events json.RawMessage `json:"events,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// actionTypes returns the actions in a history, by name.
func actionTypes() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, a := range []plan.Action{plan.SetUp{}, plan.AddSteps{}, plan.MarkStep{}, plan.BeginRun{}, plan.PauseRun{}, plan.Schedule{},
		plan.AnswerStep{}, plan.Replan{}, plan.SubmitPlan{}, plan.EnterMode{}, plan.CancelMode{}, plan.DecideDraft{}, plan.RaiseSignal{},
		plan.ClearSignal{}, plan.Restore{}, plan.Clear{}, plan.ClaimStep{}, plan.ReportStep{}, plan.UpdateStep{}, plan.EndRun{}} {
		types[reflect.TypeOf(a).Name()] = reflect.TypeOf(a)
	}
	return types
}

type namedAction struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value,omitempty"`
	Word  string          `json:"word,omitempty"`
	Parts []namedAction   `json:"parts,omitempty"`
}

func nameAction(t failer, a plan.Action) namedAction {
	if batch, ok := a.(plan.Batch); ok {
		named := namedAction{Type: "Batch", Word: batch.Word}
		for _, part := range batch.Parts {
			named.Parts = append(named.Parts, nameAction(t, part.Action))
		}
		return named
	}
	return namedAction{Type: reflect.TypeOf(a).Name(), Value: json.RawMessage(jsonOf(t, a))}
}

func (n namedAction) action(t failer) plan.Action {
	if n.Type == "Batch" {
		batch := plan.Batch{Word: n.Word}
		for _, part := range n.Parts {
			batch.Parts = append(batch.Parts, plan.Part{Action: part.action(t)})
		}
		return batch
	}
	of, known := actionTypes()[n.Type]
	if !known {
		t.Fatalf("the history holds the unknown action %s", n.Type)
	}
	value := reflect.New(of)
	if len(n.Value) == 0 {
		return value.Elem().Interface().(plan.Action)
	}
	if err := json.Unmarshal(n.Value, value.Interface()); err != nil {
		t.Fatalf("read %s: %v", n.Type, err)
	}
	return value.Elem().Interface().(plan.Action)
}

func writtenEvents(t failer, events []plan.Event) json.RawMessage {
	var all []json.RawMessage
	for _, e := range events {
		all = append(all, json.RawMessage(`{"`+plan.EventKind(e)+`":`+jsonOf(t, e)+`}`))
	}
	return json.RawMessage(jsonOf(t, all))
}

// spare returns JSON without zero values.
func spare(t failer, data string) string {
	in := json.NewDecoder(strings.NewReader(data))
	in.UseNumber()
	var value any
	if err := in.Decode(&value); err != nil {
		t.Fatalf("%v", err)
	}
	return jsonOf(t, without(value))
}

func without(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			inner = without(inner)
			if v[name] = inner; inner == nil {
				delete(v, name)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i, inner := range v {
			if inner = without(inner); inner == nil {
				inner = map[string]any{}
			}
			v[i] = inner
		}
		if len(v) == 0 {
			return nil
		}
	case string:
		if v == "" || v == "S000" || v == "0001-01-01T00:00:00Z" {
			return nil
		}
	case json.Number:
		if v == "0" {
			return nil
		}
	case bool:
		if !v {
			return nil
		}
	}
	return value
}

// record lets the machine work and records each decision.
func record(t failer, seed int) []byte {
	var out bytes.Buffer
	rapid.Custom(func(t *rapid.T) int {
		out.Reset()
		m := newMachine(t)
		m.decided = func(actor plan.Actor, a plan.Action, f plan.Facts, events []plan.Event, err error) {
			d := decision{Via: actor.Channel, Actor: actor, Scope: actor.Scope, Action: json.RawMessage(jsonOf(t, nameAction(t, a))),
				Facts: f}
			if f.FormerPlan != nil || err != nil && len(events) > 0 { // its body is not recorded
				d.Facts.FormerPlan = nil
			}
			if d.Events = writtenEvents(t, events); err != nil {
				d.Error = err.Error()
			}
			out.WriteString(spare(t, jsonOf(t, d)) + "\n")
		}
		for range 8 {
			t.Repeat(m.actions())
		}
		return seed
	}).Example(seed)
	return out.Bytes()
}

// TestRecordedHistories replays the decisions of earlier builds: each build decides the same.
func TestRecordedHistories(t *testing.T) {
	for seed := range 3 {
		path := filepath.Join("testdata", "histories", fmt.Sprintf("%d.jsonl", seed))
		if *update {
			testenv.Check(t, os.MkdirAll(filepath.Dir(path), 0o755))
			testenv.Check(t, os.WriteFile(path, record(t, seed), 0o644))
		}
		data := testenv.Must(os.ReadFile(path))(t)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { replay(t, data) })
	}
}

func replay(t *testing.T, data []byte) {
	if len(data) == 0 {
		t.Fatal("nothing was recorded")
	}
	w := newWorkspace(t)
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	for i, line := range lines {
		var d decision
		var named namedAction
		testenv.Check(t, json.Unmarshal(line, &d))
		testenv.Check(t, json.Unmarshal(d.Action, &named))
		d.Actor.Channel, d.Actor.Scope = d.Via, d.Scope
		a := named.action(t)
		if r, ok := a.(plan.Restore); ok {
			d.Facts.FormerPlan = w.past(r.PlanID)
		}
		d.Facts.Actor = d.Actor
		events, err := plan.Decide(w.state, a, d.Facts)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if got := spare(t, `{"events":`+string(writtenEvents(t, events))+`}`); said != d.Error || err == nil && got != spare(t, jsonOf(t,
			map[string]any{"events": d.Events})) {
			t.Fatalf("decision %d of %d, %s, is another now:\n%s %s\nrecorded:\n%s %s", i+1, len(lines), named.Type,
				got, said, d.Events, d.Error)
		}
		if err == nil && len(events) > 0 {
			r := plan.Record{Seq: w.state.Revision + 1, Actor: d.Actor, Time: d.Facts.Now, Events: events}
			w.log, w.state = append(w.log, r), plan.Fold(w.state, r)
		}
	}
}
