package main

import (
	"context"
	"os/exec"
	"time"
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

// measureCommands times commands from start to end.
func measureCommands(ctx context.Context, b *bench) ([]figure, error) {
	place, err := b.workspace(ctx, "start", fewSteps, 1)
	if err != nil {
		return nil, err
	}
	command := func(program string, args ...string) trial {
		return func() (time.Duration, error) { return elapsed(b.command(ctx, program, args...)) }
	}
	taken, err := inTurn(b.rounds(60), 2,
		command(b.planloop, "version"),
		command(b.planloop, "show", "--json", "--workspace", place.Path),
		command(b.echo, "version"),
	)
	if err != nil {
		return nil, err
	}
	floor := taken[2].String()
	return []figure{
		{what: "planloop version (floor: a command that imports mcp-go and prints)", value: taken[0].String(), floor: floor, state: recorded},
		{what: "planloop show --json, 10 steps", value: taken[1].String(), floor: floor, state: recorded},
	}, nil
}

func elapsed(cmd *exec.Cmd) (time.Duration, error) {
	begin := time.Now()
	err := succeed(cmd)
	return time.Since(begin), err
}
