package strict_test

import (
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/internal/testenv"
)

const text = `# a comment
name: x
list:
  - one
  - &two {k: [1, "2"]}
  - *two
a/b:
  long: |
    text
`

func TestRead(t *testing.T) {
	d := testenv.Must(strict.ReadYAML([]byte(text), 1_000))(t)
	want := `{"name":"x","list":["one",{"k":[1,"2"]},{"k":[1,"2"]}],"a/b":{"long":"text\n"}}`
	if strings.TrimSpace(string(d.JSON)) != want {
		t.Errorf("got %s, want %s", d.JSON, want)
	}
	for pointer, line := range map[string]int{"": 2, "/list": 3, "/list/1": 5, "/list/2/k/1": 5, "/a~1b/long": 8, "/a~1b/none/below": 7,
		"/list/9": 3, "/none": 2} {
		if got := d.Line(pointer); got != line {
			t.Errorf("%q is in line %d, want %d", pointer, got, line)
		}
	}
}

func TestRefusals(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+", ", 8) + "]\n"
	}
	for name, c := range map[string]struct{ text, want string }{
		"nothing":     {"# nothing", "is empty"},
		"two":         {"a: 1\n---\nb: 1\n", "several documents"},
		"a tag":       {"a: 1\nb: !!str x\n", "line 2 has a tag"},
		"twice":       {"a: 1\nb: 1\na: 2\n", "line 3 has a duplicate key"},
		"a merge key": {"a: &a {x: 1}\nb:\n  <<: *a\n", "line 3 has a key that is not a plain word"},
		"deep":        {strings.Repeat("[", 50) + strings.Repeat("]", 50), "levels deep"},
		"a bomb":      {bomb, "expands to too much"},
		"a circle":    {"a: &a [*a]\n", ""},
		"no YAML":     {"a: [", "not valid"},
	} {
		if _, err := strict.ReadYAML([]byte(c.text), 10_000); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
