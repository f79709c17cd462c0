package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/plan"
)

// agent is the scripted agent in its own process. It plays Claude Code, and calls the hook command as that does.
type agent struct {
	program string // planloop
	project string
	out     io.Writer
	session *mcp.ClientSession
}

// sessionID is the name that the agent's hooks give its session.
const sessionID = "demo"

// Marks of a line that the agent writes to the demo.
const (
	waits = "WAIT"  // the plan waits for a person
	says  = "AGENT" // a sentence of the agent
	gets  = "REPLY" // planloop's reply to it
)

// Agent plays the agent's part in the working directory until in ends, and prints one marked line for everything that it does. program is
// planloop.
func Agent(ctx context.Context, program, version string, in io.Reader, out io.Writer) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() { // ends with the process, at the latest
		_, _ = io.Copy(io.Discard, in)
		end()
	}()
	project, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the demo's project: %w", err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "claude-code", Version: version}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: exec.CommandContext(ctx, program, "serve")}, nil)
	if err != nil {
		return fmt.Errorf("start planloop's server: %w", err)
	}
	defer session.Close()
	a := &agent{program: program, project: project, out: out, session: session}
	return a.play(ctx)
}

func (a *agent) play(ctx context.Context) error {
	a.print(says, "I enter planning mode, to find out why payments fail.")
	if _, err := a.call(ctx, "planning_enter_plan_mode", object{"reason": "Retry failed payments"}); err != nil {
		return err
	}
	a.print(says, "Easy. I set retries to 3 in "+settingsFile+" right away.")
	if refusal, err := a.write(ctx, settingsFile, newSettings); err != nil {
		return err
	} else if refusal == "" {
		return fmt.Errorf("the write to %s was not refused", settingsFile)
	}
	a.print(says, "Then I submit a plan.")
	planned := tasks()[:1]
	phase, err := a.submit(ctx, "Retry a failed payment three times.", planned)
	for err == nil && phase == plan.PhaseGathering { // the plan was returned
		a.print(says, "You asked for changes. I am only a script, so my revision is always the same: document the setting.")
		planned = tasks()
		phase, err = a.submit(ctx, "Retry a failed payment three times, and document it.", planned)
	}
	if err != nil {
		return err
	}
	if phase != plan.PhaseExecuting {
		a.print(says, "You rejected the plan, so I change nothing.")
		return nil
	}
	return a.work(ctx, planned)
}

// task is a file to write as a step of the plan.
type task struct {
	title, kind, risk string
	file, text        string
	verify            string
	after             []int
}

func tasks() []task {
	return []task{
		{"Set retries to 3", "feature", "medium", settingsFile, newSettings, contains(settingsFile, "3"), nil},
		{"Document the setting", "chore", "low", readMe, introduction + addition, contains(readMe, "retries"), []int{1}},
	}
}

// contains returns a command that succeeds if a file contains a word. Git is on every machine that planloop's users have.
func contains(file, word string) string { return "git grep --no-index -q " + word + " -- " + file }

// submit submits a plan, waits for the decision, and returns the phase that it leads to.
func (a *agent) submit(ctx context.Context, summary string, planned []task) (plan.Phase, error) {
	steps := []object{}
	for _, t := range planned {
		steps = append(steps, object{"title": t.title, "type": t.kind, "risk": t.risk, "relevant_file_paths": []string{t.file},
			"context_hints": []string{"Read `" + t.file + "`."}, "verify": t.verify, "dependencies": t.after})
	}
	if _, err := a.call(ctx, "planning_submit_plan", object{"summary": summary, "steps": steps}); err != nil {
		return "", err
	}
	a.print(waits, "")
	for {
		reply, err := a.call(ctx, "planloop_status", object{"wait": 50})
		if err != nil || reply.Phase != plan.PhaseSubmitted {
			for _, fact := range reply.Situation {
				if fact.Name == "Decided" {
					a.print(gets, strings.Join(fact.Texts, "\n"))
				}
			}
			return reply.Phase, err
		}
	}
}

