package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Policy says how many people of a team must approve a plan.
type Policy struct {
	Approvals int      `json:"approvals"`           // people, at least 1
	Approvers []string `json:"approvers,omitempty"` // the members that may; empty: every member
	HighRisk  int      `json:"high_risk,omitempty"` // more of them for a plan with a step of high risk
	Proof     string   `json:"proof,omitempty"`     // each must sign with this, as Actor.Proof; "": signing in is enough

	EvidenceFrom string `json:"evidence_from,omitempty"` // EvidenceCI: commands verify a step only in CI; "": anywhere
}

// ProofPasskey is the proof of a signature by a passkey over the digest.
const ProofPasskey = "passkey"

// Vote is one of the approvals that a request needs.
type Vote struct {
	By      string    `json:"by"`
	Digest  string    `json:"digest"` // of the version shown
	Proof   string    `json:"proof,omitempty"`
	Comment string    `json:"comment,omitempty"`
	At      time.Time `json:"at"`
}

// Members are the members of a team, each with the time since when. The votes of an earlier time do not count. Nil: not known.
type Members map[string]time.Time

// count reports whether a member's vote counts.
func (m Members) count(vote Vote) bool {
	since, is := m[vote.By]
	return m == nil || is && !vote.At.Before(since)
}

// MemberOf returns the member of a team in an actor's name: ann for ann and for ann/claude-code.
func MemberOf(name string) string {
	member, _, _ := strings.Cut(name, "/")
	return member
}

// Voting is the state of the approvals that the waiting plan needs under its policy.
type Voting struct {
	Needed int      // approvals
	Votes  []Vote   // the ones that count
	Open   []string // members that may still vote; empty if none may, or if every member may and the members are not known
	IsOpen bool     // a member that Open does not list may still vote
}

// Missing returns the number of approvals still needed.
func (v Voting) Missing() int { return max(0, v.Needed-len(v.Votes)) }

// String describes the missing approvals, as in "1 more approval: bob or eve" or "2 approvals: bob and eve".
func (v Voting) String() string {
	more := ""
	if len(v.Votes) > 0 {
		more = " more"
	}
	text := fmt.Sprintf("%d%s %s", v.Missing(), more, map[bool]string{true: "approval", false: "approvals"}[v.Missing() == 1])
	switch {
	case v.IsOpen:
		return text
	case len(v.Open) < v.Missing():
		return text + ", but only " + strconv.Itoa(len(v.Open)) + " of the team may still approve; the policy must change, " +
			"and the plan be submitted again"
	}
	return text + ": " + enumerate(v.Open, map[bool]string{true: "and", false: "or"}[len(v.Open) == v.Missing()])
}

// VotingText says which approvals the waiting plan has and which it waits for, as sentences; "" without a policy.
func (s State) VotingText(members Members) string {
	v, ok := s.Voting(members)
	if !ok {
		return ""
	}
	text := "It waits for " + v.String() + "."
	if len(v.Votes) == 0 {
		return text
	}
	return "Approved by " + votersOf(v.Votes) + ". " + text
}

func votersOf(votes []Vote) string {
	var names []string
	for _, vote := range votes {
		names = append(names, vote.By)
	}
	return Enumerate(names)
}

// Voting returns the state of the approvals, false without a plan that waits under a policy.
func (s State) Voting(members Members) (Voting, bool) {
	request := s.ModeNow().Request
	if request == nil || request.Policy == nil || s.Draft == nil {
		return Voting{}, false
	}
	policy := request.Policy
	v := Voting{Needed: max(1, policy.Approvals), IsOpen: len(policy.Approvers) == 0 && members == nil}
	if Exists(s.Draft.Steps.All(), func(step *Step) bool { return step.Risk == HighRisk }) {
		v.Needed += policy.HighRisk
	}
	for _, vote := range request.Votes {
		if members.count(vote) {
			v.Votes = append(v.Votes, vote)
		}
	}
	approvers := policy.Approvers
	if len(approvers) == 0 {
		approvers = slices.Sorted(maps.Keys(members))
	}
	for _, name := range approvers {
		hasVoted := slices.ContainsFunc(v.Votes, func(vote Vote) bool { return vote.By == name })
		if _, is := members[name]; (is || members == nil) && !hasVoted && !slices.Contains(v.Open, name) && s.takesPartAs(name) == "" {
			v.Open = append(v.Open, name)
		}
	}
	return v, true
}

