package mcpserver

import (
	"context"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// listByPhase leaves out what the phase does not allow. The list depends on the
// toolsets and the phase alone, so that hosts' caches of it stay warm. A tool that is
// called all the same is refused, with the way on, by whoever carries it out.
func (s *Server) listByPhase(ctx context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
	phase, revision, err := s.phaseNow(ctx)
	if err != nil {
		s.opts.Logger.Warn("the tools are listed without regard to the phase", "error", err)
		return
	}
	s.subscriptions.listed(phase, revision)
	if revision > 0 { // looking at the tools creates nothing
		s.subscriptions.beginSoon(ctx)
	}
	if !phase.Restricted() {
		return
	}
	result.Tools = slices.DeleteFunc(slices.Clone(result.Tools), func(tool mcp.Tool) bool { return !s.plansOnly[tool.Name] })
}

func (s *Server) phaseNow(ctx context.Context) (plan.Phase, plan.Revision, error) {
	service, err := s.service(ctx)
	if err != nil {
		return "", 0, err
	}
	return service.Phase(ctx)
}

// plansOnly lists the tools that pass while nothing may be changed: those that only
// read, and those of planning mode itself.
func plansOnly(rows []verbs.Row, files []toolbox.Row) map[string]bool {
	passing := map[string]bool{}
	for _, row := range rows {
		passing[row.Name] = row.ReadOnly || row.Toolset == verbs.Mode
	}
	for _, row := range files {
		passing[row.Name] = row.ReadOnly || row.Name == "bash_execute" // which is held to commands that only read
	}
	return passing
}
