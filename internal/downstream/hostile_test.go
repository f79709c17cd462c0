package downstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/downstream"
	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/toolbox"
)

// TestServersThatDoNotStart: they are failed, give the reason without secrets and escape sequences, are not
// restarted at once, and delay no other.
func TestServersThatDoNotStart(t *testing.T) {
	s := started(t, downstream.Config{
		"dies":    own(behaviour{Start: "die"}),
		"missing": {Command: "/no/such/program"},
		"words":   {Command: "no-such-program --fast"},
		"nowhere": {Command: "x", Cwd: "/no/such/folder"},
		"echoes":  {Command: "cat"},
		"unset":   {Command: "x", Env: map[string]outbound.Secret{"A": "${NO_SUCH_VARIABLE}"}},
		"off":     {Command: "x", Disabled: true},
		"rubbish": own(behaviour{Start: "rubbish"}),
		"good":    own(behaviour{}),
	})
	refreshed(t, s)
	got := map[string]downstream.Status{}
	for _, st := range s.Status() {
		got[st.Name] = st
	}
	for name, want := range map[string]struct {
		state downstream.State
		error string
	}{
		"dies":    {downstream.Failed, `ended with exit code 3; it printed "there is no database [31mtoday, says [hidden]"`},
		"missing": {downstream.Failed, `could not be started: the program '/no/such/program' was not found`},
		"words":   {downstream.Failed, `the program 'no-such-program --fast' was not found; write its arguments in args`},
		"nowhere": {downstream.Failed, "could not be started: the folder /no/such/folder, its cwd, does not exist"},
		"echoes":  {downstream.Failed, "is not an MCP server: it echoes planloop's messages"},
		"unset":   {downstream.Failed, "uses the variable NO_SUCH_VARIABLE, which is not set"},
		"off":     {downstream.Disabled, ""},
		"rubbish": {downstream.Failed, "answered with an invalid MCP result; check its command or url, or update the server"},
		"good":    {downstream.Ready, ""},
	} {
		if st := got[name]; st.State != want.state || !strings.Contains(st.Error, want.error) || (st.Error == "") != (want.error == "") {
			t.Errorf("%s: %s, %q", name, st.State, st.Error)
		}
	}
	if len(s.Tools()) != len(standard()) {
		t.Errorf("%d tools", len(s.Tools()))
	}

	told := filepath.Join(t.TempDir(), "told")
	s = started(t, downstream.Config{"dies": own(behaviour{Start: "die", Told: told})})
	refreshed(t, s)
	before, err := os.ReadFile(told)
	if err != nil {
		t.Fatal(err)
	}
	refreshed(t, s)
	if after, err := os.ReadFile(told); err != nil || string(after) != string(before) || strings.Count(string(after), "started") != 2 {
		t.Errorf("%q, then %q, %v", before, after, err)
	}
}

// TestAServerThatDiesAtWhatItDoesNotKnow gets only the older greeting.
func TestAServerThatDiesAtWhatItDoesNotKnow(t *testing.T) {
	s := started(t, downstream.Config{"ours": own(behaviour{Start: "die at the probe"})})
	if tools := refreshed(t, s); len(tools) != len(standard()) {
		t.Errorf("%+v", s.Status())
	}
}

