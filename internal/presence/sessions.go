package presence

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// sessionsName is the folder of the bindings of sessions to tracks, which all tracks share.
const sessionsName = "sessions"

// Binding is what is known of a session of a host, or of an actor that is its own session, such as an agent on the command line.
type Binding struct {
	Track string `json:"track,omitzero"` // "" if it is on none
	Began string `json:"began,omitzero"` // root of the plan that it began there last
	Saw   string `json:"saw,omitzero"`   // root of the plan that it saw there last
}

// Bound returns the binding of a session. It is zero if there is none, or if it cannot be read.
func (b *Registry) Bound(session string) (on Binding) {
	if b.sessions != "" && session != "" {
		b.sessions.get(filepath.Base(b.sessions.seen(session)), &on)
	}
	return on
}

// IsDamaged reports whether the binding of a session exists and names no track.
func (b *Registry) IsDamaged(session string) bool {
	return b.sessions != "" && session != "" && b.sessions.has(filepath.Base(b.sessions.seen(session))) && b.Bound(session).Track == ""
}

// HasSession reports whether any session is bound to a track.
func (b *Registry) HasSession(track string) bool {
	entries, _ := os.ReadDir(string(b.sessions))
	return slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		var on Binding
		return b.sessions.get(entry.Name(), &on) && on.Track == track
	})
}

// Bind records the binding of a session. Without a state folder it does nothing.
func (b *Registry) Bind(session string, to Binding) error {
	if b.sessions == "" || session == "" {
		return nil
	}
	switch err := b.sessions.make(); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return b.sessions.put(filepath.Base(b.sessions.seen(session)), to)
}

// maxServed limits the sessions that a server announces; the oldest are forgotten.
const maxServed = 32

// Serve announces that this process, the server of a name, serves a session, so that shells below its host know theirs.
func (b *Registry) Serve(name, session string) {
	if b.first != nil {
		b.first.Serve(name, session)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.Contains(b.serves, session) {
		return
	}
	b.serves = append(b.serves, session)
	b.serves = b.serves[max(0, len(b.serves)-maxServed):]
	if l := b.stateOf(name); l.announced != "" {
		b.remove(l.announced)
		l.announced = ""
		b.announce(name, l)
	}
}

// served returns the client of this server, "" before it is known, and its sessions.
func (b *Registry) served() (client string, sessions []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, l := range b.names {
		if l.joined > 0 {
			client = name
		}
	}
	return client, slices.Clone(b.serves)
}

// AllSessions returns the sessions that a server serves: its client, if none was named.
func (s Server) AllSessions() []string {
	if len(s.Sessions) > 0 {
		return s.Sessions
	}
	return []string{s.Client}
}
