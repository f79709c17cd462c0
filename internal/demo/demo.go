package demo

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Person is the part of the demo that a person plays, or the demo for them.
type Person interface {
	// Hear shows a line of the story.
	Hear(ctx context.Context, speaker Speaker, line string) error
	// Decide takes the decision on the waiting plan, submitted for the given time, from 1.
	Decide(ctx context.Context, submission int) error
}

// Speaker is the speaker of a line.
type Speaker string

// The speakers.
const (
	TheAgent Speaker = says
	Planloop Speaker = gets
)

// Play starts the agent, a process of its own since its descendants do not count as a person, and passes its lines on. It returns when the
// agent's part is over.
func Play(ctx context.Context, p *Place, agent []string, person Person) error {
	command := exec.CommandContext(ctx, agent[0], agent[1:]...)
	command.Dir, command.Env = p.Project, p.Environ()
	var faults strings.Builder
	command.Stderr = &faults
	alive, err := command.StdinPipe() // its end ends the agent and the agent's processes, which must not write into a removed place
	if err != nil {
		return fmt.Errorf("hold on to the scripted agent: %w", err)
	}
	command.Cancel, command.WaitDelay = alive.Close, endingTime
	printed, err := command.StdoutPipe()
	if err != nil {
		return fmt.Errorf("read the output of the scripted agent: %w", err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start the scripted agent: %w", err)
	}
	if err := pass(ctx, bufio.NewScanner(printed), person); err != nil {
		_ = alive.Close()  // it may have ended
		_ = command.Wait() // its part was not over
		return err
	}
	if err := command.Wait(); err != nil {
		return fmt.Errorf("the scripted agent failed: %w\n%s", err, strings.TrimSpace(faults.String()))
	}
	return nil
}

// endingTime is the time that the agent has to end.
const endingTime = 10 * time.Second

// pass passes the agent's lines on.
func pass(ctx context.Context, lines *bufio.Scanner, person Person) error {
	submissions := 0
	for lines.Scan() {
		mark, line, _ := strings.Cut(lines.Text(), " ")
		var err error
		if mark == waits {
			submissions++
			err = person.Decide(ctx, submissions)
		} else {
			err = person.Hear(ctx, Speaker(mark), line)
		}
		if err != nil {
			return err
		}
	}
	return lines.Err()
}
