package mcpserver

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/planloop/planloop/prompts"
)

func (s *Server) addPrompts() {
	for _, p := range prompts.List() {
		s.MCP.AddPrompt(describePrompt(p), func(_ context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			text, err := p.Render(request.Params.Arguments)
			if err != nil {
				return nil, err
			}
			message := mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text))
			return mcp.NewGetPromptResult(p.Description, []mcp.PromptMessage{message}), nil
		})
	}
}

func describePrompt(p prompts.Prompt) mcp.Prompt {
	prompt := mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
	for _, a := range p.Arguments {
		prompt.Arguments = append(prompt.Arguments, mcp.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
	}
	return prompt
}
