package plan_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/plan"
)

func TestParseReference(t *testing.T) {
	for _, c := range []struct {
		text string
		want string // "": a literal, "item", a step, or "bad"
	}{
		{"$S001", "S001"}, {"$step_1", "S001"}, {"$s001", "S001"}, {"$S1", "S001"}, {"$task_2", "S002"}, {"$STEP-12", "S012"},
		{"$task3", "S003"}, {"$S001.path[0].to", "S001"}, {`$S001["a.b"][3]`, "S001"}, {`$S1["\u0061]"]`, "S001"}, {"$S001[0][1]", "S001"},
		{"$item", "item"}, {"$item.x", "item"}, {"$item[0]", "item"}, {"$S001.größe", "S001"}, {"$S001.a-b_c", "S001"},
		{"", ""}, {"$", ""}, {"$2", ""}, {"$HOME", ""}, {"$foo", ""}, {"$$S001", ""}, {"$$", ""}, {" $S001", ""}, {"$S001 and more", ""},
		{"$S001/x", ""}, {"S001", ""}, {"$step_1_config", ""}, {"$Items", ""}, {"$ITEM", ""}, {"$steps.S001", ""}, {"$.x", ""},
		{"$[0]", ""},
		{"$S00a", ""}, {"${S001}", ""}, {"$\u017f001", ""}, {"$S001\n", ""}, {"$#2", ""}, {"$2.x", ""}, {"$.S001", ""},
		{"$S000", "bad"}, {"$S1000000", "bad"}, {"$S001.", "bad"}, {"$S001..x", "bad"}, {"$S001[", "bad"}, {"$S001[x]", "bad"},
		{"$S001[-1]", "bad"}, {"$S001[99999999999]", "bad"}, {"$S001.a b", "bad"}, {`$S001["a"`, "bad"}, {`$S001["a`, "bad"},
		{"$S001[0]x", "bad"}, {"$item.", "bad"}, {"$S001.a.$S002", "bad"}, {"$S001" + strings.Repeat("[0]", 33), "bad"}, {"$S001[]", "bad"},
	} {
		ref, ok := plan.ParseReference(c.text)
		got := ""
		switch {
		case !ok:
		case ref.Problem != "":
			got = "bad"
		case ref.Step == 0:
			got = "item"
		default:
			got = ref.Step.String()
		}
		if got != c.want {
			t.Errorf("%q is %q, want %q (%s)", c.text, got, c.want, ref.Problem)
		}
	}
}

