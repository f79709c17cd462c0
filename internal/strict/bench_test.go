package strict_test

import (
	"bytes"
	"testing"

	"github.com/planloop/planloop/internal/strict"
)

func BenchmarkDecodeMark(b *testing.B) {
	data := []byte(`{"step_id":"S001","status":"done","note":"x"}`)
	b.ReportAllocs()
	for b.Loop() {
		var in struct {
			StepID stepID  `json:"step_id"`
			Status status  `json:"status"`
			Note   *string `json:"note,omitzero"`
		}
		if err := strict.Decode(data, &in, aliases); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeThousandSteps(b *testing.B) {
	one := `{"title":"write it","step_id":1,"depends_on":[1,2],"paths":["a.go","b.go"],"details":"` +
		string(bytes.Repeat([]byte("x"), 200)) + `"},`
	data := []byte(`{"steps":[` + string(bytes.Repeat([]byte(one), 999)) + one[:len(one)-1] + `]}`)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := strict.Decode(data, new(input), nil); err != nil {
			b.Fatal(err)
		}
	}
}
