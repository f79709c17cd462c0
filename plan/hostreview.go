package plan

import (
	"slices"
	"time"
)

// HostPlan is the origin of a plan that a host's own plan mode shows to its user.
type HostPlan struct {
	Host    string `json:"host"`  // as `planloop hook` names it
	Title   string `json:"title"` // its name for people
	Session string `json:"session"`
	Text    string `json:"text"` // the whole plan as shown there, which an approval covers too
}

// sessionKey identifies a session of a host; "" for nil.
func (p *HostPlan) sessionKey() string {
	if p == nil {
		return ""
	}
	return (&HostList{Host: p.Host, Session: p.Session}).SessionKey()
}

// IsOf reports whether a host's session showed the plan. p may be nil.
func (p *HostPlan) IsOf(host, session string) bool {
	return p != nil && p.Host == host && p.Session == session
}

func (p *HostPlan) clean(c *cleaner) *HostPlan {
	if p == nil {
		return nil
	}
	clean := *p
	c.text(&clean.Host, "host", Text{Max: MaxName}, true)
	c.text(&clean.Title, "title", Text{Max: MaxName}, true)
	c.text(&clean.Session, "session", Text{Max: MaxHint}, true)
	text, err := HostText(p.Text)
	c.Add(err)
	clean.Text = text
	return &clean
}

// HostText returns the text of a host's plan in its normal form. It refuses one longer than MaxLongText.
func HostText(text string) (string, error) {
	return Text{Field: "/text", Max: MaxLongText, Multiline: true}.Required(text)
}

// OpenHostReview returns the request for the plan that a host's session shows its user; nil if no plan waits.
func (s State) OpenHostReview(host, session string) *Request {
	if s.Draft == nil || !s.Draft.HostPlan.IsOf(host, session) {
		return nil
	}
	return s.ModeNow().Request
}

// IsBesideDraft reports whether a draft from elsewhere waits, which the plan of a host's session may not replace.
func (s State) IsBesideDraft(p *HostPlan) bool {
	return s.Draft != nil && !s.Draft.HostPlan.IsOf(p.Host, p.Session) && s.Draft.HostList.SessionKey() != p.sessionKey()
}

// LeaveHostReview asks to close the review of a plan of a host's session, since its user answered in the host.
type LeaveHostReview struct{ Host, Session string }

func (a LeaveHostReview) clean(c *cleaner) Action {
	c.text(&a.Host, "host", Text{Max: MaxName}, true)
	c.text(&a.Session, "session", Text{Max: MaxHint}, true)
	return a
}

func (a LeaveHostReview) decide(s State, f Facts) ([]Event, error) {
	if request := s.OpenHostReview(a.Host, a.Session); request == nil || request.PersonOnly { // then its answer does not count
		return nil, nil
	}
	p := s.Draft
	return []Event{HostReviewLeft{Plan: p.ID, Title: p.HostPlan.Title, By: f.Actor.Name, Change: s.changesApproved(), At: f.Now}}, nil
}

// HostReviewLeft drops a host's plan that its user answered there. Planning mode continues.
type HostReviewLeft struct {
	Plan   string    `json:"plan_id"`
	Title  string    `json:"title"` // of the host
	By     string    `json:"by"`
	Change bool      `json:"change,omitempty"` // it was a change to the approved plan
	At     time.Time `json:"at"`
}

func (e HostReviewLeft) apply(s State) State {
	d := Decision{Outcome: AnsweredThere, By: e.By, Comment: e.Title, Change: e.Change, At: e.At}
	if s.HasProposal() {
		return s.withoutProposal(d)
	}
	s.Draft = nil
	return s.withDecision(PhaseGathering, d)
}

// lastInHost returns the plan that the session of a host's draft showed before.
func (s State) lastInHost() (shown PastPlan, ok bool) {
	key := s.Draft.HostPlan.sessionKey()
	for _, head := range slices.Backward(s.Past) {
		if key != "" && head.HostSession == key && head.Reason == string(AnsweredThere) {
			return head, true
		}
	}
	return PastPlan{}, false
}
