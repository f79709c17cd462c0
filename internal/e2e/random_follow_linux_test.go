package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/planloop/planloop/internal/process/lineagetest"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// A person drives a plan to its end by the next action that planloop names.

// mostActs returns how many acts a plan may take to its end.
func mostActs(p *plan.Plan) int { return 60 + 4*p.Steps.Len() }

// statusReply is the part of `planloop status --json` that a driver reads.
type statusReply struct {
	Now struct {
		Reason string `json:"reason"`
	} `json:"now"`
	Revision plan.Revision `json:"revision"`
	Next     string        `json:"next_action"`

	isTerminal bool // read at a terminal
}

// drive follows next actions until the plan has ended.
func (w *world) drive() {
	w.openGate()
	for _, e := range slices.Clone(w.engines) {
		w.await(e)
	}
	w.observe()
	seen := map[string]int{}
	for n := 0; !w.t.Failed() && w.log.state.Plan != nil; n++ {
		if n > mostActs(w.log.state.Plan) {
			w.violation("the plan has not ended after %d acts", n)
			return
		}
		status, ok := w.status()
		if !ok {
			return
		}
		w.trace("%s: %s", status.Now.Reason, status.Next)
		switch status.Now.Reason {
		case "plan_completed", "closed", "failed", "no_plan":
			w.ends[status.Now.Reason]++
			return
		}
		key := fmt.Sprint(status.Revision, status.Next)
		if seen[key]++; seen[key] > 3 {
			w.violation("the next action leads nowhere: %s", status.Next)
			return
		}
		if !w.follow(status, seen[key]-1) {
			return
		}
		w.observe()
	}
}

// status asks for the next action, at a terminal if a command elsewhere only says to wait.
func (w *world) status() (status statusReply, ok bool) {
	ask := w.run
	if w.random.IntN(4) == 0 {
		ask = w.atTerminal
	}
	for {
		got := ask("status", "--json")
		if err := json.Unmarshal([]byte(got.out), &status); err != nil || got.code != 0 {
			w.violation("status: %v %+v", err, got)
			return status, false
		}
		list := commandsIn(status.Next)
		if len(list) > 0 && list[0][0] != "status" && !needsTerminal(list[0]) || status.isTerminal {
			return status, true
		}
		status.isTerminal, ask = true, w.atTerminal
	}
}

// needsTerminal reports whether only a person at a terminal can do something.
func needsTerminal(args []string) bool {
	commands := []string{"answer", "approve", "reject", "edit", "comment", "plan", "clear", "purge", "status", "submit"}
	return slices.Contains(commands, args[0]) || slices.Contains(args, "--force")
}

// follow does one of the commands of a next action; again is how often that has changed nothing.
func (w *world) follow(status statusReply, again int) bool {
	list := commandsIn(status.Next)
	if len(list) == 0 {
		w.violation("%s: no command in the next action %q", status.Now.Reason, status.Next)
		return false
	}
	isWait := func(args []string) bool { return args[0] == "status" }
	if isWait(list[0]) && w.agentsAct() {
		return true
	}
	useful := slices.DeleteFunc(slices.Clone(list), func(args []string) bool {
		return isWait(args) || args[0] == "review" || args[0] == "show"
	})
	if len(useful) == 0 && w.detached {
		w.await(w.begin()) // joins the detached engine
		return true
	}
	if len(useful) == 0 {
		w.violation("%s: nothing to do but wait, and nothing works: %s", status.Now.Reason, status.Next)
		return false
	}
	args := useful[min(again, len(useful)-1)]
	if again == 0 && w.random.IntN(5) == 0 {
		args = useful[w.random.IntN(len(useful))]
	}
	if i := slices.IndexFunc(useful, func(args []string) bool { return slices.Contains(args, "--with-dependents") }); i >= 0 &&
		slices.Contains(args, "--args") {
		args = useful[i] // for the value, which a person would know otherwise
	}
	if args[0] == "run" {
		w.await(w.begin(args[1:]...))
		w.noLeftovers("planloop run")
		return true
	}
	input := ""
	if args[0] == "replan" {
		args, input = []string{"replan", "--file", "-"}, `{"changes":"Try again","reasoning":"It failed"}`
	}
	if got := w.act(input, args...); got.code != 0 {
		w.violation("%s: the next action %q was refused: %+v", status.Now.Reason, status.Next, got)
		return false
	}
	return true
}

// agentsAct lets each agent that has claimed a step do its own next action. It reports whether there was one.
func (w *world) agentsAct() bool {
	acted := false
	for step := range w.log.state.Plan.Steps.Running() {
		if !slices.Contains(agentNames, step.ClaimedBy) {
			continue
		}
		acted = w.run("step", "mark", step.ID.String(), "done", "--agent", step.ClaimedBy, "--note", w.note()).code == 0 || acted
	}
	return acted
}

