package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

func newTemplateCommand(a *app) *cobra.Command {
	return commandGroup(newCommand("template", "", nil, nil),
		newCommand("template list", "", noArguments, runVerb(a, listTemplates, constant(struct{}{}))),
		newTemplateShowCommand(a), a.replacing(newTemplateApplyCommand(a)), newTemplateSaveCommand(a))
}

func listTemplates(s *verbs.Service, ctx context.Context, c verbs.Caller, _ struct{}) (verbs.ApplyTemplateReply, error) {
	return s.ListTemplates(ctx, c)
}

func newTemplateShowCommand(a *app) *cobra.Command {
	cmd := newCommand("template show", "NAME", exactly(1, "the name of a template"), func(cmd *cobra.Command, args []string) error {
		found, err := callVerb(cmd, args, a, (*verbs.Service).ShowTemplate, constant(args[0]))
		switch {
		case err != nil:
			return err
		case a.flags.json:
			return a.printJSON(found)
		case found.Problem != "":
			a.note(found.Problem)
		}
		if a.outIsTerminal {
			found.Text = safetext.Escape(found.Text)
		}
		return a.print([]byte(found.Text))
	})
	cmd.ValidArgsFunction = firstArgument(a.completeTemplates)
	return cmd
}

func newTemplateApplyCommand(a *app) *cobra.Command {
	var set []string
	var draft bool
	cmd := newCommand("template apply", "NAME", exactly(1, "the name of a template"), runVerb(a, (*verbs.Service).ApplyTemplate,
		func(_ *cobra.Command, args []string) (verbs.ApplyTemplate, error) {
			parameters, err := settings(set)
			return verbs.ApplyTemplate{Template: args[0], Parameters: parameters, Draft: draft}, err
		}))
	cmd.Flags().Var((*texts)(&set), "set", "set a parameter, as `NAME=VALUE`; may be repeated")
	cmd.Flags().BoolVar(&draft, "draft", false, "make it a draft next to the current plan")
	cmd.ValidArgsFunction = firstArgument(a.completeTemplates)
	complete(cmd, "set", a.completeParameters)
	return cmd
}

func settings(set []string) (map[string]json.RawMessage, error) {
	parameters := map[string]json.RawMessage{}
	for _, setting := range set {
		name, text, ok := strings.Cut(setting, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, usageError{fmt.Errorf("--set %s has no parameter and value; write --set NAME=VALUE", plan.Quote(setting))}
		}
		if parameters[name] != nil {
			return nil, usageError{fmt.Errorf("--set gives %s twice; give each parameter once", plan.Quote(name))}
		}
		parameters[name], _ = json.Marshal(text) // a string can always be written
	}
	return parameters, nil
}

func newTemplateSaveCommand(a *app) *cobra.Command {
	var in verbs.SaveTemplate
	cmd := newCommand("template save", "NAME", exactly(1, "a name for the template"), func(cmd *cobra.Command, args []string) error {
		in.Name = args[0]
		ws, state, err := a.state(cmd.Context())
		if err != nil {
			return err
		}
		if in.PlanID != "" {
			if in.PlanID, err = planID(state, in.PlanID); err != nil {
				return err
			}
		}
		if err := a.refuseWhilePlanning(cmd.Context(), ws, "no template is written", a.ownTemplates()); err != nil {
			return err
		}
		return a.replyOf(ws.verbs.SaveTemplate(cmd.Context(), in))
	})
	cmd.Flags().StringVar(&in.PlanID, "plan", "", "save another plan, by its `ID` or the beginning of its id")
	cmd.Flags().BoolVar(&in.Replace, "force", false, "replace a template of yours that has the name")
	complete(cmd, "plan", a.completePlans)
	return cmd
}

func (a *app) completeTemplates(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	a.noWarnings = true
	reply, err := callVerb(cmd, nil, a, listTemplates, constant(struct{}{}))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return described(reply.Templates, func(t verbs.Template) (string, string) { return t.Name, t.Description })
}

func (a *app) completeParameters(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	a.noWarnings = true
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found, err := callVerb(cmd, args, a, (*verbs.Service).ShowTemplate, constant(args[0]))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	offers, directive := described(found.Parameters, func(p verbs.TemplateParameter) (string, string) { return p.Name + "=", p.Wanted })
	return offers, directive | cobra.ShellCompDirectiveNoSpace
}

type templates struct{ library exchange.TemplateLibrary }

func (a *app) templates(place workspace.Workspace) templates {
	library := exchange.TemplateLibrary{User: a.ownTemplates(), Workspace: place.Path}
	if place.Default {
		library.Workspace = ""
	}
	return templates{library}
}

// ownTemplates returns the folder of the user's templates, "" without one.
func (a *app) ownTemplates() string {
	folder, err := workspace.TemplateFolder(a.getenv, "")
	if err != nil {
		return ""
	}
	return folder
}

func (t templates) List(ctx context.Context) ([]verbs.Template, error) {
	all, err := t.library.List(ctx)
	listed := make([]verbs.Template, len(all))
	for i, one := range all {
		listed[i] = listedTemplate(one, exchange.TemplateNamed(one, all))
	}
	return listed, err
}

func listedTemplate(t exchange.Template, name string) verbs.Template {
	listed := verbs.Template{Name: name, Origin: string(t.Origin), Description: t.Description,
		Foreign: t.Origin == exchange.WorkspaceTemplate}
	if t.Err != nil {
		listed.Problem = t.Err.Error()
	}
	for _, p := range t.Parameters {
		listed.Parameters = append(listed.Parameters, verbs.TemplateParameter{Name: p.Name, Required: p.Default == nil,
			Default: json.RawMessage(p.Default), Description: p.Description, Wanted: p.Wanted()})
	}
	return listed
}

func (t templates) Find(ctx context.Context, name string) (verbs.Template, error) {
	found, err := t.library.Find(ctx, name)
	listed := listedTemplate(found, found.FullName())
	listed.Text, listed.File = string(found.Text), found.File
	return listed, err
}

func (t templates) Make(ctx context.Context, name string, parameters map[string]json.RawMessage) (verbs.FromTemplate, error) {
	found, err := t.library.Find(ctx, name)
	if err != nil {
		return verbs.FromTemplate{}, err
	}
	made, err := found.Make(parameters)
	return verbs.FromTemplate{Template: listedTemplate(found, found.FullName()), Outline: made.Outline, Steps: made.Steps}, err
}

func (t templates) Save(name string, outline plan.Outline, steps []plan.Step, replace bool) (string, error) {
	text, err := exchange.TemplateOf(outline, steps)
	if err != nil {
		return "", err
	}
	file, err := t.library.Save(name, text, replace)
	if errors.Is(err, fs.ErrExist) {
		err = plan.Refuse(plan.Conflict, "/template", "there is a template of yours named "+plan.Quote(name),
			"choose another name, or give --force")
	}
	return file, err
}
