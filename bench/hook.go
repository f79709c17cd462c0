package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// measureHooks times the hook that a host awaits before each tool of its agent: without planning mode, in planning
// mode with a long log, and the same while another process writes. The floor is a start of the program.
func measureHooks(ctx context.Context, b *bench) ([]figure, error) {
	free, err := b.workspace(ctx, "hook", fewSteps, 1)
	if err != nil {
		return nil, err
	}
	held, err := b.workspace(ctx, "hook-held", fewSteps, b.long())
	if err == nil {
		err = restrict(ctx, held)
	}
	if err != nil {
		return nil, err
	}
	const look, write = `{"command":"git log --oneline | head"}`, `{"file_path":"main.go","content":"x"}`
	version := func() (time.Duration, error) { return elapsed(b.command(ctx, b.planloop, "version")) }
	looks, writes := b.hook(ctx, held, "Bash", look), b.hook(ctx, held, "Write", write)
	quiet, err := inTurn(b.rounds(60), 2, version, b.hook(ctx, free, "Bash", look), looks, writes)
	if err != nil {
		return nil, err
	}
	stop := keepWriting(ctx, held)
	busy, err := inTurn(b.rounds(60), 2, version, looks, writes)
	if err = errors.Join(err, stop()); err != nil {
		return nil, err
	}
	return []figure{
		within("planloop hook, no planning mode (floor: planloop version)", quiet[1], quiet[0], hookTimes),
		within("  in planning mode, a long log, a command that reads", quiet[2], quiet[0], hookTimes),
		within("  in planning mode, a long log, a file to be written", quiet[3], quiet[0], hookTimes),
		within("  while another process writes, a command that reads", busy[1], busy[0], hookTimes),
		within("  while another process writes, a file to be written", busy[2], busy[0], hookTimes),
	}, nil
}

// hook runs the hook that a host runs before a tool of its agent.
func (b *bench) hook(ctx context.Context, place workspace.Workspace, tool, input string) trial {
	payload := fmt.Sprintf(`{"session_id":"s","cwd":%q,"hook_event_name":"PreToolUse","tool_name":%q,"tool_input":%s}`,
		place.Path, tool, input)
	return func() (time.Duration, error) {
		cmd := b.command(ctx, b.planloop, "hook", "claude", "pre-tool-use")
		cmd.Stdin = strings.NewReader(payload)
		return elapsed(cmd)
	}
}

func restrict(ctx context.Context, place workspace.Workspace) error {
	s := open(place)
	_, err := s.Do(ctx, actor(), plan.EnterMode{Reason: "It is measured"}, nil)
	return errors.Join(err, s.Close())
}

// keepWriting changes a state a hundred times a second until stop is called. stop waits for the goroutine's end.
func keepWriting(ctx context.Context, place workspace.Workspace) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		s := open(place)
		next := time.NewTicker(10 * time.Millisecond)
		defer next.Stop()
		var err error
		for n := 0; err == nil && ctx.Err() == nil; n++ {
			<-next.C
			_, err = s.Do(context.WithoutCancel(ctx), plan.Actor{Kind: plan.CI, Name: "ci"},
				plan.RaiseSignal{ID: "build", Level: plan.Info, Message: fmt.Sprintf("Build %d", n)}, nil)
		}
		done <- errors.Join(err, s.Close())
	}()
	return func() error { cancel(); return <-done }
}
