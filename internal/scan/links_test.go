package scan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/tree"
)

func TestLinks(t *testing.T) {
	for _, test := range []struct{ source, want string }{
		{"[a](b.md) ![c](d.png \"title\") [e](<f g.md>)", "1 b.md|1 d.png|1 f g.md"},
		{"x\n[![badge](img.svg)](docs/x.md#anchor)", "2 img.svg|2 docs/x.md"},
		{"[a](b%20c.md?raw=1) [d](e%zz.md) [f](g\\(h\\).md) [i](j(k).md)", "1 b c.md|1 e%zz.md|1 g(h).md|1 j(k).md"},
		{"[a](http://x) [b](mailto:x@y) [c](#d) [e](//host/f) [g](/root) [h](@site/x) [i]() [j](c:/x)", ""},
		{"[a]: b.md 'title'\n[^1]: not.md\n  [c]: <d e.md>\n[f]: https://x", "1 b.md|3 d e.md"},
		{"```\n[a](b.md)\n```\n[c](d.md)\n~~~~ go\n[e](f.md)\n~~~\n[g](h.md)\n~~~~\n[i](j.md)", "4 d.md|10 j.md"},
		{"- x\n  ```sh\n  [a](b.md)\n  ```\n- [c](d.md)", "5 d.md"},
		{"text\n\n    [a](code.md)\n\n- list\n\n    [b](text.md)\n", "7 text.md"},
		{"`[a](b.md)` ``[c](`d.md)`` [e](f.md)", "1 f.md"},
		{"<!-- [a](b.md) --> [c](d.md) <!--\n[e](f.md)\n--> [g](h.md)", "1 d.md|3 h.md"},
		{"<a href=\"b.md\">x</a> <img alt='' src='c.png'> <a href=\"https://x\">", "1 b.md|1 c.png"},
		{"\\[a\\](b.md) [c\\](d.md) [e](f{{ x }}.md) [g](*.md)", ""},
		{"[a](b.md", ""},
		{"[a](../../issues) [b](.) [c](dir/)", "1 ../../issues|1 .|1 dir/"},
		{"[a](b%00c.md) [d](e%1bf.md)", ""},
		{"[a][b](", ""},
	} {
		var got []string
		for _, l := range links("x.md", prose([]byte(test.source))) {
			got = append(got, fmt.Sprintf("%d %s", l.line, l.text))
		}
		if strings.Join(got, "|") != test.want {
			t.Errorf("%q:\n got  %q\n want %q", test.source, got, test.want)
		}
	}
}

// FuzzLinks: a target is a path that can be named, in a line of the document, and
// nothing in a code block is prose.
func FuzzLinks(f *testing.F) {
	for _, source := range []string{
		"[a](b.md)\n```\n[c](d)\n```\n[e]: <f g>\n<img src='h'>", "    [a](b)\n- c\n\n      [d](e)\n",
		"![[x](y)](z) `[a](b)` <!-- [c](d)", "[a](%00) [b](\\))",
	} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		text := prose([]byte(source))
		lines := strings.Count(source, "\n") + 1
		if n := strings.Count(string(text), "\n"); n != lines && n != lines-1 {
			t.Fatalf("%d lines became %d", lines, n)
		}
		for _, l := range links("x.md", text) {
			if l.line < 1 || l.line > lines || l.text == "" || !tree.Nameable(l.text) || strings.ContainsAny(l.text, "#\n") &&
				!strings.Contains(source, "%23") {
				t.Fatalf("%q in line %d of %q", l.text, l.line, source)
			}
		}
	})
}
