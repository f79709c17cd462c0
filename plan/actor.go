package plan

import "time"

// ActorKind classifies actors.
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

// Via is the door that an actor came in by. Via.door has a row for each, with everything known
// about it.
type Via int

// The doors. The zero value is an actor read from a log, which does not record doors.
const (
	ViaMCP        Via = iota + 1 // an agent over MCP
	ViaAgentShell                // a command that names an agent
	ViaTerminal                  // a person at a terminal
	ViaPage                      // a person on the review page
	ViaClient                    // a person's decision through an agent's client, by a dialogue or a prompt
	ViaScript                    // a user's command without a person at the terminal
	ViaCI                        // a CI job
	ViaEngine                    // an engine
)

// door describes the actors that come in by it.
type door struct {
	kind    ActorKind
	present bool // a person is present
	way     Way  // how a decision by this door is recorded; "" if it may not decide
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

// The ways. A model can make a host answer for its user, so a decision through a client is not
// recorded as a person's.
const (
	ByPerson Way = "person"           // on a terminal, or on the review page
	ByClient Way = "client-confirmed" // through a dialogue or a prompt of the host
)

// Values lists the ways.
func (Way) Values() []string { return []string{"person", "client-confirmed"} }

// Decider returns, for display, the author of a decision that arrived this way under a name.
func (w Way) Decider(name string) string {
	if w == ByClient {
		return "the user of " + name + ", confirmed through the client"
	}
	return name
}

// Actor is the author of a change. A name derived from a connection (client#1a2b3c) is one actor
// only while that connection lives; an explicit name is one actor wherever it comes from.
type Actor struct {
	Kind ActorKind `json:"kind"`
	Name string    `json:"name"`
	Via  Via       `json:"-"`

	Scope Attempt `json:"-"` // the only attempt the agent may work on, if planloop started it for one; else zero
}

// NewActor returns the actor of that name that came in by via.
func NewActor(via Via, name string) Actor { return Actor{Kind: via.door().kind, Name: name, Via: via} }

// Through returns the actor of the same name and scope that came in by another door.
func (a Actor) Through(via Via) Actor {
	other := NewActor(via, a.Name)
	other.Scope = a.Scope
	return other
}

// door returns the actor's door, or the zero value if actors of its kind do not come in by it.
func (a Actor) door() door {
	if d := a.Via.door(); d.kind == a.Kind {
		return d
	}
	return door{}
}

// Present reports whether the actor is a person who is present.
func (a Actor) Present() bool { return a.door().present }

// Way returns how a decision of the actor is recorded, "" if it may not decide.
func (a Actor) Way() Way { return a.door().way }

// Sighting is the last sign of life of an actor.
type Sighting struct {
	At   time.Time // zero when never seen
	Gone bool      // the connection that its name was derived from has ended
}
