package splice_test

import (
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/splice"
)

func parse(t testing.TB, format splice.Format, text string) *splice.Document {
	t.Helper()
	d, err := splice.Parse(format, []byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return d
}

func TestJSONRefusals(t *testing.T) {
	for text, want := range map[string]string{
		`[]`: "no JSON object", `1`: "no JSON object", `null`: "no JSON object", `{}{}`: "line 1, column 3", `{} x`: "line 1, column 4",
		"{\n\"a\": }": "line 2, column 6", `{"a"`: "line 1", `{"a":1,,}`: "line 1, column 8",
		`{,}`: "line 1, column 2", `{"a":[,]}`: "column 7", `{"a":,}`: "column 6", `{"a":1 /* `: "no end", "{} // a\rb\n": "line break",
		`{"a":1 / 2}`:          "invalid character '/'",
		`{"a":"` + "\n" + `"}`: "line 1", `{'a':1}`: "column 2", `{a:1}`: "column 2", "{\"a\":\"\xff\"}": "UTF-8", `{"a":"\x"}`: "escape",
		`{"a":01}`: "column 7", "\xff\xfe{\x00": "line 1, column 1",
		"{\"a\":1}\x00": "follows", strings.Repeat(`{"a":`, 20_000): "depth", "\u00a0": "line 1",
	} {
		if _, err := splice.Parse(splice.JSON, []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %q", text, err, want)
		}
	}
}

// TestWaysThatLeadNowhere fails where an entry cannot be there, and changes nothing.
func TestWaysThatLeadNowhere(t *testing.T) {
	const text = `{"twice":{"a":1},"twice":{"a":2},"list":[1,2],"one":1}`
	d := parse(t, splice.JSON, text)
	for want, change := range map[string]error{
		`"twice" stands twice`:            d.Set(1, "twice", "a"),
		`column 18: "twice" stands`:       d.Remove("twice", "a"),
		`"list" is a list`:                d.Set(1, "list", "a"),
		`no place for 3`:                  d.Set(1, "list", 3),
		`no place for -1`:                 d.Set(1, "list", -1),
		`is a single value`:               d.Set(1, "one", "a"),
		`the document is an object`:       d.Set(1, 0),
		`whole document cannot be set`:    d.Set(1),
		`whole document cannot be rem`:    d.Remove(),
		`neither the name`:                d.Set(1, "one", 1.5),
		`type struct {} cannot`:           d.Set(struct{}{}, "new"),
		`UTF-8`:                           d.Set("\xff", "new"),
		`"a" is to be written twice`:      d.Set(splice.Object{{Key: "a"}, {Key: "a"}}, "new"),
		`no place for an element but its`: d.Set(1, "new", 1),
		`no place for 0`:                  d.Append(1, "one"),
	} {
		if change == nil || !strings.Contains(change.Error(), want) {
			t.Errorf("got %v, want %q", change, want)
		}
	}
	for _, path := range [][]splice.Key{{"twice", "a"}, {"none"}, {"list", 2}, {"list", "a"}, {"one", "a"}} {
		if value, ok := d.Value(path...); ok {
			t.Errorf("%v holds %v", path, value)
		}
	}
	if got := string(d.Bytes()); got != text {
		t.Errorf("the text has become %s", got)
	}
}
