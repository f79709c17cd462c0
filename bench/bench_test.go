package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/transport"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// BenchmarkMark is a mark through the whole server but for the process: over
// stdio in pipes, into a synced log and into memory.
func BenchmarkMark(b *testing.B) {
	for _, steps := range []int{fewSteps, someSteps, manySteps} {
		b.Run(fmt.Sprintf("sqlite/%d", steps), func(b *testing.B) {
			dir := b.TempDir()
			benchmarkMark(b, sqlite.New(dir, sqlite.Options{}), presence.Open(dir, presence.Options{}), steps)
		})
		b.Run(fmt.Sprintf("memory/%d", steps), func(b *testing.B) {
			benchmarkMark(b, store.NewMemory(), presence.Open("", presence.Options{}), steps)
		})
	}
}

func benchmarkMark(b *testing.B, log store.Log, seen *presence.Registry, steps int) {
	s := session.New(log, session.Options{Limits: plan.Limits{MaxSteps: manySteps}, Presence: seen})
	b.Cleanup(func() { s.Close() })
	if err := fill(b.Context(), s, steps, 1); err != nil {
		b.Fatal(err)
	}
	service := verbs.New(s, verbs.Options{Presence: seen})
	c := connectInProcess(b, service)
	m := marks(c, steps)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.next(); err != nil {
			b.Fatal(err)
		}
	}
}

// connectInProcess returns a client of a server in this process.
func connectInProcess(b *testing.B, service *verbs.Service) *client {
	server, err := mcpserver.New(mcpserver.Options{
		Version: "bench", Strategy: prompts.React,
		Actor: func(string, string) plan.Actor { return actor() },
		Service: func(context.Context, mcpserver.Roots, string) (*verbs.Service, error) {
			return service, nil
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- transport.ServeStdio(context.Background(), server.MCP, inR, outW, transport.StdioOptions{})
	}()
	b.Cleanup(func() {
		inW.Close()
		if err := <-served; err != nil {
			b.Error(err)
		}
		server.Close()
	})
	c := &client{in: inW, out: bufio.NewReader(outR)}
	if err := c.hello("bench"); err != nil {
		b.Fatal(err)
	}
	return c
}

// BenchmarkOpen is the first look at a workspace: the newest snapshot and the
// longest tail there can be behind it.
func BenchmarkOpen(b *testing.B) {
	for _, steps := range []int{fewSteps, someSteps, manySteps} {
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			dir := b.TempDir()
			s := session.New(sqlite.New(dir, sqlite.Options{}), session.Options{Limits: plan.Limits{MaxSteps: manySteps}})
			if err := fill(b.Context(), s, steps, 2*snapshotEvery); err != nil {
				b.Fatal(err)
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				s := session.New(sqlite.New(dir, sqlite.Options{}), session.Options{})
				if _, err := s.State(b.Context()); err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTogether is marks by several sessions on one log, each with its own
// handle on it as a process has: each has to read what the others wrote.
func BenchmarkTogether(b *testing.B) {
	dir := b.TempDir()
	sessions := make([]*session.Session, servers)
	for i := range sessions {
		sessions[i] = session.New(sqlite.New(dir, sqlite.Options{}), session.Options{})
		b.Cleanup(func() { sessions[i].Close() })
	}
	if err := fill(b.Context(), sessions[0], servers*ownSteps, 1); err != nil {
		b.Fatal(err)
	}
	statuses := []plan.StepStatus{plan.InProgress, plan.Done, plan.Pending}
	b.ReportAllocs()
	b.ResetTimer()
	var group sync.WaitGroup
	for i, s := range sessions {
		group.Go(func() {
			by := plan.Actor{Kind: plan.Agent, Name: fmt.Sprint("bench-", i)}
			for n := range b.N/servers + 1 {
				mark := plan.MarkStep{Step: plan.StepID(i*ownSteps + n/3%ownSteps + 1), Status: statuses[n%3]}
				if _, err := s.Do(b.Context(), by, mark, nil); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}
