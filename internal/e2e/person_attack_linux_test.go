package e2e_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/process/lineagetest"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// A way to a decision without a person is a command line in an agent's shell. $RUN runs a command at a terminal that a script of the
// agent has opened, and answers for the user there; "RUN…" waits for its end. CLAUDECODE is set, as in a shell of Claude Code.
type wayToDecide struct {
	name, line string
	needs      string // a program; "" if it needs none
	prepare    string // a command line that must succeed, else the way is skipped
	way        plan.Way
	byServer   bool // the line prints the reply of a server, which must not ask its client
}

// doors are the commands that decide.
func doors() map[string]string {
	return map[string]string{"approve": "approve", "reject": "reject no", "request changes": "edit change it", "answer": "answer Q1 yes",
		"cancel": "plan cancel", "purge": "purge", "comment as a person": "comment looks good to me", "approve a step": "approve S001",
		"restore": "plan restore current"}
}

func waysToDecide() []wayToDecide {
	const approve = `"$PLANLOOP" approve`
	const orphan = `env -u CLAUDECODE setsid -f `
	const serve = `"$PLANLOOP" serve <"$CALL"`
	ways := []wayToDecide{
		{name: "a script", line: "$RUN " + approve},
		{name: "without the variable", line: "env -u CLAUDECODE $RUN " + approve},
		{name: "in place of the shell", line: "exec env -u CLAUDECODE $RUN " + approve},
		{name: "without any variable", line: `env -i HOME="$HOME" USER="$USER" PATH="$PATH" XDG_STATE_HOME="$XDG_STATE_HOME" ` +
			`PLANLOOP_TEST_DRIVE="$PLANLOOP_TEST_DRIVE" $RUN ` + approve},
		{name: "in an empty variable", line: "env CLAUDECODE= $RUN " + approve},
		{name: "below other shells", line: `env -u CLAUDECODE sh -c 'sh -c "$RUN \"$PLANLOOP\" approve; true"; true'`},
		{name: "in the background", line: "env -u CLAUDECODE $RUN " + approve + " &"},
		{name: "nohup", line: "env -u CLAUDECODE nohup $RUN " + approve},
		{name: "setsid", line: "env -u CLAUDECODE setsid -w $RUN " + approve},
		{name: "as another agent", line: "env -u CLAUDECODE PLANLOOP_AGENT=ann $RUN " + approve},
		{name: "as no agent", line: "env -u CLAUDECODE PLANLOOP_AGENT= $RUN " + approve + ` --agent ""`},
		{name: "as another user", line: "env -u CLAUDECODE USER=ann LOGNAME=ann $RUN " + approve},
		{name: "in CI", line: "env -u CLAUDECODE CI=true $RUN " + approve},
		{name: "in an editor's variables", line: "env -u CLAUDECODE TERM_PROGRAM=vscode VSCODE_IPC_HOOK_CLI=/x $RUN " + approve},
		{name: "script", needs: "script", line: `env -u CLAUDECODE $RUN script -qc "$PLANLOOP approve" /dev/null`},
		{name: "a debugger's child", needs: "gdb", line: `env -u CLAUDECODE $RUN gdb -q -batch -ex run --args "$PLANLOOP" approve`},
		{name: "nice, timeout and env", line: "env -u CLAUDECODE nice timeout 60 env $RUN " + approve},

		{name: "detached", line: orphan + "$RUN " + approve},
		{name: "detached twice", line: `env -u CLAUDECODE sh -c '(setsid sh -c "$RUN \"$PLANLOOP\" approve; true" &)'`},
		{name: "detached below a shell", line: orphan + `sh -c '$RUN "$PLANLOOP" approve; true'`},
		{name: "detached, without its leader", line: orphan + `$RUN sh -c '(sleep 0.1; "$PLANLOOP" approve) & sleep 0.3; exit'`},
		{name: "detached script", needs: "script", line: orphan + `$RUN script -qc "$PLANLOOP approve" /dev/null`},
		{name: "named as a terminal", line: `cp "$DRIVER" "$DIR/xterm"; env -u CLAUDECODE "$DIR/xterm" -- ` + approve},
		{name: "named as a terminal, detached", line: `sleep 1.1; cp "$DRIVER" "$DIR/konsole"; ` + orphan + `"$DIR/konsole" ` +
			`-- ` + approve},
		{name: "named as a terminal by a second name", line: `sleep 1.1; ln "$DRIVER" "$DIR/kitty" 2>/dev/null || cp ` +
			`"$DRIVER" "$DIR/kitty"; ` +
			`` + orphan + `"$DIR/kitty" -- ` + approve},
		{name: "named as a terminal by a link", line: `ln -s "$DRIVER" "$DIR/foot"; ` + orphan + `"$DIR/foot" -- ` + approve},
		{name: "named as sshd, then removed", line: `sleep 1.1; cp "$DRIVER" "$DIR/sshd"; ` + orphan +
			`sh -c '"$DIR/sshd" -- sh -c "rm $DIR/sshd; $PLANLOOP approve"'`},
		{name: "named as tmux, detached", line: `sleep 1.1; cp "$DRIVER" "$DIR/tmux"; ` + orphan + `"$DIR/tmux" -- ` + approve},
		{name: "called like a terminal", line: orphan + `bash -c 'exec -a xterm $RUN "$PLANLOOP" approve'`, needs: "bash"},
		{name: "an editor that starts the script", needs: "vim", line: orphan + `vim -es -c '!$RUN "$PLANLOOP" approve' -c q`},
		{name: "a terminal in Vim, detached", needs: "vim", line: orphan + `$RUN vim -u NONE -c "terminal ++curwin $PLANLOOP approve" ` +
			`-c 'call timer_start(2000, {-> execute("qa!")})'`},
		{name: "below its own script", line: orphan + `$RUN "$DRIVER" -- ` + approve},
		{name: "tmux with the variable", needs: "tmux", line: `tmux -L "one$$" -f /dev/null new -d "$RUN \"$PLANLOOP\" approve"; true`},

		{name: "a process namespace", prepare: "unshare -Urpf true",
			line: `env -u CLAUDECODE unshare -Urpf --mount-proc $RUN ` + approve},
		{name: "a process namespace, inside the terminal", prepare: "unshare -Urpf true",
			line: `env -u CLAUDECODE $RUN unshare -Urpf --mount-proc ` + approve},
		{name: "a process namespace with the other's table", prepare: "unshare -Urpf true",
			line: `env -u CLAUDECODE unshare -Urpf $RUN ` + approve},
		{name: "a process namespace of an administrator", prepare: "unshare -pf true",
			line: `env -u CLAUDECODE unshare -pf --mount-proc $RUN ` + approve},
		{name: "a process namespace below a shell", prepare: "unshare -Urpf true",
			line: `env -u CLAUDECODE unshare -Urpf --mount-proc sh -c '$RUN sh -c "\"$PLANLOOP\" approve; true"; true'`},
		{name: "a user namespace", prepare: "unshare -Ur true", line: "env -u CLAUDECODE unshare -Ur $RUN " + approve},
		{name: "an empty table", prepare: "unshare -Urm true",
			line: `env -u CLAUDECODE $RUN unshare -Urm sh -c 'mount -t tmpfs none /proc; "$PLANLOOP" approve; true'`},
		{name: "a forged table", prepare: "unshare -Urm true",
			line: `env -u CLAUDECODE $RUN unshare -Urm sh -c 'mount -t tmpfs none /proc; mkdir -p /proc/self/ns /proc/$$; ` +
				`ln -s $$ /proc/self/x; echo "$$ (xterm) S 1 1 $$ 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 5" >/proc/$$/stat; exec ` +
				`"$PLANLOOP" approve'`},
		{name: "another table", prepare: "unshare -Urmpf true",
			line: `env -u CLAUDECODE $RUN unshare -Urm sh -c 'unshare -pf --mount-proc=/proc sleep 3 & sleep 0.3; "$PLANLOOP" ` +
				`approve; true'`},
		{name: "announcements hidden by a mount", prepare: "unshare -Urm true",
			line: `env -u CLAUDECODE $RUN unshare -Urm sh -c 'for d in "$XDG_STATE_HOME"/planloop/*/servers ` +
				`"$XDG_STATE_HOME"/planloop/hooks; ` +
				`do mount -t tmpfs none "$d"; done; "$PLANLOOP" approve; true'`},
		{name: "another state folder by a link", line: `mkdir -p "$DIR/other/planloop"; ln -s ` +
			`"$XDG_STATE_HOME"/planloop/*-* "$DIR/other/planloop/"; ` +
			`env -u CLAUDECODE XDG_STATE_HOME="$DIR/other" $RUN ` + approve},

		{name: "a check's command", line: `env -u CLAUDECODE "$PLANLOOP" check --id x -- $RUN ` + approve + `; true`},
		{name: "a page", line: `env -u CLAUDECODE $RUN timeout -s INT 2 "$PLANLOOP" review --no-open`},
		{name: "a page in the background", line: `env -u CLAUDECODE $RUN "$PLANLOOP" review --background`},
		{name: "a page in the background, detached", line: orphan + `$RUN "$PLANLOOP" review --background`},
		{name: "a page over HTTP", line: `env -u CLAUDECODE $RUN timeout -s INT 2 "$PLANLOOP" serve --http 127.0.0.1:0`},
		{name: "a server's dialogue", byServer: true, line: `env -u CLAUDECODE ` + serve},
		{name: "a server's dialogue, without any variable", byServer: true,
			line: `env -i PATH="$PATH" HOME="$HOME" XDG_STATE_HOME="$XDG_STATE_HOME" "$PLANLOOP" serve <"$CALL"`},
		{name: "a server's dialogue in a namespace", byServer: true, prepare: "unshare -Urpf true",
			line: `env -u CLAUDECODE unshare -Urpf --mount-proc ` + serve},
		{name: "a server's dialogue in an administrator's namespace", byServer: true, prepare: "unshare -pf true",
			line: `env -u CLAUDECODE unshare -pf --mount-proc ` + serve},
		{name: "a server's dialogue with an empty table", byServer: true, prepare: "unshare -Urm true",
			line: `env -u CLAUDECODE unshare -Urm sh -c 'mount -t tmpfs none /proc; "$PLANLOOP" serve <"$CALL"; true'`},
	}
	for name, door := range doors() {
		ways = append(ways,
			wayToDecide{name: name + ", in place of the shell", line: `exec env -u CLAUDECODE $RUN "$PLANLOOP" ` + door},
			wayToDecide{name: name + ", detached", line: orphan + `$RUN "$PLANLOOP" ` + door})
	}
	// After these the agent's server is gone.
	return append(ways,
		wayToDecide{name: "its server killed", line: `kill -9 $SERVER; env -u CLAUDECODE $RUN ` + approve},
		wayToDecide{name: "its server killed, detached", line: orphan + "$RUN " + approve},
		wayToDecide{name: "its server killed, a process namespace", prepare: "unshare -Urpf true",
			line: `env -u CLAUDECODE unshare -Urpf --mount-proc $RUN ` + approve})
}

