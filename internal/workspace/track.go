package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/planloop/planloop/internal/safefile"
)

// MainTrack is the name of the track that every workspace has. Its folder is the workspace's state folder.
const MainTrack = "main"

// EnvTrack is the variable that names the track to use.
const EnvTrack = "PLANLOOP_TRACK"

const (
	tracksName     = "tracks" // the folder of the other tracks, in the state folder
	switchedName   = "switched"
	openName       = "open" // the folder with a file for each of these that may be open
	trackSeparator = "~"    // between workspace and track in names
	maxTrackName   = 40
	maxTracks      = 10_000 // folders that are tried for a name
)

// On returns the workspace on a track; "" is main.
func (w Workspace) On(track string) Workspace {
	shared := w.SharedDir()
	if w.Track, w.StateDir = "", shared; track != "" && track != MainTrack {
		w.Track, w.StateDir = track, filepath.Join(shared, tracksName, track)
	}
	return w
}

// SharedDir returns the folder of what all tracks share, such as keys and the announcements of servers. It is main's StateDir.
func (w Workspace) SharedDir() string {
	if w.Track == "" {
		return w.StateDir
	}
	return filepath.Dir(filepath.Dir(w.StateDir))
}

// StateHome returns the folder with the state folders of all workspaces.
func (w Workspace) StateHome() string { return filepath.Dir(w.SharedDir()) }

// ID returns the name of the workspace's track that is unique in its state home.
func (w Workspace) ID() string {
	id := filepath.Base(w.SharedDir())
	if w.Track != "" {
		id += trackSeparator + w.Track
	}
	return id
}

// MainID returns the ID of main beside the track with an ID.
func MainID(id string) string {
	main, _, _ := strings.Cut(id, trackSeparator)
	return main
}

// Tracks returns the workspace on each of its tracks: main, then the others by name.
func (w Workspace) Tracks() []Workspace { return w.tracksIn(tracksName) }

func (w Workspace) tracksIn(folder string) []Workspace {
	all := []Workspace{w.On(MainTrack)}
	entries, _ := os.ReadDir(filepath.Join(w.SharedDir(), folder)) // most have none
	for _, entry := range entries {
		if entry.IsDir() == (folder == tracksName) && IsTrackName(entry.Name()) {
			all = append(all, w.On(entry.Name()))
		}
	}
	return all
}

// HasTracks reports whether the workspace has had tracks besides main.
func (w Workspace) HasTracks() bool {
	_, err := os.Lstat(filepath.Join(w.SharedDir(), tracksName))
	return err == nil
}

// OpenTracks returns main and the other tracks that may be open, by name: only these have planning mode and running steps. Unlike Tracks
// it takes no longer with many closed tracks.
func (w Workspace) OpenTracks() []Workspace { return w.tracksIn(openName) }

// ListOpen adds the track to those that OpenTracks returns, or removes it.
func (w Workspace) ListOpen(on bool) error {
	path := filepath.Join(w.SharedDir(), openName, w.Track)
	_, err := os.Lstat(path)
	switch {
	case w.Track == "" || on == (err == nil):
		return nil
	case !on:
		return os.Remove(path)
	}
	if err := safefile.MakeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	return safefile.WriteFile(path, nil, safefile.Options{Mode: safefile.FileMode})
}

// Switch makes the track the one that the user's commands in the workspace use.
func (w Workspace) Switch() error {
	path := filepath.Join(w.SharedDir(), switchedName)
	if w.Track == "" {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return safefile.WriteFile(path, []byte(w.Track), safefile.Options{Mode: safefile.FileMode})
}

// Switched returns the name of the track of the last Switch, "" for main.
func (w Workspace) Switched() string {
	name, err := safefile.Read(filepath.Join(w.SharedDir(), switchedName), maxTrackName+1)
	if err != nil || !IsTrackName(string(name)) {
		return ""
	}
	return string(name)
}

// deviceNames are no names of files on Windows.
var deviceNames = regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])$`)

// IsTrackName reports whether a name can be a track's: up to 40 lower-case letters, digits and single dashes.
func IsTrackName(name string) bool {
	return name != "" && slug(name, maxTrackName, "") == name && !deviceNames.MatchString(name)
}

// CheckTrackName refuses a name that no track can have; the error suggests one that can. source is where it was given.
func CheckTrackName(source, name string) error {
	if IsTrackName(name) {
		return nil
	}
	return &ConfigError{Source: source, Problem: quoted(name) + " is not a track's name",
		Want: "use lower-case letters, digits and dashes, such as " + trackName(name)}
}

// trackName makes a track's name from an objective.
func trackName(objective string) string {
	name := slug(objective, maxTrackName, "track")
	if !IsTrackName(name) || name == MainTrack {
		name = "track-" + name
	}
	return name
}

// BeginTrack makes the folder of a new track named after an objective, and returns the workspace on it. No other process gets the same
// folder: a second fix-the-docs becomes fix-the-docs-2. removeUnused removes the folder of a track that never got a plan.
func (w Workspace) BeginTrack(objective string, removeUnused func(dir string) bool) (Workspace, error) {
	base := trackName(objective)
	for n := range maxTracks {
		name := base
		if n > 0 {
			number := "-" + strconv.Itoa(n+1)
			name = strings.TrimRight(base[:min(len(base), maxTrackName-len(number))], "-") + number
		}
		track := w.On(name)
		err := track.MakeTrack()
		if errors.Is(err, fs.ErrExist) && removeUnused(track.StateDir) {
			err = track.MakeTrack()
		}
		if !errors.Is(err, fs.ErrExist) {
			return track, err
		}
	}
	return w, fmt.Errorf("begin a track: there are %d tracks named %s already; close some", maxTracks, base)
}

// MakeTrack makes the folder of the track. The error wraps fs.ErrExist if it is there.
func (w Workspace) MakeTrack() error {
	if err := safefile.MakeFolder(filepath.Dir(w.StateDir)); err != nil {
		return fmt.Errorf("begin a track: %w", err)
	}
	return os.Mkdir(w.StateDir, safefile.FolderMode)
}

// OpenFolder returns the folder in which each track that may be open has a file, and makes it if there is a state folder.
func (w Workspace) OpenFolder() string {
	path := filepath.Join(w.SharedDir(), openName)
	_ = os.Mkdir(path, safefile.FolderMode) // else there is none to watch
	return path
}

// OpenDirs returns the state folders of OpenTracks, none without a workspace.
func (w Workspace) OpenDirs() (dirs []string) {
	if w.StateDir == "" {
		return nil
	}
	for _, track := range w.OpenTracks() {
		dirs = append(dirs, track.StateDir)
	}
	return dirs
}

// TrackName returns the track's name as people see it.
func (w Workspace) TrackName() string { return cmp.Or(w.Track, MainTrack) }
