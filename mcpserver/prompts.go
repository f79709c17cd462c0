package mcpserver

import (
	"context"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

func (s *Server) addPrompts() {
	for _, p := range verbs.Prompts() {
		described := mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
		for _, a := range p.Arguments {
			described.Arguments = append(described.Arguments,
				mcp.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
		}
		s.MCP.AddPrompt(described, func(ctx context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			text, err := s.prompt(ctx, p, request.Params.Arguments)
			if err != nil {
				return nil, err
			}
			message := mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text))
			return mcp.NewGetPromptResult(p.Description, []mcp.PromptMessage{message}), nil
		})
	}
}

// prompt renders a prompt. The workspace is opened only if the prompt needs it.
func (s *Server) prompt(ctx context.Context, p prompts.Prompt, args map[string]string) (string, error) {
	if p.Render != nil {
		return p.Render(args)
	}
	service, err := s.service(ctx)
	if err != nil {
		return "", errors.New(s.internalError("prompt "+p.Name, err))
	}
	caller := s.asUser(ctx, s.caller(ctx, service)) // a person types a prompt
	text, err := service.Prompt(ctx, caller, p.Name, args)
	var bad *prompts.ArgumentError
	var refused *plan.ValidationError
	switch {
	case err == nil || errors.As(err, &bad) || errors.As(err, &refused) && refused.Kind == plan.InvalidInput:
		return text, err
	case refused != nil: // returned as text: mcp-go reports every error of a prompt as an internal error
		call := toolCall{Server: s, row: verbs.Row{Spec: verbs.Spec{Name: p.Name}}, service: service, caller: caller}
		return call.errorText(ctx, err), nil
	}
	return "", errors.New(s.internalError("prompt "+p.Name, err))
}
