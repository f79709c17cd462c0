package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// measureStart times a server from its start to its answered tools/list.
func measureStart(ctx context.Context, b *bench) ([]figure, error) {
	place, err := b.workspace(ctx, "start", fewSteps, 1)
	if err != nil {
		return nil, err
	}
	taken, err := inTurn(b.rounds(60), 2,
		func() (time.Duration, error) {
			return b.start(b.command(ctx, b.planloop, "serve", "--workspace", place.Path))
		},
		func() (time.Duration, error) { return b.start(b.command(ctx, b.echo)) },
	)
	if err != nil {
		return nil, err
	}
	return []figure{within("start to answered tools/list (floor: bare mcp-go)", taken[0], taken[1], 1.5)}, nil
}

func (b *bench) start(cmd *exec.Cmd) (time.Duration, error) {
	begin := time.Now()
	c, err := b.handshake(cmd, "bench")
	took := time.Since(begin)
	if err == nil {
		c.close()
	}
	return took, err
}

// hookTimes limits the cost of a command that a hook runs, in starts of the program.
const hookTimes = 1.3

// measureCommands times commands from start to end: those that hooks run before each of
// a host's tools, and others.
func measureCommands(ctx context.Context, b *bench) ([]figure, error) {
	few, err := b.synced(ctx, "status", fewSteps)
	if err != nil {
		return nil, err
	}
	some, err := b.synced(ctx, "status-long", someSteps)
	if err != nil {
		return nil, err
	}
	command := func(program string, args ...string) trial {
		return func() (time.Duration, error) { return elapsed(b.command(ctx, program, args...)) }
	}
	taken, err := inTurn(b.rounds(60), 2,
		command(b.planloop, "version"),
		command(b.planloop, "plan", "allows", "--", "git log --oneline | head"),
		command(b.planloop, "status", "--json", "--workspace", few),
		command(b.planloop, "status", "--json", "--workspace", some),
		command(b.planloop, "show", "--json", "--workspace", few),
		command(b.echo, "version"),
	)
	if err != nil {
		return nil, err
	}
	version := taken[0]
	return []figure{
		within("planloop plan allows (floor: planloop version)", taken[1], version, hookTimes),
		within("planloop status --json, 10 steps (floor: planloop version)", taken[2], version, hookTimes),
		{what: "  1,000 steps, which it lists", value: taken[3].String(), floor: version.String(), state: recorded},
		{what: "planloop show --json, 10 steps", value: taken[4].String(), floor: version.String(), state: recorded},
		{what: "planloop version (floor: a command that imports mcp-go and prints)", value: version.String(), floor: taken[5].String(),
			state: recorded},
	}, nil
}

// synced makes a workspace with a plan and a current rule book for agents, and returns
// its directory.
func (b *bench) synced(ctx context.Context, name string, steps int) (string, error) {
	place, err := b.workspace(ctx, name, steps, 1)
	if err != nil {
		return "", err
	}
	return place.Path, succeed(b.command(ctx, b.planloop, "sync", "--workspace", place.Path))
}

func elapsed(cmd *exec.Cmd) (time.Duration, error) {
	begin := time.Now()
	err := succeed(cmd)
	return time.Since(begin), err
}

const openLimit = 50 * time.Millisecond

// measureOpening times the opening of a workspace with many steps and a long log.
func measureOpening(ctx context.Context, b *bench) ([]figure, error) {
	place, err := b.workspace(ctx, "long-log", manySteps, b.long())
	if err != nil {
		return nil, err
	}
	whole, err := inTurn(b.rounds(50), 2, func() (time.Duration, error) {
		begin := time.Now()
		s := open(place)
		_, err := s.State(ctx)
		took := time.Since(begin)
		return took, errors.Join(err, s.Close())
	})
	if err != nil {
		return nil, err
	}
	first, err := inTurn(b.rounds(30), 1, func() (time.Duration, error) { return b.firstCall(ctx, place) })
	if err != nil {
		return nil, err
	}
	commands, err := inTurn(b.rounds(30), 1,
		func() (time.Duration, error) {
			return elapsed(b.command(ctx, b.planloop, "show", "--json", "--workspace", place.Path))
		},
		func() (time.Duration, error) { return elapsed(b.command(ctx, b.planloop, "version")) },
	)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("open a workspace of %d steps and %d actions", manySteps, b.long())
	return []figure{
		under(what, whole[0], openLimit),
		{what: "  first call of a new server process", value: first[0].String(), state: recorded},
		{what: "  planloop show --json less planloop version", value: milliseconds(commands[0].p50() - commands[1].p50()), state: recorded},
	}, nil
}

// firstCall starts a server and times its first call, which opens the
// workspace. It gives a step the status it already has, so the log does not change.
func (b *bench) firstCall(ctx context.Context, place workspace.Workspace) (time.Duration, error) {
	c, err := b.serve(ctx, place.Path, "bench")
	if err != nil {
		return 0, err
	}
	defer c.close()
	return c.call(markTool, map[string]any{"step_id": "S9999", "status": "pending"})
}

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