// TestDeathInACall: the outcome is unknown, and the next call restarts the server.
func TestDeathInACall(t *testing.T) {
	s := started(t, downstream.Config{"ours": own(behaviour{})})
	tools := refreshed(t, s)
	for range 3 {
		if out, err := tools["ours__echo"].Call(within(t), nil, toolbox.Watch{}); err != nil || !out.OK {
			t.Errorf("%+v, %v", out, err)
		}
		out, err := tools["ours__die"].Call(within(t), nil, toolbox.Watch{})
		if err != nil || out.OK || !out.Cut || out.Transient ||
			!strings.Contains(out.Error, `exit code 9; it printed "out of memory"; it is unknown whether die was carried out`) {
			t.Errorf("%+v, %v", out, err)
		}
	}
	// A server that has answered no call since its start is not restarted at once.
	_, _ = tools["ours__die"].Call(within(t), nil, toolbox.Watch{})
	out, err := tools["ours__echo"].Call(within(t), nil, toolbox.Watch{})
	if err != nil || out.OK || out.Cut || !out.Transient || !strings.Contains(out.Error, "; the call was not made: call again in ") {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestAnswersThatAreTooLongAreNotKept, neither whole nor in large parts, and the server continues.
func TestAnswersThatAreTooLongAreNotKept(t *testing.T) {
	s := started(t, downstream.Config{"ours": own(behaviour{})})
	tools := refreshed(t, s)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, err := tools["ours__vast"].Call(within(t), nil, toolbox.Watch{})
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 50<<20 {
		t.Errorf("it took %d MB", (after.TotalAlloc-before.TotalAlloc)>>20)
	}
	if err != nil || out.OK || !out.Cut || !strings.Contains(out.Error, "more than 4 MB") {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err := tools["ours__echo"].Call(within(t), nil, toolbox.Watch{}); err != nil || !out.OK {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestFloodsEndTheServer: only the one that floods.
func TestFloodsEndTheServer(t *testing.T) {
	s := started(t, downstream.Config{"bad": own(behaviour{}), "good": own(behaviour{})})
	tools := refreshed(t, s)
	out, err := tools["bad__flood"].Call(within(t), nil, toolbox.Watch{})
	if err != nil || out.OK || !out.Cut || !strings.Contains(out.Error, "floods planloop") {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err := tools["good__echo"].Call(within(t), nil, toolbox.Watch{}); err != nil || !out.OK {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestNothingOutlivesTheServers: neither a server that ignores the end of its input, nor its child processes.
func TestNothingOutlivesTheServers(t *testing.T) {
	for _, start := range []string{"", "deaf"} {
		s := downstream.New(downstream.Config{"ours": own(behaviour{Start: start})},
			downstream.Options{Getenv: os.Getenv, Dir: t.TempDir()})
		tools := refreshed(t, s)
		pid, err := tools["ours__pid"].Invoke(within(t), nil, toolbox.RemoteClient{})
		if err != nil {
			t.Fatal(err)
		}
		if !runs(t, pid.Text()) {
			t.Error("it does not run")
		}
		if s.Close(); runs(t, pid.Text()) {
			t.Error("it still runs")
		}
		_, err = tools["ours__echo"].Invoke(within(t), nil, toolbox.RemoteClient{})
		var failed *downstream.Error
		if !errors.As(err, &failed) || failed.Sent || !strings.Contains(err.Error(), "is closed") {
			t.Errorf("after the end: %v", err)
		}
		if _, open := <-s.Changed(within(t)); open {
			t.Error("it listens after the end")
		}
	}
}

// TestServersAreGivenLittle: the usual environment variables, and those in the configuration.
func TestServersAreGivenLittle(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "no")
	t.Setenv("NODE_OPTIONS", "no")
	t.Setenv("OWN_TOKEN", "token-of-mine")
	server := own(behaviour{})
	server.Env["TOKEN"], server.Env["OTHER"], server.Env["HOME"] = "Bearer ${OWN_TOKEN}", "${NO_SUCH:-otherwise}", "/elsewhere"
	s := started(t, downstream.Config{"ours": server})
	got, err := refreshed(t, s)["ours__env"].Invoke(within(t), nil, toolbox.RemoteClient{})
	if err != nil {
		t.Fatal(err)
	}
	all := "\n" + got.Text() + "\n"
	for _, want := range []string{"TOKEN=Bearer token-of-mine", "OTHER=otherwise", "HOME=/elsewhere", "PASSWORD=hunter22hunter22",
		"PATH=" + os.Getenv("PATH")} {
		if !strings.Contains(all, "\n"+want+"\n") {
			t.Errorf("%s is not there: %s", want, all)
		}
	}
	if strings.Contains(all, "AWS_") || strings.Contains(all, "NODE_OPTIONS") || strings.Contains(all, "OWN_TOKEN") {
		t.Errorf("%s", all)
	}
}

// TestAPlanloopAmongItsServersStartsNoneItself: it would start itself again without end.
func TestAPlanloopAmongItsServersStartsNoneItself(t *testing.T) {
	s := started(t, downstream.Config{"ours": own(behaviour{})})
	got, err := refreshed(t, s)["ours__env"].Invoke(within(t), nil, toolbox.RemoteClient{})
	if err != nil {
		t.Fatal(err)
	}
	for variable := range strings.Lines(got.Text()) {
		name, value, _ := strings.Cut(strings.TrimSpace(variable), "=")
		t.Setenv(name, value)
	}
	inner := started(t, downstream.Config{"ours": own(behaviour{})})
	if tools := refreshed(t, inner); len(tools) > 0 || !strings.Contains(inner.Status()[0].Error, "another planloop started this one") {
		t.Errorf("%+v", inner.Status())
	}
}

// TestConfigurationsThatCannotBeUsed are reported by key, without possible secrets.
func TestConfigurationsThatCannotBeUsed(t *testing.T) {
	secret := map[string]outbound.Secret{"Authorization": "topsecret-\x01"}
	for want, c := range map[string]downstream.Config{
		`"Files" is not a name`:              {"Files": {Command: "x"}},
		`"" is not a name`:                   {"": {Command: "x"}},
		"must have either command or":        {"a": {}},
		"a must have either":                 {"a": {Command: "x", URL: "https://x"}},
		"a.type does not fit":                {"a": {URL: "https://x", Type: "sse"}},
		"type does not fit":                  {"a": {Command: "x", Type: "http"}},
		"a.timeout is out of range":          {"a": {Command: "x", Timeout: 1}},
		"mixes settings of a comm":           {"a": {Command: "x", Headers: map[string]outbound.Secret{"X": "y"}}},
		"mixes":                              {"a": {URL: "https://x", Args: []string{"y"}}},
		"a.url would send unencrypted":       {"a": {URL: "http://example.com/mcp"}},
		"a.url has credentials":              {"a": {URL: "https://me:topsecret@example.com"}},
		"a.url is not a URL":                 {"a": {URL: "https://x y"}},
		"a.headers has an invalid header":    {"a": {URL: "https://x", Headers: secret}},
		"a.headers has an inval":             {"a": {URL: "https://x", Headers: map[string]outbound.Secret{"Mcp-Session-Id": "topsecret"}}},
		"headers has":                        {"a": {URL: "https://x", Headers: map[string]outbound.Secret{"Host": "topsecret"}}},
		"a.command is a relative path":       {"a": {Command: "./bin/server"}},
		"a.env has an invalid variable":      {"a": {Command: "x", Env: map[string]outbound.Secret{"A=B": "topsecret"}}},
		"a.env has an invalid variable name": {"a": {Command: "x", Env: map[string]outbound.Secret{"A": "top\x00secret"}}},
	} {
		err := errors.Join(c.Faults()...)
		var about *outbound.ConfigError
		if !errors.As(err, &about) || about.Section != "servers" || about.Want == "" || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%s: %v", want, err)
		}
		s := started(t, c)
		if st := s.Status(); st[0].State != downstream.Failed || st[0].Error == "" || len(refreshed(t, s)) != 0 {
			t.Errorf("%s: %+v", want, st)
		}
	}
	fine := downstream.Config{"a": {Command: "npx", Args: []string{"-y", "x"}, Type: "stdio"},
		"b-2_": {URL: "http://localhost:1/mcp", Type: "http"},
		"c":    {URL: "https://x?key=${KEY}", Headers: map[string]outbound.Secret{"Authorization": "Bearer ${TOKEN}"}}}
	if err := fine.Faults(); err != nil {
		t.Error(err)
	}
	text, err := json.Marshal(downstream.Config{"a": {Headers: map[string]outbound.Secret{"A": "topsecret"}}})
	if err != nil || strings.Contains(string(text), "topsecret") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestAWaitThatIsGivenUpStopsNothing: a caller that stops waiting for a start gets an error, and the start
// continues.
func TestAWaitThatIsGivenUpStopsNothing(t *testing.T) {
	s := started(t, downstream.Config{"ours": own(behaviour{})})
	ctx, cancel := context.WithCancel(within(t))
	cancel()
	if err := s.Refresh(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if tools := refreshed(t, s); len(tools) != len(standard()) {
		t.Errorf("%d tools", len(tools))
	}
}
