package presence

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// sessionsName is the folder of the tracks that actors are on, which all tracks share.
const sessionsName = "sessions"

// onTrack is the track that an actor or a session of a host is on.
type onTrack struct {
	Track string `json:"track"`
}

// TrackOf returns the name of the track that the first known of the names, of actors or sessions, is on; "" if none is.
func (b *Registry) TrackOf(names ...string) string {
	var on onTrack
	for _, name := range names {
		if b.sessions != "" && name != "" && b.sessions.get(filepath.Base(b.sessions.seen(name)), &on) {
			break
		}
	}
	return on.Track
}

// SetTrack records the track that an actor or a session is on from now on. Without a state folder it does nothing.
func (b *Registry) SetTrack(name, track string) error {
	if b.sessions == "" || name == "" {
		return nil
	}
	switch err := b.sessions.make(); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return b.sessions.put(filepath.Base(b.sessions.seen(name)), onTrack{track})
}
