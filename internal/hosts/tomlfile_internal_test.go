package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
)

func codexServer() (Machine, *server) {
	m := Machine{GOOS: "linux", Home: "/home/ann", Project: "/app", Program: "/opt/planloop", Getenv: func(string) string { return "" }}
	return m, codex(m, User).server
}

// TestReadTOML shows what is read, and what is refused. A dot joins paths here.
func TestReadTOML(t *testing.T) {
	for text, want := range map[string]settingsTOML{
		"": {}, "\ufeff# mine\n": {}, "a = 1\r\nb.c = true # x\r\n": {"a": "1", "b.c": "true"},
		"[a . \"b\"]\n'd' = \"x\\u0041\\\"\"":                    {"a.b": "[", "a.b.d": `"x\u0041\""`},
		"a = '''\n[b]\n'''\nc = \"\"\"\\\"\"\" [d]\"\"\"\"\n":    {"a": "'''\n[b]\n'''", "c": `"""\""" [d]""""`},
		"a = [ # one\n 'x', [1, 2,],\n]\nb = {}":                 {"a": "[\n'x',[1,2,],\n]", "b": "{"},
		"a = { b.c = 1, d = { e = 'f' },\n }":                    {"a": "{", "a.b.c": "1", "a.d": "{", "a.d.e": "'f'"},
		"[[a]]\nb = 1\n[[a]]\n[a.c]\nd = 1":                      {"a.1": "[[", "a.1.b": "1", "a.2": "[[", "a.2.c": "[", "a.2.c.d": "1"},
		"a = 1979-05-27 07:32:00\nb = +1_0.5e-3\n\"\u0063\" = 1": {"a": "1979-05-2707:32:00", "b": "+1_0.5e-3", "c": "1"},
	} {
		got, err := readTOML([]byte(text))
		flat := settingsTOML{}
		for key, value := range got {
			flat[strings.ReplaceAll(key, "\x00", ".")] = value
		}
		if err != nil || !maps.Equal(flat, want) {
			t.Errorf("%q: %q, %v", text, flat, err)
		}
	}
	for text, says := range map[string]string{
		"a": "no value", "a =": "no value", "\na = \n": "no value", "= 1": "not a key", "[a": "bracket does not end",
		"[[a]": "bracket does not end", "[a] b = 1": "not a key",
		"[]": "not a key", "[a.]": "not a key", "[a b]": "not a key", "a = ]": "no beginning",
		"a = 'b": "string does not end", "a = \"b\n\"": "string does not end", "a = \"\"\"b": "string does not end",
		"a = '''b":            "string does not end",
		"a = \"\"\"b\\\"\"\"": "string does not end", "\"\\q\" = 1": "not a key", "a = \"b\\": "does not end",
		"a = 1\na = 2": "twice", "[a]\n[a]": "twice", "a = {b = 1, b = 2}": "twice", "[[a]]\nb = 1\nb = 1": "twice",
		"a = [1": "bracket does not end", "a = {b = 1": "bracket does not end", "a = {b = 1} 2": "no beginning", "a = {b}": "no value",
		"a. = 1": "not a key", "a = {b = 1} {c = 2}": "no beginning", "a = (]": "no beginning", "a = [}": "no beginning",
		"a = \xff": "UTF-8", "ä = 1": "not a key", "\"\"\"a\"\"\" = 1": "not a key", "'''a''' = 1": "not a key", "{}": "no value",
		"a = " + strings.Repeat("{a = ", 100_000) + strings.Repeat("}", 100_000): "nested too deep",
	} {
		if got, err := readTOML([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: %q, %v, want %q", text, got, err, says)
		}
	}
}

// TestPathsAreLimited: a long header does not cost memory again for each key below it.
func TestPathsAreLimited(t *testing.T) {
	keys := func(n int, form string) string {
		var lines strings.Builder
		for i := range n {
			fmt.Fprintf(&lines, form, i)
		}
		return lines.String()
	}
	long := strings.Repeat("h", maxPath-10)
	for name, text := range map[string]string{
		"a header": "[" + long + "0123456789a]", "a key": long + "0123456789a = 1", "a key in a table": "[" + long + "]\n0123456789 = 1",
		"a header of many parts":  "[" + strings.Repeat("a.", maxParts) + "a]",
		"a key of many parts":     strings.Repeat("a.", maxParts) + "a = 1",
		"tables within tables":    strings.Repeat("a = {", maxParts+1) + strings.Repeat("}", maxParts+1),
		"many keys":               "[" + long + "]\n" + keys(3_000, "k%d=1\n"),
		"many keys of one table":  long + " = {" + keys(3_000, "k%d=1,") + "}",
		"many headers":            keys(3_000, "["+long+".%d]\n"),
		"one list again":          strings.Repeat("[["+long+"]]\n", 3_000),
		"keys that are 300 bytes": "[" + long[:300] + "]\n" + keys(30_000, "k%d=1\n"),
	} {
		all, err := readTOML([]byte(text))
		size := 0
		for key := range all {
			size += len(key)
		}
		if err == nil || !strings.Contains(err.Error(), "its keys are too") || len(err.Error()) > 200 || size > maxPaths {
			t.Errorf("%s: %d bytes of keys, %v", name, size, err)
		}
	}
	ample := strings.Repeat("a.", maxParts-1) + "a = 1\n[" + long + "]\n" + keys(1_000, "k%d=1\n") + "[b]\n" +
		keys(20_000, "k%d=1\n")
	if all, err := readTOML([]byte(ample)); err != nil || len(all) != 21_003 {
		t.Errorf("%d settings, %v", len(all), err)
	}
}

// TestTableThatIsThere: however a file has the server's table, init adds no second one.
func TestTableThatIsThere(t *testing.T) {
	m, s := codexServer()
	for _, text := range []string{
		"[mcp_servers.planloop]\ncommand = 'npx'\n", "[ mcp_servers . \"planloop\" ]\ncommand = 'npx'", "['mcp_servers'.'planloop']",
		"[mcp_servers.\"plan\\u006Coop\"]", "mcp_servers.planloop.command = 'npx'", "\"mcp_servers\" . planloop . command = 'npx'",
		"mcp_servers = { planloop = { command = 'npx' } }", "mcp_servers = { x = { command = 'npx' } }", "mcp_servers = {}",
		"[mcp_servers]\nplanloop.command = 'npx'", "[mcp_servers]\nplanloop = { command = 'npx' }", "[mcp_servers.planloop.env]\nA = 'b'",
		"a = '''\n'''\n[mcp_servers.planloop]", "a = [\n]\n[mcp_servers.planloop]", "[[mcp_servers]]\nx = 1", "mcp_servers = 1",
		"[[mcp_servers.planloop]]\ncommand = 'npx'", "a = '''", "\ufeff[mcp_servers.planloop]\r\n",
	} {
		e := Edit{Before: []byte(text), After: []byte(text), record: newRecord("")}
		err := s.editTOML(m, &e, false)
		if _, refused := errors.AsType[*Refusal](err); !refused {
			t.Errorf("%q became %q", text, e.After)
		}
	}
	for text, state := range map[string]State{
		"[mcp_servers.planloop]\ncommand = '/opt/planloop'\nargs = ['serve']\n": Current,
		"[mcp_servers.planloop]\ncommand = '/old/planloop'\nargs = ['serve']\n": Old,
	} {
		e := Edit{Before: []byte(text), After: []byte(text), record: newRecord("")}
		if err := s.editTOML(m, &e, false); e.Server != state || (err == nil) != (state == Current) || string(e.After) != text ||
			len(e.Programs) != 1 {
			t.Errorf("%q: %s, %v, %q", text, e.Server, err, e.After)
		}
		if err := s.editTOML(m, &e, true); err != nil || e.Server != Kept || string(e.After) != text {
			t.Errorf("%q: %s, %v, %q", text, e.Server, err, e.After)
		}
	}
}

// TestTableThatOthersChange: Codex adds tables right behind the last, and people add lines; what is not init's stays.
func TestTableThatOthersChange(t *testing.T) {
	m, s := codexServer()
	const trusted = "\n[hooks.state.\"x\"]\ntrusted_hash = \"sha256:1\"\n"
	for _, c := range []struct{ before, after, want string }{
		{"a = 1\n\n", trusted, "a = 1\n" + trusted},
		{"", "", ""},
		{"", "enabled = false\n", "refused"},
		{"", "\n# mine\nenabled = false\n", "refused"},
		{"", "[mcp_servers.planloop.tools.x]\na = 1\n", "refused"},
		{"a = 1\n\n", "\n# mine\n[b]\n", "a = 1\n\n# mine\n[b]\n"},
		{"[mcp_servers.docs]\nx = 1\n", "\nx = 1\n", "refused"},
		{"[[p]]\nmodel = 'a'\n\n[[p]]\nn = 1\n", "model = 'a'\n", "refused"},
	} {
		text := c.before + s.tomlTable() + c.after
		e := Edit{Before: []byte(text), After: []byte(text), record: newRecord("")}
		if err := s.editTOML(m, &e, false); err != nil || e.Server != Current || string(e.After) != text {
			t.Errorf("%q: %s, %v, %q", text, e.Server, err, e.After)
		}
		moved := strings.Replace(text, "/opt/", "/old/", 1)
		e = Edit{Before: []byte(moved), After: []byte(moved), record: newRecord("")}
		if err := s.editTOML(m, &e, false); err != nil || e.Server != Old || string(e.After) != text {
			t.Errorf("%q: %s, %v, %q", moved, e.Server, err, e.After)
		}
		e = Edit{Before: []byte(text), After: []byte(text), record: newRecord("")}
		if err := s.editTOML(m, &e, true); (err != nil) != (c.want == "refused") || err == nil && string(e.After) != c.want {
			t.Errorf("%q: %v, %q", text, err, e.After)
		}
	}
	inside := "a = '''\n" + s.tomlTable() + "'''\n"
	e := Edit{Before: []byte(inside), After: []byte(inside), record: newRecord("")}
	if err := s.editTOML(m, &e, true); err != nil || e.Server != Missing || string(e.After) != inside {
		t.Errorf("a text is taken for the table: %s, %v, %q", e.Server, err, e.After)
	}
	if err := s.editTOML(m, &e, false); err != nil || e.Server != Missing || string(e.After) != inside+"\n"+s.tomlTable() {
		t.Errorf("a text is taken for the table: %s, %v, %q", e.Server, err, e.After)
	}
	multiline := tableMark + "[mcp_servers.planloop]\ncommand = '/old/planloop'\nargs = [\n  'serve',\n]\n"
	e = Edit{Before: []byte(multiline), After: []byte(multiline), record: newRecord("")}
	want := strings.Replace(multiline, "'/old/planloop'", `"/opt/planloop"`, 1)
	if err := s.editTOML(m, &e, false); err != nil || string(e.After) != want {
		t.Errorf("it became %q, %v", e.After, err)
	}
}

// TestTableThatThePersonChanged: init changes the program alone in it, or nothing, and --remove leaves it.
func TestTableThatThePersonChanged(t *testing.T) {
	m, s := codexServer()
	own := s.tomlTable()
	for name, changed := range map[string]string{
		"a comment":        strings.Replace(own, "args", "# mine\nargs", 1),
		"aligned":          strings.Replace(own, "command =", "command  =", 1),
		"a key above":      strings.Replace(own, "args", "startup_timeout_sec = 20\nargs", 1),
		"arguments":        strings.Replace(own, `"serve"`, `"serve", "--toolsets", "planning"`, 1),
		"a comment behind": strings.Replace(own, "\nenv_vars", " # mine\nenv_vars", 1),
		"no blanks":        tableMark + "[mcp_servers.planloop]\ncommand=\"/opt/planloop\"\nargs=[\"serve\"]\nurl=\"keep\"\n",
	} {
		for _, text := range []string{changed, strings.Replace(changed, "/opt/", "/old/", 1)} {
			e := Edit{Before: []byte(text), After: []byte(text), record: newRecord("")}
			if err := s.editTOML(m, &e, false); err != nil || string(e.After) != changed {
				t.Errorf("%s: %v, %q became %q", name, err, text, e.After)
			}
			e = Edit{Before: []byte(text), After: []byte(text), record: newRecord("")}
			if err := s.editTOML(m, &e, true); err == nil || e.Server != Kept || string(e.After) != text {
				t.Errorf("%s: %v, %q became %q", name, err, text, e.After)
			}
		}
	}
	text := strings.Replace(own, "/opt/planloop", "/usr/bin/other", 1)
	e := Edit{Before: []byte(text), After: []byte(text), record: newRecord("")}
	if err := s.editTOML(m, &e, false); err == nil || e.Server != Foreign || string(e.After) != text {
		t.Errorf("another program: %v, %s, %q", err, e.Server, e.After)
	}
}

// FuzzTOML: whatever a file has, the table goes to its end, and out again.
func FuzzTOML(f *testing.F) {
	for _, seed := range []string{"", "a = 1", "[a.'b']\r\nc = '''\n[d]'''\r\n",
		"a = [\n{ b = \"\\\"\" }, # x\n]\n", "[[a]]\n[a.b]\nc.d = 1 # e", "\ufeff"} {
		f.Add([]byte(seed))
	}
	m, s := codexServer()
	f.Fuzz(func(t *testing.T, text []byte) {
		in := Edit{Before: text, After: text, record: newRecord("")}
		if s.editTOML(m, &in, false) != nil || bytes.Contains(text, []byte("planloop")) {
			return
		}
		if !bytes.HasPrefix(in.After, text) || in.Server != Missing {
			t.Fatalf("%q became %q, %s", text, in.After, in.Server)
		}
		out := Edit{Before: in.After, After: in.After, record: newRecord("")}
		err := s.editTOML(m, &out, true)
		if err != nil || !bytes.Equal(bytes.TrimRight(out.After, "\r\n"), bytes.TrimRight(text, "\r\n")) {
			t.Fatalf("%q became %q, and then %q: %v", text, in.After, out.After, err)
		}
	})
}
