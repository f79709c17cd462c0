package verbs

import (
	"strings"

	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/prompts"
)

// Where names the workspace, and what speaks against its being the right one.
type Where struct {
	Workspace string `json:"workspace,omitempty"`
	Doubt     string `json:"workspace_doubt,omitempty"`
}

// whereTokens is what a model is shown of the workspace's path.
const whereTokens = 40

func (s *Service) where(c Caller) Where {
	w := Where{s.opts.Workspace, s.opts.Doubt}
	if c.brief() {
		w.Workspace = ending(w.Workspace, whereTokens)
	}
	return w
}

// ending is as much of a path's end as there is room for, in whole names.
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

// doubt is a reply's line about a doubtful choice alone.
func (w Where) doubt() string {
	if w.Doubt == "" {
		return ""
	}
	return "\nWorkspace in doubt: " + w.Doubt + "."
}

func (w Where) lines() string {
	if w.Workspace == "" {
		return w.doubt()
	}
	return "\nWorkspace: " + w.Workspace + w.doubt()
}

func (w Where) sections() []prompts.ResumeSection {
	var all []prompts.ResumeSection
	for _, s := range []prompts.ResumeSection{{Name: "Workspace", Texts: []string{w.Workspace}},
		{Name: "Workspace in doubt", Texts: []string{w.Doubt}}} {
		if s.Texts[0] != "" {
			all = append(all, s)
		}
	}
	return all
}
