package presence

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/planloop/planloop/internal/atomicfile"
	"github.com/planloop/planloop/internal/lineage"
	"github.com/planloop/planloop/internal/private"
)

// Server is what a process that serves one client tells of itself, for as long as
// it runs.
type Server struct {
	Process lineage.Process `json:"process"`
	Host    lineage.Process `json:"host"`             // what started it: the client's program
	Starter lineage.Process `json:"starter,omitzero"` // the nearest program above that is no shell; it starts the agent's hooks as well
	Session string          `json:"session,omitzero"` // which session of the host, as far as the host tells
	Client  string          `json:"client"`           // the name of the client, set by Join
	Version string          `json:"version,omitzero"` // of planloop; "" before it was told
}

// Client returns whose client a process is that descends from the chain of processes
// and belongs to the session of a host: that of the one living server whose host is
// in the chain; where there is no such server, that of the one of the same session.
// It is "" when there is none, or more than one; some tells these apart. The chain is
// asked for only where a server runs.
func (b *Book) Client(chain func() []lineage.Process, session string) (client string, some bool) {
	servers, _ := b.told()
	if len(servers) == 0 {
		return "", false
	}
	above := chain()
	started := func(s Server) bool {
		return slices.ContainsFunc(above, func(p lineage.Process) bool { return p.Is(s.Host) && !p.Shared() })
	}
	if one, some := only(servers, started); some || session == "" {
		return one, some
	}
	return only(servers, func(s Server) bool { return s.Session == session })
}

// Beneath reports whether a server was not started by its client's host, but by something
// beneath it, such as a script in its shell: another living server, or the host of one,
// stands above the process that started it, or another program has the same session. The
// chain is the server's own, and asked for only where another server runs.
func (b *Book) Beneath(chain func() []lineage.Process, session string) bool {
	servers, _ := b.told()
	if len(servers) == 0 {
		return false
	}
	above := chain()
	if len(above) < 2 {
		return false
	}
	own, starter, beyond := above[0], above[1], above[2:]
	return slices.ContainsFunc(servers, func(s Server) bool {
		if s.Process.Is(own) {
			return false
		}
		stands := slices.ContainsFunc(beyond, func(p lineage.Process) bool { return p.Is(s.Host) && !p.Shared() })
		same := session != "" && s.Session == session && s.Host.PID != 0 && !s.Host.Is(starter)
		return stands || same || slices.ContainsFunc(above[1:], s.Process.Is)
	})
}

// Servers are those that run, whoever their clients are.
func (b *Book) Servers() []Server {
	servers, _ := b.told()
	return servers
}

// Served reports whether a server runs, whoever its client is.
func (b *Book) Served() bool {
	servers, _ := b.told()
	return len(servers) > 0
}

// only returns the client of the servers that fit, "" when they have several, and
// whether any fits.
func only(servers []Server, fits func(Server) bool) (client string, some bool) {
	for _, s := range servers {
		if !fits(s) {
			continue
		}
		if some && s.Client != client {
			return "", true
		}
		client, some = s.Client, true
	}
	return client, some
}

const maxServer = 64 << 10 // more than a server tells of itself

// told returns the servers that run, and the files of those that were killed.
func (b *Book) told() (running []Server, left []string) {
	if b.servers == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(string(b.servers))
	if err != nil {
		b.report("list servers", "", err)
	}
	for _, entry := range entries {
		var s Server
		path := filepath.Join(string(b.servers), entry.Name())
		data, err := private.Read(path, maxServer)
		switch {
		case err != nil || json.Unmarshal(data, &s) != nil: // it is just being removed or written
		case s.Process.Runs():
			running = append(running, s)
		default:
			left = append(left, path)
		}
	}
	return running, left
}

// announce writes down that this process is the server of a name that has joined. It
// reports whether that is to be tried again soon. The caller holds l.mu.
func (b *Book) announce(name string, l *life) (pending bool) {
	if b.server == nil || l.announced != "" || !b.joined(l) {
		return false
	}
	s := b.server()
	s.Client = name
	path := filepath.Join(string(b.servers), strconv.Itoa(s.Process.PID)+".json")
	data, err := json.Marshal(s)
	if err == nil {
		err = b.servers.make()
	}
	if err == nil {
		err = atomicfile.WriteFile(path, data, atomicfile.Options{Mode: private.FileMode})
	}
	if err != nil {
		b.report("announce", name, err)
		return true
	}
	l.announced = path
	if err := Expect(filepath.Dir(string(b.hooks)), s.Starter); err != nil {
		b.report("expect hooks", name, err)
	}
	b.serve(s)
	return false
}

// remove takes back what servers have announced.
func (b *Book) remove(paths ...string) {
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			b.report("remove", path, err)
		}
	}
}
