package cli

import (
	"context"

	"github.com/planloop/planloop/internal/notify"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
)

// notices sends notices to the configured targets.
type notices struct {
	notifier  *notify.Notifier // nil: none is configured
	workspace string
}

func (a *app) notices(place workspace.Workspace, section workspace.Section) notices {
	if !section.Given() {
		return notices{}
	}
	var config notify.Config
	err := section.Decode(&config)
	var notifier *notify.Notifier
	if err == nil {
		notifier, err = notify.New(config, notify.Options{Logger: a.logger(), Launcher: a.launch()})
	}
	if err != nil { // the plan matters more than its notices
		a.warn("no notices are sent: " + err.Error())
		return notices{}
	}
	return notices{notifier, place.Path}
}

// tell sends a notice without waiting for its delivery.
func (n notices) tell(notice verbs.Notice) {
	if n.notifier == nil {
		return
	}
	sent := notify.Notice{Event: notice.Event, Workspace: n.workspace, Title: notice.Title, Text: notice.Text,
		PlanID: notice.PlanID, Questions: notice.Questions}
	for _, step := range notice.Steps {
		sent.Steps = append(sent.Steps, notify.Step{ID: step.ID, Title: step.Title, Risk: string(step.Risk)})
	}
	n.notifier.Notify(sent)
}

// close waits a few seconds at most for pending notices.
func (n notices) close(a *app) {
	if n.notifier == nil {
		return
	}
	if err := n.notifier.Close(context.Background()); err != nil {
		a.logger().Warn("some notices were not delivered", "error", err)
	}
}
