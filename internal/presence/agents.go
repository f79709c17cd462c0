package presence

import (
	"os"
	"path/filepath"
	"time"

	"github.com/planloop/planloop/internal/safefile"
)

// Agent is an agent at work, as running servers report it.
type Agent struct {
	Client string // its name
	IsSelf bool   // this process is its server
	HTTP   bool   // its server has many clients, perhaps on other machines
	Sign   Sign   // the last from its hooks; zero if there was none
	Unseen []Unseen
}

// Agents returns the clients that running servers serve over stdio, with the reports of their hooks, and those recently
// seen over HTTP.
func (b *Registry) Agents() []Agent {
	servers := b.Servers()
	var agents []Agent
	add := func(s Server, self bool) {
		agent := Agent{Client: s.Client, IsSelf: self}
		if folder := b.hookFolder(s.Starter); folder != "" {
			folder.get(b.workspace+signSuffix, &agent.Sign)
			folder.get(b.workspace+unseenSuffix, &agent.Unseen)
		}
		agents = append(agents, agent)
	}
	var own Server
	if b.server != nil {
		own = b.server()
		b.mu.Lock()
		for name, l := range b.names {
			if l.joined > 0 { // "" before it is known
				own.Client = name
			}
		}
		b.mu.Unlock()
		add(own, true) // it may not be announced yet
	}
	for _, s := range servers {
		if !s.Process.Is(own.Process) && (s.Starter.Started == 0 || s.Starter.Runs()) { // else its agent has ended
			add(s, false)
		}
	}
	return append(agents, b.httpAgents()...)
}

// httpWindow is how long a client over HTTP counts as at work after its last call: no process lives for it.
const httpWindow = 10 * time.Minute

// httpAgents returns the clients recently seen over HTTP by any server.
func (b *Registry) httpAgents() []Agent {
	if b.remote == "" {
		return nil
	}
	entries, _ := os.ReadDir(string(b.remote)) // it exists once a client was seen
	var agents []Agent
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
