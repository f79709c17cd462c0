//go:build unix

package hosts_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/testenv"
)

// hookLines returns the lines that init writes for a host: those for events before a tool, and the others.
func hookLines(t *testing.T, m hosts.Machine, name string) (beforeTools, others []string) {
	t.Helper()
	for _, edit := range look(t, m, name, hosts.Request{Scope: hosts.User}).Edits {
		text := string(edit.After) + edit.Paste
		for _, quoted := range regexp.MustCompile(`"(?:command|bash)": ("(?:[^"\\]|\\.)*")`).FindAllStringSubmatch(text, -1) {
			var line string
			testenv.Check(t, json.Unmarshal([]byte(quoted[1]), &line))
			if regexp.MustCompile(`hook \S+ (pre|before)-`).MatchString(line) && !strings.Contains(line, "pre-invocation") {
				beforeTools = append(beforeTools, line)
			} else if strings.Contains(line, " hook ") {
				others = append(others, line)
			}
		}
	}
	return beforeTools, others
}

// TestFailedHookStopsNothing: a hook that is not before a tool exits with 0 or 1 if planloop cannot run. Gemini CLI takes every other code
// of a hook after an agent's turn for a refusal, and starts the agent again, for ever.
func TestFailedHookStopsNothing(t *testing.T) {
	for _, name := range []string{"claude", "codex", "gemini", "antigravity", "cursor", "vscode"} {
		for _, program := range []string{"", "#!/bin/sh\nkill -9 $$\n", "#!/bin/sh\nexit 2\n", "#!/no/such/program\n"} {
			m := machine(t)
			m.Program = filepath.Join(m.Home, "it's planloop")
			if program != "" {
				testenv.Check(t, os.WriteFile(m.Program, []byte(program), 0o755))
			}
			_, lines := hookLines(t, m, name)
			if len(lines) == 0 {
				t.Fatalf("%s has no other hooks", name)
			}
			for _, line := range lines {
				cmd := exec.Command("sh", "-c", line)
				if _ = cmd.Run(); cmd.ProcessState.ExitCode() != 1 {
					t.Errorf("%s, %q: exit code %d of %s", name, program, cmd.ProcessState.ExitCode(), line)
				}
			}
		}
	}
}

// TestLineRefusesWithoutPlanloop: where a host's shell runs the hook, its line refuses by itself in planning mode if planloop cannot run,
// and lets every tool pass otherwise. It never changes planloop's own answer.
func TestLineRefusesWithoutPlanloop(t *testing.T) {
	const missing = "\x00"
	for _, shell := range []string{"sh", "bash", "dash", "zsh", "fish"} {
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("no %s here", shell)
			continue
		}
		for _, name := range []string{"claude", "codex", "gemini", "antigravity", "cursor", "vscode", "windsurf", "goose"} {
			if shell == "fish" && (name == "windsurf" || name == "goose") {
				continue // these name the exit code as POSIX does
			}
			for program, codes := range map[string][2]int{ // the exit codes without and with a mark
				missing:                   {0, 2},
				"not executable":          {0, 2},
				"#!/bin/sh\nkill -9 $$\n": {0, 2},
				"#!/bin/sh\nexit 1\n":     {0, 2},
				"#!/no/such/program\n":    {0, 2},
				"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xff\x7f\n": {0, 2}, // of another processor
				"#!/bin/sh\ncat\nexit 0\n": {0, 0},
			} {
				m := machine(t)
				m.Program = filepath.Join(m.Home, "it's planloop")
				if mode := os.FileMode(0o755); program != missing {
					if program == "not executable" {
						mode = 0o644
					}
					testenv.Check(t, os.WriteFile(m.Program, []byte(program), mode))
				}
				for marked, want := range codes {
					if marked == 1 {
						put(t, filepath.Join(m.Marks, "shop-1"), "")
					}
					lines, _ := hookLines(t, m, name)
					if len(lines) == 0 {
						t.Fatalf("%s has no hook before tools", name)
					}
					cmd := exec.Command(shell, "-c", lines[0])
					cmd.Stdin = strings.NewReader("{}")
					var said strings.Builder
					cmd.Stderr = &said
					out, err := cmd.Output()
					code := 0
					if exit, failed := errors.AsType[*exec.ExitError](err); failed {
						code = exit.ExitCode()
					}
					if code != want || (want == 2) != strings.Contains(said.String(), "planning mode is on, and planloop cannot run") ||
						strings.Contains(program, "cat") && string(out) != "{}" {
						t.Errorf("%s, %s, %q, mark %d: exit code %d, want %d: %q %s", shell, name, program, marked, code, want, out, &said)
					}
				}
			}
		}
	}
}

// TestRefusalByExitCode: the refusal of a host that reads the exit code alone stays as it is.
func TestRefusalByExitCode(t *testing.T) {
	m := machine(t)
	m.Program = filepath.Join(m.Home, "planloop")
	testenv.Check(t, os.WriteFile(m.Program, []byte("#!/bin/sh\necho no >&2\nexit 2\n"), 0o755))
	for _, mark := range []string{"", "shop-1"} {
		if mark != "" {
			put(t, filepath.Join(m.Marks, mark), "")
		}
		lines, _ := hookLines(t, m, "windsurf")
		out, err := exec.Command("sh", "-c", lines[0]).CombinedOutput()
		exit, failed := errors.AsType[*exec.ExitError](err)
		if !failed || exit.ExitCode() != 2 || string(out) != "no\n" {
			t.Errorf("%v %q", err, out)
		}
	}
}
