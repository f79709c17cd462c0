package plan

import (
	"reflect"
	"strings"
	"testing"
)

func TestRowsNameTheStructThatLacksTheField(t *testing.T) {
	type spec struct {
		Title string `json:"title"`
		Owner string `json:"owner"`
	}
	type patch struct {
		Title *string `json:"title"`
	}
	rows := []Field[spec]{{Name: "title"}, {Name: "owner"}, {Name: "due"}}
	structs := []reflect.Type{reflect.TypeFor[spec](), reflect.TypeFor[patch]()}
	if err := checkRows(rows[:1], structs); err != nil {
		t.Errorf("complete structs are refused: %v", err)
	}
	err := checkRows(rows, structs)
	for _, want := range []string{
		`plan.spec lacks the field "due"`, `plan.patch lacks the field "owner"`, `plan.patch lacks the field "due"`,
	} {
		if err == nil || strings.Count(err.Error(), want) != 1 {
			t.Errorf("%v does not name once: %s", err, want)
		}
	}
}
