package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// job is a realistic piece of work: a plan with many kinds of steps in a git work tree. A person approves it, an agent and engines carry it
// out, and it is killed and revised on the way.
type job struct {
	runPlace
	agent *host
}

// jobPlan has parallel parts, a loop over files, conditions, references, a step that fails twice for a transient reason, one that a person
// will deny, a pause, and a critical step that fails.
const jobPlan = `{"summary":"Publish the texts: upper-case them, and publish them.","steps":[
 {"title":"Read the settings","tool":"read_file","args":{"path":"settings.json"}},
 {"title":"Find the texts","tool":"glob","args":{"pattern":"texts/*.txt"}},
 {"title":"Make room for the results","tool":"bash_execute","args":{"command":"mkdir -p out"},"idempotent":true},
 {"title":"Convert","tool":"bash_execute","for_each":"texts/*.txt","depends_on":["S003"],
  "args":{"command":"tr a-z A-Z < \"$FILE\" > out/\"$(basename \"$FILE\")\"","env":{"FILE":"$item"}}},
 {"title":"Fetch the index","tool":"bash_execute","idempotent":true,
  "args":{"command":"echo x >> fetches; [ $(wc -l < fetches) -gt 2 ] || exit 75; echo fetched"}},
 {"title":"Copy the settings","tool":"write_file","args":{"path":"out/settings.json","content":"$S001"}},
 {"title":"Build for production","tool":"bash_execute","when":"steps.S001.value contains 'production'","depends_on":["S003"],
  "args":{"command":"echo built > out/build"}},
 {"title":"Build for testing","tool":"bash_execute","when":"steps.S001.value contains 'testing'","args":{"command":"exit 1"}},
 {"title":"Delete the sources","tool":"bash_execute","requires_approval":true,"args":{"command":"rm -r texts"}},
 {"title":"Which region?","pause":"Which region is published first?"},
 {"title":"Write the region","tool":"write_file","args":{"path":"out/region","content":"$S010"}},
 {"title":"Proofread","depends_on":["S004"],"acceptance_criteria":["All texts are upper case"]},
 {"title":"Wait for the gate","tool":"bash_execute","idempotent":true,"depends_on":["S004"],
  "args":{"command":"if [ -e open ]; then echo x >> passed; else echo $$ > started; exec sleep 1000; fi"}},
 {"title":"Publish","tool":"bash_execute","critical":true,"depends_on":["S012","S013","S011"],
  "args":{"command":"[ -e permit ] && echo x >> published"}}
]}`

func newJob(t *testing.T) *job {
	j := &job{runPlace: runPlace{newPlace(t)}}
	j.write("settings.json", `{"target":"production"}`)
	for _, name := range []string{"a", "b", "c"} {
		j.write("texts/"+name+".txt", "text "+name+"\n")
	}
	j.workTree()
	j.configure("gates: lenient\n")
	j.agent = j.open()
	return j
}

// approved approves a step that asks, or the plan, with its code.
func (j *job) approved(step string) {
	j.t.Helper()
	args := []string{"approve"}
	if step != "" {
		args = append(args, step)
	}
	term := j.person(args...)
	term.typeIn(term.waitFor(codePattern)[1] + "\n")
	term.succeeds()
}

// state folds the current log on disk.
func (j *job) state() plan.State {
	var s plan.State
	for _, r := range j.records(0) {
		s = plan.Fold(s, r)
	}
	return s
}

// waitState waits until the state meets a condition.
func (j *job) waitState(is func(plan.State) bool) {
	j.t.Helper()
	late, cancel := context.WithTimeout(j.t.Context(), patience)
	defer cancel()
	log := sqlite.New(j.stateDir(), sqlite.Options{})
	defer log.Close()
	grown, err := log.Watch(late)
	if err != nil {
		j.t.Fatal(err)
	}
	for !is(j.state()) {
		if _, more := <-grown; !more {
			j.t.Fatalf("the plan does not come so far:\n%s", j.run("show").out)
		}
	}
}

