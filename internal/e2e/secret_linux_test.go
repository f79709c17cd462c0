package e2e_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// TestTheServersEnvironmentIsHidden: a command of bash_execute cannot read the environment or the open files of any planloop above it, in
// any phase, over any transport.
func TestTheServersEnvironmentIsHidden(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.unprivileged()
	p.env = append(p.env, "OPENAI_API_KEY=sk-planted-secret")
	h := p.open("--toolsets", "planning,mode,workspace")
	const above = `p=$PPID; while [ "$p" -gt 1 ]; do s=$(cat /proc/$p/stat); n=${s#*\(}; n=${n%%\)*}
		case $n in planloop*) ;; *) break ;; esac
		echo "$p $n"; tr '\0' '\n' < /proc/$p/environ; ls -l /proc/$p/fd /proc/$p/cwd; head -c1 /proc/$p/mem; head -c1 /proc/$p/maps
		set -- ${s##*\)}; p=$2; done; echo "host $p"`
	reply := h.do("bash_execute", arguments{"command": above})
	if !strings.Contains(reply.text, fmt.Sprintf("%d planloop", h.cmd.Process.Pid)) || strings.Contains(reply.text, "planted") ||
		!strings.Contains(reply.text, fmt.Sprintf("/proc/%d/environ: Permission denied", h.cmd.Process.Pid)) {
		t.Errorf("free: %s", reply.text)
	}
	p.must("plan", "start", "look first", "--agent", "other")
	for _, command := range []string{fmt.Sprintf("cat /proc/%d/environ", h.cmd.Process.Pid), "cat /proc/*/environ",
		fmt.Sprintf("ls -l /proc/%d/fd", h.cmd.Process.Pid)} {
		if reply, err := h.tool("bash_execute", arguments{"command": command}); err != nil || strings.Contains(reply.text, "planted") ||
			!strings.Contains(reply.text, "Permission denied") {
			t.Errorf("in planning mode, %s: %s, %v", command, reply.text, err)
		}
	}
	out, err := exec.Command("cat", fmt.Sprintf("/proc/%d/stat", h.cmd.Process.Pid)).Output()
	if err != nil || !strings.Contains(string(out), "(planloop") {
		t.Errorf("that it lives is hidden, too: %s, %v", out, err)
	}
}
