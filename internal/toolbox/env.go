package toolbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/shell"
	"github.com/planloop/planloop/plan"
)

// Env passes values to a command as variables, so that they do not become part of its text. A string is passed as it
// is, any other value as its JSON.
type Env map[string]json.RawMessage

const (
	maxVariables = 64
	maxEnv       = 96 << 10 // bytes of all of them; systems refuse a variable of 128 KB

	elsewhere = "write it to a file with create_file, and read it there"
)

// judge refuses names that are not free for values, and values that cannot be passed.
func (e Env) judge(system string) error {
	var all plan.Faults
	length := 0
	for _, name := range slices.Sorted(maps.Keys(e)) {
		value := e.text(name)
		length += len(name) + len(value) + 2
		field := "/env/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(plan.Shorten(name, 60))
		switch {
		case !free(name, system):
			all.Add(invalid(field, plan.Quote(name)+" cannot be the name of a value",
				"choose another, such as FILE or ITEM: letters, digits and _, and none that programs heed, as they do PATH"))
		case strings.ContainsRune(value, 0):
			all.Add(invalid(field, "has a NUL", elsewhere))
		case system == "windows" && strings.ContainsAny(value, "\"&|<>^%!()\r\n"): // cmd.exe expands variables before it parses the command
			all.Add(invalid(field, "has a character that cmd.exe takes for more than text", elsewhere))
		}
	}
	if len(e) > maxVariables || length > maxEnv {
		all.Add(invalid("/env", fmt.Sprintf("has %d variables of %s in all", len(e), size(int64(length))),
			fmt.Sprintf("give at most %d, of %s in all; or %s", maxVariables, size(maxEnv), elsewhere)))
	}
	return all.Err()
}

// free reports whether a variable of this name may have any value. Windows ignores case in names.
func free(name, system string) bool {
	ours := slices.ContainsFunc(strings.Fields(passed), func(other string) bool { return strings.EqualFold(name, other) })
	return shell.FreeName(name) && !ours && (system != "windows" || shell.FreeName(strings.ToUpper(name)))
}

// text is a value as the command reads it.
func (e Env) text(name string) string {
	var text string
	if json.Unmarshal(e[name], &text) == nil && !bytes.Equal(e[name], []byte("null")) {
		return text
	}
	var compact bytes.Buffer
	if json.Compact(&compact, e[name]) != nil {
		return string(e[name])
	}
	return compact.String()
}

// list returns the variables as NAME=value.
func (e Env) list() []string {
	list := make([]string, 0, len(e))
	for _, name := range slices.Sorted(maps.Keys(e)) {
		list = append(list, name+"="+e.text(name))
	}
	return list
}
