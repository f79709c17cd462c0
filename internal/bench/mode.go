package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/shell"
	"github.com/planloop/planloop/plan"
)

const (
	decisionLimit = 100 * time.Millisecond
	classifyLimit = 50 * time.Microsecond
	longestLimit  = 50 * time.Millisecond
	longCommand   = 100 << 10 // bytes
)

// measureDecision times how a person's decision reaches an agent that waits for it in
// another process: from the decision to the answer of planloop_status, and from the
// moment the decision is on disk.
func measureDecision(ctx context.Context, b *bench) ([]figure, error) {
	place, err := b.place("decision")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(place.Path, "go.mod"), []byte("module example.com/app\n"), 0o600); err != nil {
		return nil, err
	}
	agent, err := b.serve(ctx, place.Path, "agent")
	if err != nil {
		return nil, err
	}
	defer agent.close()
	desk := open(place)
	var fromDecision, fromDisk samples
	for range b.rounds(300) {
		told, kept, err := decided(ctx, agent, desk)
		if err != nil {
			return nil, errors.Join(err, desk.Close())
		}
		fromDecision, fromDisk = append(fromDecision, told), append(fromDisk, told-kept)
	}
	return []figure{
		{what: "another process's decision reaches the agent that waits for it", value: fromDecision.String(),
			limit: "p50 < " + milliseconds(decisionLimit), state: judge(fromDecision.p50() < decisionLimit)},
		{what: "  once it is on disk", value: fromDisk.String(), state: recorded},
	}, desk.Close()
}

// decided has the agent submit a plan and wait, and a person send it back. It returns
// how long until the agent was told, and until the decision was on disk.
func decided(ctx context.Context, agent *client, desk *session.Session) (told, kept time.Duration, err error) {
	if err := agent.await(agent.begin("planning_submit_plan", waitingPlan())); err != nil {
		return 0, 0, err
	}
	waiting, err := agent.begin("planloop_status", map[string]any{"wait": 60})
	if err != nil {
		return 0, 0, err
	}
	// The calls of a connection begin in their order: once this one is answered, the
	// one before it waits.
	if err := agent.await(agent.begin("planning_enter_plan_mode", map[string]any{"reason": "It is large"})); err != nil {
		return 0, 0, err
	}
	state, err := desk.State(ctx)
	if err != nil {
		return 0, 0, err
	}
	if state.Draft == nil {
		return 0, 0, errors.New("no plan waits")
	}
	begin := time.Now()
	_, err = desk.Do(ctx, plan.NewActor(plan.ViaTerminal, "person"), plan.Return{Answer: plan.Answer{
		Request: state.ModeNow().Request.ID, Digest: plan.Digest(state.Draft), Comment: "split it"}}, nil)
	kept = time.Since(begin)
	if err != nil {
		return 0, 0, err
	}
	answer, err := agent.answerTo(waiting)
	told = time.Since(begin)
	if err == nil && (len(answer.Result.Content) == 0 || !strings.Contains(answer.Result.Content[0].Text, "split it")) {
		err = fmt.Errorf("the agent is told %+v", answer.Result.Content)
	}
	return told, kept, err
}

// begin calls a tool and does not wait for the answer.
func (c *client) begin(tool string, arguments map[string]any) (id int, err error) {
	c.last++
	return c.last, c.send(map[string]any{"jsonrpc": "2.0", "id": c.last, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments}})
}

// await waits for the answer to a call that was begun.
func (c *client) await(id int, err error) error {
	if err == nil {
		_, err = c.answerTo(id)
	}
	return err
}

// answerTo returns the good answer to a request, past notifications.
func (c *client) answerTo(id int) (message, error) {
	for {
		m, err := c.receive()
		if err != nil {
			return m, err
		}
		if m.Method == "" {
			return m, m.refused(id)
		}
	}
}

func waitingPlan() map[string]any {
	return map[string]any{"summary": "Move the sessions to Redis.", "steps": []map[string]any{{"title": "Add the Redis client", "type": "feature", "risk": "low",
		"tools": []string{"create_file"}, "context_hints": []string{"Read `go.mod`"}, "relevant_file_paths": []string{"go.mod"}}}}
}

// measureClassify times the judgement of shell commands: such as agents run to look
// around, and one as long as planning mode takes.
func measureClassify(_ context.Context, b *bench) ([]figure, error) {
	var figures []figure
	for _, c := range []struct {
		what, command string
		limit         time.Duration
		times         int
	}{
		{"judge `git log --oneline -10`", "git log --oneline -10", classifyLimit, 100},
		{"judge a pipeline of four commands", `find . -name '*.go' -not -path './vendor/*' | xargs grep -n "func main" | sort -u | head -20`, classifyLimit, 100},
		{"judge a command that writes", `find . -name '*.go' -delete`, classifyLimit, 100},
		{"judge 100 KiB of commands", strings.Repeat("grep -rn 'foo bar' --include=*.go src | head -5; ", longCommand/49), longestLimit, 1},
		{"judge a command of 100 KiB", "echo " + strings.Repeat("word ", longCommand/5), longestLimit, 1},
	} {
		taken, err := inTurn(b.rounds(300), 10, func() (time.Duration, error) {
			begin := time.Now()
			for range c.times {
				shell.Classify(c.command)
			}
			return time.Since(begin) / time.Duration(c.times), nil
		})
		if err != nil {
			return nil, err
		}
		figures = append(figures, figure{what: c.what, value: taken[0].String(), limit: "p50 < " + milliseconds(c.limit), state: judge(taken[0].p50() < c.limit)})
	}
	return figures, nil
}
