package presence_test

import (
	"testing"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/process"
)

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
