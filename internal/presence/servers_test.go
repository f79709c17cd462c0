package presence_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/testenv"
)

// client makes a server join for a client until the test ends, if not before. The server is this process unless s names
// another.
func client(t *testing.T, state, name string, s presence.Server) (leave func()) {
	t.Helper()
	if s.Process.PID == 0 {
		s.Process = self(t)
	}
	leave = presence.Open(state, presence.Options{Server: func() presence.Server { return s }}).Join(name)
	t.Cleanup(leave)
	return leave
}

func self(t *testing.T) process.Ancestor {
	t.Helper()
	chain := process.Ancestors()
	if len(chain) == 0 {
		t.Skip("this system does not tell of processes")
	}
	return chain[0]
}

func TestClient(t *testing.T) {
	host := process.Ancestor{PID: 70, Started: 5, Name: "agent"}
	shell := process.Ancestor{PID: 60, Started: 4, Name: "zsh"}
	above := []process.Ancestor{{PID: 90, Started: 9, Name: "bash"}, host, shell}
	reused, dead := host, self(t)
	reused.Started++
	dead.Started--
	tests := map[string]struct {
		server  presence.Server
		session string
		want    string
	}{
		"its host is above":                        {presence.Server{Host: host}, "", "codex#1"},
		"its host is not":                          {presence.Server{Host: process.Ancestor{PID: 71, Started: 5}}, "", ""},
		"its host had the pid before":              {presence.Server{Host: reused}, "", ""},
		"its host is a shell":                      {presence.Server{Host: shell}, "", ""},
		"it has ended, and its pid is another's":   {presence.Server{Host: host, Process: dead}, "", ""},
		"it knows of no host":                      {presence.Server{}, "", ""},
		"of the same session":                      {presence.Server{Session: "s"}, "s", "codex#1"},
		"of another session":                       {presence.Server{Session: "s"}, "t", ""},
		"of the same session, and it has ended":    {presence.Server{Session: "s", Process: dead}, "s", ""},
		"its host is above, the session another's": {presence.Server{Host: host, Session: "s"}, "t", "codex#1"},
	}
	for name, test := range tests {
		state := t.TempDir()
		client(t, state, "codex#1", test.server)
		got, some := presence.Open(state, presence.Options{}).Client(func() []process.Ancestor { return above }, test.session)
		if got != test.want || some != (test.want != "") {
			t.Errorf("%s: %q, %t, want %q", name, got, some, test.want)
		}
	}
}

// TestOneClientOrSome: with two hosts above, the client is ambiguous in any session, but an agent's; two servers of one
// agent are that agent.
func TestOneClientOrSome(t *testing.T) {
	above := []process.Ancestor{{PID: 90, Started: 9, Name: "inner"}, {PID: 70, Started: 5, Name: "outer"}}
	for other, want := range map[string]string{"outer#2": "", "inner#1": "inner#1"} {
		state := t.TempDir()
		client(t, state, "inner#1", presence.Server{Host: above[0], Session: "s"})
		if err := os.Rename(only(t, state), filepath.Join(state, "servers", "other.json")); err != nil { // both are one process here
			t.Fatal(err)
		}
		client(t, state, other, presence.Server{Host: above[1]})
		for _, session := range []string{"s", "t", ""} {
			got, some := presence.Open(state, presence.Options{}).Client(func() []process.Ancestor { return above }, session)
			if got != want || !some {
				t.Errorf("%q, %t, want %q", got, some, want)
			}
		}
	}
}