// TestFortyWaysToADecision: none of these ways gives a decision.
func TestFortyWaysToADecision(t *testing.T) {
	t.Parallel()
	ways := waysToDecide()
	if len(ways) < 40 {
		t.Errorf("only %d ways", len(ways))
	}
	p := newPlace(t)
	waitingPlan(p)
	a := p.attacker()
	tried := 0
	for _, way := range ways {
		if way.needs != "" {
			if _, err := exec.LookPath(way.needs); err != nil {
				t.Logf("%s is skipped: %v", way.name, err)
				continue
			}
		}
		if way.prepare != "" && exec.Command("sh", "-c", way.prepare).Run() != nil {
			t.Logf("%s is skipped: %s fails here", way.name, way.prepare)
			continue
		}
		tried++
		line := way.line
		if way.byServer {
			line += `; touch "$SCREEN"`
		}
		got := a.try(line)
		if way.byServer && (!strings.Contains(got, "Plan submitted") || strings.Contains(got, "inputRequests")) {
			t.Errorf("%s: the server asks its client\n%s", way.name, got)
		}
		before := t.Failed()
		undecided(t, p)
		if t.Failed() && !before {
			t.Fatalf("%s gives a decision:\n%s", way.name, got)
		}
	}
	t.Logf("%d ways were tried", tried)
}

