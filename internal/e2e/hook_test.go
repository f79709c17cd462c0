package e2e_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/workspace"
)

const hookPayload = `{"session_id":"s1","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"main.go"}}`

// hookFault keeps a hook from finding its answer.
type hookFault struct {
	input   io.Reader // nil: hookPayload
	raise   func(t *testing.T, p *place)
	unknown bool     // the phase is unreadable, so planning mode may be on
	writer  *os.File // of a pipe that never gets data
}

func hookFaults() map[string]func() hookFault {
	tells := func(text string) func() hookFault {
		return func() hookFault { return hookFault{input: strings.NewReader(text)} }
	}
	faults := map[string]func() hookFault{
		"nothing":        tells(""),
		"nonsense":       tells(`{"tool_name":`),
		"no object":      tells(`[]`),
		"no tool":        tells(`{"session_id":"s1"}`),
		"a name twice":   tells(`{"tool_name":"Read","tool_name":"Write","tool_input":{"file_path":"main.go"}}`),
		"ten megabytes":  tells(`{"tool_name":"Read","tool_input":{"file_path":"` + strings.Repeat("x", 10<<20) + `"}}`),
		"not text":       tells("{\"tool_name\":\"\xff\"}"),
		"never an end":   func() hookFault { r, w, _ := os.Pipe(); return hookFault{input: r, writer: w} },
		"no such folder": tells(`{"cwd":"/nowhere/at/all","tool_name":"Write","tool_input":{"file_path":"main.go"}}`),
		"wrong configuration": func() hookFault {
			return hookFault{raise: func(t *testing.T, p *place) {
				rewriteOrMake(t, filepath.Join(p.workspace, ".planloop.yaml"), "approval: [\n")
			}}
		},
		"the log's folder cannot be read": func() hookFault {
			return hookFault{unknown: true, raise: func(t *testing.T, p *place) {
				testenv.Check(t, os.Rename(p.stateDir(), p.stateDir()+"-away"))
				rewriteOrMake(t, p.stateDir(), "no folder")
			}}
		},
	}
	for name, damage := range damages() {
		faults["log: "+name] = func() hookFault {
			return hookFault{raise: func(t *testing.T, p *place) { damage.damage(t, p.database()) }}
		}
	}
	return faults
}

func rewriteOrMake(t *testing.T, path, text string) {
	t.Helper()
	testenv.Check(t, os.WriteFile(path, []byte(text), 0o600))
}

// TestHookInTrouble: in planning mode, a hook that cannot find its answer refuses, within the hosts' time-outs; otherwise it says nothing.
func TestHookInTrouble(t *testing.T) {
	for name, fault := range hookFaults() {
		t.Run(name, func(t *testing.T) {
			for _, restricted := range bothPhases(t) {
				p := settledPlace(t, 10)
				if restricted {
					p.must("--agent", "codex", "plan", "start", "Look around")
				}
				fault := fault()
				got, took := p.hook(fault, "claude", "pre-tool-use")
				refused := strings.Contains(got.out, `"permissionDecision":"deny"`)
				if closed := restricted || fault.unknown; got.code != 0 || refused != closed || got.err != "" || !closed && got.out != "" {
					t.Errorf("restricted %v: exit code %d, %q, %q", restricted, got.code, got.out, got.err)
				}
				if took > 9*time.Second && took > 9*time.Second+10*p.startTime() {
					t.Errorf("restricted %v: it took %s", restricted, took)
				}
				if fault.writer != nil {
					_ = fault.writer.Close()
				}
			}
		})
	}
}

// bothPhases returns whether to restrict the workspace. Only the restricted half remains where the account that runs the tests is planning
// itself: a hook that cannot tell its workspace refuses then.
func bothPhases(t *testing.T) []bool {
	t.Helper()
	if planning := (workspace.Lookup{Getenv: func(string) string { return "" }}).Marks(); len(planning) > 0 {
		t.Logf("planning mode is on in %s, so only hooks that refuse are tested", planning[0].Path)
		return []bool{true}
	}
	return []bool{false, true}
}

// startTime returns the program's start-up time under the current load.
func (p *place) startTime() time.Duration {
	p.t.Helper()
	began := time.Now()
	p.must("version")
	return time.Since(began)
}

// hook runs a hook under a fault.
func (p *place) hook(fault hookFault, args ...string) (outcome, time.Duration) {
	p.t.Helper()
	if fault.raise != nil {
		fault.raise(p.t.(*testing.T), p)
	}
	if fault.input == nil {
		fault.input = strings.NewReader(hookPayload)
	}
	cmd := p.command(append([]string{"hook"}, args...)...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = fault.input, &out, &errOut
	began := time.Now()
	if err := cmd.Run(); err != nil {
		if _, ok := err.(*exec.ExitError); !ok {
			p.t.Fatal(err)
		}
	}
	return outcome{out.String(), errOut.String(), cmd.ProcessState.ExitCode()}, time.Since(began)
}

// TestHookStartedElsewhere: a hook started in another directory, with unreadable input or without a workspace, refuses while any workspace
// is in planning mode.
func TestHookStartedElsewhere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 1)
	elsewhere := p.at(t.TempDir())
	nowhere := p.at(t.TempDir(), "PLANLOOP_WORKSPACE=/nowhere/at/all")
	tell := func(from *place, input string) string {
		payload := `{"session_id":"s","cwd":"` + filepath.ToSlash(p.workspace) + `","tool_name":"Bash","tool_input":` + input + `}`
		return from.feed(payload, "hook", "claude", "pre-tool-use").out
	}
	payloads := map[string]string{
		"a member twice in other case": `{"command":"touch x","Command":"ls"}`,
		"a lone surrogate":             `{"command":"touch x","description":"\ud800"}`,
		"nothing":                      ``,
		"too large":                    `{"command":"touch x","description":"` + strings.Repeat("x", 5<<20) + `"}`,
	}
	for _, restricted := range bothPhases(t) {
		if restricted {
			p.must("--agent", "codex", "plan", "start", "Look around")
		}
		for name, input := range payloads {
			if got := tell(elsewhere, input); strings.Contains(got, `"deny"`) != restricted {
				t.Errorf("%s, restricted %v: %s", name, restricted, got)
			}
		}
		if got := tell(nowhere, `{"command":"touch x"}`); strings.Contains(got, `"deny"`) != restricted {
			t.Errorf("no workspace, restricted %v: %s", restricted, got)
		}
	}
}
