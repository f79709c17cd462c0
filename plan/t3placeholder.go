package plan

// Basis is a placeholder until the part that builds it is merged.
type Basis struct {
	Plan    string `json:"plan,omitempty"`
	Steps   int    `json:"steps,omitempty"`
	Draft   string `json:"draft,omitempty"`
	Request string `json:"request,omitempty"`
	Phase   Phase  `json:"phase,omitempty"`
}
