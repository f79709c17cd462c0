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
	"github.com/planloop/planloop/plan"
)

const (
	noticeLimit   = 5 * time.Millisecond
	noticePatient = 5 * time.Second
)

// measureNotice times how another process's change reaches a client that has
// subscribed: from the call that makes it to the notification, and from the
// answer to that call.
func measureNotice(ctx context.Context, b *bench) ([]figure, error) {
	subscriber, writer, end, err := b.pair(ctx, "notice")
	if err != nil {
		return nil, err
	}
	defer end()
	if _, err := subscriber.request("resources/subscribe", map[string]any{"uri": "plan://current"}); err != nil {
		return nil, err
	}
	fromCall, fromAnswer, err := notices(subscriber, marks(writer, fewSteps), b.rounds(1_000))
	if err != nil {
		return nil, err
	}
	return []figure{
		under("another process's change reaches a subscriber, from the call on", fromCall, noticeLimit),
		{what: "  after the call is answered", value: fromAnswer.String(), state: recorded},
	}, nil
}

func notices(subscriber *client, writer *marking, rounds int) (fromCall, fromAnswer samples, err error) {
	arrived := make(chan time.Time, 16)
	failed := make(chan error, 1)
	go func() { // ends with the connection
		for {
			m, _, err := subscriber.receive()
			if err != nil {
				failed <- err
				return
			}
			if m.Method == "notifications/resources/updated" {
				arrived <- time.Now()
			}
		}
	}()
	for range rounds {
		begin := time.Now()
		took, err := writer.next()
		if err != nil {
			return nil, nil, err
		}
		select {
		case at := <-arrived:
			fromCall = append(fromCall, at.Sub(begin))
			fromAnswer = append(fromAnswer, max(0, at.Sub(begin.Add(took))))
		case err := <-failed:
			return nil, nil, err
		case <-time.After(noticePatient):
			return nil, nil, fmt.Errorf("no notification within %s", noticePatient)
		}
	}
	return fromCall, fromAnswer, nil
}

// measureWaiting times how another process's change reaches an agent that waits for
// news: from the call that makes it to the answer of planloop_status.
func measureWaiting(ctx context.Context, b *bench) ([]figure, error) {
	agent, writer, end, err := b.pair(ctx, "waiting")
	if err != nil {
		return nil, err
	}
	defer end()
	changes := marks(writer, fewSteps)
	var taken samples
	for range b.rounds(1_000) {
		took, err := waited(agent, changes)
		if err != nil {
			return nil, err
		}
		taken = append(taken, took)
	}
	return []figure{under("another process's change reaches an agent that waits in planloop_status", taken, noticeLimit)}, nil
}

func waited(agent *client, changes *marking) (time.Duration, error) {
	if _, err := agent.call("planloop_status", nil); err != nil {
		return 0, err
	}
	waiting, err := agent.waitBeside("planning_read_plan", nil)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if _, err := changes.next(); err != nil {
		return 0, err
	}
	_, _, err = agent.answerTo(waiting)
	return time.Since(begin), err
}

const decisionLimit = 100 * time.Millisecond

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
		under("another process's decision reaches the agent that waits for it", fromDecision, decisionLimit),
		{what: "  once it is on disk", value: fromDisk.String(), state: recorded},
	}, desk.Close()
}

// decided lets the agent submit a plan and wait, and a person request changes. It returns the
// times until the agent has the decision and until the decision is on disk.
func decided(ctx context.Context, agent *client, desk *session.Session) (told, kept time.Duration, err error) {
	if _, err := agent.call("planning_submit_plan", waitingPlan()); err != nil {
		return 0, 0, err
	}
	waiting, err := agent.waitBeside("planning_enter_plan_mode", map[string]any{"reason": "It is large"})
	if err != nil {
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
	_, err = desk.Do(ctx, plan.NewActor(plan.ChannelTerminal, "person"), plan.DecideDraft{Outcome: plan.Returned,
		Request: state.ModeNow().Request.ID, Digest: plan.Digest(state.Draft), Comment: "split it"}, nil)
	kept = time.Since(begin)
	if err != nil {
		return 0, 0, err
	}
	answer, _, err := agent.answerTo(waiting)
	told = time.Since(begin)
	if err == nil && (len(answer.Result.Content) == 0 || !strings.Contains(answer.Result.Content[0].Text, "split it")) {
		err = fmt.Errorf("the agent is told %+v", answer.Result.Content)
	}
	return told, kept, err
}

func waitingPlan() map[string]any {
	return map[string]any{"summary": "Move the sessions to Redis.", "steps": []map[string]any{{
		"title": "Add the Redis client", "type": "feature", "risk": "low", "tools": []string{"create_file"},
		"context_hints": []string{"Read `go.mod`"}, "relevant_file_paths": []string{"go.mod"}}}}
}
