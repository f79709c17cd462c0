package main

import (
	"context"
	"errors"
	"sync"

	"github.com/planloop/planloop/internal/llm"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
)

// configuredModel is the model of the user's configuration, nil when there is none.
// Nothing is contacted before it is asked.
func (a *app) configuredModel(section workspace.Section) (verbs.Model, error) {
	if !section.Given() {
		return nil, nil
	}
	var config llm.Config
	if err := section.Decode(&config); err != nil {
		return nil, err
	}
	return &model{name: config.Model, client: sync.OnceValues(func() (*llm.Client, error) {
		return llm.New(config, a.getenv, llm.Options{Logger: a.logger()})
	})}, nil
}

type model struct {
	name   string
	client func() (*llm.Client, error)
}

// Name is the model's name.
func (m *model) Name() string { return m.name }

// Ask returns the one JSON object of the model's answer.
func (m *model) Ask(ctx context.Context, prompt string) ([]byte, error) {
	client, err := m.client()
	if err != nil {
		return nil, err
	}
	answer, err := client.Complete(ctx, llm.Request{Prompt: prompt, JSON: true})
	if err != nil {
		return nil, err
	}
	object, err := llm.ExtractJSON(answer)
	if errors.Is(err, llm.ErrMalformed) {
		return []byte(answer), nil // what it is not will be said, and the model asked again
	}
	return object, err
}