// asks lists the steps that ask a person.
func (j *job) asks() map[string]plan.AskKind {
	asks := map[string]plan.AskKind{}
	for step := range j.state().Plan.Steps.WithQuestion() {
		asks[step.ID.String()] = step.OpenQuestion().Kind
	}
	return asks
}

func (j *job) text(name string) string {
	data, _ := os.ReadFile(j.path(name))
	return string(data)
}

func TestJob(t *testing.T) {
	j := newJob(t)
	j.agent.do("planning_submit_plan", json.RawMessage(jobPlan))
	j.approved("")

	// A killed engine: its current step is safe to repeat, and is repeated.
	gate := j.pipe("started")
	first := j.engine("--parallel", "3", "--wait") // waits for the person, however long each answer takes
	j.answerAll(map[string]string{"S004": "approve", "S006": "approve", "S009": "deny"})
	j.heard(gate)
	j.waitState(func(s plan.State) bool { // otherwise their outcome would be unknown
		copied, _ := s.Plan.Steps.Get(6)
		built, _ := s.Plan.Steps.Get(7)
		return copied.Status == plan.Done && built.Status == plan.Done
	})
	kill(t, first)
	j.write("open", "")
	testenv.Check(t, os.Remove(gate))
	j.until("waiting_for_person")
	if got := j.asks(); len(got) != 1 || got["S010"] != plan.AskPause {
		t.Fatalf("the open question is about %v", got)
	}
	j.person("answer", "S010", "eu").succeeds()
	j.until("waiting_for_person")
	j.approved("S011")
	j.until("waiting_for_agent")

	// An agent does its part over MCP, and the steps that need it continue. Publishing fails, and is critical.
	j.agent.do("planloop_update", arguments{"update_tasks": []arguments{{"id": 12, "status": "IN_PROGRESS"}}})
	j.agent.do("planloop_update", arguments{"update_tasks": []arguments{{"id": 12, "status": "DONE", "note": "all are",
		"evidence": []arguments{{"criterion": "All texts are upper case", "note": "read them"}}}}})
	j.until("failed")
	if status := j.state().Plan.Status; status != plan.StatusReplanning {
		t.Fatalf("the plan is %s", status)
	}

	// The plan is revised. It departs from the approved one, so the person decides again.
	j.agent.do("planloop_update", arguments{"replan": arguments{"changes": "Ask for the permit first", "reasoning": "It is missing",
		"discoveries": []string{"publishing wants a permit"}}, "add_tasks": []arguments{{"ref": "permit", "title": "Write the permit",
		"tool": "bash_execute", "args": arguments{"command": "touch permit"}}},
		"update_tasks": []arguments{{"id": 14, "dependencies": []any{12, 13, 11, "permit"}}}})
	j.approved("")
	j.until("completed")
	j.finished()
}

// answerAll answers the questions of the named steps as they come up.
func (j *job) answerAll(answers map[string]string) {
	j.t.Helper()
	for step, answer := range answers {
		j.waitState(func(s plan.State) bool {
			id, _ := plan.ParseStepID(step)
			asking, ok := s.Plan.Steps.Get(id)
			return ok && asking.OpenQuestion() != nil
		})
		if answer == "approve" {
			j.approved(step)
		} else if got, code := j.person("reject", step).ends(); code != 0 {
			j.t.Fatal(got)
		}
	}
}

// until runs the plan until it stops for the given reason.
func (j *job) until(reason string) {
	j.t.Helper()
	if got := j.result("--parallel", "3"); got.Reason != reason {
		j.t.Fatalf("the run is over: %s, want %s\n%v\n%s", got.Reason, reason, j.asks(), j.run("show").out)
	}
}

