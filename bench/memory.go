package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"
)

const (
	mebibyte  = 1 << 20
	idleLimit = 20 * mebibyte
	usedLimit = 40 * mebibyte
	manyCalls = 10_000
	settled   = 2 * time.Second // an idle server has finished its work by then
)

// measureMemory measures the memory of a server before and after work.
func measureMemory(ctx context.Context, b *bench) ([]figure, error) {
	if _, err := residentOf(os.Getpid()); errors.Is(err, fs.ErrNotExist) {
		return []figure{{what: "memory of a server: /proc is Linux's", state: skipped}}, nil
	}
	place, err := b.workspace(ctx, "memory", someSteps, 1)
	if err != nil {
		return nil, err
	}
	bare, err := b.handshake(b.command(ctx, b.echo), "bench")
	if err != nil {
		return nil, err
	}
	defer bare.close()
	floor, err := bare.resident()
	if err != nil {
		return nil, err
	}
	c, err := b.serve(ctx, place.Path, "bench")
	if err != nil {
		return nil, err
	}
	defer c.close()
	time.Sleep(settled)
	idle, err := c.resident()
	if err != nil {
		return nil, err
	}
	work := marks(c, someSteps)
	if _, err := work.next(); err != nil {
		return nil, err
	}
	opened, err := c.resident()
	if err != nil {
		return nil, err
	}
	// Not fewer with -quick: fewer calls would show less growth.
	if _, err := inTurn(manyCalls, 0, work.next); err != nil {
		return nil, err
	}
	used, err := c.resident()
	if err != nil {
		return nil, err
	}
	return []figure{
		amount("memory of an idle server (floor: bare mcp-go)", idle, floor, idleLimit),
		{what: "  after its first call, which opens the workspace", value: mebibytes(opened), state: recorded},
		amount(fmt.Sprintf("memory after %d marks on %d steps", manyCalls, someSteps), used, floor, usedLimit),
	}, nil
}

func amount(what string, value, floor, limit int) figure {
	return figure{what: what, value: mebibytes(value), floor: mebibytes(floor), limit: "< " + mebibytes(limit), state: judge(value < limit)}
}

func mebibytes(n int) string { return fmt.Sprintf("%.1f MiB", float64(n)/mebibyte) }

func (c *client) resident() (int, error) { return residentOf(c.cmd.Process.Pid) }

// residentOf returns the resident memory of a process in bytes.
func residentOf(pid int) (int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(data) {
		fields := bytes.Fields(line)
		if len(fields) >= 2 && string(fields[0]) == "VmRSS:" {
			kibibytes, err := strconv.Atoi(string(fields[1]))
			return kibibytes * 1024, err
		}
	}
	return 0, errors.New("the process's status names no VmRSS")
}
