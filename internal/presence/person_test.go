package presence_test

import (
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/process"
)

// above returns the chain of a planloop whose ancestors have these names, the nearest first. Process n of the chain has the pid 100-n,
// and started before the one below.
func above(names ...string) []process.Ancestor {
	chain := []process.Ancestor{{PID: 100, Started: 1000, Name: "planloop"}}
	for i, name := range names {
		chain = append(chain, process.Ancestor{PID: 99 - i, Started: int64(999 - i), Name: name})
	}
	return chain
}

// linux returns a lineage up to process 1 whose session is led by the nearest ancestor.
func linux(names ...string) process.Lineage {
	return process.Lineage{Chain: above(names...), Top: 1, Leader: 99, SeesAll: true}
}

func with(l process.Lineage, change func(*process.Lineage)) process.Lineage {
	change(&l)
	return l
}

// TestPresent fixes the answers for each place where people and agents work.
func TestPresent(t *testing.T) {
	inside := func(l *process.Lineage) { l.SeesAll = false }
	edge := func(l *process.Lineage) { l.Top, l.SeesAll = 0, false }
	nested := func(l process.Lineage) process.Lineage { // the nearest terminal was opened in another one
		l.Chain[2].Session = 97
		return l
	}
	led := func(pid int) func(*process.Lineage) { return func(l *process.Lineage) { l.Leader = pid } }
	mac := func(names ...string) process.Lineage { return with(linux(names...), inside) } // pid namespaces are unknown there
	windows := func(names ...string) process.Lineage {
		return process.Lineage{Chain: above(names...), Top: -1, Leader: -1}
	}
	agents := func(pids ...int) presence.Hosts {
		var hosts presence.Hosts
		for _, pid := range pids {
			hosts.Here = append(hosts.Here, process.Ancestor{PID: pid, Started: int64(900 + pid)})
		}
		return hosts
	}
	elsewhere := presence.Hosts{Elsewhere: true}
	for name, test := range map[string]struct {
		lineage  process.Lineage
		hosts    presence.Hosts
		evidence func(*presence.Evidence)
		want     presence.Answer
		why      string // a part of the reason, or of the shared terminal's name
	}{
		"a plain terminal":               {lineage: linux("bash", "gnome-terminal-server", "systemd")},
		"a terminal of a window manager": {lineage: linux("zsh", "st", "dwm", "xinit", "login")},
		"a console":                      {lineage: linux("bash", "login")},
		"su in a terminal":               {lineage: with(linux("bash", "su", "bash", "xterm"), led(97))},
		"an agent works elsewhere":       {lineage: linux("bash", "konsole", "systemd"), hosts: agents(50)},
		"ssh":                            {lineage: linux("bash", "sshd-session", "sshd-session", "sshd")},
		"mosh":                           {lineage: linux("bash", "mosh-server")},
		"ssh with hidepid": {lineage: with(linux("bash"), func(l *process.Lineage) { l.Top = -1 }),
			want: presence.CannotTell, why: "cannot be read"},
		"tmux":   {lineage: linux("bash", "tmux"), why: "tmux"},
		"screen": {lineage: linux("bash", "screen"), why: "screen"},
		"zellij": {lineage: linux("bash", "zellij"), why: "zellij"},
		"kitty with remote control": {lineage: linux("bash", "kitty", "systemd"),
			evidence: func(e *presence.Evidence) { e.Shared = "KITTY_LISTEN_ON" }, why: "KITTY_LISTEN_ON"},
		"kitty":                      {lineage: linux("bash", "kitty", "systemd")},
		"WezTerm":                    {lineage: linux("bash", "wezterm-gui", "systemd"), why: "wezterm"},
		"an editor's terminal":       {lineage: linux("bash", "code", "code", "systemd"), hosts: agents(98, 97)},
		"a remote editor's terminal": {lineage: linux("bash", "code-server", "code-server", "sh"), hosts: agents(98)},
		"the shell of an editor's agent": {lineage: linux("bash", "cursor"),
			evidence: func(e *presence.Evidence) { e.Variable = "CURSOR_AGENT" }, want: presence.No, why: "CURSOR_AGENT"},
		"an agent's shell": {lineage: linux("bash", "claude", "bash", "xterm"),
			evidence: func(e *presence.Evidence) { e.Variable = "CLAUDECODE" }, want: presence.No, why: "CLAUDECODE"},
		"a child of an agent's shell": {lineage: linux("bash", "node", "bash", "xterm"),
			evidence: func(e *presence.Evidence) { e.Inherited = "GEMINI_CLI" }, want: presence.No, why: "GEMINI_CLI"},
		"without its variable": {lineage: linux("python", "claude", "bash", "xterm"),
			want: presence.No, why: "program (claude)"},
		"of a host whose server runs": {lineage: linux("python", "node", "bash", "xterm"),
			hosts: agents(98), want: presence.No, why: "of an agent (node)"},
		"through a program named tmux": {lineage: linux("bash", "tmux", "node", "bash", "xterm"),
			hosts: agents(97), want: presence.No, why: "of an agent (node)"},
		"of a host in a terminal": {lineage: nested(linux("bash", "node", "bash", "xterm")),
			hosts: agents(97)}, // a shell is nobody's
		"detached from its host": {lineage: linux("bash", "python", "systemd"),
			want: presence.CannotTell, why: "has opened this terminal"},
		"a recording in a terminal":         {lineage: nested(linux("bash", "script", "bash", "xterm"))},
		"a recording, detached":             {lineage: nested(linux("bash", "script", "bash", "python")), want: presence.CannotTell},
		"a program that an editor starts":   {lineage: linux("bash", "python", "sh", "vim"), want: presence.CannotTell},
		"a terminal in Vim":                 {lineage: nested(linux("bash", "vim", "bash", "xterm"))},
		"a terminal in Vim, detached":       {lineage: nested(linux("bash", "vim.basic", "systemd")), want: presence.CannotTell},
		"a terminal in Vim of a script":     {lineage: nested(linux("bash", "vim", "python", "sh")), want: presence.CannotTell},
		"Vim with windows of a desktop":     {lineage: linux("bash", "vim.gtk", "gnome-shell", "systemd")},
		"Neovim, without its variable":      {lineage: nested(linux("bash", "nvim", "bash", "xterm")), why: "nvim"},
		"Neovim, detached":                  {lineage: linux("bash", "nvim", "systemd"), want: presence.CannotTell},
		"Helix, detached":                   {lineage: linux("bash", "hx", "systemd"), want: presence.CannotTell},
		"any Java program, detached":        {lineage: linux("bash", "java", "systemd"), want: presence.CannotTell},
		"a terminal of IntelliJ":            {lineage: linux("bash", "idea", "systemd")},
		"an unknown terminal of a desktop":  {lineage: linux("bash", "python", "gnome-shell", "systemd")},
		"a container without own processes": {lineage: linux("bash", "conmon", "systemd")},
		"detached, below a shell": {lineage: linux("bash", "python", "sh"),
			want: presence.CannotTell, why: "has opened this terminal"},
		"detached, its session's own": {lineage: linux("systemd"),
			want: presence.CannotTell, why: "has opened this terminal"},
		"a session that others lead": {lineage: with(linux("bash", "sshd"), led(7)),
			want: presence.CannotTell},
		"below a run": {lineage: linux("bash", "planloop", "planloop", "bash", "xterm"),
			want: presence.No, why: "planloop started"},
		"an ancestor that hides": {
			lineage: with(linux("bash", "python", "xterm"), func(l *process.Lineage) { l.Hidden = l.Chain[2] }),
			want:    presence.CannotTell, why: "python",
		},
		"nothing can be looked up":     {lineage: process.Lineage{Top: -1}, want: presence.CannotTell, why: "cannot be read"},
		"a dev container, from inside": {lineage: with(linux("bash", "code-server", "code-server", "sh"), edge)},
		"inside, its agent is outside": {lineage: with(linux("bash", "code-server", "code-server"), inside),
			hosts: elsewhere, want: presence.CannotTell, why: "outside this container"},
		"by docker exec":               {lineage: with(linux("bash"), edge)},
		"by docker run":                {lineage: with(linux(), func(l *process.Lineage) { l.Leader, l.SeesAll = 1, false })},
		"outside, its agent is inside": {lineage: linux("bash", "xterm"), hosts: elsewhere},
		"a namespace of the user's own": {
			lineage: with(linux("bash", "sshd"), func(l *process.Lineage) { l.InOwnSpace, l.SeesAll = true, false }),
			want:    presence.CannotTell, why: "sandbox",
		},
		"WSL":            {lineage: with(linux("bash", "init", "init"), inside)},
		"WSL, detached":  {lineage: with(linux("bash", "python", "sh"), inside), want: presence.CannotTell},
		"macOS":          {lineage: mac("zsh", "login", "terminal")},
		"macOS, iTerm2":  {lineage: mac("zsh", "login", "itermserver")},
		"macOS, VS Code": {lineage: mac("zsh", "code", "electron"), hosts: agents(97)},
		"macOS, an agent": {lineage: mac("zsh", "node", "zsh", "login", "terminal"),
			hosts: agents(98), want: presence.No},
		"macOS, detached":  {lineage: mac("zsh", "python"), want: presence.CannotTell},
		"Windows":          {lineage: windows("powershell", "windowsterminal", "explorer")},
		"Windows over ssh": {lineage: windows("cmd", "conhost", "sshd", "services")},
		"Windows, VS Code": {lineage: windows("pwsh", "code", "code", "explorer")},
		"Windows, an agent": {lineage: windows("powershell", "node", "powershell", "windowsterminal"),
			hosts: agents(98), want: presence.No},
		"Windows, detached":        {lineage: windows("cmd", "python"), want: presence.CannotTell, why: "cannot be read"},
		"Windows, no snapshot":     {lineage: process.Lineage{Top: -1, Leader: -1}, want: presence.CannotTell},
		"a system without a table": {lineage: process.Lineage{NoTable: true}},
		"cron":                     {lineage: linux("python", "sh", "cron"), want: presence.No, why: "scheduler"},
		"CI": {lineage: linux("bash", "xterm"),
			evidence: func(e *presence.Evidence) { e.CI = true }, want: presence.No, why: "CI"},
		"no terminal": {lineage: linux("bash", "xterm"),
			evidence: func(e *presence.Evidence) { e.Terminal = false }, want: presence.No, why: "not a terminal"},
		"an agent by its name": {lineage: linux("bash", "xterm"),
			evidence: func(e *presence.Evidence) { e.Named = true }, want: presence.No, why: "--agent"},
		"an agent that planloop started": {lineage: linux("bash", "xterm"),
			evidence: func(e *presence.Evidence) { e.Started = true }, want: presence.No, why: "planloop started"},
		"cannot tell gives way to evidence": {lineage: process.Lineage{},
			evidence: func(e *presence.Evidence) { e.Variable = "CLAUDECODE" }, want: presence.No},
	} {
		e := presence.Evidence{Terminal: true, Lineage: func() process.Lineage { return test.lineage },
			Hosts: func() presence.Hosts { return test.hosts }}
		if test.evidence != nil {
			test.evidence(&e)
		}
		got := e.Present()
		said := got.Why + got.Shared
		shared := got.Answer == presence.Yes && test.why == "" && got.Shared != ""
		whole := (got.Answer == presence.Yes) == (got.Why == "") && (got.Why == "") == (got.Way == "")
		if got.Answer != test.want || !strings.Contains(said, test.why) || shared || !whole {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
