package splice_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/splice"
)

// reader is somebody else's parser of a format.
type reader func(text []byte) (map[string]any, error)

func readJSON(text []byte) (map[string]any, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	plain, err := hujson.Standardize(append(bytes.Clone(text), '\n')) // it wants a line break behind each comment
	if err != nil {
		if _, empty := hujson.Standardize(append(bytes.Clone(text), "\n{}"...)); empty == nil {
			return map[string]any{}, nil
		}
		return nil, err
	}
	var value map[string]any
	in := json.NewDecoder(bytes.NewReader(plain))
	in.UseNumber()
	return value, in.Decode(&value)
}

// laws holds what is true of every text that is read: what is set is there, set again it
// changes nothing, removed it leaves the text as it was, and somebody else's parser sees no
// other change. sure says that no change of this text may be refused.
func laws(t rapid.TB, format splice.Format, read reader, text []byte, value any, sure bool) {
	if len(text) > 1_000 {
		return // each entry is tried
	}
	d, err := splice.Parse(format, text)
	if err != nil {
		if sure {
			t.Fatalf("%q is not read: %v", text, err)
		}
		return
	}
	before, err := read(text)
	if format == splice.YAML && (err != nil || bytes.Contains(text, []byte("<<"))) {
		return // that reader refuses duplicates and keys that are no texts, and merges
	}
	if err != nil {
		t.Fatalf("%q is read, but %v", text, err)
	}
	if !bytes.Equal(d.Bytes(), text) {
		t.Fatalf("%q is changed by reading it", text)
	}
	root, _ := d.Value()
	for _, path := range objects(root, nil) {
		d, err := splice.Parse(format, text)
		if err != nil {
			t.Fatal(err)
		}
		entry := append(slices.Clone(path), splice.Key("new entry"))
		if err := d.Set(value, entry...); err != nil {
			if sure || !bytes.Equal(d.Bytes(), text) {
				t.Fatalf("%q: %v is not set: %v", text, entry, err)
			}
			continue
		}
		set := d.Bytes()
		if got, ok := d.Value(entry...); !ok || !reflect.DeepEqual(got, plain(value)) {
			t.Fatalf("%q: %v is %v in %q", text, entry, got, set)
		}
		after, err := read(set)
		if parent := at(after, path); err != nil || parent == nil || parent["new entry"] == nil {
			t.Fatalf("%q: %v is missing in %q (%v)", text, entry, set, err)
		} else {
			delete(parent, "new entry")
		}
		if !same(format, before, after) {
			t.Fatalf("%q: setting %v changed more: %q", text, entry, set)
		}
		if err := d.Set(value, entry...); err != nil || !bytes.Equal(d.Bytes(), set) {
			t.Fatalf("%q: setting %v again: %q, %v", text, entry, d.Bytes(), err)
		}
		if err := d.Remove(entry...); err != nil {
			if sure {
				t.Fatalf("%q: removing %v from %q: %v", text, entry, set, err)
			}
			continue
		}
		header := format == splice.TOML && bytes.Count(d.Bytes(), []byte("\n[")) == bytes.Count(text, []byte("\n["))+1 // of what holds it
		if root != nil && !bytes.Equal(d.Bytes(), text) && !header && (sure || len(at(before, path)) > 0) {
			t.Fatalf("%q: after setting and removing %v: %q", text, entry, d.Bytes())
		}
	}
	for _, path := range entries(root, nil) {
		d, err := splice.Parse(format, text)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Remove(path...); err != nil {
			if sure || !bytes.Equal(d.Bytes(), text) {
				t.Fatalf("%q: %v is not removed: %v", text, path, err)
			}
			continue
		}
		after, err := read(d.Bytes())
		want, _ := read(text)
		delete(at(want, path[:len(path)-1]), path[len(path)-1].(string))
		if err != nil || !same(format, after, want) {
			t.Fatalf("%q: removing %v gave %q (%v)", text, path, d.Bytes(), err)
		}
	}
}

