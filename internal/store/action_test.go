package store_test

import (
	"encoding/json"
	"reflect"
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
