package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// contract checks that the last output has every field of an example of the JSON contract with its value: contract FILE. Additional fields
// are allowed.
//
// An example may contain comments, like the specification's, and two placeholders: "..." is any text, and a text that begins with ~ is a
// pattern.
func contract(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: contract FILE")
	}
	want, err := decoded(withoutComments(ts.ReadFile(args[0])))
	if err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
	got, err := decoded([]byte(ts.ReadFile("stdout")))
	if err != nil {
		ts.Fatalf("standard output: %v", err)
	}
	if missing := missingFrom("", want, got); len(missing) > 0 {
		ts.Fatalf("the output does not keep to %s:\n%s", args[0], strings.Join(missing, "\n"))
	}
}

func decoded(data []byte) (any, error) {
	var v any
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&v); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, fmt.Errorf("there is more than one document")
	}
	return v, nil
}

// withoutComments blanks the comments of a JSON example, but not similar text inside strings.
func withoutComments(text string) []byte {
	pattern := regexp.MustCompile(`"(?:[^"\\]|\\.)*"|//[^\n]*|(?s:/\*.*?\*/)`)
	return pattern.ReplaceAllFunc([]byte(text), func(found []byte) []byte {
		if found[0] == '"' {
			return found
		}
		return nil
	})
}

// missingFrom lists the parts of want that got lacks.
func missingFrom(path string, want, got any) []string {
	wrong := func() []string { return []string{fmt.Sprintf("%s is %v, want %v", path, got, want)} }
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return wrong()
		}
		var all []string
		for _, name := range slices.Sorted(maps.Keys(want)) {
			value, ok := object[name]
			if !ok {
				all = append(all, path+"/"+name+" is missing")
				continue
			}
			all = append(all, missingFrom(path+"/"+name, want[name], value)...)
		}
		return all
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return wrong()
		}
		var all []string
		for i := range want {
			all = append(all, missingFrom(fmt.Sprintf("%s/%d", path, i), want[i], list[i])...)
		}
		return all
	case string:
		text, ok := got.(string)
		pattern, isPattern := strings.CutPrefix(want, "~")
		switch {
		case !ok:
			return wrong()
		case want == "..." && text != "", isPattern && regexp.MustCompile(`^(?:`+pattern+`)$`).MatchString(text):
			return nil
		}
	}
	if !reflect.DeepEqual(want, got) {
		return wrong()
	}
	return nil
}

// The comparison itself detects differences.
func TestContractComparison(t *testing.T) {
	example := `{"now": {"reason": "x", // why
		"text": "http://a/*b*/"}, "list": [1, /* two */ {"id": "~a-\\d+"}], "any": "..."}`
	for output, differences := range map[string]int{
		`{"now":{"reason":"x","text":"http://a/*b*/","more":1},"list":[1,{"id":"a-7"}],"any":"y","new":[]}`: 0,
		`{"now":{"reason":"y","text":"http://a/*b*/"},"list":[1,{"id":"a-7"}],"any":"y"}`:                   1,
		`{"now":{"reason":"x","text":"http://a/"},"list":[1,{"id":"b-7"}],"any":""}`:                        3,
		`{"now":{"reason":"x","text":"http://a/*b*/"},"list":[1,{"id":"a-7"},3],"any":"y"}`:                 1,
		`{"now":{"reason":"x"},"list":[1,{"id":7}]}`:                                                        3,
		`[]`: 1,
	} {
		want, err := decoded(withoutComments(example))
		must(t, err)
		got, err := decoded([]byte(output))
		must(t, err)
		if all := missingFrom("", want, got); len(all) != differences {
			t.Errorf("%s: %q, want %d differences", output, all, differences)
		}
	}
}
