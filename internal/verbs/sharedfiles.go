package verbs

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
)

const (
	sharedTracks = 3 // named in a warning
	sharedFiles  = 3 // named for each track
)

// SharedFiles warns that unfinished steps on other open tracks name the same files as those of the state's plan, a line for each track. It
// reads other tracks only for a plan that names files; those that cannot be read are left to the doctor.
func (s *Service) SharedFiles(ctx context.Context, state plan.State, c Caller) (lines []string) {
	own := openFiles(state.Plan)
	if s.opts.Tracks == nil || c.scoped() || len(own) == 0 {
		return nil
	}
	open, _ := s.opts.Tracks.Open(ctx)
	more := 0
	for _, other := range open {
		both := slices.DeleteFunc(openFiles(other.plan), func(file string) bool {
			_, is := slices.BinarySearch(own, file)
			return !is
		})
		switch {
		case len(both) == 0 || other.Name == s.Track():
		case len(lines) == sharedTracks:
			more++
		default:
			lines = append(lines, sharedLine(s.Track(), other.Name, both))
		}
	}
	if more > 0 {
		lines = append(lines, plan.Pluralize(more, "further track")+" with the same files")
	}
	return lines
}

// sharedLine names the shared files, and the command that makes a work tree for one of the tracks.
func sharedLine(own, other string, files []string) string {
	apart := own
	if own == mainTrack {
		apart = other
	}
	shown := files[:min(len(files), sharedFiles)]
	for i, file := range shown {
		shown[i] = plan.Shorten(file, 60)
	}
	text := strings.Join(shown, ", ")
	if more := len(files) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("track %s has steps for the same files: %s. For separate files: git worktree add ../%s -b %s", other, text,
		apart, apart)
}

// openFiles lists the files that unfinished steps of a plan name or create, sorted.
func openFiles(p *plan.Plan) (files []string) {
	if isOver(p) {
		return nil
	}
	for step := range p.Steps.Unfinished() {
		files = append(append(files, step.RelevantFilePaths...), step.Creates...)
	}
	for i, file := range files {
		files[i] = path.Clean(file)
	}
	slices.Sort(files)
	return slices.Compact(files)
}
