package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// zoo is another MCP server, built with another library: scripts configure it as the program zoo. It is honest. The file sign holds its
// description of feeding, so that it can change; a file closed keeps it from starting.
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
	v := visit{make(chan struct{})}
	mcp.AddTool(server, &mcp.Tool{Name: "walk", Description: "Walk about until called back."}, v.walk)
	mcp.AddTool(server, &mcp.Tool{Name: "leave", Description: "Wait for the end of the walk."}, v.leave)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// visit is a stay in the zoo.
type visit struct{ over chan struct{} }

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

// feed records the fed animal.
func feed(_ context.Context, _ *mcp.CallToolRequest, in meal) (*mcp.CallToolResult, any, error) {
	file, err := os.OpenFile("fed", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	text := in.Animal + " had " + cmp.Or(in.Food, "nothing")
	fmt.Fprintln(file, text)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, file.Close()
}

// ask asks a question in the way of the protocol revision in use.
func ask(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	question := &mcp.ElicitParams{Message: "Which animal?", RequestedSchema: json.RawMessage(`{"type":"object",
		"properties":{"animal":{"type":"string"}}}`)}
	answer, _ := r.Params.InputResponses["animal"].(*mcp.ElicitResult)
	if answer == nil {
		var err error
		if answer, err = r.Session.Elicit(ctx, question); err != nil { // the stateless revision has no such request
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"animal": question}, RequestState: "asked"}, nil, nil
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(answer.Action, answer.Content)}}}, nil, nil
}

// walk reports its progress, and ends with its call.
func (v visit) walk(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	params := &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 4, Message: "at the gate"}
	if err := r.Session.NotifyProgress(ctx, params); err != nil {
		return nil, nil, err
	}
	<-ctx.Done()
	close(v.over)
	return nil, nil, nil
}

// leave waits for the end of a walk.
func (v visit) leave(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
	<-v.over
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "left"}}}, nil, nil
}