// act runs a command for a person at a terminal, and types the code if it asks for one.
func (w *world) act(input string, args ...string) outcome {
	if input != "" || !needsTerminal(args) {
		got := w.feed(input, args...)
		w.trace("planloop %s → %d %s", strings.Join(args, " "), got.code, firstLine(got))
		return got
	}
	return w.atTerminal(args...)
}

func firstLine(got outcome) string {
	text := strings.TrimSpace(got.err + got.out)
	if len(text) > 300 {
		text = text[:300]
	}
	return strings.ReplaceAll(text, "\n", " | ")
}

// atTerminal runs a command whose standard input is a terminal with a person, who types a code where one is asked for, and agrees.
func (w *world) atTerminal(args ...string) outcome {
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	testenv.Check(w.t, err)
	defer control.Close()
	side := otherSide(w.t, control)
	cmd := w.command(args...)
	var out, errors strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = side, &out, &errors
	if args[0] == "purge" {
		cmd.Stdout, cmd.Stderr = side, side
	}
	lineagetest.Apart(cmd)
	testenv.Check(w.t, cmd.Start())
	side.Close()
	shown := make(chan string, 1)
	go func() { // until the program has closed its terminal
		shown <- answerQuestions(control)
	}()
	if !endsIn(cmd, patience) {
		w.violation("planloop %s does not end", strings.Join(args, " "))
	}
	got := outcome{out.String() + <-shown, errors.String(), cmd.ProcessState.ExitCode()}
	if args[0] != "status" {
		w.trace("planloop %s → %d %s", strings.Join(args, " "), got.code, firstLine(got))
	}
	return got
}

// answerQuestions types the codes that a terminal asks for, and the word purge, and returns the screen.
func answerQuestions(control *os.File) string {
	var text strings.Builder
	part := make([]byte, 4096)
	typed := false
	for {
		n, err := control.Read(part)
		text.Write(part[:n])
		plain := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(text.String(), "")
		if found := regexp.MustCompile(codePattern).FindStringSubmatch(plain); found != nil && !typed {
			typed = true
			_, _ = control.WriteString(found[1] + "\n\n")
		}
		if strings.Contains(text.String(), "to confirm.") && !typed {
			typed = true
			_, _ = control.WriteString("purge\n")
		}
		if err != nil {
			return text.String()
		}
	}
}

// endsIn waits for a command, which is killed when its time is up.
func endsIn(cmd *exec.Cmd, limit time.Duration) bool {
	timer := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	return timer.Stop()
}

// commandsIn returns the commands in a sentence, without the word planloop and with their placeholders filled in.
func commandsIn(sentence string) (list [][]string) {
	sentence = regexp.MustCompile(`'[^']*'|"(\\.|[^"\\])*"`).ReplaceAllStringFunc(sentence, func(quoted string) string {
		if quoted[0] == '"' {
			return "" // a title
		}
		return quoted
	})
	words := regexp.MustCompile(`'[^']*'[.,;:]?|\S+`).FindAllString(sentence, -1)
	for i := 0; i < len(words); i++ {
		if words[i] != "planloop" {
			continue
		}
		var args []string
		for i++; i < len(words); i++ {
			word := strings.TrimRight(words[i], ".,;:")
			if !isArgument(args, word) {
				break
			}
			args = append(args, fillIn(strings.Trim(word, "'")))
			if word != words[i] {
				break
			}
		}
		if len(args) > 0 {
			list = append(list, args)
		}
	}
	return list
}

// isArgument reports whether a word of a sentence belongs to the command before it.
func isArgument(args []string, word string) bool {
	switch {
	case len(args) == 0, strings.HasPrefix(word, "-"), strings.HasPrefix(word, "'"), strings.HasPrefix(args[len(args)-1], "--"):
		return true
	case regexp.MustCompile(`^([A-Z]+|[A-Z]\d+)$`).MatchString(word):
		return true
	}
	pairs := []string{"step mark", "step retry", "step skip", "step settle", "step claim", "step stop", "step add", "plan cancel"}
	if slices.Contains(pairs, strings.Join(args, " ")+" "+word) {
		return true
	}
	return slices.Contains(plan.StepStatus("").Values(), word) && args[0] == "step"
}

// fillIn replaces a placeholder by a text.
func fillIn(word string) string {
	switch word {
	case "TEXT", "WHY", "REASON", "COMMENT", "TITLE":
		return "because"
	}
	return strings.ReplaceAll(word, `"<V>"`, `""`) // an argument
}
