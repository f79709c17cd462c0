package workspace_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

func TestActor(t *testing.T) {
	tests := []struct {
		name   string
		caller workspace.Caller
		kind   plan.ActorKind
		want   string // a pattern
	}{
		{"explicit", workspace.Caller{Agent: "builder", Client: "x", Connection: "y", Login: "ann", CI: true}, plan.Agent, `builder`},
		{"explicit is cleaned", workspace.Caller{Agent: " the\t\x1b[1m \u202ebig\n#builder\xff "}, plan.Agent, `the 1m big builder`},
		{"explicit is cut", workspace.Caller{Agent: strings.Repeat("é", 100)}, plan.Agent, `é{64}`},
		{"explicit and blank", workspace.Caller{Agent: " #\x00", Login: "ann"}, plan.Person, `ann`},
		{"client and connection", workspace.Caller{Client: "Claude Code", Connection: "mcp-session-1", Login: "ann"}, plan.Agent,
			`claude-code#[0-9a-f]{6}`},
		{"hostile client", workspace.Caller{Client: "a#b\x1b]0;evil\a" + strings.Repeat("x", 100), Connection: "1"}, plan.Agent,
			`a-b-0-evil-x{1,30}#[0-9a-f]{6}`},
		{"client without a usable name", workspace.Caller{Client: "###", Connection: "1"}, plan.Agent, `client#[0-9a-f]{6}`},
		{"client that gave no name", workspace.Caller{Connection: "1"}, plan.Agent, `client#[0-9a-f]{6}`},
		{"stateless client", workspace.Caller{Client: "Codex", Login: "ann"}, plan.Agent, `codex`},
		{"stateless client, as if it had one", workspace.Caller{Client: "codex#1a2b3c"}, plan.Agent, `codex-1a2b3c`},
		{"invisible characters", workspace.Caller{Agent: "a\u3164\ufe0f\U000e0041b"}, plan.Agent, `ab`},
		{"person", workspace.Caller{Login: "ann", Terminal: true}, plan.Person, `ann`},
		{"script of a person", workspace.Caller{Login: "ann"}, plan.Person, `ann`},
		{"login is cleaned", workspace.Caller{Login: "an#n\x07"}, plan.Person, `ann`},
		{"nobody", workspace.Caller{}, plan.Person, `user`},
		{"shell of a client", workspace.Caller{Server: "codex#1a2b3c", Login: "ann"}, plan.Agent, `codex#1a2b3c`},
		{"shell of a client, where CI is set", workspace.Caller{Server: "codex#1a2b3c", Login: "ann", CI: true}, plan.Agent,
			`codex#1a2b3c`},
		{"shell of a client, explicit", workspace.Caller{Server: "codex#1a2b3c", Agent: "builder"}, plan.Agent, `builder`},
		{"person below a host", workspace.Caller{Server: "codex#1a2b3c", Login: "ann", Present: true}, plan.Person, `ann`},
		{"ci", workspace.Caller{Login: "runner", CI: true}, plan.CI, `runner`},
		{"ci without a login", workspace.Caller{CI: true}, plan.CI, `ci`},
		{"a person at a terminal where CI is set", workspace.Caller{Login: "ann", CI: true, Terminal: true}, plan.Person, `ann`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := test.caller.Actor()
			if got.Kind != test.kind || !regexp.MustCompile(`^(?:`+test.want+`)$`).MatchString(got.Name) {
				t.Errorf("got %+v, want %s %s", got, test.kind, test.want)
			}
		})
	}
}

// TestDoors: the door by which a caller came in.
func TestDoors(t *testing.T) {
	for name, c := range map[string]struct {
		caller  workspace.Caller
		via     plan.Channel
		present bool
	}{
		"over MCP":               {workspace.Caller{Client: "codex", Connection: "1"}, plan.ChannelMCP, false},
		"over MCP, named":        {workspace.Caller{Agent: "builder", Client: "codex", Present: true}, plan.ChannelMCP, false},
		"an agent's shell":       {workspace.Caller{Agent: "builder", Terminal: true, Present: true}, plan.ChannelAgentShell, false},
		"a shell of a client":    {workspace.Caller{Server: "codex#1a2b3c", Terminal: true, CI: true}, plan.ChannelAgentShell, false},
		"a person below a host":  {workspace.Caller{Server: "codex#1a2b3c", Terminal: true, Present: true}, plan.ChannelTerminal, true},
		"CI":                     {workspace.Caller{CI: true, Present: true}, plan.ChannelCI, false},
		"a script":               {workspace.Caller{Login: "ann"}, plan.ChannelScript, false},
		"a terminal of a host":   {workspace.Caller{Login: "ann", Terminal: true}, plan.ChannelScript, false},
		"a person at a terminal": {workspace.Caller{Login: "ann", Terminal: true, Present: true}, plan.ChannelTerminal, true},
	} {
		if got := c.caller.Actor(); got.Channel != c.via || got.IsPresent() != c.present {
			t.Errorf("%s: %+v, present %v", name, got, got.IsPresent())
		}
	}
}

func TestConnectionsAreToldApart(t *testing.T) {
	one := workspace.Caller{Client: "c", Connection: "mcp-session-1"}.Actor()
	two := workspace.Caller{Client: "c", Connection: "mcp-session-2"}.Actor()
	if one == two || one != (workspace.Caller{Client: "c", Connection: "mcp-session-1"}).Actor() {
		t.Errorf("%v and %v", one, two)
	}
}

func TestLoginAndCI(t *testing.T) {
	if got := workspace.Login(getenv(nil, "USERNAME", "win", "LOGNAME", "log")); got != "log" {
		t.Error(got)
	}
	for text, want := range map[string]bool{"": false, "false": false, "0": false, "true": true, "True": true, "1": true} {
		if workspace.InCI(getenv(nil, "CI", text)) != want {
			t.Errorf("CI=%q", text)
		}
	}
}

func FuzzActor(f *testing.F) {
	f.Add("agent", "client", "conn", "login")
	f.Add("#", "\xff", "", "a\u202eb")
	f.Fuzz(func(t *testing.T, agent, client, connection, login string) {
		a := workspace.Caller{Agent: agent, Client: client, Connection: connection, Login: login}.Actor()
		if a.Name == "" || !utf8.ValidString(a.Name) || utf8.RuneCountInString(a.Name) > 64 {
			t.Fatalf("name %q", a.Name)
		}
		if clean, err := (plan.Text{Max: 64}).Required(a.Name); err != nil || clean != a.Name {
			t.Fatalf("name %q is no text: %q, %v", a.Name, clean, err)
		}
		explicit := workspace.Caller{Agent: agent}.Actor().Kind == plan.Agent
		hasConnection := !explicit && connection != ""
		if strings.Contains(a.Name, "#") != hasConnection {
			t.Fatalf("name %q for connection %q", a.Name, connection)
		}
	})
}