func TestReferences(t *testing.T) {
	args := json.RawMessage(`{"$S001":"$S002","a":["x","$S001.p[0]",{"b/c":"$item"},"$$S003","$HOME"],"d":"\u0024s4"}`)
	var got []string
	for _, ref := range plan.References(args) {
		got = append(got, ref.Pointer+" "+ref.Text)
	}
	want := []string{"/$S001 $S002", "/a/1 $S001.p[0]", "/a/2/b~1c $item", "/d $s4"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if plan.UsesSteps(json.RawMessage(`{"a":"$item.x","b":"$$S001"}`)) || !plan.UsesSteps(args) {
		t.Error("which arguments use steps")
	}
}

// valueOf gives S001 an object, S002 a text that looks like a reference, S003 nothing, S004 a text that is JSON, and S005 a field json.
func valueOf(id plan.StepID) (json.RawMessage, error) {
	switch id {
	case 1:
		return json.RawMessage(`{"path":[{"to":1.50}], "a.b":"$S002","n":null}`), nil
	case 2:
		return json.RawMessage(`"$S001"`), nil
	case 4:
		return json.RawMessage(`"{\"n\":[1, {\"to\":\"x\"}], \"text\":\"[7]\"}\n"`), nil
	case 5:
		return json.RawMessage(`{"json":{"n":5},"text":"{\"n\":6}"}`), nil
	}
	return nil, errors.New("it was skipped")
}

func TestResolveArgs(t *testing.T) {
	const item = `{"x":["one"],"S":"$$"}`
	for _, c := range []struct{ args, want string }{
		{`{}`, `{}`},
		{`{"b" : 1e400,"a":1.0,"b":"$S001.path[0].to"}`, `{"b" : 1e400,"a":1.0,"b":1.50}`},
		{`["$S002",{"$S002":"$step_2"}]`, `["$S001",{"$S002":"$S001"}]`},
		{`["$S001[\"a.b\"]","$S001.n","$S001.path"]`, `["$S002",null,[{"to":1.50}]]`},
		{`["$$S001","$$$x","$$","$HOME","\u0024\u0024S1","\u0024S2"]`, `["$S001","$$x","$","$HOME","\u0024S1","$S001"]`},
		{`["$item","$item.x[0]","$item.S"]`, `[` + item + `,"one","$$"]`},
		{`"$S002"`, `"$S001"`},
		{`["$S004.json.n[1].to","$S004.json","$S004.json.text.json[0]"]`, `["x",{"n":[1, {"to":"x"}], "text":"[7]"},7]`},
		{`["$S005.json.n","$S005.text.json.n"]`, `[5,6]`}, // the field of that name counts
	} {
		got, err := plan.ResolveArgs(json.RawMessage(c.args), valueOf, json.RawMessage(item))
		if err != nil || string(got) != c.want {
			t.Errorf("%s became %s, %v, want %s", c.args, got, err, c.want)
		}
	}
}

func TestResolveArgsTellsOfEachReferenceThatFails(t *testing.T) {
	args := `{"a":"$S003","b":["$S001.path.to"],"c":"$S001.path[1]","d":"$S001.nope","e":"$S001[0]",` +
		`"f":"$S002.x","g":"$item","h":"$S001.","i":"$S2[1]","j":"$S2.json","k":"$S1.json"}`
	_, err := plan.ResolveArgs(json.RawMessage(args), valueOf, nil)
	var refused *plan.ValidationError
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	want := []string{
		`/args/a: "$S003": it was skipped`,
		`/args/b/0: "$S001.path.to": the value is a list without the field "to": name an entry, such as [0]`,
		`/args/c: "$S001.path[1]": entry [1] does not exist in a list of 1`,
		`/args/d: "$S001.nope": the object has no field "nope"`,
		`/args/e: "$S001[0]": the value is an object without the entry [0]: name a field`,
		`/args/f: "$S002.x": the value is not an object, so it has no field "x"`,
		`/args/g: "$item": item exists only in a loop`,
		`/args/h: "$S001.": it has "." where a field such as .path or an entry such as [0] is expected`,
		`/args/i: "$S2[1]": the value is not a list, so it has no entry [1]`,
		`/args/j: "$S2.json": the value is not JSON text: it is not valid JSON in line 1: invalid character '$' looking for beginning ` +
			`of value`,
		`/args/k: "$S1.json": the object has no field "json"`,
	}
	if got := refused.Details(); !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestResolveArgsIsBounded(t *testing.T) {
	big := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	asked := 0
	args := json.RawMessage(`[` + strings.Repeat(`"$S001",`, 5_000) + `"$S001"]`)
	_, err := plan.ResolveArgs(args, func(plan.StepID) (json.RawMessage, error) { asked++; return big, nil }, nil)
	if err == nil || !strings.Contains(err.Error(), "grow beyond 16 MiB") || asked != 1 {
		t.Errorf("asked %d times: %.200v", asked, err)
	}
	args = json.RawMessage(`[` + strings.Repeat(`"$S001[0].a[0].a",`, 5_000) + `"$S001"]`)
	deep := json.RawMessage(`[{"a":[{"a":1,"b":` + string(big) + `}]}]`)
	if _, err = plan.ResolveArgs(args, func(plan.StepID) (json.RawMessage, error) { return deep, nil }, nil); err == nil ||
		!strings.Contains(err.Error(), "too many references") {
		t.Errorf("%.200v", err)
	}
	if _, err := plan.ResolveArgs(json.RawMessage(`"$S001"`), func(plan.StepID) (json.RawMessage, error) {
		return json.RawMessage(`{"x":`), nil
	}, nil); err == nil {
		t.Error("a value that is no JSON was put in")
	}
}

func TestHostileArguments(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 10_000) + `"$S001"` + strings.Repeat(`]}`, 10_000)
	for _, args := range []string{deep, strings.Repeat("[", 100_000) + `"$S001`, `"$`, `"$\`, `"\u0024`, `"$":`, `}}]]"$S001"`,
		"\xff\"$\xff\"",
		strings.Repeat(`["$S001",`, 20_000), `{"a":"$S001` + strings.Repeat("[0]", 50_000) + `"}`,
		`{"$S001"` + strings.Repeat(" ", 1000) + `:`} {
		for _, ref := range plan.References(json.RawMessage(args)) {
			if len(ref.Pointer) > 1_000 {
				t.Fatalf("a pointer of %d bytes", len(ref.Pointer))
			}
		}
		_, _ = plan.ResolveArgs(json.RawMessage(args), valueOf, nil)
		plan.Spec{Args: json.RawMessage(args), When: args, ForEach: args}.LinkReferences(nil)
	}
}

// drawArgs draws arguments in which some strings are references and some only look like them, and
// their resolution: the item and all values of steps are 1.
func drawArgs(t *rapid.T) (args, want json.RawMessage) {
	var in, out bytes.Buffer
	both := func(text string) { in.WriteString(text); out.WriteString(text) }
	texts := rapid.SampledFrom([][2]string{{`"$S001"`, "1"}, {`"$step_1"`, "1"}, {`"$S002"`, "1"}, {`"$item"`, "1"},
		{`"$$S001"`, `"$S001"`},
		{`"$HOME"`, ""}, {`"$"`, ""}, {`"x $S001"`, ""}, {`"\u0024s1"`, "1"}, {`"\"$S001\""`, ""}, {`""`, ""}, {`"$foo.bar"`, ""},
		{`"\u0024$S1"`, `"$S1"`}, {`"\\"`, ""}, {`"\u0024"`, ""}, {"1.0", ""}, {"1e400", ""}, {"-0", ""}, {"null", ""}})
	space := rapid.SampledFrom([]string{"", "", "", " ", "\n"})
	var value func(depth int)
	entries := func(depth int, brackets string, name func(i int)) {
		both(brackets[:1])
		for i := range rapid.IntRange(0, 3).Draw(t, "entries") {
			if i > 0 {
				both(",")
			}
			name(i)
			value(depth + 1)
		}
		both(brackets[1:])
	}
	value = func(depth int) {
		both(space.Draw(t, "space"))
		switch kind := rapid.IntRange(map[bool]int{true: 2}[depth == 0], 3).Draw(t, "kind"); {
		case kind == 3 && depth < 4:
			entries(depth, "{}", func(i int) {
				both(fmt.Sprintf(`"$S00%d"`, i) + space.Draw(t, "space") + ":")
			})
		case kind == 2 && depth < 4:
			entries(depth, "[]", func(int) {})
		default:
			text := texts.Draw(t, "text")
			in.WriteString(text[0])
			out.WriteString(cmp.Or(text[1], text[0]))
		}
		both(space.Draw(t, "space"))
	}
	value(0)
	return in.Bytes(), out.Bytes()
}

func TestResolutionChangesNothingElse(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		args, want := drawArgs(t)
		if !json.Valid(args) {
			t.Fatalf("drawn %s", args)
		}
		one := json.RawMessage("1")
		resolve := func(args json.RawMessage, seen *[]plan.StepID) json.RawMessage {
			got, err := plan.ResolveArgs(args, func(id plan.StepID) (json.RawMessage, error) {
				*seen = append(*seen, id)
				return one, nil
			}, one)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		var asked, again []plan.StepID
		if got := resolve(args, &asked); !bytes.Equal(got, want) {
			t.Fatalf("%s\nbecame %s\nwant   %s", args, got, want)
		}
		linked := plan.Spec{Args: args}.LinkReferences(nil)
		if sources := linked.ReferencedSteps(); !slices.Equal(sources, asked) || !slices.Equal(linked.DependsOn, asked) {
			t.Fatalf("%s refers to %v, depends on %v, and takes %v", args, sources, linked.DependsOn, asked)
		}
		if got := resolve(linked.Args, &again); !bytes.Equal(got, want) || !slices.Equal(again, asked) {
			t.Fatalf("%s\nis %s, which became %s", args, linked.Args, got)
		}
	})
}

func FuzzParseReference(f *testing.F) {
	for _, seed := range []string{"$S001", "$step_1.a[0]", `$item["x"]`, "$$S001", "$S001[", "$S001.\x00", "$S001[\"\\", "$s\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ref, ok := plan.ParseReference(text)
		if ok && (ref.Text != text || text[0] != '$' || ref.Problem == "" && ref.Step == 0 && !strings.HasPrefix(text, "$item")) {
			t.Fatalf("%q is %+v", text, ref)
		}
		args, err := json.Marshal(map[string]string{text: text})
		if err != nil || strings.ToValidUTF8(text, "") != text {
			return
		}
		if refs := plan.References(args); (len(refs) == 1) != ok {
			t.Fatalf("%s has %v", args, refs)
		}
		got, err := plan.ResolveArgs(args, func(plan.StepID) (json.RawMessage, error) { return json.RawMessage("1"), nil },
			json.RawMessage("1"))
		if err == nil && !json.Valid(got) {
			t.Fatalf("%s became %s", args, got)
		}
		if !ok && !strings.HasPrefix(text, "$$") && !bytes.Equal(got, args) {
			t.Fatalf("%s became %s", args, got)
		}
	})
}
