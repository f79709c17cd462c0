package plan

import "time"

// ActorKind says what sort of actor did something.
type ActorKind string

// The kinds of actor.
const (
	Agent    ActorKind = "agent"
	Person   ActorKind = "person"
	CI       ActorKind = "ci"
	Planloop ActorKind = "planloop"
)

// Values lists the kinds.
func (ActorKind) Values() []string { return []string{"agent", "person", "ci", "planloop"} }

// Via is how an actor is known: by which door it came in. All that is told of a door
// stands in its row.
type Via int

// The doors. The zero value is an actor as a log tells of it, which keeps no door.
const (
	ViaMCP        Via = iota + 1 // an agent over MCP
	ViaAgentShell                // a command that names an agent
	ViaTerminal                  // a person at a terminal
	ViaPage                      // a person on the review page
	ViaClient                    // a person's word through the client of an agent, by a dialogue or a prompt
	ViaScript                    // a command of a user where no person sits at the terminal
	ViaCI                        // a CI job
	ViaEngine                    // what carries out steps
)

// door says what an actor is that came in by one.
type door struct {
	kind    ActorKind
	present bool // a person sits there
	way     Way  // how a decision that comes in by it is recorded; "" where none may
}

func (v Via) door() door {
	switch v {
	case ViaMCP, ViaAgentShell:
		return door{kind: Agent}
	case ViaTerminal, ViaPage:
		return door{kind: Person, present: true, way: ByPerson}
	case ViaClient:
		return door{kind: Agent, way: ByClient}
	case ViaScript:
		return door{kind: Person}
	case ViaCI:
		return door{kind: CI}
	case ViaEngine:
		return door{kind: Planloop}
	}
	return door{}
}

// Way is how a person's decision reached planloop.
type Way string

// The ways. A model can make a host answer for its user: what comes through a
// client is not recorded as a person's.
const (
	ByPerson Way = "person"           // on a terminal, or on the review page
	ByClient Way = "client-confirmed" // through a dialogue or a prompt of the host
)

// Values lists the ways.
func (Way) Values() []string { return []string{"person", "client-confirmed"} }

// Decider names whose decision it was that reached planloop this way under a name.
func (w Way) Decider(name string) string {
	if w == ByClient {
		return "the user of " + name + ", confirmed through the client"
	}
	return name
}

// Actor is who asks for a change: a kind and a name. A name that was derived
// from a connection (client#1a2b3c) is one actor only as long as that connection
// lives; an explicit name is one actor wherever it comes from.
type Actor struct {
	Kind ActorKind `json:"kind"`
	Name string    `json:"name"`
	Via  Via       `json:"-"`

	Scope Attempt `json:"-"` // what planloop started the agent for, which is all it may do; zero: it started it for nothing
}

// NewActor returns the actor of that name that came in by a door.
func NewActor(via Via, name string) Actor { return Actor{Kind: via.door().kind, Name: name, Via: via} }

// Through returns the actor of the same name as it comes in by another door.
func (a Actor) Through(via Via) Actor {
	other := NewActor(via, a.Name)
	other.Scope = a.Scope
	return other
}

// door is that of the actor's kind: a kind that does not come in by it has none.
func (a Actor) door() door {
	if d := a.Via.door(); d.kind == a.Kind {
		return d
	}
	return door{}
}

// Present reports whether a person asks who sits there.
func (a Actor) Present() bool { return a.door().present }

// Way returns how a decision of the actor is recorded, "" when it may take none.
func (a Actor) Way() Way { return a.door().way }

// Sighting is the last sign of life of an actor.
type Sighting struct {
	At   time.Time // zero when never seen
	Gone bool      // the connection its name stands for has ended
}
