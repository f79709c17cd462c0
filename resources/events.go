package resources

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/plan"
)

// Event returns an event as one JSON object.
func Event(e history.Event) ([]byte, error) { return encode(e) }

// EventsDocument holds the newest events, as plan://events shows them.
type EventsDocument struct {
	Revision plan.Revision    `json:"revision"`
	Events   []jsontext.Value `json:"events"`         // oldest first
	Note     string           `json:"note,omitempty"` // set if older ones exist
}

// maxEvents limits the number of events; maxEventBytes limits their total size, but the newest is always shown.
const (
	maxEvents     = 50
	maxEventBytes = 256 << 10
)

// Events returns the newest of the given events as JSON; they are ordered oldest first. fromFirst says that events
// starts with the first event of the log.
func Events(revision plan.Revision, events []history.Event, fromFirst bool) ([]byte, error) {
	d := EventsDocument{Revision: revision, Events: []jsontext.Value{}}
	from, size := len(events), 0
	for from > 0 && len(events)-from < maxEvents {
		line, err := Event(events[from-1])
		if err != nil {
			return nil, err
		}
		if size += len(line); size > maxEventBytes && len(d.Events) > 0 {
			break
		}
		d.Events = append([]jsontext.Value{line}, d.Events...)
		from--
	}
	if from > 0 || !fromFirst {
		d.Note = "Older events are not shown: planloop log --events prints them all, and those after revision N with --since N."
	}
	return encode(d)
}