// attacker starts an agent below a person's terminal, as people do, with a script of its own for terminals.
func (p *place) attacker() agent {
	p.t.Helper()
	dir := p.t.TempDir()
	driver := filepath.Join(dir, "driver")
	if err := os.Symlink(mustExecutable(p.t), driver); err != nil {
		p.t.Fatal(err)
	}
	call := filepath.Join(dir, "call.jsonl")
	submit := asking(p.t.(*testing.T), "planning_submit_plan", submission("Add the Redis client"))
	if err := os.WriteFile(call, []byte(submit), 0o600); err != nil {
		p.t.Fatal(err)
	}
	screen := filepath.Join(dir, "screen")
	a := p.agentBelow(lineagetest.Apart, "agent", "DIR="+dir, "DRIVER="+driver, "CALL="+call, "RUN="+driver+" --", "SCREEN="+screen)
	a.do("planning_read_plan", arguments{}) // announces its server
	return a
}

// try runs a way to the end of all that it has started, and returns what it showed.
func (a agent) try(line string) string {
	a.t.Helper()
	return a.shell(`export CLAUDECODE=1 PLANLOOP_TEST_DRIVE="$SCREEN"; rm -f "$SCREEN"; ( ` + line + ` ); n=0; ` +
		`until [ -e "$SCREEN" ] || [ $n = 30 ]; do sleep 0.1; n=$((n+1)); done; cat "$SCREEN" 2>/dev/null`)
}

