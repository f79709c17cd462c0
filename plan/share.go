package plan

import "time"

// ShareTrack asks to mark the history so far as made before the track was shared with a team. Its actor is planloop, under the name of the
// member that shares. Approvals made until then do not count under the team's policy, so an approved plan waits for a decision again.
type ShareTrack struct {
	From string // the place it comes from, as in "ann's laptop"
}

func (a ShareTrack) clean(c *cleaner) Action {
	c.text(&a.From, "from", Text{Max: MaxHint}, true)
	return a
}

func (a ShareTrack) decide(s State, f Facts) ([]Event, error) {
	return []Event{TrackShared{From: a.From, Records: s.Revision, By: f.Actor.Name, At: f.Now}}, nil
}

// TrackShared marks the history so far as made before the track was shared with a team.
type TrackShared struct {
	From    string    `json:"from"`    // the place it comes from
	Records Revision  `json:"records"` // number of records before
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

func (e TrackShared) apply(s State) State { return s }
