package cli

import (
	"github.com/planloop/planloop/internal/model"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
)

// configuredModel returns the model of the user's configuration, nil if it is missing or cannot be used. It starts no program.
func (a *app) configuredModel(section workspace.Section) verbs.Model {
	asked, err := a.modelIn(section)
	if err != nil {
		a.warn("the model is not used: " + err.Error())
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