func mustExecutable(t testing.TB) string {
	path, err := os.Executable()
	testenv.Check(t, err)
	return path
}

// remaining are the ways that cannot be prevented, by their names in docs/security.md. Some are tried, and then recorded as way.
func remaining() []wayToDecide {
	return []wayToDecide{
		{name: "a tmux server of the agent's own", needs: "tmux", way: plan.WayShared,
			line: `t="env -u CLAUDECODE tmux -S $DIR/tmux.socket -f /dev/null"; ` +
				`$t new -d -x 200 -y 50 "\"$PLANLOOP\" approve; sleep 1"; n=0; until [ $n = 50 ]; do n=$((n+1)); sleep 0.1; ` +
				`code=$($t capture-pane -p | sed -n 's/.*[Tt]ype \([0-9]\{6\}\) .*/\1/p' | tail -n 1); [ -z "$code" ] || break; done; ` +
				`$t send-keys "$code" Enter; sleep 1; touch "$SCREEN"`},
		{name: "deleted announcements", way: plan.WayPerson,
			line: `rm -rf "$XDG_STATE_HOME"/planloop/*/servers "$XDG_STATE_HOME"/planloop/hooks; ` +
				`exec env -u CLAUDECODE $RUN "$PLANLOOP" approve`},
		{name: "a script that speaks as a host of its own", way: plan.WayClient, line: `env -u CLAUDECODE setsid -f sh -c ` +
			`'{ cat "$CALL"; sleep 1; } | "$PLANLOOP" serve >"$DIR/asked"'; sleep 1.5; touch "$SCREEN"; cat "$DIR/asked"`},
		{name: "a shell that imitates a hook"},
		{name: "a person's tmux pane"},
		{name: "a terminal program of the agent's own"},
		{name: "ssh to the same machine"},
		{name: "a debugger on a person's shell"},
		{name: "an unknown host without server and hooks"},
		{name: "a program prepared earlier"},
		{name: "an administrator"},
		{name: "typing within the hour after a code"},
	}
}

// TestRemainingWays: docs/security.md lists the ways that remain, and those that can be tried are recorded as it says.
func TestRemainingWays(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/security.md")
	testenv.Check(t, err)
	_, section, _ := strings.Cut(string(page), "### Ways that remain\n")
	section, _, _ = strings.Cut(section, "\n#")
	var listed, want []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(section, -1)[2:] {
		listed = append(listed, row[1])
	}
	for _, way := range remaining() {
		want = append(want, way.name)
	}
	slices.Sort(listed)
	slices.Sort(want)
	if !slices.Equal(listed, want) {
		t.Errorf("docs/security.md lists %q, want %q", listed, want)
	}
	for _, way := range remaining() {
		if way.line == "" {
			continue
		}
		if _, err := exec.LookPath(way.needs); way.needs != "" && err != nil {
			continue
		}
		p := newPlace(t)
		waitingPlan(p)
		got := p.attacker().try(way.line)
		approved := found[plan.PlanApproved](p.records(0))
		switch {
		case way.way == plan.WayClient && !strings.Contains(got, "inputRequests"):
			t.Errorf("%s: the server does not ask any more:\n%s", way.name, got)
		case way.way != plan.WayClient && (len(approved) == 0 || approved[0].Approval.Way != string(way.way)):
			t.Errorf("%s: %+v, want %s; does it hold now?\n%s", way.name, approved, way.way, got)
		}
		if way.way == plan.WayPerson {
			continue
		}
		strict := newPlace(t)
		waitingPlan(strict)
		strict.personOnly()
		got = strict.attacker().try(way.line)
		undecided(t, strict)
		if strings.Contains(got, "inputRequests") {
			t.Errorf("%s: under approval: person a server asks its client:\n%s", way.name, got)
		}
	}
}

// personOnly makes only a person's own decision count.
func (p *place) personOnly() {
	p.t.Helper()
	for _, entry := range p.env {
		if folder, ok := strings.CutPrefix(entry, "XDG_CONFIG_HOME="); ok {
			file := filepath.Join(folder, "planloop", "config.yaml")
			made := os.MkdirAll(filepath.Dir(file), 0o700)
			if err := errors.Join(made, os.WriteFile(file, []byte("approval: person\n"), 0o600)); err != nil {
				p.t.Fatal(err)
			}
		}
	}
}
