package tree

import (
	"fmt"
	"strings"
	"testing"
)

func TestMarks(t *testing.T) {
	for _, test := range []struct{ name, source, want string }{
		{"a.go", "package a // TODO: handle empty input\n", "1 TODO handle empty input"},
		{"a.go", "// HACK: until go 2\n// HACKS are many\n", "1 HACK until go 2"},
		{"a.go", "// TODO(ann): retry\n// TODO (bob) - wait\n", "1 TODO retry|2 TODO wait"},
		{"a.go", "/*\n * FIXME off by one\n */\nvar x = 1 /* XXX: why? */", "2 FIXME off by one|4 XXX why?"},
		{"a.go", "x := \"// TODO: no\"\ny := `// TODO: no`\nz := '\"' // TODO: yes\nw := \"\\\"\" // TODO: yes\n", "3 TODO yes|4 TODO yes"},
		{"a.go", "// TODOs are many, NOTODO, TODO_LIST, todo: no, Todo: no\n", ""},
		{"a.go", "// The states are TODO and DONE.\n// one of \"TODO\", `TODO`, TODO/FIXME\n// see TODO.md\n// XXX-XX-XXXX\n", ""},
		{"a.go", "// It works. TODO: test it\n// see #12; FIXME\n", "1 TODO test it|2 FIXME "},
		{"a.go", "// TODO\n//\tTODO: \r\n", "1 TODO |2 TODO "},
		{"a.go", "url := \"http://x\" // TODO: real url\n", "1 TODO real url"},
		{"a.rs", "fn f<'a>(x: &'a str) {} // TODO: life\nlet c = '\\''; // FIXME: quote\n", "1 TODO life|2 FIXME quote"},
		{"a.ts", "const t = '// TODO: no'; const d = a / b // TODO: ratio\n", "1 TODO ratio"},
		{"a.py", "def f():\n    \"\"\"Doc.\n    TODO: describe\n    \"\"\"\n    x = '# TODO: no'  # TODO: yes\n",
			"3 TODO describe|5 TODO yes"},
		{"a.sh", "echo ${#x} $# # TODO: args\necho it's # TODO: quote\necho '# TODO: no'\n", "1 TODO args|2 TODO quote"},
		{"a.yaml", "a: it's # TODO: value\nurl: x#TODO: no\n", "1 TODO value"},
		{"a.sql", "SELECT '-- TODO: no' -- TODO: index\n/* FIXME: join */", "1 TODO index|2 FIXME join"},
		{"a.lua", "--[[ TODO: one\nTODO: two\n]]\n-- TODO: three\n", "1 TODO one|2 TODO two|4 TODO three"},
		{"a.el", ";; TODO: bind\n(message \"; TODO: no\")\n", "1 TODO bind"},
		{"a.html", "<p>TODO: no</p><!-- TODO: yes -->\n<!--\n  FIXME: too\n-->", "1 TODO yes|3 FIXME too"},
		{"a.css", "a { b: url(//x) } // TODO: no\n/* TODO: yes */", "2 TODO yes"},
		{"Makefile", "all: # TODO: phony\n", "1 TODO phony"},
		{"a.go", "// TODO: a\x1b[31mred\u202e\u200b `x`\n", "1 TODO a [31mred 'x'"},
		{"a.go", "// TODO: \xff\xfebad\n", "1 TODO bad"},
		{"a.txt", "TODO: no comments here\n", ""},
		{"a.md", "The word TODO: no.\n<!-- TODO: yes -->\n", "2 TODO yes"},
		{"a.go", "TODO: Status = 1\nTODO = 2\nTODO,\n\tTODO(x): wait\n", "1 TODO Status = 1|4 TODO wait"},
		{"a.go", "/* TODO: never closed", "1 TODO never closed"},
		{"a.go", "'", ""},
		{"a.go", "'\\", ""},
	} {
		var got []string
		for m, line := range marks(test.name, []byte(test.source)) {
			got = append(got, fmt.Sprintf("%d %s %s", line, m.word, m.text))
		}
		if strings.Join(got, "|") != test.want {
			t.Errorf("%s %q:\n got  %q\n want %q", test.name, test.source, got, test.want)
		}
	}
}

func TestMarksAreLimited(t *testing.T) {
	n := 0
	for range marks("a.go", []byte(strings.Repeat("// TODO: x\n", 10*maxMarksPerFile))) {
		n++
	}
	if n != maxMarksPerFile {
		t.Errorf("one file has %d marks", n)
	}
}

// FuzzMarks: a mark's line holds its word, and its text is fit to print.
func FuzzMarks(f *testing.F) {
	for _, name := range []string{"a.go", "a.py", "a.ts", "a.rs", "a.sh", "a.sql", "a.lua", "a.html", "a.vue", "a.el", "a.tex"} {
		for _, source := range []string{"// TODO: a\n/* FIXME(b): c\n*/ '\\x' \"d\" `e` # XXX\n",
			"\"\"\"\n''' -- TODO <!-- TODO -->\n;; TODO\r\n% TODO", "/[/]/ // TODO \xff"} {
			f.Add(name, source)
		}
	}
	f.Fuzz(func(t *testing.T, name, source string) {
		lines := strings.Split(source, "\n")
		last := 0
		for m, line := range marks(name, []byte(source)) {
			if line < last || line > len(lines) || !strings.Contains(lines[line-1], m.word) {
				t.Fatalf("line %d of %q holds no %s", line, source, m.word)
			}
			last = line
			checkPrintable(t, m.text, maxMarkText)
		}
	})
}

func checkPrintable(t *testing.T, text string, most int) {
	t.Helper()
	if len([]rune(text)) > most || text != strings.TrimSpace(text) {
		t.Fatalf("%q is too long or not trimmed", text)
	}
	if !Nameable(text) {
		t.Fatalf("%q hides something, or quotes", text)
	}
}
