package store_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// Every field of every action survives, filled with a value.
func TestEveryActionSurvivesEncoding(t *testing.T) {
	for kind, zero := range plan.Actions() {
		filled := reflect.New(reflect.TypeOf(zero)).Elem()
		fillFields(filled)
		for name, want := range map[string]plan.Action{"zero": zero, "filled": filled.Interface().(plan.Action)} {
			data, err := store.EncodeAction(want)
			if err != nil {
				t.Errorf("%s %s: %v", name, kind, err)
				continue
			}
			got, err := store.DecodeAction(data)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%s %s: %v\n%s-want +got\n%s", name, kind, err, data, diff)
			}
		}
	}
}

// TestDeepActionsAreRefused: each level of a batch in a batch is read again, so a deep one of a megabyte would occupy a server for long.
func TestDeepActionsAreRefused(t *testing.T) {
	action := plan.Action(plan.Clear{})
	for range 100 {
		action = plan.Batch{Word: "update", Parts: []plan.Part{{Action: action}}}
	}
	data, err := store.EncodeAction(action)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.DecodeAction(data); err == nil || !strings.Contains(err.Error(), "nested more than") {
		t.Errorf("decoded: %v", err)
	}
}

// FuzzDecodeAction: what can be decoded can be decided, on a plan and without one.
func FuzzDecodeAction(f *testing.F) {
	for _, zero := range plan.Actions() {
		filled := reflect.New(reflect.TypeOf(zero)).Elem()
		fillFields(filled)
		for _, a := range []plan.Action{zero, filled.Interface().(plan.Action)} {
			data, err := store.EncodeAction(a)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data, []byte(`{}`))
		}
	}
	facts, err := store.EncodeFacts(plan.Facts{Resolutions: map[plan.StepID]plan.Resolution{1: {Problem: "no file"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"kind":"advance","fields":{"MaxStarts":1}}`), facts)
	begun := plan.Fold(plan.Fold(plan.State{}, setUp(2)), mark(2, 1))
	f.Fuzz(func(t *testing.T, data, claims []byte) {
		action, err := store.DecodeAction(data)
		if err != nil || action == nil {
			return
		}
		facts, err := store.DecodeFacts(claims)
		if err != nil {
			return
		}
		facts.Now = began
		for _, channel := range []plan.Channel{plan.ChannelMCP, plan.ChannelEngine, plan.ChannelPage} {
			facts.Actor = plan.NewActor(channel, "ann/codex")
			for _, state := range []plan.State{{}, begun} {
				if events, err := plan.Decide(state, action, facts); err == nil {
					plan.Apply(state, events...)
				}
			}
		}
	})
}

// fillFields sets every exported field below v to a value that is not zero.
func fillFields(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(began))
		return
	case json.RawMessage:
		v.SetBytes([]byte(`{"a":[1.50,"\/"]}`))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("text <&>")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillFields(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fillFields(v.Index(0))
		fillFields(v.Index(1))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillFields(key)
		fillFields(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Interface:
		v.Set(reflect.ValueOf(plan.MoveStep{Step: 3}))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillFields(v.Field(i))
			}
		}
	default:
		panic("a field of kind " + v.Kind().String())
	}
}
