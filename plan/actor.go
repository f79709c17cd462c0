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

// Actor is who asks for a change: a kind and a name. A name that was derived
// from a connection (client#1a2b3c) is one actor only as long as that connection
// lives; an explicit name is one actor wherever it comes from.
type Actor struct {
	Kind ActorKind `json:"kind"`
	Name string    `json:"name"`

	AtTerminal bool `json:"-"` // a person in front of a terminal; not kept
}

// present reports whether a person in front of a terminal asks.
func (a Actor) present() bool { return a.Kind == Person && a.AtTerminal }

// Sighting is the last sign of life of an actor.
type Sighting struct {
	At   time.Time // zero when never seen
	Gone bool      // the connection its name stands for has ended
}
