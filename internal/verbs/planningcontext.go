package verbs

import (
	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

// PlanningContext is the context a planning agent always needs: the subject of planning mode while it gathers, and the open
// questions to people.
type PlanningContext struct {
	Mode      *ModeSubject   `json:"mode,omitempty"`
	Questions []OpenQuestion `json:"open_questions,omitempty"`
	More      int            `json:"more_questions,omitempty"`
}

// ModeSubject is the subject of planning mode.
type ModeSubject struct {
	Task   string `json:"task,omitempty"`
	Reason string `json:"reason,omitempty"`
	By     string `json:"by"` // name of the actor that entered it
}

type OpenQuestion struct {
	ID       string `json:"id"`
	Question string `json:"question"`
}

func planningContext(state plan.State) PlanningContext {
	var u PlanningContext
	if mode := state.ModeNow(); state.PhaseNow() == plan.PhaseGathering {
		u.Mode = &ModeSubject{Task: mode.Task, Reason: mode.Reason, By: mode.By}
	}
	for _, q := range state.CurrentQuestions() {
		u.Questions = append(u.Questions, OpenQuestion{q.ID, q.Text})
	}
	return u
}

// Token limits in a status: of the mode, and of the questions next to a task or without one; questionTokens is the
// least that is worth showing of a question.
const (
	modeRoom       = 120
	questionRoom   = 70
	questionAlone  = 250
	questionTokens = 30
)

// fit cuts texts at line ends, and counts the questions that do not fit.
func (u *PlanningContext) fit(room int) {
	if u.Mode != nil {
		u.Mode.Task, u.Mode.Reason = tokens.Block(u.Mode.Task, modeRoom), tokens.Block(u.Mode.Reason, modeRoom)
	}
	if shown := room / questionTokens; len(u.Questions) > shown {
		u.Questions, u.More = u.Questions[:shown], len(u.Questions)-shown
	}
	for i := range u.Questions {
		u.Questions[i].Question = tokens.Block(u.Questions[i].Question, room/len(u.Questions))
	}
}

func (u PlanningContext) lines() string {
	text := ""
	if m := u.Mode; m != nil {
		text += "\nPlanning mode was entered by " + m.By + prefixed(". Reason: ", m.Reason) + prefixed(". Task: ", m.Task)
	}
	for _, q := range u.Questions {
		text += "\nOpen question " + q.ID + ": " + q.Question
	}
	if u.More > 0 {
		text += "\nand " + plan.Pluralize(u.More, "more open question")
	}
	return text
}