// work does the approved steps, each with its verification, and closes the plan.
func (a *agent) work(ctx context.Context, planned []task) error {
	for i, t := range planned {
		id := fmt.Sprintf("S%03d", i+1)
		if _, err := a.call(ctx, "planning_mark_step", object{"step_id": id, "status": "in_progress"}); err != nil {
			return err
		}
		if refusal, err := a.write(ctx, t.file, t.text); err != nil {
			return err
		} else if refusal != "" {
			return fmt.Errorf("the hook refuses an approved write: %s", refusal)
		}
		a.print(says, "I wrote "+t.file+". Its check: "+t.verify)
		check := exec.CommandContext(ctx, a.program, append([]string{"check", "--task", id, "--"}, strings.Fields(t.verify)...)...)
		if printed, err := check.CombinedOutput(); err != nil {
			return fmt.Errorf("check %s: %w\n%s", id, err, printed)
		}
		if _, err := a.call(ctx, "planning_mark_step", object{"step_id": id, "status": "done"}); err != nil {
			return err
		}
	}
	_, err := a.call(ctx, "planloop_update", object{"final_summary": "A failed payment is retried three times."})
	return err
}

type object = map[string]any

// call calls one of planloop's tools, as a host does: the hook sees it first.
func (a *agent) call(ctx context.Context, tool string, arguments object) (reply, error) {
	var got reply
	if _, err := a.hook(ctx, "mcp__planloop__"+tool, arguments); err != nil {
		return got, err
	}
	result, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return got, fmt.Errorf("call %s: %w", tool, err)
	}
	if result.IsError {
		return got, fmt.Errorf("%s refused: %s", tool, textOf(result.Content))
	}
	printed, err := json.Marshal(result.StructuredContent)
	if err == nil {
		err = json.Unmarshal(printed, &got)
	}
	return got, err
}

func textOf(parts []mcp.Content) (text string) {
	for _, part := range parts {
		if is, ok := part.(*mcp.TextContent); ok {
			text += is.Text
		}
	}
	return text
}

// reply is the part of a tool's reply that the agent reads.
type reply struct {
	Phase     plan.Phase `json:"phase"`
	Situation []struct {
		Name  string
		Texts []string
	}
}

// write writes a file as the host's own tool does, unless the hook refuses. It returns the refusal.
func (a *agent) write(ctx context.Context, name, text string) (string, error) {
	path := filepath.Join(a.project, name)
	refusal, err := a.hook(ctx, "Write", object{"file_path": path, "content": text})
	if err != nil || refusal != "" {
		a.print(gets, refusal)
		return refusal, err
	}
	return "", os.WriteFile(path, []byte(text), 0o600)
}

// hook asks the hook command about a call, and returns why it refuses, "" if it does not.
func (a *agent) hook(ctx context.Context, tool string, arguments object) (string, error) {
	input, err := json.Marshal(object{"session_id": sessionID, "cwd": a.project, "hook_event_name": "PreToolUse", "tool_name": tool,
		"tool_input": arguments})
	if err != nil {
		return "", fmt.Errorf("write the hook's input: %w", err)
	}
	command := exec.CommandContext(ctx, a.program, "hook", "claude", "pre-tool-use")
	command.Stdin = bytes.NewReader(input)
	printed, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("run the hook: %w", err)
	}
	var answer struct {
		Output struct {
			Decision string `json:"permissionDecision"`
			Reason   string `json:"permissionDecisionReason"`
		} `json:"hookSpecificOutput"`
	}
	if len(printed) > 0 {
		if err := json.Unmarshal(printed, &answer); err != nil {
			return "", fmt.Errorf("read the hook's answer: %w", err)
		}
	}
	if answer.Output.Decision != "deny" {
		return "", nil
	}
	return answer.Output.Reason, nil
}

// print writes a marked line; a text of several lines gets the mark on each.
func (a *agent) print(mark, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(a.out, "%s %s\n", mark, line)
	}
}
