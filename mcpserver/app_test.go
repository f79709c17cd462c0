package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

const (
	appURI  = "ui://planloop/review"
	appMIME = "text/html;profile=mcp-app"
)

// TestAppIsNamedToEveryClient: hosts that show apps need not declare it, and read one name or the other.
func TestAppIsNamedToEveryClient(t *testing.T) {
	for _, era := range bothEras() {
		client := newModeWorld(t, plan.Limits{}).connect(t, era, nil)
		list, err := client.ListTools(t.Context(), nil)
		testenv.Check(t, err)
		var naming []string
		for _, tool := range list.Tools {
			if len(tool.Meta) > 0 {
				naming = append(naming, tool.Name)
				want := mcp.Meta{"ui": map[string]any{"resourceUri": appURI}, "ui/resourceUri": appURI}
				if diff := cmp.Diff(want, tool.Meta); diff != "" {
					t.Errorf("%s %s: %s", era, tool.Name, diff)
				}
			}
		}
		if diff := cmp.Diff([]string{"planning_read_plan", "planning_submit_plan"}, naming); diff != "" {
			t.Errorf("%s: %s", era, diff)
		}
	}
}

// TestAppIsServed checks that the app is complete and reaches no network.
func TestAppIsServed(t *testing.T) {
	for _, era := range bothEras() {
		client := newModeWorld(t, plan.Limits{}).connect(t, era, nil)
		list, err := client.ListResources(t.Context(), nil)
		testenv.Check(t, err)
		var listed *mcp.Resource
		for _, r := range list.Resources {
			if r.URI == appURI {
				listed = r
			}
		}
		if listed == nil || listed.MIMEType != appMIME {
			t.Fatalf("%s: the app is listed as %+v", era, listed)
		}
		result, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: appURI})
		testenv.Check(t, err)
		app := result.Contents[0]
		if app.URI != appURI || app.MIMEType != appMIME || !strings.HasPrefix(strings.ToLower(app.Text), "<!doctype html>") {
			t.Errorf("%s: %s %s %.40q", era, app.URI, app.MIMEType, app.Text)
		}
		meta, err := json.Marshal(app.Meta)
		testenv.Check(t, err)
		const want = `{"ui":{"csp":{"baseUriDomains":[],"connectDomains":[],"frameDomains":[],"resourceDomains":[]},"prefersBorder":false}}`
		if string(meta) != want {
			t.Errorf("%s: %s", era, meta)
		}
	}
}

// TestNoOutputSchemaHoldsAnyOf: one host drops a whole server because of anyOf.
func TestNoOutputSchemaHoldsAnyOf(t *testing.T) {
	toolsets := []string{"planning", "loop", "mode", "execution", "workspace"}
	w := newModeWorld(t, plan.Limits{}, func(o *mcpserver.Options) { o.Toolsets = toolsets })
	list, err := w.connect(t, handshake, nil).ListTools(t.Context(), nil)
	testenv.Check(t, err)
	if len(list.Tools) < 18 {
		t.Fatalf("%d tools", len(list.Tools))
	}
	for _, tool := range list.Tools {
		schema, err := json.Marshal(tool.OutputSchema)
		testenv.Check(t, err)
		if strings.Contains(string(schema), `"anyOf"`) {
			t.Errorf("%s: %s", tool.Name, schema)
		}
	}
}