// takesPartAs returns how a member made the waiting plan, "" for all others: its approval would be one of its own work.
func (s State) takesPartAs(member string) string {
	request := s.ModeNow().Request
	is := func(name string) bool { return MemberOf(name) == member }
	switch {
	case is(request.By), slices.ContainsFunc(request.Authors, is):
		return "submitted"
	case s.Draft.Edits != nil && slices.ContainsFunc(s.Draft.Edits.By, is):
		return "changed"
	}
	return ""
}

// vote returns the approvals of the waiting plan with this one, and the number still missing. Without a policy, nothing is voted on.
func (a DecideDraft) vote(s State, f Facts) (votes []Vote, missing int, err error) {
	request, member := s.ModeNow().Request, MemberOf(f.Actor.Name)
	if a.Outcome != Approved || f.Policy == nil && (request == nil || request.Policy == nil) {
		return nil, 0, nil
	}
	if request == nil {
		return nil, 0, conflict("the plan was not submitted, so its approvals cannot be counted", "ask its agent to submit it")
	}
	v, ok := s.Voting(f.Members)
	if !ok {
		return nil, 0, nil // submitted before the team had a policy
	}
	if err := s.checkVoter(v, request.Policy, member, f); err != nil {
		return nil, 0, err
	}
	votes = append(slices.Clone(v.Votes), Vote{By: member, Digest: a.Digest, Proof: f.Actor.Proof, Comment: a.Comment, At: f.Now})
	return votes, max(0, v.Needed-len(votes)), nil
}

// WhyNoVote says why a member's approval of the waiting plan would not count; "" if it would, or if nothing is voted on.
func (s State) WhyNoVote(member string, members Members) string {
	v, ok := s.Voting(members)
	if !ok {
		return ""
	}
	policy := Policy{Approvers: s.Mode.Request.Policy.Approvers} // a proof can still be given
	if err, is := errors.AsType[*ValidationError](s.checkVoter(v, &policy, member, Facts{Members: members})); is {
		return err.Problem
	}
	return ""
}

// checkVoter refuses an approval that does not count.
func (s State) checkVoter(v Voting, policy *Policy, member string, f Facts) error {
	waits, ask, wait := "the plan waits for "+v.String(), "ask another member", "wait for the others"
	if !v.IsOpen && len(v.Open) < v.Missing() {
		ask, wait = "ask an admin of the team", "ask an admin of the team"
	}
	takesPart := s.takesPartAs(member)
	_, isMember := f.Members[member]
	switch {
	case f.Members != nil && !isMember:
		return conflict(Quote(member)+" is not a member of the team", "ask an admin of the team for an invitation")
	case len(policy.Approvers) > 0 && !slices.Contains(policy.Approvers, member):
		return conflict(fmt.Sprintf("%s may not approve here; %s", Quote(member), waits), "ask one of them, or request changes")
	case takesPart != "":
		return conflict(fmt.Sprintf("you %s this plan, so your approval does not count; %s", takesPart, waits), ask)
	case slices.ContainsFunc(v.Votes, func(vote Vote) bool { return vote.By == member }):
		return conflict("you have approved this plan already; "+waits, wait)
	case policy.Proof != "" && f.Actor.Proof != policy.Proof:
		return conflict("approvals of this team are signed with a "+policy.Proof, "sign yours on the page of the team's server")
	}
	return nil
}

// approvalGiven returns the event of the last of the votes, nil without votes.
func approvalGiven(s State, votes []Vote, missing int, f Facts) []Event {
	if len(votes) == 0 {
		return nil
	}
	last := votes[len(votes)-1]
	return []Event{ApprovalGiven{Request: s.ModeNow().Request.ID, Vote: last, Way: f.Actor.Way(), Given: len(votes),
		Needed: len(votes) + missing}}
}

// ApprovalGiven adds one of the approvals that a request needs under a policy. The last one comes with plan_approved.
type ApprovalGiven struct {
	Request string `json:"request"`
	Vote    Vote   `json:"vote"`
	Way     Way    `json:"way"`
	Given   int    `json:"given"`  // approvals so far
	Needed  int    `json:"needed"` // in total
}

func (e ApprovalGiven) apply(s State) State {
	request := s.ModeNow().Request
	if request == nil || request.ID != e.Request {
		return s
	}
	return s.withMode(s.Phase, func(m *Mode) {
		voted := *request
		voted.Votes = append(slices.Clip(voted.Votes), e.Vote)
		m.Request = &voted
	})
}
