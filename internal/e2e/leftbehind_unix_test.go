//go:build unix

package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// TestHalfWrittenStepFile: an engine that was killed while it wrote the file of a step leaves nothing either.
func TestHalfWrittenStepFile(t *testing.T) {
	p := newRunPlace(t)
	started := p.pipe("started")
	p.setUp(command(`echo x >> effects; [ $(wc -l < effects) = 2 ] || { echo $$ > started; exec sleep 1000; }`, `,"idempotent":true`))
	first := p.engine()
	p.heard(started)
	kill(t, first)
	running := filepath.Join(p.stateDir(), "running")
	for path := range strings.Lines(files(t, running)) {
		if engine, ok := strings.CutSuffix(strings.TrimSpace(path), ".engine"); ok {
			half := filepath.Join(running, "R1-S001-9."+filepath.Base(engine)+".new")
			testenv.Check(t, os.WriteFile(half, []byte(`{"run":`), 0o600))
		}
	}
	if got := p.ends(); got.Reason != "completed" {
		t.Errorf("%+v", got)
	}
	if left := files(t, running); left != "" {
		t.Error("left behind: " + left)
	}
}

// TestStepWithoutValue: a step refers to the value of a step that a person has settled, which has none. The next action leads on.
func TestStepWithoutValue(t *testing.T) {
	for name, c := range map[string]struct{ fields, retry string }{
		"args": {`"args":{"command":"true","env":{"V":"$S001"},"timeout":7}`,
			`planloop step retry S002 --args '{"command":"true","env":{"V":"<V>"},"timeout":7}'`},
		"when":     {`"args":{"command":"true"},"when":"steps.S001.json[0] == 'v'"`, ""},
		"for_each": {`"args":{"command":"true"},"for_each":"$S001.json"`, ""},
		"critical": {`"args":{"command":"true","env":{"V":"$S001"}},"critical":true`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newRunPlace(t)
			started := p.pipe("started")
			p.setUp(command(`[ ! -e once ] || { echo '["v"]'; exit; }; touch once; echo $$ > started; exec sleep 1000`, ""),
				`{"title":"Use it","tool":"bash_execute",`+c.fields+`}`)
			first := p.engine()
			p.heard(started)
			kill(t, first)
			p.ends()
			p.must("step", "settle", "S001", "--choice", "happened", "--reason", "it is there")
			p.must("sync")
			p.run("run")
			var status struct {
				Next string `json:"next_action"`
			}
			testenv.Check(t, json.Unmarshal([]byte(p.must("status", "--json")), &status))
			const redo = "planloop step retry S001 --with-dependents"
			if !strings.Contains(status.Next, redo) || !strings.Contains(status.Next, c.retry) || strings.Contains(status.Next, "$S001") {
				t.Fatal(status.Next)
			}
			p.must(strings.Fields(redo)[1:]...)
			if got := p.ends(); got.Reason != "completed" {
				t.Errorf("%+v", got)
			}
		})
	}
}
