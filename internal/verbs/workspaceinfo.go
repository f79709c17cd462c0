package verbs

import (
	"strings"

	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/prompts"
)

// WorkspaceInfo names the workspace, and the reason to doubt that it is the right one.
type WorkspaceInfo struct {
	Workspace string `json:"workspace,omitempty"`
	Doubt     string `json:"workspace_doubt,omitempty"`
}

// whereTokens is the token limit of the workspace's path for a model.
const whereTokens = 40

func (s *Service) workspaceInfo(c Caller) WorkspaceInfo {
	w := WorkspaceInfo{s.opts.Workspace, s.opts.Doubt}
	if c.brief() {
		w.Workspace = ending(w.Workspace, whereTokens)
	}
	return w
}

// ending returns as much of a path's end as fits, in whole names.
func ending(path string, room int) string {
	const gap = "…"
	shown := path
	for tokens.CountCautiously(shown) > room {
		at := strings.IndexAny(strings.TrimPrefix(shown, gap)[1:], `/\`)
		if at < 0 {
			return tokens.ShortenCautiously(shown, room, len(shown))
		}
		shown = gap + strings.TrimPrefix(shown, gap)[1+at:]
	}
	return shown
}

// doubt returns only the line about a doubtful workspace.
func (w WorkspaceInfo) doubt() string {
	if w.Doubt == "" {
		return ""
	}
	return "\nWorkspace in doubt: " + w.Doubt + "."
}

func (w WorkspaceInfo) lines() string {
	return prefixed("\nWorkspace: ", w.Workspace) + w.doubt()
}

func (w WorkspaceInfo) sections() []prompts.ResumeSection {
	var all []prompts.ResumeSection
	for _, s := range []prompts.ResumeSection{{Name: "Workspace", Texts: []string{w.Workspace}},
		{Name: "Workspace in doubt", Texts: []string{w.Doubt}}} {
		if s.Texts[0] != "" {
			all = append(all, s)
		}
	}
	return all
}
