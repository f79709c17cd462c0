package presence

import (
	"os"
	"path/filepath"
	"time"

	"github.com/planloop/planloop/internal/private"
)

// Agent is an agent at work, as the servers that run tell of it.
type Agent struct {
	Client string // its name
	Self   bool   // this process is its server
	HTTP   bool   // its server runs for many, perhaps on other machines
	Sign   Sign   // the last of its hooks; the zero value for none
	Unseen []Unseen
}

// Agents are the clients that living servers serve on standard input and output, with what their
// hooks have told, and those that were lately heard over HTTP.
func (b *Book) Agents() []Agent {
	servers, _ := b.told()
	var agents []Agent
	add := func(s Server, self bool) {
		agent := Agent{Client: s.Client, Self: self}
		if folder := b.signs(s.Starter); folder != "" {
			folder.get(b.workspace+signed, &agent.Sign)
			folder.get(b.workspace+unseen, &agent.Unseen)
		}
		agents = append(agents, agent)
	}
	var own Server
	if b.server != nil {
		own = b.server()
		own.Client = b.client()
		add(own, true) // it may not have told of itself yet
	}
	for _, s := range servers {
		if !s.Process.Is(own.Process) && (s.Starter.Started == 0 || s.Starter.Runs()) { // else nobody is at work there any more
			add(s, false)
		}
	}
	return append(agents, b.heard()...)
}

// client is the name of the client that this process serves, "" before it is known.
func (b *Book) client() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, l := range b.lives {
		if l.joined > 0 {
			return name
		}
	}
	return ""
}

// lately is how long ago a client over HTTP was heard that counts as at work: it keeps no process alive.
const lately = 10 * time.Minute

// remember writes down the name of a client over HTTP, whose signs of life are kept by its hash alone.
func (b *Book) remember(name string) {
	err := b.remote.touch(name, b.now())
	if err == nil {
		err = os.WriteFile(b.remote.seen(name), []byte(name), private.FileMode)
	}
	if err != nil {
		b.report("remember", name, err)
	}
}

// heard are the clients that were lately heard over HTTP, by whichever server.
func (b *Book) heard() []Agent {
	if b.remote == "" {
		return nil
	}
	entries, _ := os.ReadDir(string(b.remote)) // it is there once one was heard
	var agents []Agent
	for _, entry := range entries {
		data, err := private.Read(filepath.Join(string(b.remote), entry.Name()), maxServer)
		if err != nil || len(data) == 0 {
			continue
		}
		if seen := b.Seen(string(data)); !seen.Gone && b.now().Sub(seen.At) < lately {
			agents = append(agents, Agent{Client: string(data), HTTP: true})
		}
	}
	return agents
}
