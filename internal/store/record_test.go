package store_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// same compares written forms; the collection of steps inside a body is empty.
var same = cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreTypes(plan.Steps{})}

func TestRecordSurvivesEncoding(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		want := records().Draw(t, "record")
		data := mustEncode(t, want)
		got, err := store.DecodeRecord(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Fatalf("-want +got\n%s", diff)
		}
		if again := mustEncode(t, got); !bytes.Equal(data, again) {
			t.Fatalf("encoded differently:\n%s\n%s", data, again)
		}
	})
}

func TestStateSurvivesEncoding(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		want := states().Draw(t, "state")
		data := testenv.Must(store.EncodeState(want))(t)
		got, err := store.DecodeState(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if diff := cmp.Diff(want.Body(), got.Body(), same); diff != "" {
			t.Fatalf("-want +got\n%s", diff)
		}
	})
}

// A patch that erases a field differs from one that leaves it alone.
func TestErasingSurvivesEncoding(t *testing.T) {
	r := mark(1, 1)
	empty, none := "", []plan.StepID{}
	r.Events = []plan.Event{plan.StepUpdated{Step: 1, Patch: plan.Patch{Details: &empty, DependsOn: &none}}}
	got := testenv.Must(store.DecodeRecord(mustEncode(t, r)))(t)
	patch := got.Events[0].(plan.StepUpdated).Patch
	if patch.Details == nil || patch.DependsOn == nil || patch.Title != nil {
		t.Errorf("got %+v", patch)
	}
}

func TestEveryEventIsWrittenWithItsKindFirst(t *testing.T) {
	for _, e := range plan.Events() {
		data := mustEncode(t, plan.Record{Seq: 1, Events: []plan.Event{withStep(e)}})
		if want := `"events":[{"kind":"` + plan.EventKind(e) + `"`; !strings.Contains(string(data), want) {
			t.Errorf("%s lacks %s", data, want)
		}
	}
}

// withStep adds a step to an event that must name one.
func withStep(e plan.Event) plan.Event {
	v := reflect.New(reflect.TypeOf(e)).Elem()
	if step := v.FieldByName("Step"); step.IsValid() {
		step.SetInt(1)
	}
	return v.Interface().(plan.Event)
}

// Data that could not be read back is not written.
func TestEncodeRecordRefuses(t *testing.T) {
	for name, e := range map[string]plan.Event{
		"no event":       nil,
		"no step":        plan.StepMarked{Status: plan.Done},
		"a step too far": plan.StepClaimed{Step: plan.MaxStepID + 1},
		"a time too far": plan.PlanCleared{At: time.Date(20_000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"bad text":       plan.StepClaimed{Step: 1, By: "\xff"},
		"bad JSON":       plan.StepsAdded{Steps: []*plan.Step{{ID: 1, Spec: plan.Spec{Args: []byte("{")}}}},
		"a null step":    plan.StepsAdded{Steps: []*plan.Step{nil}},
	} {
		if data, err := store.EncodeRecord(plan.Record{Seq: 1, Events: []plan.Event{e}}); err == nil {
			t.Errorf("%s: written as %s", name, data)
		}
	}
}

func TestTimesAreWrittenInUTC(t *testing.T) {
	r := mark(1, 1)
	r.Time = time.Date(2026, 5, 4, 12, 0, 0, 0, time.FixedZone("east", 2*60*60))
	if data := mustEncode(t, r); !strings.Contains(string(data), `"time":"2026-05-04T10:00:00Z"`) {
		t.Errorf("got %s", data)
	}
}

func TestDecodeRecordRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		data  string
		newer bool
	}{
		"unknown kind": {`{"seq":1,"action":"a","actor":{"kind":"ci","name":"n"},"time":"2026-05-04T10:00:00Z","phase":"",` +
			`"events":[{"kind":"moon_landed"}]}`, true},
		"unknown field":          {`{"seq":1,"weather":"fine","events":[]}`, true},
		"unknown field of event": {`{"seq":1,"events":[{"kind":"plan_cleared","at":"2026-05-04T10:00:00Z","weather":"fine"}]}`, true},
		"unknown field of step":  {`{"seq":1,"events":[{"kind":"steps_added","steps":[{"step_id":"S001","weather":"fine"}]}]}`, true},
		"no kind":                {`{"seq":1,"events":[{"at":"2026-05-04T10:00:00Z"}]}`, false},
		"two kinds":              {`{"seq":1,"events":[{"kind":"plan_cleared","kind":"plan_cleared"}]}`, false},
		"null event":             {`{"seq":1,"events":[null]}`, false},
		"null step":              {`{"seq":1,"events":[{"kind":"steps_added","steps":[null]}]}`, false},
		"step without id":        {`{"seq":1,"events":[{"kind":"steps_added","steps":[{"title":"x"}]}]}`, false},
		"two values":             {`{"seq":1,"events":[]} {}`, false},
		"field twice":            {`{"seq":1,"seq":1,"events":[]}`, false},
		"nothing":                {``, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := store.DecodeRecord([]byte(test.data))
			if err == nil {
				t.Fatal("accepted")
			}
			if errors.Is(err, store.ErrNewer) != test.newer {
				t.Errorf("newer = %v: %v", !test.newer, err)
			}
		})
	}
}

func FuzzDecodeRecord(f *testing.F) {
	for _, r := range []plan.Record{setUp(2), mark(2, 1)} {
		data, err := store.EncodeRecord(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := store.DecodeRecord(data)
		if err != nil {
			return
		}
		plan.Fold(plan.State{}, r)
		written, err := store.EncodeRecord(r)
		if err != nil {
			return // a required field is missing
		}
		again, err := store.DecodeRecord(written)
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, data, written)
		}
		if !bytes.Equal(written, mustEncode(t, again)) {
			t.Fatalf("not stable: %s", written)
		}
	})
}

func FuzzDecodeState(f *testing.F) {
	for _, s := range []plan.State{{}, plan.Fold(plan.State{}, setUp(3))} {
		data, err := store.EncodeState(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := store.DecodeState(data)
		if err != nil {
			return
		}
		written, err := store.EncodeState(s)
		if err != nil {
			return // a required field is missing
		}
		if _, err := store.DecodeState(written); err != nil {
			t.Fatalf("%v\n%s\n%s", err, data, written)
		}
	})
}

func mustEncode(t interface {
	Helper()
	Fatal(...any)
}, r plan.Record) []byte {
	t.Helper()
	data := testenv.Must(store.EncodeRecord(r))(t)
	return data
}

func BenchmarkEncodeRecord(b *testing.B) {
	r := mark(2, 1)
	for b.Loop() {
		mustEncode(b, r)
	}
}

func BenchmarkDecodeRecord(b *testing.B) {
	data := mustEncode(b, mark(2, 1))
	for b.Loop() {
		testenv.Must(store.DecodeRecord(data))(b)
	}
}

// A plan of 10,000 steps.
func BenchmarkEncodeState(b *testing.B) {
	s := plan.Fold(plan.State{}, setUp(10_000))
	for b.Loop() {
		data := testenv.Must(store.EncodeState(s))(b)
		b.SetBytes(int64(len(data)))
	}
}

func BenchmarkDecodeState(b *testing.B) {
	data := testenv.Must(store.EncodeState(plan.Fold(plan.State{}, setUp(10_000))))(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		testenv.Must(store.DecodeState(data))(b)
	}
}
