package mcpserver

import (
	_ "embed"
	"encoding/base64"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

//go:embed icon.svg
var icon []byte

// identity is what a host may show of the server to a person.
func identity() []server.ServerOption {
	return []server.ServerOption{
		server.WithTitle("planloop"),
		server.WithDescription("Keeps the plan an agent works by: on disk, checked, and shared with people."),
		server.WithWebsiteURL("https://github.com/planloop/planloop"),
		server.WithIcons(mcp.Icon{
			Src:      "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(icon),
			MIMEType: "image/svg+xml",
			Sizes:    []string{"any"},
		}),
	}
}
