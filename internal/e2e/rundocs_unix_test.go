//go:build unix

package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/testenv"
)

// TestRunningPage runs every block of the page, in order: plans are imported, and run if no commands follow.
func TestRunningPage(t *testing.T) {
	p := newRunPlace(t)
	p.runDocs("running.md")
}

// TestStartedAgentsPage runs the commands of the page with an agent that reports at once.
func TestStartedAgentsPage(t *testing.T) {
	p := newRunPlace(t)
	p.setUp(`{"title":"Do this"}`, `{"title":"Do that"}`)
	script := filepath.Join(p.temp, "agent")
	testenv.Check(t, os.WriteFile(script, []byte(`nonce=$(sed -n 's/^{"planloop":"\([^"]*\)".*/\1/p')
printf '{"planloop":"%s","status":"done","output":"it is done"}\n' "$nonce"`), 0o600))
	p.configure("step_approval: never\nagents: {default: {command: [/bin/sh, " + script + "]}}\n")
	p.runDocs("started-agents.md")
}

// docBlock is a block of code with its language.
var docBlock = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```")

// expected is the exit code that a command's comment names.
var expected = regexp.MustCompile(` # exit (\d)$`)

// runDocs runs the blocks of a page.
func (p runPlace) runDocs(page string) {
	p.t.Helper()
	text := testenv.Must(os.ReadFile(filepath.Join("..", "..", "docs", page)))(p.t)
	blocks, ran := docBlock.FindAllStringSubmatch(string(text), -1), 0
	for i, block := range blocks {
		switch language, text := block[1], block[2]; {
		case language == "sh":
			for line := range strings.Lines(text) {
				p.runDocLine(strings.TrimSpace(line))
				ran++
			}
		case language == "yaml" && strings.HasPrefix(text, "objective:"):
			testenv.Check(p.t, os.WriteFile(p.path("plan.yaml"), []byte(text), 0o600))
			if _, err := os.Stat(p.path("release.yaml")); err != nil { // the first plan, which the page names
				testenv.Check(p.t, os.Rename(p.path("plan.yaml"), p.path("release.yaml")))
				continue
			}
			p.runDocLine("planloop import plan.yaml")
			if i+1 == len(blocks) || blocks[i+1][1] != "sh" {
				p.runDocLine("planloop run")
			}
		case language == "yaml" && strings.HasPrefix(text, "agents:"): // see TestAgentsOfTheDocumentationCanBePasted
		default:
			p.t.Errorf("%s: a block in %s is not run:\n%s", page, language, text)
		}
	}
	if ran == 0 {
		p.t.Error("no command was found")
	}
}

// runDocLine runs a command of a page. A refused one is repeated for a while: what it needs, such as a started step, may be yet to come.
func (p runPlace) runDocLine(line string) {
	p.t.Helper()
	want := 0
	if code := expected.FindStringSubmatch(line); code != nil {
		want, _ = strconv.Atoi(code[1])
		line = strings.TrimSuffix(line, code[0])
	}
	var got outcome
	for begun := time.Now(); ; {
		got = p.run(strings.Fields(line)[1:]...)
		if got.code == want || got.code != 2 || time.Since(begun) > 10*time.Second {
			break
		}
	}
	if got.code != want {
		p.t.Errorf("%s: exit code %d instead of %d\n%s%s", line, got.code, want, got.out, got.err)
	}
}
