package splice_test

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/splice"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// server and hook are what hosts' files are given.
func server() splice.Object {
	args := []any{"serve"}
	return splice.Object{{Key: "command", Value: "/bin/planloop"}, {Key: "args", Value: args}, {Key: "env", Value: splice.Object{}}}
}

func hook() splice.Object {
	command := splice.Object{{Key: "type", Value: "command"}, {Key: "timeout", Value: 10}}
	return splice.Object{{Key: "matcher", Value: ".*"}, {Key: "hooks", Value: []any{command}}}
}

// TestCases changes the documents of testdata. A case is what is done, the document before,
// and the document afterwards or why not. Carriage returns, byte order marks and ends of
// text without a line break are written out.
func TestCases(t *testing.T) {
	for _, format := range []splice.Format{splice.JSON, splice.TOML, splice.YAML} {
		path := "testdata/" + string(format) + ".txt"
		golden, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var now []string
		for _, c := range strings.Split(string(golden), "\n=== ") {
			head, texts, _ := strings.Cut(strings.TrimPrefix(c, "=== "), "\n")
			before, want, found := strings.Cut(texts, "=>\n")
			what, name, named := strings.Cut(head, ": ")
			if !found || !named {
				t.Fatalf("%s: %q is no case", path, c)
			}
			got := visible(changed(format, invisible(before), strings.Fields(what)))
			if strings.TrimSuffix(got, "\n") != strings.TrimSuffix(want, "\n") && !*update {
				t.Errorf("%s: %s: got\n%swant\n%s", format, name, got, want)
			}
			now = append(now, "=== "+head+"\n"+before+"=>\n"+got)
		}
		if *update {
			if err := os.WriteFile(path, []byte(strings.Join(now, "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// changed does what a case says: set PATH VALUE, append PATH VALUE, remove PATH.
func changed(format splice.Format, text string, what []string) string {
	d, err := splice.Parse(format, []byte(text))
	if err != nil {
		return "unreadable: " + err.Error() + "\n"
	}
	var path []splice.Key
	for _, name := range strings.Split(what[1], ".") {
		if i, err := strconv.Atoi(name); err == nil {
			path = append(path, i)
		} else {
			path = append(path, name)
		}
	}
	value := any(1)
	switch what[len(what)-1] {
	case "server":
		value = server()
	case "hook":
		value = hook()
	case "list":
		value = []any{"a", server()}
	}
	switch what[0] {
	case "set":
		err = d.Set(value, path...)
	case "append":
		err = d.Append(value, path...)
	case "remove":
		err = d.Remove(path...)
	}
	if err != nil {
		return "refused: " + err.Error() + "\n"
	}
	return string(d.Bytes())
}

func visible(text string) string {
	text = strings.NewReplacer("\r", "<CR>", "\ufeff", "<BOM>").Replace(text)
	if !strings.HasSuffix(text, "\n") {
		text += "<END>\n"
	}
	return text
}

func invisible(text string) string {
	return strings.NewReplacer("<CR>", "\r", "<BOM>", "\ufeff", "<END>\n", "").Replace(text)
}
