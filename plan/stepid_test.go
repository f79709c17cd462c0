package plan_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/planloop/planloop/plan"
)

func wantWords(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q does not say %q", text, word)
		}
	}
}

func TestParseStepIDAccepts(t *testing.T) {
	for text, want := range map[string]plan.StepID{
		"S001": 1, "S007": 7, "S999": 999, "S1000": 1000, "S999999": plan.MaxStepID,
		"7": 7, "007": 7, "1000": 1000, "step_7": 7, "step-7": 7, "step_007": 7,
		" S007 ": 7, "\tS007\n": 7, " 7 ": 7, " step_7 ": 7,
		"s007": 7, "s7": 7, "S7": 7, "S07": 7, "S0007": 7, "S01000": 1000, "S 007": 7, "S-07": 7, "#7": 7, "task 7": 7, "Task_7": 7,
		"TASK-7": 7, "Step 7": 7, "step7": 7, "task #7": 7, "step S007": 7, "step_s7": 7,
		"7.": 7, "7)": 7, "S007: Test it": 7, "task 7: Test 8": 7, "#7:": 7,
	} {
		if got, err := plan.ParseStepID(text); err != nil || got != want {
			t.Errorf("ParseStepID(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestParseStepIDRefuses(t *testing.T) {
	const hint = "such as S001"
	for _, text := range []string{
		"S000", "S0", "0", "000", "s000", "step_0", "", " ", "S", "step_", "task", "#", "-1", "+1", "1.0", "1e1", "0x1", "T001",
		"S001 S002", "S001, S002", "S001-S003", "S1000000", "99999999999999999999", "S٠٠١", "１", "S001\x00", "null",
		"steps 7", "7th", "##7",
	} {
		id, err := plan.ParseStepID(text)
		var refusal *plan.ValidationError
		if !errors.As(err, &refusal) {
			t.Errorf("ParseStepID(%q) = %v, %v; want a refusal", text, id, err)
			continue
		}
		if id != 0 {
			t.Errorf("ParseStepID(%q) refused and returned %v", text, id)
		}
		wantRefusal(t, refusal, plan.InvalidInput, "", "is not a step id", hint)
	}
}

func TestStepIDPrints(t *testing.T) {
	for id, want := range map[plan.StepID]string{1: "S001", 42: "S042", 999: "S999", 1000: "S1000", 12345: "S12345"} {
		if got := id.String(); got != want {
			t.Errorf("StepID(%d) prints %q, want %q", int(id), got, want)
		}
	}
}

func TestStepIDInJSON(t *testing.T) {
	for text, want := range map[string]plan.StepID{`"S002"`: 2, `2`: 2, `"2"`: 2, `"step_2"`: 2, `" S002 "`: 2} {
		var got plan.StepID
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s reads as %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{`0`, `-1`, `1.5`, `"S000"`, `true`, `{}`, `[1]`, `""`} {
		got := plan.StepID(9)
		if err := json.Unmarshal([]byte(text), &got); err == nil || got != 9 {
			t.Errorf("%s reads as %v without an error", text, got)
		}
	}
	data, err := json.Marshal([]plan.StepID{1, 1000})
	if err != nil || string(data) != `["S001","S1000"]` {
		t.Errorf("written as %s, %v", data, err)
	}
}

// Every text that ParseStepID accepts prints in canonical form, which reads back as the same id, as
// text and as JSON.
func FuzzParseStepID(f *testing.F) {
	for _, seed := range []string{"S001", "S1000", "S0001", "s001", "7", "007", "step_7", "step-07", " S002\n", "S000", "0", "S999999",
		"S1000000", "-1", "S\u0661", "\x00", "step_S001", "S+01"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := plan.ParseStepID(text)
		if err != nil {
			if id != 0 {
				t.Fatalf("refused %q and returned %v", text, id)
			}
			return
		}
		if id < 1 || id > plan.MaxStepID {
			t.Fatalf("ParseStepID(%q) = %d", text, int(id))
		}
		canonical := id.String()
		if again, err := plan.ParseStepID(canonical); err != nil || again != id || again.String() != canonical {
			t.Fatalf("%q reads as %v, its canonical form %q as %v, %v", text, int(id), canonical, again, err)
		}
		data, err := json.Marshal(id)
		if err != nil || string(data) != `"`+canonical+`"` {
			t.Fatalf("%v is written as %s, %v", id, data, err)
		}
		var read plan.StepID
		if err := json.Unmarshal(data, &read); err != nil || read != id {
			t.Fatalf("%s reads as %v, %v", data, read, err)
		}
	})
}
