package cli

import (
	"time"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// plainRun prints the lines of a run without a terminal. With --json it prints only what the run waits for, as notes.
type plainRun struct {
	*app
	hangUp func() // called once nobody reads the lines: the run drains
	isDeaf bool
}

func (p *plainRun) Recorded(_ plan.State, record plan.Record) {
	if p.flags.json {
		return
	}
	for _, line := range history.Lines(record) {
		p.printLine(line)
	}
}

func (p *plainRun) printLine(line string) {
	if !p.isDeaf && p.print([]byte(safetext.EscapeLine(line)+"\n")) != nil {
		p.isDeaf = true
		p.hangUp()
	}
}

// Progress prints nothing: the lines would pass too fast to read.
func (*plainRun) Progress(plan.StepID, int, string) {}

func (p *plainRun) Waiting(what string, since time.Time) {
	line := p.forPeople("waiting since " + since.Local().Format("15:04") + " for " + what)
	if p.flags.json {
		p.note(line)
		return
	}
	p.printLine(line)
}
