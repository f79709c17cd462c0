package hosts

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"github.com/planloop/planloop/internal/testenv"
)

// FuzzJSON: whatever a file has, planloop goes in and out without changing what else it says. A file that is strict JSON stays so.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{"", "{}", "{\"a\": 1 , \"b\": [2 , 3 ] }", "// top\n{\n  \"a\": 1, // beside\n  /* last */\n}\n// end",
		`{"mcpServers": {"x": {}}, "hooks": {"BeforeTool": [1, {"hooks": []} ,]}}`, "\ufeff{\r\n\t\"hooks\": {} /* x */ , // y\r\n}",
		`{"hooks":{"AfterTool":[ /* none */ ]},}`, `{"mcpServers" /* a */ : /* b */ { // c` + "\n" + `} /* d */ , "z": {}}`,
		"//\n{// \n}//"} {
		f.Add([]byte(seed))
	}
	m := Machine{GOOS: "linux", Home: "/home/ann", Project: "/app", Program: "/opt/planloop", Getenv: func(string) string { return "" }}
	h := gemini(m, User)
	w := Request{Scope: User}
	comments := func(text []byte) []string {
		found := regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*"|//[^\n\r]*|/\*.*?\*/`).FindAllString(string(text), -1)
		for i := range found { // blanks at the end of a line may go
			found[i] = strings.TrimRight(found[i], " \t")
		}
		return slices.DeleteFunc(found, func(s string) bool { return s[0] == '"' })
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before, ok := decoded(text)
		in := Edit{Before: text, After: text, record: newRecord("x")}
		if m.editJSON(&in, h, h.targets(w)[0], false) != nil || bytes.Contains(text, []byte("planloop")) ||
			bytes.Contains(text, []byte(`\`)) {
			return
		}
		if !ok {
			t.Fatalf("%q is taken for JSON", text)
		}
		out := Edit{Before: in.After, After: in.After, record: in.record}
		if err := m.editJSON(&out, h, h.targets(w)[0], true); err != nil {
			t.Fatalf("%q became %q: %v", text, in.After, err)
		}
		for _, now := range [][]byte{in.After, out.After} {
			if json.Valid(text) && !json.Valid(now) {
				t.Fatalf("%q was strict JSON, and became %q", text, now)
			}
			if !slices.Equal(comments(text), comments(now)) {
				t.Fatalf("%q: the comments became %q", text, now)
			}
		}
		if after, ok := decoded(out.After); !ok || !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q, and then %q", text, in.After, out.After)
		}
	})
}

// decoded reads JSON with comments by the standard library.
func decoded(text []byte) (value any, ok bool) {
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{}, true
	}
	if nesting(text) > maxNesting {
		return nil, false
	}
	strict, err := hujson.Standardize(append(bytes.Clone(text), '\n'))
	return value, err == nil && json.Unmarshal(strict, &value) == nil
}

// TestRemoveKeepsWhatIsAround shows what stays around an entry that goes.
func TestRemoveKeepsWhatIsAround(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1 , "x": 2}`: `{"a": 1 }`,
		`{"x": 2, "a": 1,}`: `{ "a": 1,}`,
		`{"x": 2}`:          `{}`,
		"{\n  // about a\n  \"a\": 1, // beside\n  \"x\": 2\n}": "{\n  // about a\n  \"a\": 1 // beside\n}",
		"{ // head\n  \"x\": 2, \"a\": 1}":                      "{ // head\n \"a\": 1}",
		"{\"x\": 2 /* of x */, /* of a */ \"a\": 1}":            "{ /* of x */\n /* of a */ \"a\": 1}",
		`{"a": 1, "x": 2 /* end */}`:                            `{"a": 1 /* end */}`,
	} {
		d := testenv.Must(parseJSON([]byte(text)))(t)
		if d.remove("x"); string(d.bytes()) != want {
			t.Errorf("%q became %q, want %q", text, d.bytes(), want)
		}
	}
	d := testenv.Must(parseJSON([]byte(`{"a~/b": [1 , 2 , {"c": 3}]}`)))(t)
	d.remove("a~/b", "2")
	d.remove("a~/b", "7")
	d.remove("none")
	if got := strings.TrimSpace(string(d.bytes())); got != `{"a~/b": [1 , 2 ]}` {
		t.Error(got)
	}
}

// TestUpdateKeepsTheRestOfAnEntry: comments, order and large numbers in an entry stay when its program moves.
func TestUpdateKeepsTheRestOfAnEntry(t *testing.T) {
	m, s := codexServer()
	const before = `{"mcp_servers": {"planloop": {"command": "/old/planloop", // why
  "timeout": 12345678901234567890, "args": ["serve", /* mine */ "--toolsets", "planning"], "env": {"B": "1", "A": "2"}}}}
`
	d := testenv.Must(parseJSON([]byte(before)))(t)
	state, err := s.install(m, &draft{document: d, written: map[string]string{}})
	if want := strings.Replace(before, "/old/", "/opt/", 1); err != nil || state != Old || string(d.bytes()) != want {
		t.Errorf("%s, %v:\n%s\nwant\n%s", state, err, d.bytes(), want)
	}
}