// same reports whether two documents say the same, as they print: a date is a date, and no
// number another no number. In TOML a table with nothing in it may be there or not.
func same(format splice.Format, a, b map[string]any) bool {
	if format == splice.TOML {
		a, b = pruned(a), pruned(b)
	}
	return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b)
}

func pruned(value map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range value {
		if members, ok := value.(map[string]any); ok {
			if members = pruned(members); len(members) > 0 {
				out[name] = members
			}
			continue
		}
		out[name] = value
	}
	return out
}

// objects returns the ways to all objects, and entries those to their members.
func objects(value any, path []splice.Key) [][]splice.Key {
	found := [][]splice.Key{path}
	members, _ := value.(map[string]any)
	for name, value := range members {
		if _, ok := value.(map[string]any); ok {
			found = append(found, objects(value, append(slices.Clone(path), name))...)
		}
	}
	return found
}

func entries(value any, path []splice.Key) [][]splice.Key {
	var found [][]splice.Key
	members, _ := value.(map[string]any)
	for name, value := range members {
		way := append(slices.Clone(path), splice.Key(name))
		found = append(append(found, way), entries(value, way)...)
	}
	return found
}

func at(value map[string]any, path []splice.Key) map[string]any {
	for _, name := range path {
		value, _ = value[name.(string)].(map[string]any)
	}
	return value
}

// plain is a value that was written as one that was read.
func plain(value any) any {
	switch v := value.(type) {
	case int:
		return int64(v)
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, plain(e))
		}
		return out
	case splice.Object:
		out := map[string]any{}
		for _, m := range v {
			out[m.Key] = plain(m.Value)
		}
		return out
	}
	return value
}

// values draws what is written.
func values(t *rapid.T) any {
	return rapid.SampledFrom([]any{1, "text", true, []any{}, []any{"a", 1}, splice.Object{}, server(),
		splice.Object{{Key: "é \"q\"\n.", Value: "\\ ' \" # : \t\u2028"}, {Key: "hooks", Value: []any{splice.Object{{Key: "a", Value: []any{
			splice.Object{{Key: "b", Value: "c"}}}}}}}},
	}).Draw(t, "value")
}

func TestLawsOfJSON(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		w := &jsonWriter{t: t, newline: rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")}
		text := rapid.SampledFrom([]string{"", "\ufeff"}).Draw(t, "mark") + w.gap() + w.object(3) + w.gap()
		laws(t, splice.JSON, readJSON, []byte(text), values(t), true)
	})
}

// jsonWriter makes up texts.
type jsonWriter struct {
	t       *rapid.T
	newline string
	n       int
}

func (w *jsonWriter) gap() string {
	part := rapid.SampledFrom([]string{"", " ", "\t", w.newline, w.newline + "  ", "/* , } */", "// \"a\": {" + w.newline, "/**/"})
	parts := rapid.SliceOfN(part, 0, 3)
	return strings.Join(parts.Draw(w.t, "gap"), "")
}

func (w *jsonWriter) object(depth int) string {
	return w.filled("{}", depth, func() string {
		w.n++
		name := rapid.SampledFrom([]string{`"n%d"`, `"\u006e%d"`, `"é%d"`, `"a.b-%d"`, `"// \"%d"`}).Draw(w.t, "name")
		return name + w.gap() + ":" + w.gap() + w.value(depth-1)
	})
}

func (w *jsonWriter) filled(brackets string, depth int, entry func() string) string {
	var out strings.Builder
	count := rapid.IntRange(0, 3).Draw(w.t, "entries")
	for i := range count {
		text := strings.Replace(entry(), "%d", fmt.Sprint(w.n, depth), 1)
		out.WriteString(w.gap() + text + w.gap())
		if i < count-1 || rapid.Bool().Draw(w.t, "trailing") {
			out.WriteString(",")
		}
	}
	gap := w.gap()
	if count == 0 && strings.TrimSpace(gap) == "" {
		gap = "" // what is empty holds no blanks afterwards
	}
	return brackets[:1] + out.String() + gap + brackets[1:]
}

