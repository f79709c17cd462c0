package cli

import (
	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/model"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// configuredModel returns the model of the user's configuration, nil if it is missing or cannot be used. It starts no program.
func (a *app) configuredModel(section workspace.Section) verbs.Model {
	asked, err := a.modelIn(section)
	if err != nil {
		a.warn("no model is used: " + err.Error())
	}
	if asked == nil {
		return nil
	}
	return asked
}

func (a *app) modelIn(section workspace.Section) (*model.Model, error) {
	if !section.Given() {
		return nil, nil
	}
	var config model.Config
	if err := section.Decode(&config); err != nil {
		return nil, err
	}
	return model.New(config, a.launch())
}

// modelFault returns why the configured model cannot be asked; nil if it can, or if none is configured.
func (a *app) modelFault(section workspace.Section) error {
	asked, err := a.modelIn(section)
	if err != nil || asked == nil {
		return err
	}
	_, err = asked.Program()
	return err
}

// insideModel reports whether planloop's model runs this process: the mark is in its environment or, on Linux, in an ancestor's, where
// the model's program cannot remove it.
func (a *app) insideModel() bool {
	return a.getenv(model.EnvInside) != "" || a.above(model.EnvInside) != ""
}

// refuseInsideModel refuses all but read-only commands to processes started by the model's program: the model only answers a prompt, and
// the session that asked it works on the plan.
func (a *app) refuseInsideModel(cmd *cobra.Command) error {
	if !cmd.HasParent() || commandName(cmd) == "hook" || mayOf(cmd) == reads || !a.insideModel() {
		return nil
	}
	return plan.Refuse(plan.Conflict, "", "this process was started by the model that planloop asks, which only answers a prompt",
		"print the answer and end; the session that asked works on the plan")
}
