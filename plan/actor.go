package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

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

// Channel is the way an actor reached planloop. Its rights follow from it.
type Channel int

// The channels. The zero value is an actor read from a log, which does not record channels.
const (
	ChannelMCP        Channel = iota + 1 // an agent over MCP
	ChannelAgentShell                    // a command that names an agent
	ChannelTerminal                      // a person at a terminal
	ChannelPage                          // a person on the review page
	ChannelClient                        // a person's decision through an agent's client, by a dialogue or a prompt
	ChannelScript                        // a user's command without a person at the terminal
	ChannelCI                            // a CI job
	ChannelEngine                        // an engine
	ChannelShared                        // a person at a terminal that other programs can read, or at the page with its code
)

// channelRights are the rights of the actors on a channel.
type channelRights struct {
	kind      ActorKind
	isPresent bool // a person is present
	way       Way  // how a decision over this channel is recorded; "" if it may not decide
}

func (v Channel) rights() channelRights {
	person := channelRights{kind: Person, isPresent: true, way: WayPerson}
	return map[Channel]channelRights{
		ChannelMCP: {kind: Agent}, ChannelAgentShell: {kind: Agent}, ChannelClient: {kind: Agent, way: WayClient},
		ChannelTerminal: person, ChannelPage: person, ChannelShared: {kind: Person, isPresent: true, way: WayShared},
		ChannelScript: {kind: Person}, ChannelCI: {kind: CI}, ChannelEngine: {kind: Planloop},
	}[v]
}

// Way is how a person's decision reached planloop.
type Way string

// The ways. A model can make a host answer for its user, so a decision through a client is not
// recorded as a person's.
const (
	WayPerson Way = "person"                   // on a terminal, or on the review page
	WayShared Way = "person (shared terminal)" // the same, where other programs can read the terminal and its codes
	WayClient Way = "client-confirmed"         // through a dialogue or a prompt of the host
	WayBefore Way = "before sharing"           // on a laptop, in a history that a member imported: its word
)

// Values lists the ways.
func (Way) Values() []string {
	return []string{"person", "person (shared terminal)", "client-confirmed", "before sharing"}
}

// Decider returns, for display, the author of a decision that arrived this way under a name.
func (w Way) Decider(name string) string {
	return cmp.Or(map[Way]string{WayClient: "the user of " + name + ", confirmed through the client",
		WayShared: name + " on a shared terminal", WayBefore: name + " before sharing"}[w], name)
}

// DescribeActor returns an actor with its kind, for display. A name from an old log that could imitate a kind is quoted.
func DescribeActor(name string, kind ActorKind, way Way) string {
	if way == WayClient {
		return way.Decider(name)
	}
	if HasBrackets(name) {
		name = Quote(name)
	}
	if way == WayShared {
		return name + " (person, shared terminal)"
	}
	return name + " (" + string(kind) + ")"
}

// CheckAgentName refuses the name of an agent that could pass for another kind of actor: with brackets of any script, with a
// word for a person, or with letters of several scripts that look alike.
func CheckAgentName(field, name string) error {
	isOther := func(r rune) bool { return !unicode.Is(unicode.Latin, r) }
	words := strings.FieldsFunc(strings.ToLower(norm.NFKC.String(name)), func(r rune) bool { return !unicode.IsLetter(r) })
	joined, problem := strings.Join(words, ""), "" // p e r s o n
	switch {
	case HasBrackets(name):
		problem = "contains brackets, in which planloop shows the kind of an actor"
	case strings.HasSuffix(joined, "person"), strings.HasSuffix(joined, "human"):
		problem = "ends with a word for another kind of actor"
	case slices.ContainsFunc(words, func(w string) bool { return strings.ContainsFunc(w, isOther) && strings.TrimFunc(w, isOther) != "" }):
		problem = "mixes letters of several scripts in a word"
	default:
		return nil
	}
	return Refuse(InvalidInput, field, problem, "use a name such as codex or reviewer-2")
}

// HasBrackets reports whether a text contains brackets, also as a part of other characters.
func HasBrackets(text string) bool {
	return strings.ContainsFunc(norm.NFKC.String(text), func(r rune) bool {
		return unicode.In(r, unicode.Ps, unicode.Pe, unicode.Pi, unicode.Pf) || r == '<' || r == '>'
	})
}

// Actor is the author of a change. A name derived from a connection (client#1a2b3c) is one actor
// only while that connection lives; an explicit name is one actor wherever it comes from.
type Actor struct {
	Kind    ActorKind `json:"kind"`
	Name    string    `json:"name"`
	Channel Channel   `json:"-"`

	IsUnconfirmed bool `json:"-"` // a person who has not confirmed that an approved, unfinished plan may go

	Scope Attempt `json:"-"` // the only attempt the agent may work on, if planloop started it for one; else zero

	Proof string `json:"-"` // signs a decision of a person, such as passkey; "" for none
}

// NewActor returns the actor of that name on a channel.
func NewActor(channel Channel, name string) Actor {
	return Actor{Kind: channel.rights().kind, Name: name, Channel: channel}
}

// WithChannel returns the actor of the same name and scope on another channel.
func (a Actor) WithChannel(channel Channel) Actor {
	other := NewActor(channel, a.Name)
	other.Scope = a.Scope
	return other
}

// rights returns the rights of the actor's channel, or none if the channel is not for actors of its kind.
func (a Actor) rights() channelRights {
	if d := a.Channel.rights(); d.kind == a.Kind {
		return d
	}
	return channelRights{}
}

// IsPresent reports whether the actor is a person who is present.
func (a Actor) IsPresent() bool { return a.rights().isPresent }

// Way returns how a decision of the actor is recorded, "" if it may not decide.
func (a Actor) Way() Way { return a.rights().way }

// Sighting is the last sign of life of an actor.
type Sighting struct {
	At     time.Time // zero when never seen
	IsGone bool      // the connection that its name was derived from has ended
}
