package plan

// Basis is the part of a state that the checks of a verb rely on: ids, plans that wait for a decision, and the phase. Decide judges
// progress, claims and limits again on the newest state, so they are left out.
type Basis struct {
	Plan    string `json:"plan,omitempty"`    // id of the current plan, which names its version
	Status  string `json:"status,omitempty"`  // of that plan
	Steps   int    `json:"steps,omitempty"`   // highest id ever minted in it
	Digest  string `json:"digest,omitempty"`  // of that plan
	Draft   string `json:"draft,omitempty"`   // id and digest of the draft
	Request string `json:"request,omitempty"` // id of the open request
	Phase   Phase  `json:"phase"`
}

// BasisOf returns the basis of a state. If that of a later state is equal, checks made on s still hold there.
func BasisOf(s State) Basis {
	b := Basis{Phase: s.PhaseNow()}
	if p := s.Plan; p != nil {
		b.Plan, b.Status, b.Steps, b.Digest = p.ID, string(p.Status), int(p.Steps.Highest()), Digest(p)
	}
	if s.Draft != nil {
		b.Draft = s.Draft.ID + " " + Digest(s.Draft)
	}
	if request := s.ModeNow().Request; request != nil {
		b.Request = request.ID
	}
	return b
}