func (w *jsonWriter) value(depth int) string {
	kind := rapid.IntRange(0, 5).Draw(w.t, "kind")
	switch {
	case depth > 0 && kind < 3:
		return w.object(depth)
	case depth > 0 && kind == 3:
		return w.filled("[]", depth, func() string { return w.value(depth - 1) })
	}
	scalars := []string{"null", "true", "1.50", "-0", "1e999", "123456789012345678901", `"a\"}/*"`, `"\ud83d\ude00 // "`}
	return rapid.SampledFrom(scalars).Draw(w.t, "scalar")
}

func FuzzJSON(f *testing.F) {
	for _, text := range []string{"", "// c", "{}",
		"\ufeff{\r\n\t\"a\": {}, // x\r\n}", `{"a":[1,{"b":null,},],"a":2,"c":{"d":"\u0041"}}`,
		`{"a":1,"a":1,"b":{/**/}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { laws(t, splice.JSON, readJSON, text, server(), false) })
}

func readTOML(text []byte) (map[string]any, error) {
	value := map[string]any{}
	return value, toml.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &value)
}

func TestLawsOfTOML(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"", "", "# note", " [a] # x", "[a.b]", "[ \"é\".b ]", "[[l]]", "[[l.m]]",
			"[a.l.o]", "[a . b.c]", "k%d = 1 # x", "  k%d = 'x'", "d.e.k%d = [ 1, # ]\n  2,\n]", "\"q q\".k%d = 1979-05-27",
			"k%d = { a = 1, b = {} }",
			"k%d = [{ a = [] }]", "k%d = \"\"\"\n# x\n[a]\n\"\"\"", "k%d = 0x1_0", "k%d = {}", "k%d = []",
			"k%d = {\n  a = 1, # }\n  b = 2\n}",
		}), 0, 8).Draw(t, "lines")
		for i, line := range lines {
			if strings.Contains(line, "%d") {
				lines[i] = fmt.Sprintf(line, i)
			}
		}
		end := rapid.SampledFrom([]string{"", "\n", "\n\n"}).Draw(t, "end")
		newline := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")
		text := strings.ReplaceAll(strings.Join(lines, "\n")+end, "\n", newline)
		text = rapid.SampledFrom([]string{"", "\ufeff"}).Draw(t, "mark") + text
		_, err := readTOML([]byte(text))
		laws(t, splice.TOML, readTOML, []byte(text), values(t), err == nil)
	})
}

func FuzzTOML(f *testing.F) {
	for _, text := range []string{"", "# c", "a.b = 1\n[c]\n[a.d]",
		"\ufeffa = 1\r\n[b.c] # x\r\nd.e = { f = [1, [2]] }\r\n[[g]]\n[[g.h]]\nx = '''\n'''"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { laws(t, splice.TOML, readTOML, text, server(), false) })
}

func readYAML(text []byte) (map[string]any, error) {
	value := map[string]any{}
	err := yaml.Unmarshal(text, &value)
	if value == nil { // nothing
		value = map[string]any{}
	}
	if strings.Contains(fmt.Sprintf("%#v", value), "map[interface {}]") {
		err = errors.New("keys that are no texts")
	}
	return value, err
}

func TestLawsOfYAML(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		w := &yamlWriter{t: t, n: rapid.IntRange(2, 4).Draw(t, "indentation")}
		text := rapid.SampledFrom([]string{"", "# top\n", "---\n", "--- # x\n\n"}).Draw(t, "top") + w.mapping("", 3)
		text += rapid.SampledFrom([]string{"", "# end\n", "...\n", "\n\n"}).Draw(t, "end")
		if rapid.Bool().Draw(t, "cut") && !strings.Contains(text, " |\n") { // whose text would lose its line break with what follows
			text = strings.TrimSuffix(text, "\n")
		}
		if rapid.Bool().Draw(t, "crlf") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		text = rapid.SampledFrom([]string{"", "\ufeff"}).Draw(t, "mark") + text
		laws(t, splice.YAML, readYAML, []byte(text), values(t), true)
	})
}

// yamlWriter makes up texts, each line with its break.
type yamlWriter struct {
	t    *rapid.T
	n    int
	keys int
}

func (w *yamlWriter) mapping(indent string, depth int) string {
	out := ""
	for range rapid.IntRange(1, 3).Draw(w.t, "members") {
		w.keys++
		key := fmt.Sprintf(rapid.SampledFrom([]string{"k%d", "\"q: %d\"", "'é''%d'", "a b#%d"}).Draw(w.t, "key"), w.keys)
		out += w.note(indent) + indent + key + ":" + w.value(indent, depth-1)
	}
	return out
}

func (w *yamlWriter) note(indent string) string {
	notes := []string{"", "", "", "\n", indent + "# note\n", "# far left\n", "\n" + indent + "  # deep\n"}
	return rapid.SampledFrom(notes).Draw(w.t, "note")
}

func (w *yamlWriter) value(indent string, depth int) string {
	kind := rapid.IntRange(0, 5).Draw(w.t, "kind")
	deeper := indent + strings.Repeat(" ", w.n)
	switch {
	case depth > 0 && kind < 2:
		return rapid.SampledFrom([]string{"\n", " # x\n", fmt.Sprintf(" &a%d\n", w.keys)}).Draw(w.t, "break") + w.mapping(deeper, depth)
	case depth > 0 && kind == 2:
		out := "\n"
		dash := rapid.SampledFrom([]string{indent, deeper}).Draw(w.t, "dash")
		for range rapid.IntRange(1, 3).Draw(w.t, "elements") {
			out += w.note(dash) + dash + "-" + w.element(dash, depth-1)
		}
		return out
	case kind == 3:
		return " " + rapid.SampledFrom([]string{"{}", "[]", "{a: 1, 'b': [x, \"}\"]}", "[{c: d}, # ]\n" + deeper + "e]",
			"{\n" + deeper + "f: it's,\n" + deeper + "}", "{g}", "[h: i]", "{\"j\":1}"}).Draw(w.t, "flow") + w.behind()
	case kind == 4:
		return rapid.SampledFrom([]string{" |\n" + deeper + "# text\n\n" + deeper + "  more\n",
			" >-\n" + deeper + "text\n", " \"x\n" + deeper + "# y\"\n", " plain\n" + deeper + "more\n"}).Draw(w.t, "lines")
	}
	scalars := []string{"", "~", "1", "'it''s'", "!!str 1", "&b x", "http://x#y", "\"\\\" # \"", "2020-01-01"}
	return " " + rapid.SampledFrom(scalars).Draw(w.t, "scalar") + w.behind()
}

func (w *yamlWriter) behind() string {
	return rapid.SampledFrom([]string{"\n", " # x\n"}).Draw(w.t, "behind")
}

func (w *yamlWriter) element(dash string, depth int) string {
	if depth > 0 && rapid.Bool().Draw(w.t, "mapping") {
		return " " + strings.TrimLeft(w.mapping(dash+"  ", depth), " #notefarldp\n")
	}
	return w.value(dash, depth)
}

func FuzzYAML(f *testing.F) {
	for _, text := range []string{"", "# c", "---\na: &x\n  - b # c\n  -\n    d: |\n      e\n\n...\n",
		"\ufeffa: {b: [c, 'd'], e}\r\nf:\r\n- g: *x\r\n  h: 1\r\n",
		"? a\n: b\n\"c\": >+\n  d\n\n", "a: !!str &x 1\nb: *x\n<<: {}\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { laws(t, splice.YAML, readYAML, text, server(), false) })
}
