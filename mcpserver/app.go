package mcpserver

import (
	"context"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/page"
)

// Names from the MCP apps extension. A host that renders an app shows it next to the call of a tool that
// names it, passes it the call's result, and lets it call the app's own tools.
const (
	appExtension = "io.modelcontextprotocol/ui"
	appMIME      = "text/html;profile=mcp-app"
	appURI       = "ui://planloop/review"
)

// rendersApps reports whether the client declared that it shows apps and hides their tools from the model. In
// a client that shows apps without declaring it, the app is view only.
func rendersApps(ctx context.Context) bool {
	said, _ := declared[server.ClientSession](ctx).Extensions[appExtension].(map[string]any)
	types, _ := said["mimeTypes"].([]any)
	return slices.Contains(types, any(appMIME))
}

func showsApp(tool string) bool {
	return tool == "planning_submit_plan" || tool == "planning_read_plan"
}

// appMeta returns the metadata that links a tool to the app. It is always sent, because some hosts show apps
// without declaring it. Older hosts read the flat name.
func appMeta(tool string) *mcp.Meta {
	if !showsApp(tool) {
		return nil
	}
	return mcp.NewMetaFromMap(map[string]any{"ui": map[string]any{"resourceUri": appURI}, "ui/resourceUri": appURI})
}

// addApp registers the app as a resource. The app loads nothing over the network, so its content security
// policy allows no address.
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