// finished checks the effects of the job, each with its expected count.
func (j *job) finished() {
	t, s := j.t, j.state()
	t.Helper()
	for name, want := range map[string]string{"out/a.txt": "TEXT A\n", "out/c.txt": "TEXT C\n",
		"out/settings.json": `{"target":"production"}`, "out/build": "built\n",
		"out/region": "eu", "passed": "x\n", "published": "x\n", "texts/a.txt": "text a\n"} {
		if got := j.text(name); got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	p := s.Plan
	if p.Version != 2 || p.PreviousPlanID != p.Root() || p.Status != plan.StatusCompleted || p.Approval == nil {
		t.Errorf("%s, version %d after %s, %s", p.ID, p.Version, p.PreviousPlanID, p.Status)
	}
	var statuses []string
	for step := range p.Steps.All() {
		statuses = append(statuses, fmt.Sprintf("%s %s", step.ID, step.Status))
	}
	want := "S001 done, S002 done, S003 done, S004 done, S005 done, S006 done, S007 done, S008 skipped, S009 skipped, S010 done, " +
		"S011 done, S012 done, S013 done, S014 done, S015 done, S016 done, S017 done, S018 done"
	if got := strings.Join(statuses, ", "); got != want {
		t.Errorf("the steps are\n%s, want\n%s", got, want)
	}
	if step, _ := p.Steps.Get(9); step.Result == nil || step.Result.Error != plan.UserDenied {
		t.Errorf("S009: %+v", step.Result)
	}
	if step, _ := p.Steps.Get(5); step.Attempts < 3 { // one more if it was running when its engine was killed
		t.Errorf("S005 took %d attempts", step.Attempts)
	}
	j.sound()
}

// TestJobKilledOverAndOver kills engine after engine, each after two of its records, later three and more: steps that are safe to
// repeat are repeated, and the end is always the same.
func TestJobKilledOverAndOver(t *testing.T) {
	j := &job{runPlace: newRunPlace(t)}
	for _, name := range []string{"a", "b", "c"} {
		j.write("texts/"+name+".txt", "text "+name+"\n")
	}
	safe := func(title, command, more string) string {
		args, _ := json.Marshal(arguments{"command": command, "env": arguments{"ITEM": "$item"}})
		if !strings.Contains(more, "for_each") {
			args, _ = json.Marshal(arguments{"command": command})
		}
		return fmt.Sprintf(`{"title":%q,"tool":"bash_execute","idempotent":true,"args":%s%s}`, title, args, more)
	}
	j.setUp(
		safe("List", "ls texts", ""),
		safe("Convert", `tr a-z A-Z < "$ITEM" > "$ITEM.up"`, `,"for_each":"texts/?.txt","depends_on":["S001"]`),
		safe("Large", "head -c 5000 /dev/zero | tr '\\0' x", ""),
		`{"title":"Keep it","tool":"write_file","args":{"path":"large","content":"$S003"}}`,
		safe("Only if", "exit 1", `,"when":"steps.S001.value == ''"`),
		safe("Last", "cat texts/*.up > all", `,"depends_on":["S002","S004","S005"]`))
	kills := 0
	for ; j.state().Plan.Status == plan.StatusActive; kills++ {
		last := j.revision() + 2 + plan.Revision(kills/16)
		engine := j.engine()
		j.waitState(func(s plan.State) bool { return s.Revision >= last || s.Plan.Status != plan.StatusActive })
		kill(t, engine)
	}
	if got, want := j.text("all"), "TEXT A\nTEXT B\nTEXT C\n"; got != want || len(j.text("large")) != 5000 {
		t.Errorf("after %d kills all is %q, and large has %d bytes", kills, got, len(j.text("large")))
	}
	if p := j.state().Plan; p.Status != plan.StatusCompleted || p.Steps.Count(plan.Done) != 8 || p.Steps.Len() != 9 {
		t.Errorf("after %d kills:\n%s", kills, j.run("show").out)
	}
	t.Logf("killed %d times, %d records", kills, j.revision())
	j.sound()
}