// TestServersComeAndGo: an announcement lasts from the first sign of life with a state until the server leaves; a
// killed server's is removed.
func TestServersComeAndGo(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	server := presence.Server{Process: self(t), Host: process.Ancestor{PID: 70, Started: 5, Name: "agent"}}
	book := presence.Open(state, presence.Options{Server: func() presence.Server { return server }})
	whose := func() string {
		book := presence.Open(state, presence.Options{})
		client, some := book.Client(func() []process.Ancestor { return []process.Ancestor{server.Host} }, "")
		if some != (client != "") || some != book.Served() {
			t.Errorf("%q, %t, served %t", client, some, book.Served())
		}
		return client
	}
	leave := book.Join("builder") // an agent of that name, without its own connection
	if _, err := os.Stat(state); err == nil || whose() != "" {
		t.Error("the state folder was created")
	}
	testenv.Check(t, os.Mkdir(state, 0o700))
	book.Touch("builder")
	if got := whose(); got != "builder" {
		t.Errorf("the client is %q", got)
	}
	data := testenv.Must(os.ReadFile(only(t, state)))(t)
	leave()
	if got := whose(); got != "" {
		t.Errorf("the client has left, and is %q", got)
	}
	for name, text := range map[string]string{"4.json": `{"process":{"pid":4,"started":1}}`, "half.json": string(data[:len(data)/2])} {
		testenv.Check(t, os.WriteFile(filepath.Join(state, "servers", name), []byte(text), 0o600))
	}
	t.Cleanup(presence.Open(state, presence.Options{}).Join("codex#1"))
	if got := filepath.Base(only(t, state)); got != "half.json" { // it may be incomplete yet
		t.Errorf("%s is left", got)
	}
}

// only returns the single server file.
func only(t *testing.T, state string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(state, "servers", "*"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	return found[0]
}

// TestBeneath: a server started by something below another server's host does not belong to a host.
func TestBeneath(t *testing.T) {
	own := process.Ancestor{PID: 99, Started: 12, Name: "planloop"}
	script := process.Ancestor{PID: 95, Started: 11, Name: "python"}
	shell := process.Ancestor{PID: 90, Started: 9, Name: "bash"}
	host := process.Ancestor{PID: 70, Started: 5, Name: "agent"}
	editor := process.Ancestor{PID: 65, Started: 4, Name: "code"}
	other := process.Ancestor{PID: 71, Started: 5, Name: "agent"}
	hosted, scripted := []process.Ancestor{own, host, shell}, []process.Ancestor{own, script, shell, host}
	dead := self(t)
	dead.Started--
	tests := map[string]struct {
		server  presence.Server
		chain   []process.Ancestor
		session string
		want    bool
	}{
		"another of the same host":              {presence.Server{Host: host}, hosted, "", false},
		"of another host":                       {presence.Server{Host: other}, hosted, "", false},
		"a script in the host's shell":          {presence.Server{Host: host}, scripted, "", true},
		"a script, the host has ended":          {presence.Server{Host: host, Process: dead}, scripted, "", false},
		"a script in an editor's terminal":      {presence.Server{Host: editor}, []process.Ancestor{own, script, shell, editor}, "", false},
		"the server itself in a host's editor":  {presence.Server{Host: editor}, []process.Ancestor{own, host, editor}, "", false},
		"a command of the other server":         {presence.Server{Host: other}, []process.Ancestor{own, script, self(t)}, "", true},
		"the same session, and the same host":   {presence.Server{Host: host, Session: "s"}, hosted, "s", false},
		"the same session, and another program": {presence.Server{Host: host, Session: "s"}, []process.Ancestor{own, script}, "s", true},
		"another session":                       {presence.Server{Host: host, Session: "s"}, []process.Ancestor{own, script}, "t", false},
		"nothing is known of what started it":   {presence.Server{Host: host}, []process.Ancestor{own}, "", false},
	}
	for name, test := range tests {
		state := t.TempDir()
		client(t, state, "codex#1", test.server)
		book := presence.Open(state, presence.Options{})
		if got := book.IsNested(func() []process.Ancestor { return test.chain }, test.session); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if presence.Open(t.TempDir(), presence.Options{}).IsNested(func() []process.Ancestor { return scripted }, "s") {
		t.Error("where no other server runs there is none above")
	}
	state := t.TempDir()
	client(t, state, "codex#1", presence.Server{Host: host, Session: "s"}) // this process
	if presence.Open(state, presence.Options{}).IsNested(func() []process.Ancestor { return []process.Ancestor{self(t), script} }, "s") {
		t.Error("a server is beneath itself")
	}
}
