package verbs

import (
	"fmt"

	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

// Underway is what an agent that plans has to know at any time: what planning mode is
// about while it gathers, and what people were asked and have not answered yet.
type Underway struct {
	Mode      *ModeAbout     `json:"mode,omitempty"`
	Questions []OpenQuestion `json:"open_questions,omitempty"`
	More      int            `json:"more_questions,omitempty"`
}

// ModeAbout says what planning mode is about.
type ModeAbout struct {
	Task   string `json:"task,omitempty"`
	Reason string `json:"reason,omitempty"`
	By     string `json:"by"` // who entered
}

// OpenQuestion is a question that nobody has answered yet.
type OpenQuestion struct {
	ID       string `json:"id"`
	Question string `json:"question"`
}

func underway(state plan.State) Underway {
	var u Underway
	if mode := state.ModeNow(); state.PhaseNow() == plan.PhaseGathering {
		u.Mode = &ModeAbout{Task: mode.Task, Reason: mode.Reason, By: mode.By}
	}
	for _, q := range state.CurrentQuestions() {
		u.Questions = append(u.Questions, OpenQuestion{q.ID, q.Text})
	}
	return u
}

// What a status has room for of it, in tokens: of the mode, and of the questions beside a
// task or without; questionTokens is the least that one is worth showing in.
const (
	modeRoom       = 120
	questionRoom   = 70
	questionAlone  = 250
	questionTokens = 30
)

// fit cuts texts at the ends of lines, and counts the questions that have no room.
func (u *Underway) fit(room int) {
	if u.Mode != nil {
		u.Mode.Task, u.Mode.Reason = tokens.Block(u.Mode.Task, modeRoom), tokens.Block(u.Mode.Reason, modeRoom)
	}
	if most := room / questionTokens; len(u.Questions) > most {
		u.Questions, u.More = u.Questions[:most], len(u.Questions)-most
	}
	for i := range u.Questions {
		u.Questions[i].Question = tokens.Block(u.Questions[i].Question, room/len(u.Questions))
	}
}

func (u Underway) lines() string {
	text := ""
	if m := u.Mode; m != nil {
		text += "\nPlanning mode was entered by " + m.By
		if m.Reason != "" {
			text += ". Reason: " + m.Reason
		}
		if m.Task != "" {
			text += ". Task: " + m.Task
		}
	}
	for _, q := range u.Questions {
		text += "\nOpen question " + q.ID + ": " + q.Question
	}
	if u.More > 0 {
		text += fmt.Sprintf("\nand %s", plan.Counted(u.More, "more open question"))
	}
	return text
}
