package plan

import (
	"fmt"
	"strings"
)

// Account says how much of a plan's finished work is verified.
type Account struct {
	Steps, Done, Verified int
	Unchecked             int         // done steps without a command, files or criteria to check
	Waived, Unverified    []Shortfall // the other done steps
}

// Shortfall is a done step that is not verified, and the reason, or the name of the person who accepted it.
type Shortfall struct {
	Step StepID
	Why  string
}

// AccountOf returns the account of a plan. missing lists the files that a step creates and that do not exist; nil: all do.
func AccountOf(p *Plan, missing func(*Step) []string) Account {
	a := Account{Steps: p.Steps.Len(), Done: p.Steps.Count(Done)}
	for step := range p.Steps.With(Done) {
		why, by := shortfall(step, missing), WaivedBy(step)
		switch {
		case step.Verify == "" && len(step.Creates) == 0 && len(step.AcceptanceCriteria) == 0:
			a.Unchecked++
		case why == "":
			a.Verified++
		case by != "":
			a.Waived = append(a.Waived, Shortfall{step.ID, by})
		default:
			a.Unverified = append(a.Unverified, Shortfall{step.ID, why})
		}
	}
	return a
}

// shortfall says why a done step is not verified, "" if it is.
func shortfall(step *Step, missing func(*Step) []string) string {
	var why []string
	if step.Verify != "" && !IsVerified(step) {
		outcome := " was not run"
		if e, ok := lastRun(step); ok {
			outcome = " " + e.Outcome()
			if e.isUncounted() {
				outcome += ", not in CI"
			}
		}
		why = append(why, Shorten(Mask(step.Verify), verifyShown)+outcome)
	}
	if step.Verify == "" && len(step.Creates) == 0 { // else those are the check
		for _, criterion := range openCriteria(step) {
			why = append(why, "no note for the criterion "+Quote(Shorten(criterion, verifyShown)))
		}
	}
	if missing != nil {
		if files := missing(step); len(files) > 0 {
			why = append(why, NotCreated(files))
		}
	}
	return strings.Join(why, ", ")
}

// Limits of an account's text: of a command, in characters, and the steps named of each kind.
const (
	verifyShown   = 80
	accountedFull = 5
)

// String writes the account in a line, such as "3 of 3 done, 2 verified, 1 not: S002 (go vet ./api was not run)".
func (a Account) String() string {
	text := fmt.Sprintf("%d of %d done", a.Done, a.Steps)
	if checked := a.Checked(); checked != "" {
		text += ", " + checked
	}
	return text
}

// Checked writes the part of the account on verification, "" if the plan has nothing to verify.
func (a Account) Checked() string {
	if a.Unchecked == a.Done {
		return ""
	}
	parts := []string{fmt.Sprintf("%d verified", a.Verified)}
	if a.Unchecked > 0 {
		parts = append(parts, fmt.Sprintf("%d without a check", a.Unchecked))
	}
	for _, list := range []struct {
		what  string
		steps []Shortfall
	}{{"accepted without verification", a.Waived}, {"not", a.Unverified}} {
		if len(list.steps) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s: %s", len(list.steps), list.what, shortfalls(list.steps)))
		}
	}
	return strings.Join(parts, ", ")
}

func shortfalls(list []Shortfall) string {
	var names []string
	for _, one := range list[:min(len(list), accountedFull)] {
		names = append(names, one.String())
	}
	if more := len(list) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

func (s Shortfall) String() string { return fmt.Sprintf("%s (%s)", s.Step, s.Why) }
