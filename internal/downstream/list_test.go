package downstream_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/downstream"
	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/toolbox"
)

// described is a tool as a server lists it.
func described(name, rest string) string {
	quoted, _ := json.Marshal(name)
	return `{"name":` + string(quoted) + `,"inputSchema":{"type":"object"}` + rest + `}`
}

// listed returns a server over HTTP that lists these tools.
func listed(t *testing.T, tools ...string) downstream.Server {
	web := httptest.NewServer(newPeer(behaviour{Tools: tools}, nil))
	t.Cleanup(web.Close)
	return downstream.Server{URL: web.URL}
}

// TestListsAreBounded: with any pages, a list ends, and a cut is reported.
func TestListsAreBounded(t *testing.T) {
	for pages, want := range map[string]struct {
		tools int
		cut   string
	}{"": {len(standard()), ""}, "one": {len(standard()), ""}, "endless": {100, "more than 100 pages"},
		"circle": {len(standard()), "pages repeat"}, "many": {500, "more than 500 tools"}} {
		t.Run(pages, func(t *testing.T) {
			t.Parallel()
			b := behaviour{Pages: pages}
			if pages == "many" {
				b.ListFile = filepath.Join(t.TempDir(), "list")
				var lines strings.Builder
				for i := range 600 {
					fmt.Fprintln(&lines, described(fmt.Sprint("t", i), ""))
				}
				if err := os.WriteFile(b.ListFile, []byte(lines.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := started(t, downstream.Config{"ours": own(b)})
			tools := refreshed(t, s)
			told := s.Status()[0].Error
			if len(tools) != want.tools || !strings.Contains(told, want.cut) || (told == "") != (want.cut == "") {
				t.Errorf("%d tools, %q", len(tools), told)
			}
		})
	}
}

// TestNamesOfTools: names are valid for models and unique, whatever the servers' own names are.
func TestNamesOfTools(t *testing.T) {
	s := started(t, downstream.Config{
		"a": listed(t, described("read", ""), described("b__c", ""), described("_d", ""), described("read", ""), described("", ""),
			described("re ad", ""), described("re\x1bad", ""), described("re\u202ead", ""), described("größe", ""),
			described(strings.Repeat("long", 9), ""), described(strings.Repeat("long", 10), ""), described(strings.Repeat("long", 99), "")),
		"a__b": listed(t, described("c", "")), "a_": listed(t, described("d", ""))})
	refreshed(t, s)
	var got []string
	for _, tool := range s.Tools() {
		got = append(got, tool.Name)
		if tool.Server+"__"+tool.Own != tool.Name && !regexp.MustCompile(`_[0-9a-f]{8}$`).MatchString(tool.Name) {
			t.Errorf("%q of %s is called %s", tool.Own, tool.Server, tool.Name)
		}
	}
	want := []string{"a__read", "a__b__c", "a___d", "a__re_ad_[0-9a-f]{8}", "a__re_ad_[0-9a-f]{8}", "a__re_ad_[0-9a-f]{8}",
		"a__gr__e_[0-9a-f]{8}", "a__(long){9}", "a__(long){7}_[0-9a-f]{8}", "a___d_[0-9a-f]{8}", "a__b__c_[0-9a-f]{8}"}
	if pattern := "^" + strings.Join(want, " ") + "$"; !regexp.MustCompile(pattern).MatchString(strings.Join(got, " ")) {
		t.Errorf("%q", got)
	}
	var unusable []string
	for _, one := range s.Status()[0].Unusable {
		unusable = append(unusable, one.Own+": "+one.Why)
		if !safetext.PrintableLine(one.Own) || !safetext.PrintableLine(one.Why) {
			t.Errorf("%q", one)
		}
	}
	if len(unusable) != 3 {
		t.Errorf("%q", unusable)
	}
}

// TestNamesAreForModels: short, in characters that models' interfaces accept, and unique.
func TestNamesAreForModels(t *testing.T) {
	dir := t.TempDir()
	rapidtest.Check(t, func(r *rapid.T) {
		server := rapid.StringMatching(`[a-z0-9_-]{1,32}`).Draw(r, "server")
		var lines []string
		names := rapid.SliceOfNDistinct(rapid.StringN(1, 60, 200), 1, 6, rapid.ID[string]).Draw(r, "names")
		for _, name := range names {
			lines = append(lines, described(name, ""))
		}
		text, err := json.Marshal(map[string]any{"format": 1, "tools": json.RawMessage("[" + strings.Join(lines, ",") + "]")})
		if err != nil {
			r.Skip()
		}
		o := downstream.Options{Dir: dir, CacheDir: filepath.Join(dir, "lists")}
		c := downstream.Config{server: {Command: "none"}}
		path := cacheFile(t, c, o)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(path)
		s := downstream.New(c, o)
		defer s.Close()
		seen := map[string]bool{}
		for _, tool := range s.Tools() {
			if seen[tool.Name] || !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`).MatchString(tool.Name) {
				r.Fatalf("%q of %q", tool.Name, tool.Own)
			}
			seen[tool.Name] = true
		}
		if len(seen)+len(s.Status()[0].Unusable) != len(names) {
			r.Fatalf("%d of %d tools, %v", len(seen), len(names), s.Status()[0].Unusable)
		}
	})
}

// cacheFile finds the cached list of a configuration's only server.
func cacheFile(t *testing.T, c downstream.Config, o downstream.Options) string {
	t.Helper()
	if err := os.MkdirAll(o.CacheDir, 0o700); err != nil {
		t.Fatal(err)
	}
	return downstream.CacheFile(c, o)
}

// TestHintsCountAsFarAsTheServerIsTrusted: the user's configuration decides first which tools are allowed in a
// read-only phase.
func TestHintsCountAsFarAsTheServerIsTrusted(t *testing.T) {
	no := false
	const reads, writes = `,"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}`,
		`,"annotations":{"readOnlyHint":false,"destructiveHint":false}`
	tools := []string{described("get", reads), described("put", writes), described("bare", ""), described("git_log", reads),
		described("Git-Push", reads), described("self_edit_x", reads), described("a/b", reads)}
	for name, test := range map[string]struct {
		trust    *bool
		patterns []string
		want     []string // name, passes, read only, destructive, idempotent, open world
	}{
		"trusted": {nil, nil, []string{"get PR-I-", "put ----O", "bare --D-O", "git_log -R-I-", "Git-Push -R-I-",
			"self_edit_x -R-I-", "a/b PR-I-"}},
		"not trusted": {&no, nil, []string{"get --D-O", "put --D-O", "bare --D-O", "git_log --D-O", "Git-Push --D-O",
			"self_edit_x --D-O", "a/b --D-O"}},
		"by name": {&no, []string{"g*", "git_*", "srv__put", "a/*", "["}, []string{"get PR--O", "put PR--O", "bare --D-O", "git_log PR--O",
			"Git-Push --D-O", "self_edit_x --D-O", "a/b PR--O"}},
		"by name, trusted": {nil, []string{"git_*", "Git-*"}, []string{"get PR-I-", "put ----O", "bare --D-O", "git_log PR-I-",
			"Git-Push PR-I-", "self_edit_x -R-I-", "a/b PR-I-"}},
	} {
		server := listed(t, tools...)
		server.TrustHints, server.ReadOnlyTools = test.trust, test.patterns
		s := started(t, downstream.Config{"srv": server})
		refreshed(t, s)
		var got []string
		for _, tool := range s.Tools() {
			flags := ""
			for i, set := range []bool{tool.ReadOnlyPhase, tool.ReadOnly, tool.Destructive, tool.Idempotent, tool.OpenWorld} {
				flags += map[bool]string{true: "PRDIO"[i : i+1], false: "-"}[set]
			}
			got = append(got, tool.Own+" "+flags)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\n%q\n%q", name, got, test.want)
		}
	}
}

// TestToolsThatCannotBeUsed are left out and reported, and the others are offered.
func TestToolsThatCannotBeUsed(t *testing.T) {
	deep := strings.Repeat(`{"not":`, 40) + "{}" + strings.Repeat("}", 40)
	schema := func(schema string) string { return `{"name":"bad","inputSchema":` + schema + `}` }
	for name, test := range map[string]struct{ tool, why string }{
		"no schema":           {`{"name":"bad"}`, "missing"},
		"no object":           {schema(`{"type":"string"}`), "not that of an object"},
		"not a schema":        {schema(`{"type":"object","properties":7}`), "cannot be used"},
		"too deep":            {schema(`{"type":"object","properties":{"a":` + deep + `}}`), "deeper than 32"},
		"too long":            {schema(`{"type":"object","x":"` + strings.Repeat("a", 1<<20) + `"}`), "longer than 1 MB"},
		"from the network":    {schema(`{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:1/x"}}}`), "is not read"},
		"from a file":         {schema(`{"type":"object","$ref":"file:///etc/passwd"}`), "is not read"},
		"hidden names":        {schema(`{"type":"object","properties":{"a\u202eb":{}}}`), "not printable"},
		"escapes in an enum":  {schema(`{"type":"object","properties":{"a":{"enum":["\u001b[1m"]}}}`), "not printable"},
		"output":              {`{"name":"bad","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}`, "output schema"},
		"wrong types":         {`{"name":"bad","inputSchema":{"type":"object"},"description":7}`, "cannot be read"},
		"not an object":       {`7`, "cannot be read"},
		"a name of megabytes": {`{"name":"` + strings.Repeat("n", 1<<20) + `","inputSchema":{"type":"object"}}`, "longer than 256 bytes"},
	} {
		s := started(t, downstream.Config{"ours": listed(t, test.tool, described("good", ""))})
		tools := refreshed(t, s)
		bad := s.Status()[0].Unusable
		if len(tools) != 1 || len(bad) != 1 || !strings.Contains(bad[0].Why, test.why) || len(bad[0].Own) > 110 {
			t.Errorf("%s: %d tools, %v", name, len(tools), bad)
		}
	}
}

// TestWhatAServerSaysOfItsToolsIsShown: limited and printable.
func TestWhatAServerSaysOfItsToolsIsShown(t *testing.T) {
	s := started(t, downstream.Config{"ours": listed(t,
		`{"name":"a","title":"T\u001b[1m\ntitle","description":" It\u202e does\u0000 it.\n`+strings.Repeat("x", 5000)+`",`+
			`"inputSchema":{"type":"object","description":"D\u001b","properties":{"description":`+
			`{"type":"string","title":"\u0007T","pattern":"^[^\u0000]+$"}}}}`)})
	tool := refreshed(t, s)["ours__a"]
	n := len([]rune(tool.Description))
	if n > 1024 || !strings.HasPrefix(tool.Description, "It does it.\nxxx") || tool.Title != "T [1m title" {
		t.Errorf("%d, %q, %q", n, tool.Description, tool.Title)
	}
	want := `{"type":"object","description":"D","properties":{"description":{"type":"string","title":"T","pattern":"^[^\u0000]+$"}}}`
	if string(tool.Schema) != want {
		t.Errorf("%s", tool.Schema)
	}
}

// TestListsAreKept for the next process, readable only by the user, without secrets; another configuration has
// another list.
func TestListsAreKept(t *testing.T) {
	told := filepath.Join(t.TempDir(), "told")
	c := downstream.Config{"ours": own(behaviour{Told: told})}
	o := downstream.Options{Dir: t.TempDir(), CacheDir: filepath.Join(t.TempDir(), "deep", "lists"), Getenv: os.Getenv}
	same := func(into *downstream.Options) { *into = o }
	first := started(t, c, same)
	if tools := first.Tools(); len(tools) != 0 || first.Status()[0].State != downstream.Idle {
		t.Errorf("%v, %+v", tools, first.Status())
	}
	want := refreshed(t, first)
	second := started(t, c, same)
	if got := byName(second.Tools()); len(got) != len(want) || second.Status()[0].Listed {
		t.Errorf("%d tools of %d", len(got), len(want))
	} else {
		for name, tool := range got {
			if tool.Definition() != want[name].Definition() || tool.Definition() == "" {
				t.Errorf("%s is defined otherwise", name)
			}
		}
	}
	if starts, err := os.ReadFile(told); err != nil || string(starts) != "started\n" {
		t.Errorf("%q, %v", starts, err)
	}
	files := 0
	err := filepath.WalkDir(o.CacheDir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		info, _ := e.Info()
		if strings.Contains(string(text), "hunter22") || info.Mode().Perm() != 0o600 || path != downstream.CacheFile(c, o) {
			t.Errorf("%s, %s", path, info.Mode())
		}
		return err
	})
	if err != nil || files != 1 {
		t.Errorf("%d files, %v", files, err)
	}
	other := c["ours"]
	other.Args = append(slices.Clone(other.Args), "more")
	elsewhere := o
	elsewhere.Dir = t.TempDir()
	secret := c["ours"]
	secret.Env = map[string]outbound.Secret{"PASSWORD": "another"}
	for what, test := range map[string]struct {
		server downstream.Server
		o      downstream.Options
		known  bool
	}{"other arguments": {other, o, false}, "another workspace": {c["ours"], elsewhere, false}, "another secret": {secret, o, true}} {
		s := started(t, downstream.Config{"ours": test.server}, func(into *downstream.Options) { *into = test.o })
		if known := len(s.Tools()) > 0; known != test.known {
			t.Errorf("%s: %v", what, known)
		}
	}
	for _, broken := range []string{"", "{", `{"format":2,"tools":[]}`, `{"format":1,"tools":7}`, "null"} {
		if err := os.WriteFile(downstream.CacheFile(c, o), []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if s := started(t, c, same); len(s.Tools()) != 0 || len(refreshed(t, s)) != len(want) {
			t.Errorf("%q: %d", broken, len(s.Tools()))
		}
	}
}

// TestAChangedToolIsAnother: the change of the list is reported, and a call of the old tool is not sent.
func TestAChangedToolIsAnother(t *testing.T) {
	for _, modern := range []bool{false, true} {
		b := behaviour{Modern: modern, ListFile: filepath.Join(t.TempDir(), "list")}
		write := func(tools ...string) {
			t.Helper()
			if err := os.WriteFile(b.ListFile, []byte(strings.Join(tools, "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(described("change", ""), described("echo", `,"description":"one"`), described("gone", ""))
		s := started(t, downstream.Config{"ours": own(b)})
		before := refreshed(t, s)
		changed := s.Changed(within(t))
		select {
		case <-changed:
		default:
		}
		write(described("change", ""), described("echo", `,"description":"two"`), described("new", ""))
		if _, err := before["ours__change"].Invoke(within(t), nil, toolbox.RemoteClient{}); err != nil {
			t.Fatal(err)
		}
		if _, open := <-changed; !open {
			t.Fatal("nobody was told")
		}
		after := byName(s.Tools())
		same := after["ours__echo"].Definition() == before["ours__echo"].Definition()
		if same || after["ours__new"].Name == "" || after["ours__gone"].Name != "" {
			t.Errorf("%v", after)
		}
		if after["ours__change"].Definition() != before["ours__change"].Definition() {
			t.Error("a tool that is as it was is another")
		}
		for _, name := range []string{"ours__echo", "ours__gone"} {
			out, err := before[name].Call(within(t), nil, toolbox.Watch{})
			if err != nil || out.OK || out.Cut || !strings.Contains(out.Error, "has changed") {
				t.Errorf("%s: %+v, %v", name, out, err)
			}
		}
		if out, err := after["ours__echo"].Call(within(t), nil, toolbox.Watch{}); err != nil || !out.OK {
			t.Errorf("%+v, %v", out, err)
		}
	}
}

// TestAToolThatChangedSinceItWasKeptIsNotCalled: a list from an earlier process does not allow calls of a tool that
// has changed.
func TestAToolThatChangedSinceItWasKeptIsNotCalled(t *testing.T) {
	b := behaviour{ListFile: filepath.Join(t.TempDir(), "list")}
	o := downstream.Options{Dir: t.TempDir(), CacheDir: t.TempDir(), Getenv: os.Getenv}
	c := downstream.Config{"ours": own(b)}
	for i, reads := range []string{"true", "false"} {
		line := described("echo", `,"annotations":{"readOnlyHint":`+reads+`}`)
		if err := os.WriteFile(b.ListFile, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		s := started(t, c, func(into *downstream.Options) { *into = o })
		if i == 0 {
			refreshed(t, s)
			continue
		}
		kept := byName(s.Tools())["ours__echo"]
		out, err := kept.Call(within(t), nil, toolbox.Watch{})
		if err != nil || out.OK || !kept.ReadOnlyPhase || byName(s.Tools())["ours__echo"].ReadOnlyPhase {
			t.Errorf("%+v, %v", out, err)
		}
	}
}
