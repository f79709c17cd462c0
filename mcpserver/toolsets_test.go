package mcpserver_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
)

// TestToolsetsThatAreNotChosen neither lists nor runs the tools of a suite that was left out (WINK: the suite is
// optional).
func TestToolsetsThatAreNotChosen(t *testing.T) {
	planning, loop := ofToolset(verbs.Planning), ofToolset(verbs.Loop)
	if len(planning) != 6 || len(loop) != 4 {
		t.Errorf("planning has %d tools and loop %d, want 6 and 4", len(planning), len(loop))
	}
	for name, c := range map[string]struct {
		toolsets []string
		want     []string
	}{
		"all":      {nil, names(verbs.Table())},
		"planning": {[]string{verbs.Planning}, planning},
		"loop":     {[]string{verbs.Loop}, loop},
		"both":     {[]string{verbs.Loop, verbs.Planning}, append(loop[:4:4], planning...)},
		"none":     {[]string{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			client := newWorldWith(t, verbs.Options{}, mcpserver.Options{Toolsets: c.toolsets}).connect(t, handshake, nil)
			list, err := client.ListTools(t.Context(), nil)
			testenv.Check(t, err)
			var got []string
			for _, tool := range list.Tools {
				got = append(got, tool.Name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v are listed, want %v", got, c.want)
			}
			for _, row := range verbs.Table() {
				_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: row.Name,
					Arguments: map[string]any{}}) // a refusal is an answer
				offered := slices.Contains(c.want, row.Name)
				if (err == nil) != offered || err != nil && !strings.Contains(err.Error(), "toolset "+row.Toolset) {
					t.Errorf("%s, offered %v, is answered with %v", row.Name, offered, err)
				}
			}
		})
	}
}

func ofToolset(name string) []string {
	return names(slices.DeleteFunc(verbs.Table(), func(row verbs.Row) bool { return row.Toolset != name }))
}

func names(rows []verbs.Row) []string {
	var all []string
	for _, row := range rows {
		all = append(all, row.Name)
	}
	slices.Sort(all) // the list is sorted
	return all
}
