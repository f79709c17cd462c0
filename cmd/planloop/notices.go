package main

import (
	"context"

	"github.com/planloop/planloop/internal/notify"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
)

// notices passes notices on to what the user has configured, and nothing when there
// is nothing.
type notices struct {
	notifier  *notify.Notifier // nil: nobody is told
	workspace string
}

func (a *app) notices(place workspace.Workspace, section workspace.Section) (notices, error) {
	if !section.Given() {
		return notices{}, nil
	}
	var config notify.Config
	if err := section.Decode(&config); err != nil {
		return notices{}, err
	}
	notifier, err := notify.New(config, a.getenv, notify.Options{Logger: a.logger()})
	if err != nil { // the plan is more important than who hears of it
		a.warn("nobody is told of what waits: " + err.Error())
		return notices{}, nil
	}
	return notices{notifier, place.Path}, nil
}

// tell returns at once.
func (n notices) tell(notice verbs.Notice) {
	if n.notifier == nil {
		return
	}
	told := notify.Notice{Event: notify.Event(notice.Event), Workspace: n.workspace, Title: notice.Title, Text: notice.Text,
		PlanID: notice.PlanID, Questions: notice.Questions}
	for _, step := range notice.Steps {
		told.Steps = append(told.Steps, notify.Step{ID: step.ID, Title: step.Title, Risk: string(step.Risk)})
	}
	n.notifier.Notify(told)
}

// close waits a few seconds at most for what is on its way.
func (n notices) close(a *app) {
	if n.notifier == nil {
		return
	}
	if err := n.notifier.Close(context.Background()); err != nil {
		a.logger().Warn("not everybody was told", "error", err)
	}
}
