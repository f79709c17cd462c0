package mcpserver

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// toolWords maps each tool to words that models use in names for it.
func toolWords() map[string]string {
	return map[string]string{
		"planning_setup_plan":      "create new make init begin setup set start write todos",
		"planning_add_step":        "add append insert create step steps task tasks todo",
		"planning_update_step":     "edit change rename modify update step",
		"planning_mark_step":       "mark done complete finish start progress status set step task",
		"planning_clear_plan":      "clear delete remove abandon reset cancel",
		"planning_read_plan":       "read get show view list steps plan tasks todos",
		"planloop_start":           "create new begin init start session",
		"planloop_status":          "status next current now resume get show what",
		"planloop_update":          "update report add done complete finish summary task tasks note delete remove skip cancel drop step",
		"planloop_alert":           "alert signal block blocker warn raise",
		"planloop_suggest":         "suggest find propose",
		"planning_enter_plan_mode": "enter mode",
		"planning_submit_plan":     "submit propose approve approval exit plan mode",
		"planning_ask_user":        "ask user question",
	}
}

// explainUnknown adds a suggestion to the protocol's error for a tool that is not offered. The library's
// message is: tool 'NAME' not found. So the text goes into the request's name.
func (s *Server) explainUnknown(_ context.Context, _ any, request *mcp.CallToolRequest) {
	name := request.Params.Name
	quoted := strings.Trim(plan.Quote(name), `"`)
	text := quoted + "'"
	for _, row := range verbs.Table() {
		if row.Name == name {
			text += " belongs to the toolset " + row.Toolset + ", which is off"
		}
	}
	if s.otherTools != nil {
		if why := s.otherTools.Missing(name); why != "" && s.nearestServerTool(name) == "" {
			request.Params.Name = quoted + "' is unavailable: " + why + ": '" + quoted
			return
		}
	}
	if s.otherTools == nil && s.opts.Servers != nil && strings.Contains(name, "__") {
		text += " is not offered: turn on the toolset " + serversToolset + " for tools of other servers"
	}
	text += ":"
	if near := cmp.Or(s.nearestServerTool(name), s.nearestTool(name)); near != "" {
		text += " did you mean " + near + "?"
	}
	request.Params.Name = text + " Tools: " + strings.Join(slices.Concat(s.offered, s.serverNames()), ", ") + ": '" + quoted
}

// isOwn reports whether the name is one of planloop's own offered tools.
func (s *Server) isOwn(name string) bool { return slices.Contains(s.offered, name) }

// nearestTool returns the offered tool that shares the most words with a name, or "" if none is near.
func (s *Server) nearestTool(name string) string {
	best, bestScore := "", 0
	if at := strings.LastIndex(name, "__"); at >= 0 { // drop a host's prefix
		name = name[at+2:]
	}
	words, known := strings.FieldsFunc(snake(name), func(r rune) bool { return r == '_' }), toolWords()
	for _, tool := range s.offered {
		score := 0
		for _, word := range words {
			if slices.Contains(strings.Fields(known[tool]), word) {
				score += 2
			}
		}
		prefix, own, _ := strings.Cut(tool, "_")
		if score > 0 && len(words) > 0 && words[0] == prefix {
			score++
		}
		if strings.HasSuffix(name, "_"+own) {
			score += 2
		}
		if score > bestScore {
			best, bestScore = tool, score
		}
	}
	if best == "" {
		return safetext.Nearest(name, s.offered)
	}
	return best
}

// snake converts a name to snake case.
func snake(name string) string {
	var b strings.Builder
	for i, r := range plan.Shorten(name, 80) {
		switch {
		case r >= 'A' && r <= 'Z' && i > 0:
			b.WriteString("_" + strings.ToLower(string(r)))
		case r == '-' || r == '.' || r == ' ' || r == '/':
			b.WriteByte('_')
		default:
			b.WriteString(strings.ToLower(string(r)))
		}
	}
	return b.String()
}
