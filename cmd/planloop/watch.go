package main

import (
	"context"
	"errors"

	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/plan"
)

// watch shows the plan at every change, whichever process makes it, until ctx
// ends, which is no error. Nothing is asked for in between: the log tells of its
// growth.
func (a *app) watch(ctx context.Context, opened *opened, format showFormat, all bool) error {
	grown, err := opened.verbs.Watch(ctx)
	if err != nil {
		return err
	}
	w := watching{app: a, opened: opened, format: format, all: all}
	if a.outIsTerm && format != "json" {
		err = terminal.Live{Out: a.out, Screen: a.screen, Page: w.page}.Run(ctx, grown)
	} else {
		err = w.append(ctx, grown)
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return err
}

type watching struct {
	*app
	opened *opened
	format showFormat
	all    bool
}

// append prints one rendering after the other, with an empty line between them;
// JSON is one document a line.
func (w watching) append(ctx context.Context, grown <-chan struct{}) error {
	shown := plan.Revision(-1)
	for {
		state, err := w.opened.verbs.State(ctx)
		if err != nil {
			return err
		}
		if state.Revision != shown {
			data, err := w.rendering(state)
			if err != nil {
				return err
			}
			if shown >= 0 && w.format != "json" {
				data = append([]byte("\n"), data...)
			}
			if err := w.print(data); err != nil {
				return err
			}
			shown = state.Revision
		}
		if _, ok := <-grown; !ok {
			return ctx.Err()
		}
	}
}

func (w watching) rendering(state plan.State) ([]byte, error) {
	if w.format == "text" {
		return terminal.Joined(w.view(w.opened, state, nil, w.all).Page().Lines()), nil
	}
	data, err := rendered(state, w.format)
	if err != nil || w.format != "json" {
		return data, err
	}
	return oneLine(data)
}

// page lays the state out in the format asked for.
func (w watching) page(ctx context.Context) (terminal.Page, plan.Revision, error) {
	state, err := w.opened.verbs.State(ctx)
	if err != nil {
		return terminal.Page{}, 0, err
	}
	if w.format == "text" {
		return w.view(w.opened, state, nil, w.all).Page(), state.Revision, nil
	}
	data, err := rendered(state, w.format)
	return terminal.TextPage(string(data)), state.Revision, err
}
