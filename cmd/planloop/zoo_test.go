package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// zoo is another MCP server, by another library: scripts configure it as the program zoo. It is
// honest. What it says of feeding is in the file sign, so that it may change; a file closed keeps
// it from starting.
func zoo() {
	if _, err := os.Stat("closed"); err == nil {
		fmt.Fprintln(os.Stderr, "the zoo is closed today")
		os.Exit(1)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "zoo", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "look", Title: "Look", Description: "Tell who lives in a house.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, look)
	sign, _ := os.ReadFile("sign")
	mcp.AddTool(server, &mcp.Tool{Name: "feed", Description: "Feed an animal. " + string(sign)}, feed)
	mcp.AddTool(server, &mcp.Tool{Name: "ask", Description: "Ask the visitor.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, ask)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type house struct {
	House string `json:"house"`
}

type animals struct {
	Animals []string `json:"animals"`
}

func look(_ context.Context, _ *mcp.CallToolRequest, in house) (*mcp.CallToolResult, animals, error) {
	if in.House != "birds" {
		return nil, animals{}, errors.New("there is no house of " + in.House)
	}
	return nil, animals{[]string{"owl", "emu"}}, nil
}

type meal struct {
	Animal string `json:"animal"`
	Food   string `json:"food,omitempty"`
}

// feed writes down who was fed.
func feed(_ context.Context, _ *mcp.CallToolRequest, in meal) (*mcp.CallToolResult, any, error) {
	file, err := os.OpenFile("fed", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	text := in.Animal + " had " + cmp.Or(in.Food, "nothing")
	fmt.Fprintln(file, text)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, file.Close()
}

func ask(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Which animal?"})
	if err != nil {
		return nil, nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer.Action}}}, nil, nil
}
