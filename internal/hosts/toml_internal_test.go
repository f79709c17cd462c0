package hosts

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func codexServer() (Machine, *server) {
	m := Machine{GOOS: "linux", Home: "/home/ann", Project: "/app", Program: "/opt/planloop", Getenv: func(string) string { return "" }}
	return m, codex().server(m, User)
}

// TestReadTOML shows what is read, and what is refused.
func TestReadTOML(t *testing.T) {
	type table = map[string]any
	for text, want := range map[string]table{
		"": {}, "\ufeff# mine\n": {}, "a = 1\r\nb.c = true # x\r\n": {"a": "1", "b": table{"c": true}},
		"[a . \"b.c\"]\n'd' = \"x\\u0041\\\"\"":               {"a": table{"b.c": table{"d": `xA"`}}},
		"a = '''\n[b]\n'''\nc = \"\"\"\\\"\"\" [d]\"\"\"\"\n": {"a": "\n[b]\n", "c": `\""" [d]"`},
		"a = [ # one\n 'x', [1, 2,],\n]\n":                    {"a": []any{"x", []any{"1", "2"}}},
		"a = { b.c = 1, d = { e = false } }":                  {"a": inline{"b": table{"c": "1"}, "d": inline{"e": false}}},
		"[[a]]\nb = 1\n[[a]]\nb = 2\n[a.c]\nd = 1":            {"a": []table{{"b": "1"}, {"b": "2", "c": table{"d": "1"}}}},
		"a = 1979-05-27 07:32:00\nb = +1_0.5e-3\nc = inf":     {"a": "1979-05-2707:32:00", "b": "+1_0.5e-3", "c": "inf"},
	} {
		if got, err := readTOML([]byte(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, says := range map[string]string{
		"a": "line 1: a key has no value", "a =": "not a value", "\na = \n": "line 2: \"\\n\" is not a value", "= 1": "not a key",
		"[a": "does not end", "[[a]": "does not end", "[a] b = 1": "does not belong", "a = 1 2 = x": "does not belong",
		"a = 'b": "not a value", "a = \"b\n\"": "not a value", "a = \"\"\"b": "does not belong", "a = '''b": "does not belong",
		"a = \"\"\"b\\\"\"\"": "does not belong", "a = \"\\q\"": "not a value", "a = \"b\\": "not a value",
		"a = \"x\"\"y\"": "does not belong",
		"a = [1":         "instead of ]", "a = [1,": "not a value", "a = {b = 1": "instead of }", "a = {b = 1,": "not a key",
		"a.":           "not a key",
		"a = 1\na = 2": "twice", "a = 1\n[a.b]": `"a" is not a table`, "a = {}\n[a.b]": "not a table", "a = {}\na.b = 1": "not a table",
		"a = [{}]\n[[a]]": "not a list of tables", "[a]\n[[a]]": "not a list of tables", "a = \xff": "UTF-8", "ä = 1": "not a key",
		"\"\"\"a\"\"\" = 1": "not a key",
		"'''a''' = 1":       "not a key", "a = " + strings.Repeat("[", 100_000): "nested deeper", "{": "not a key",
	} {
		if got, err := readTOML([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: %v, %v, want %q", text, got, err, says)
		}
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
		e := Edit{Before: []byte(text), After: []byte(text)}
		err := s.putBlock(m, &e)
		if _, refused := errors.AsType[*Refusal](err); !refused {
			t.Errorf("%q became %q", text, e.After)
		}
	}
	for text, state := range map[string]State{
		"[mcp_servers.planloop]\ncommand = '/opt/planloop'\nargs = ['serve']\n": Current,
		"[mcp_servers.planloop]\ncommand = '/old/planloop'\nargs = ['serve']\n": Old,
	} {
		e := Edit{Before: []byte(text), After: []byte(text)}
		if err := s.putBlock(m, &e); e.Server != state || (err == nil) != (state == Current) || string(e.After) != text ||
			len(e.Starts) != 1 {
			t.Errorf("%q: %s, %v, %q", text, e.Server, err, e.After)
		}
		if err := s.takeBlock(&e); err != nil || e.Server != Kept || string(e.After) != text {
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
	} {
		text := c.before + s.block() + c.after
		e := Edit{Before: []byte(text), After: []byte(text)}
		if err := s.putBlock(m, &e); err != nil || e.Server != Current || string(e.After) != text {
			t.Errorf("%q: %s, %v, %q", text, e.Server, err, e.After)
		}
		moved := strings.Replace(text, "/opt/", "/old/", 1)
		e = Edit{Before: []byte(moved), After: []byte(moved)}
		if err := s.putBlock(m, &e); err != nil || e.Server != Old || string(e.After) != text {
			t.Errorf("%q: %s, %v, %q", moved, e.Server, err, e.After)
		}
		e = Edit{Before: []byte(text), After: []byte(text)}
		if err := s.takeBlock(&e); (err != nil) != (c.want == "refused") || err == nil && string(e.After) != c.want {
			t.Errorf("%q: %v, %q", text, err, e.After)
		}
	}
	inside := "a = '''\n" + s.block() + "'''\n"
	e := Edit{Before: []byte(inside), After: []byte(inside)}
	if err := s.takeBlock(&e); err == nil {
		t.Errorf("a text is taken for the table: %q", e.After)
	}
	multiline := blockMark + "[mcp_servers.planloop]\ncommand = '/old/planloop'\nargs = [\n  'serve',\n]\n"
	e = Edit{Before: []byte(multiline), After: []byte(multiline)}
	if err := s.putBlock(m, &e); err == nil {
		t.Errorf("it became %q", e.After)
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
		in := Edit{Before: text, After: text}
		if s.putBlock(m, &in) != nil || bytes.Contains(text, []byte("planloop")) {
			return
		}
		if !bytes.HasPrefix(in.After, text) || in.Server != Missing {
			t.Fatalf("%q became %q, %s", text, in.After, in.Server)
		}
		out := Edit{Before: in.After, After: in.After}
		if err := s.takeBlock(&out); err != nil || string(bytes.TrimRight(out.After, "\r\n")) != string(bytes.TrimRight(text, "\r\n")) {
			t.Fatalf("%q became %q, and then %q: %v", text, in.After, out.After, err)
		}
	})
}
