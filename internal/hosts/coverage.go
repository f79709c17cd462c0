package hosts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/safefile"
)

// Coverage is what all settings of a host together say about planloop's hooks.
type Coverage struct {
	Problems []string  // why a tool that writes may run without a hook, each with its fix; empty if none can
	Rivals   []string  // other programs' hooks that may decide about a plan that Claude Code shows
	Changed  time.Time // when the hooks, or the programs that they start, changed; later if planloop noticed it later
}

// Coverage reads the settings of a host: the user's, the project's, and those of plugins and administrators.
func (m Machine) Coverage(name string) Coverage {
	var c Coverage
	var layers []map[string]any
	var paths []string
	seen := []string{name}
	look := func(path string) (exists bool) {
		info, err := os.Stat(path)
		if paths = append(paths, path); err == nil && info.ModTime().After(c.Changed) {
			c.Changed = info.ModTime()
		}
		return err == nil
	}
	var known host
	for _, scope := range []Scope{User, Project} {
		for _, h := range table(m, scope) {
			if h.name != name || h.hooks == nil {
				continue
			}
			known = h
			found := Host{Name: name}
			if h.plugin != nil && scope == User {
				if p := h.plugin(&found); p != nil {
					layers = append(layers, p.events)
				}
			}
			if h.obstacles != nil {
				c.Problems = appendNew(c.Problems, h.obstacles()...)
			}
			for _, path := range append([]string{h.hooks.file}, h.hooks.layers...) {
				if path == "" || slices.Contains(paths, path) || !look(path) {
					continue
				}
				all, err := readSettings(path)
				if err != nil {
					c.Problems = append(c.Problems, m.Short(path)+" cannot be read")
				}
				events, _ := lookUp(all, h.hooks.root...)
				layer, _ := events.(map[string]any)
				layers, c.Rivals = append(layers, layer), append(c.Rivals, m.rivals(path, layer)...)
			}
			if whole := h.hooks.whole; h.hooks.file == "" && whole != nil && look(whole.path) { // a plugin of planloop's own
				text, err := readAll(whole.path)
				if layers = append(layers, nil); err != nil || string(text) != whole.text {
					c.Problems = append(c.Problems, m.Short(whole.path)+" was changed by hand, or written by another version")
				}
				seen = append(seen, string(text))
			}
		}
	}
	switch {
	case known.hooks == nil:
		c.Problems = []string{"the host has no hooks"}
		return c
	case !slices.ContainsFunc(layers, func(l map[string]any) bool { return l != nil }) && (known.hooks.file != "" || len(layers) == 0):
		c.Problems = append(c.Problems, "no hooks of planloop are in its settings")
	case known.hooks.file != "":
		c.Problems = append(c.Problems, m.coverageProblems(known, layers, &seen, look)...)
	}
	if known.refusalVaries {
		c.Problems = append(c.Problems, "its versions react differently to a refusal")
	}
	c.Changed = m.firstSeen(strings.Join(append(paths, name), "\n"), hashText(strings.Join(append(seen, c.Problems...), "\n")), c.Changed)
	return c
}

// rivals lists the hooks of other programs that name Claude Code's tool for showing a plan. A matcher for all tools does not count:
// such a hook seldom decides.
func (m Machine) rivals(path string, events map[string]any) (all []string) {
	isSetting := func(word string) bool { return strings.Contains(word, "=") } // may be a secret
	for _, native := range []string{"PermissionRequest", "PreToolUse"} {
		for _, h := range listHooks(events[native]) {
			matcher, _ := h.group["matcher"].(string)
			if strings.Contains(matcher, "ExitPlanMode") && len(m.hookCalls(h.handler)) == 0 {
				words := slices.DeleteFunc(strings.Fields(strings.Join(commandLines(h.handler), " ")), isSetting)
				all = appendNew(all, "the hook "+append(words, "without a command")[0]+" for "+native+" in "+m.Short(path)+
					" is also asked about plans (ExitPlanMode)")
			}
		}
	}
	return all
}

// coverageProblems returns why planloop's hooks in the layers do not cover every tool that writes. It adds what it saw to seen.
func (m Machine) coverageProblems(h host, layers []map[string]any, seen *[]string, look func(string) bool) (problems []string) {
	on := hook.Host(h.name)
	merged := map[string]any{}
	for _, layer := range layers {
		for native, list := range layer {
			elements, _ := list.([]any)
			all, _ := merged[native].([]any)
			merged[native] = append(all, elements...)
		}
	}
	problems = append(m.misspelledHooks(on, merged), m.uncoveredTools(on, merged)...)
	for _, e := range hook.Events(on) {
		spots := m.findHooks(on, merged[e.Native])
		if e.Moment == hook.BeforeTool && len(spots) == 0 {
			problems = append(problems, "no hook of planloop for "+e.Native+" is in its settings")
		}
		for _, s := range spots {
			*seen = append(*seen, e.Native+canonicalJSON(s.group["matcher"])+canonicalJSON(s.handler))
		}
	}
	for _, program := range m.programs(on, nil, merged) {
		at, err := m.LookPath(program)
		if err != nil || !look(at) {
			problems = append(problems, "its hook starts "+program+", which cannot be started")
			continue
		}
		info, _ := os.Stat(at)
		*seen = append(*seen, fmt.Sprint(at, info.Size(), info.ModTime().UnixNano()))
	}
	return problems
}

// firstSeen returns when planloop first saw a state of hooks: without an earlier look at the same files, the time of their last change.
func (m Machine) firstSeen(files, digest string, changed time.Time) time.Time {
	var known struct {
		Digest string    `json:"digest"`
		Since  time.Time `json:"since"`
	}
	path := m.recordPath(files, "-hooks.json")
	data, err := safefile.Read(path, maxFile)
	if err == nil && json.Unmarshal(data, &known) == nil && known.Digest == digest {
		return known.Since
	}
	if now := time.Now(); err == nil || changed.After(now) {
		changed = now
	}
	known.Digest, known.Since = digest, changed
	_, err = os.Stat(filepath.Dir(m.Ledger)) // without a state there is nothing to enforce
	if data, unwritten := json.Marshal(known); err == nil && unwritten == nil {
		_ = m.writePrivate(path, data) // else the next look finds it changed again
	}
	return changed
}
