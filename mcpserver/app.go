package mcpserver

import (
	"context"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/page"
)

// What the extension for apps calls things. A host that renders an app shows it beside the call
// of a tool that names it, hands it the call's result, and lets it call the tools that are for it alone.
const (
	appExtension = "io.modelcontextprotocol/ui"
	appMIME      = "text/html;profile=mcp-app"
	appURI       = "ui://planloop/review"
)

// rendersApps reports whether the client has said that it shows apps and keeps their tools from the
// model. Some show them and do not say so: what such a client is shown decides nothing.
func rendersApps(ctx context.Context) bool {
	said, _ := declared[server.ClientSession](ctx).Extensions[appExtension].(map[string]any)
	types, _ := said["mimeTypes"].([]any)
	return slices.Contains(types, any(appMIME))
}

// showsApp reports whether the results of a tool are shown by the app.
func showsApp(tool string) bool {
	return tool == "planning_submit_plan" || tool == "planning_read_plan"
}

// appMeta is what a tool says of the app that shows its results: always, since some hosts that show
// apps do not say so. Older hosts read the flat name.
func appMeta(tool string) *mcp.Meta {
	if !showsApp(tool) {
		return nil
	}
	return mcp.NewMetaFromMap(map[string]any{"ui": map[string]any{"resourceUri": appURI}, "ui/resourceUri": appURI})
}

// addApp offers the app to read. It needs nothing but what it is handed: no address may be reached from it.
func (s *Server) addApp() {
	none := []string{}
	ui := map[string]any{"ui": map[string]any{"prefersBorder": false, "csp": map[string]any{
		"connectDomains": none, "resourceDomains": none, "frameDomains": none, "baseUriDomains": none}}}
	app := mcp.NewResource(appURI, "review", mcp.WithResourceTitle("Review page"), mcp.WithMIMEType(appMIME),
		mcp.WithResourceDescription("The page on which the user sees the plan and decides, for hosts that show apps."))
	app.Meta = &mcp.Meta{AdditionalFields: ui}
	s.MCP.AddResource(app, func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: appURI, MIMEType: appMIME, Text: page.App(), Meta: ui}}, nil
	})
}
