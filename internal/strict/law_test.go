package strict_test

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/strict"
)

// sameRaw compares raw JSON by its meaning, not its form.
var sameRaw = cmp.Transformer("canonical", func(v jsontext.Value) string {
	v = v.Clone()
	if err := v.Canonicalize(); err != nil {
		return err.Error()
	}
	return string(v)
})

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{}`, `[]`, `"{}"`, `{}{}`, `{"objective":"o","limit":"5","force":"true","ratio":0.5}`,
		`{"steps":[{"title":"a","id":2,"depends_on":"1","status":"done","paths":"a.go"}],"goal":"g"}`,
		`{"steps":"[{\"description\":\"a\",\"args\":{\"x\":[1,null]}}]","first":{"title":"a"}}`,
		`{"any":{"a":[1e3,-0]},"raw":[ 1 ],"raws":[{}],"where":"1,2","points":[[1,2]],"stream":{"title":"a"}}`,
		`{"by_status":{"done":1},"words":{"a":"b"},"counts":{"a":null},"nested":{"a":{"limit":1}},"matrix":["[]"]}`,
		`{"reason":"r","small":128,"offset":-1}`, `{"titel":1}`, `{"force\u0000":1}`, "{\"objective\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := input{Objective: "before", First: &step{Title: "before"}}
		if err := strict.Decode(data, &got, aliases); err != nil {
			var problem *strict.Error
			if !errors.As(err, &problem) || problem.Problem == "" || !jsontext.Pointer(problem.Pointer).IsValid() {
				t.Errorf("bad error %#v", err)
			}
			if diff := cmp.Diff(input{Objective: "before", First: &step{Title: "before"}}, got, exact); diff != "" {
				t.Errorf("the target changed: %s", diff)
			}
			return
		}
		requireSame(t, got)
	})
}

// requireSame checks that a value survives encoding and strict decoding.
func requireSame(t interface {
	Helper()
	Fatalf(string, ...any)
}, value input) {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	var again input
	if err := strict.Decode(encoded, &again, nil); err != nil {
		t.Fatalf("%s: %v", encoded, err)
	}
	if diff := cmp.Diff(value, again, cmp.AllowUnexported(input{}, streamed{}), sameRaw, equateEmpty); diff != "" {
		t.Fatalf("%s: %s", encoded, diff)
	}
}

func TestEncodedValuesDecodeToThemselves(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) { requireSame(t, drawInput(t)) })
}

func drawInput(t *rapid.T) input {
	in := input{
		page:      page{Limit: rapid.Int().Draw(t, "limit"), Offset: rapid.Uint8().Draw(t, "offset"), Cursor: drawText.Draw(t, "cursor")},
		Objective: drawText.Draw(t, "objective"),
		Steps:     rapid.SliceOfN(drawStep(3), 0, 3).Draw(t, "steps"),
		First:     rapid.Ptr(drawStep(1), true).Draw(t, "first"),
		Pointers:  rapid.SliceOfN(rapid.Ptr(drawStep(0), true), 0, 2).Draw(t, "pointers"),
		Force:     rapid.Bool().Draw(t, "force"),
		Ratio:     rapid.Float64().Draw(t, "ratio"),
		Small:     rapid.Int8().Draw(t, "small"),
		Numbers:   rapid.SliceOf(rapid.Int()).Draw(t, "numbers"),
		Statuses:  rapid.SliceOf(drawStatus).Draw(t, "statuses"),
		Any:       drawAny(2).Draw(t, "any"),
		Where:     rapid.Ptr(drawPoint, true).Draw(t, "where"),
		Points:    rapid.SliceOf(drawPoint).Draw(t, "points"),
		ByStatus:  rapid.MapOf(drawStatus, rapid.Int()).Draw(t, "by_status"),
		Words:     rapid.MapOf(drawText, drawText).Draw(t, "words"),
		Counts:    rapid.MapOf(drawText, rapid.Ptr(rapid.Int(), true)).Draw(t, "counts"),
		Extra:     Extra{Reason: drawText.Draw(t, "reason"), Weight: rapid.Int().Draw(t, "weight")},
		Matrix:    rapid.SliceOfN(rapid.SliceOfN(drawText, 0, 3), 0, 3).Draw(t, "matrix"),
	}
	return in
}

var (
	drawText   = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "null", "[]", "[1]", "{}", "true", "5", "\x00", "a\u202eb"}))
	drawStatus = rapid.SampledFrom([]status{"pending", "in_progress", "done"})
	drawID     = rapid.SampledFrom([]stepID{"S001", "S999", "S1000"})
	drawPoint  = rapid.Custom(func(t *rapid.T) point { return point{rapid.Int().Draw(t, "x"), rapid.Int().Draw(t, "y")} })
)

func drawStep(levels int) *rapid.Generator[step] {
	return rapid.Custom(func(t *rapid.T) step {
		s := step{
			Title:     drawText.Draw(t, "title"),
			Details:   rapid.Ptr(drawText, true).Draw(t, "details"),
			DependsOn: rapid.SliceOf(drawID).Draw(t, "depends_on"),
			Paths:     rapid.SliceOf(drawText).Draw(t, "paths"),
			Env:       rapid.MapOf(drawText, drawText).Draw(t, "env"),
			Args:      rapid.MapOfN(drawText, drawAny(2), 0, 3).Draw(t, "args"),
		}
		if rapid.Bool().Draw(t, "named") {
			s.StepID, s.Status = drawID.Draw(t, "step_id"), drawStatus.Draw(t, "status")
		}
		if levels > 0 {
			s.Steps = rapid.SliceOfN(drawStep(levels-1), 0, 2).Draw(t, "steps")
		}
		return s
	})
}

// drawAny draws the values that any JSON decodes to: nil, bool, float64, string, list, map.
func drawAny(levels int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
		case kind == 0:
			return nil
		case kind == 1:
			return rapid.Bool().Draw(t, "bool")
		case kind == 2:
			return rapid.Float64().Draw(t, "number")
		case kind == 3 || levels == 0:
			return drawText.Draw(t, "text")
		case kind == 4:
			return rapid.SliceOfN(drawAny(levels-1), 0, 3).Draw(t, "list")
		}
		return rapid.MapOfN(drawText, drawAny(levels-1), 0, 3).Draw(t, "map")
	})
}
