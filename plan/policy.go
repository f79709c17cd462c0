package plan

import (
	"strings"
	"time"
)

// Policy says how many people of a team must approve a plan.
type Policy struct {
	Approvals int      `json:"approvals"`           // people, at least 1
	Approvers []string `json:"approvers,omitempty"` // the members that may; empty: every member
	HighRisk  int      `json:"high_risk,omitempty"` // more of them for a plan with a step of high risk
	Proof     string   `json:"proof,omitempty"`     // each must sign with this, as Actor.Proof; "": signing in is enough
}

// Vote is one of the approvals that a request needs.
type Vote struct {
	By      string    `json:"by"`
	Digest  string    `json:"digest"` // of the version shown
	Proof   string    `json:"proof,omitempty"`
	Comment string    `json:"comment,omitempty"`
	At      time.Time `json:"at"`
}

// MemberOf returns the member of a team behind the name of an actor: ann for ann and for ann/claude-code.
func MemberOf(name string) string {
	member, _, _ := strings.Cut(name, "/")
	return member
}

// Voting is the state of the approvals that the waiting plan needs under a policy.
type Voting struct {
	Needed int      // approvals
	Votes  []Vote   // that count
	Open   []string // the approvers that may still vote; empty if every member may approve
}

// Missing returns the number of approvals still needed.
func (v Voting) Missing() int { return max(0, v.Needed-len(v.Votes)) }
