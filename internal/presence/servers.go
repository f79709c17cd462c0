package presence

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safefile"
)

// Server is the announcement of a running process that serves one client.
type Server struct {
	Process process.Ancestor `json:"process"`
	Host    process.Ancestor `json:"host"`             // the process that started it: the client's program
	Starter process.Ancestor `json:"starter,omitzero"` // the nearest program above that is not a shell; it also starts the agent's hooks
	Session string           `json:"session,omitzero"` // the host's session, if the host provides it
	Client  string           `json:"client"`           // the name of the client, set by Join
	// Sessions are those of its client that calls or hooks have named.
	Sessions []string `json:"sessions,omitzero"`
	Version  string   `json:"version,omitzero"` // of planloop; "" from versions that did not announce it
	Space    string   `json:"space,omitzero"`   // where these numbers are valid, as process.Space
}

// Beside returns the running servers beside the process with this chain and this host session: those with their host in the chain, or
// else those with the same session. The chain is only computed if a server runs.
func (b *Registry) Beside(chain func() []process.Ancestor, session string) []Server {
	servers := b.Servers()
	if len(servers) == 0 {
		return nil
	}
	above := chain()
	started := slices.DeleteFunc(slices.Clone(servers), func(s Server) bool {
		return !slices.ContainsFunc(above, func(p process.Ancestor) bool { return p.Is(s.Host) && !p.Shared() })
	})
	if len(started) > 0 || session == "" {
		return started
	}
	return slices.DeleteFunc(servers, func(s Server) bool { return s.Session != session })
}

// Client returns the client of the servers beside a process. It is "" if there are none or if they have several; some is true in the
// second case.
func (b *Registry) Client(chain func() []process.Ancestor, session string) (client string, some bool) {
	for _, s := range b.Beside(chain, session) {
		if some && s.Client != client {
			return "", true
		}
		client, some = s.Client, true
	}
	return client, some
}

// IsNested reports whether a server was started not by its client's host but by something below it, such as a script in
// its shell: another running server, or the host of one, is above the process that started it, or another program has
// the same session. The chain is the server's own, and only computed if another server runs.
func (b *Registry) IsNested(chain func() []process.Ancestor, session string) bool {
	servers := b.Servers()
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
		stands := slices.ContainsFunc(beyond, func(p process.Ancestor) bool { return p.Is(s.Host) && !p.Shared() })
		same := session != "" && s.Session == session && s.Host.PID != 0 && !s.Host.Is(starter)
		return stands || same || slices.ContainsFunc(above[1:], s.Process.Is)
	})
}

// Servers returns the running servers of all clients.
func (b *Registry) Servers() []Server {
	running, _ := b.listServers()
	return running
}

// Served reports whether a server runs, for any client.
func (b *Registry) Served() bool { return len(b.Servers()) > 0 }

// HasServed reports whether a client's server runs or has run in this workspace.
func (b *Registry) HasServed() bool {
	return slices.ContainsFunc([]folder{b.servers, b.remote}, func(f folder) bool { return f != "" && f.has("") })
}

const maxServer = 64 << 10 // more than an announcement needs, in bytes

// listServers returns the running servers, and the files of those that were killed.
func (b *Registry) listServers() (running []Server, left []string) {
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
		switch {
		case !b.servers.get(entry.Name(), &s): // it is being removed or written
		case s.Space != "" && s.Space != process.Space() && s.runsElsewhere(b.live): // unreachable from here
		case s.Process.Runs():
			running = append(running, s)
		default:
			left = append(left, path)
		}
	}
	return running, left
}

// announce records that this process is the server of a name that has joined; pending: it should be tried again soon.
func (b *Registry) announce(name string, l *nameState) (pending bool) {
	if b.server == nil || l.announced != "" || l.joined == 0 {
		return false
	}
	s := b.server()
	s.Client, s.Sessions = name, b.serves
	path := filepath.Join(string(b.servers), strconv.Itoa(s.Process.PID)+".json")
	data, err := json.Marshal(s)
	if err == nil {
		err = b.servers.make()
	}
	if err == nil {
		err = safefile.WriteFile(path, data, safefile.Options{Mode: safefile.FileMode})
	}
	if err != nil {
		b.report("announce", name, err)
		return true
	}
	l.announced = path
	if err := PrepareHooks(filepath.Dir(string(b.hooks)), s.Starter); err != nil {
		b.report("expect hooks", name, err)
	}
	if folder := b.hookFolder(s.Starter); folder != "" && folder.has("") { // for the hooks of its starter
		if err := folder.put(b.workspace+"."+strconv.Itoa(s.Process.PID)+serverSuffix, s.Process); err != nil {
			b.report("serve", b.workspace, err)
		}
	}
	return false
}

func (b *Registry) remove(paths ...string) {
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			b.report("remove", path, err)
		}
	}
}

// Agent is an agent at work, as running servers report it.
type Agent struct {
	Client string // its name
	IsSelf bool   // this process is its server
	HTTP   bool   // its server has many clients, perhaps on other machines
	Sign   Sign   // the last from its hooks; zero if there was none
	Unseen []Unseen

	Sessions []string // that its server serves
}

// Agents returns the clients that running servers serve over stdio, with the reports of their hooks, and those recently
// seen over HTTP.
func (b *Registry) Agents() []Agent {
	servers := b.Servers()
	var agents []Agent
	add := func(s Server, self bool) {
		agent := Agent{Client: s.Client, IsSelf: self, Sessions: s.AllSessions()}
		if folder := b.hookFolder(s.Starter); folder != "" {
			folder.get(b.workspace+signSuffix, &agent.Sign)
			folder.get(b.workspace+unseenSuffix, &agent.Unseen)
		}
		agents = append(agents, agent)
	}
	var own Server
	if b.server != nil {
		own = b.server()
		own.Client, own.Sessions = cmp.Or(b.first, b).served()
		add(own, true) // it may not be announced yet
	}
	for _, s := range servers {
		if !s.Process.Is(own.Process) && (s.Starter.Started == 0 || s.Starter.Runs()) { // else its agent has ended
			add(s, false)
		}
	}
	if b.remote == "" {
		return agents
	}
	entries, _ := os.ReadDir(string(b.remote)) // it exists once a client was seen
	for _, entry := range entries {
		data, err := safefile.Read(filepath.Join(string(b.remote), entry.Name()), maxServer)
		if err != nil || len(data) == 0 {
			continue
		}
		if seen := b.Seen(string(data)); !seen.IsGone && b.now().Sub(seen.At) < httpWindow {
			agents = append(agents, Agent{Client: string(data), HTTP: true})
		}
	}
	return agents
}

const httpWindow = 10 * time.Minute // at work for so long after a call over HTTP: no process lives for it
