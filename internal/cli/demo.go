package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/demo"
	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

func newDemoCommand(a *app) *cobra.Command {
	isAgent := false
	cmd := newCommand("demo", "", noArguments, func(cmd *cobra.Command, _ []string) error {
		if isAgent {
			return demo.Agent(cmd.Context(), ownPath(), version(), a.in, a.out)
		}
		return a.demo(cmd.Context())
	})
	cmd.Flags().BoolVar(&isAgent, "play-agent", false, "play the scripted agent")
	cmd.Flags().Lookup("play-agent").Hidden = true
	return cmd
}

// demo plays the story in a temporary project, which it deletes at the end.
func (a *app) demo(ctx context.Context) (err error) {
	place, err := demo.NewPlace(os.Environ())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Remove()) }()
	seat := &demoSeat{app: a, place: place, playing: !a.inIsTerminal || !a.outIsTerminal || a.person().Answer != presence.Yes}
	if err := seat.begin(); err != nil {
		return err
	}
	if err := seat.run(ctx, io.Discard, "init", "claude", "--yes"); err != nil {
		return err
	}
	if err := demo.Play(ctx, place, []string{ownPath(), "demo", "--play-agent"}, seat); err != nil {
		return err
	}
	return seat.end(ctx)
}

// demoSeat is the person's place in the demo: at the terminal the user's, else played.
type demoSeat struct {
	*app
	place   *demo.Place
	playing bool // the demo plays the person
	last    demo.Speaker
}

func (s *demoSeat) begin() error {
	title := s.screen().Bold("planloop demo")
	lines := []string{title + ": a script plays Claude Code in a temporary project. The hooks and tools are real."}
	if s.playing {
		lines = append(lines, "This is not your terminal, so the demo plays your part, too.")
	}
	return s.printLines(append(lines, ""))
}

// Hear prints a line, with its speaker where that changes.
func (s *demoSeat) Hear(ctx context.Context, speaker demo.Speaker, line string) error {
	names := map[demo.Speaker]string{demo.TheAgent: "agent", demo.Planloop: "planloop"}
	name := names[speaker]
	if speaker == s.last {
		name = ""
	}
	s.last = speaker
	if !s.playing {
		select {
		case <-time.After(readingTime):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.say(name, safetext.EscapeLine(line))
}

// readingTime is the pause before a line that a person reads.
const readingTime = 800 * time.Millisecond

func (s *demoSeat) say(name, line string) error {
	return s.printLines([]string{s.screen().Bold(fmt.Sprintf("%8s", name)) + "  " + line})
}

// Decide lets the user decide with planloop approve, or requests changes the first time and approves the second.
func (s *demoSeat) Decide(ctx context.Context, submission int) error {
	s.last = ""
	if !s.playing {
		yours := s.screen().Bold("You decide.") + " To see a revision, type: edit document it"
		if err := s.printLines([]string{"", yours, ""}); err != nil {
			return err
		}
		if err := s.run(ctx, s.out, "approve"); err != nil { // it said why
			return plan.Refuse(plan.Conflict, "", "you decided nothing, so the demo is over", "run it again with: planloop demo")
		}
		return nil
	}
	inner := &app{environment: s.inside(), launch: s.launch}
	inner.flags.workspace = s.place.Project
	defer inner.close()
	ws, err := inner.open(ctx, nil)
	if err != nil {
		return err
	}
	state, err := ws.verbs.State(ctx)
	if err != nil {
		return err
	}
	if err := cmp.Or(decidable(state), s.run(ctx, s.out, "show", "--draft")); err != nil {
		return err
	}
	decision := plan.DecideDraft{Outcome: plan.Approved, Request: requestOf(state), Digest: plan.Digest(state.Draft)}
	command := "planloop approve"
	if submission == 1 {
		decision.Outcome, decision.Comment, command = plan.Returned, "Document it, too.", "planloop edit Document it, too."
	}
	if err := s.say("you", command); err != nil {
		return err
	}
	person := workspace.Caller{Login: s.login(), Terminal: true, Present: true}.Actor()
	_, err = ws.verbs.Decide(ctx, verbs.Caller{Actor: person}, decision)
	return err
}

func (s *demoSeat) end(ctx context.Context) error {
	if err := s.printLines([]string{""}); err != nil {
		return err
	}
	if err := s.run(ctx, s.out, "show"); err != nil {
		return err
	}
	return s.printLines([]string{"", "The project is deleted. Connect your agents: " + s.screen().Bold("planloop init")})
}

// inside returns this process's environment for commands in the demo's place.
func (s *demoSeat) inside() environment {
	w := s.environment
	w.getenv, w.home = s.place.Getenv, func() (string, error) { return s.place.Home, nil }
	return w
}

// run runs a command of planloop in the demo's place, in this process, since its descendants do not count as a person.
func (s *demoSeat) run(ctx context.Context, out io.Writer, arguments ...string) error {
	w := s.inside()
	w.out = out
	if code := run(ctx, w, append([]string{"-C", s.place.Project}, arguments...)); code != exitOK {
		return fmt.Errorf("planloop %s ended with exit code %d", arguments[0], code)
	}
	return nil
}
