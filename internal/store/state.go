package store

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"

	"github.com/go-json-experiment/json"
	"golang.org/x/sync/errgroup"

	"github.com/planloop/planloop/plan"
)

// stepsPerLine keeps a line small enough for several processors to share the decoding of a long
// plan, and long enough that the overhead per line is negligible.
const stepsPerLine = 256

// stateHead is the first line of an encoded state: everything but the steps, which follow in lines
// of their own, first the plan's, then the draft's.
type stateHead struct {
	State      plan.StateBody `json:"state"`
	PlanLines  int            `json:"plan_lines"`
	DraftLines int            `json:"draft_lines"`
}

// EncodeState returns s as lines of JSON, the same bytes for the same state.
func EncodeState(s plan.State) ([]byte, error) {
	body := s.Body()
	planSteps, draftSteps := detachSteps(body.Plan), detachSteps(body.Draft)
	head := stateHead{State: body, PlanLines: len(planSteps), DraftLines: len(draftSteps)}
	var out bytes.Buffer
	if err := json.MarshalWrite(&out, head, sharedCodec().encode); err != nil {
		return nil, fmt.Errorf("encode state %d: %w", s.Revision, err)
	}
	for _, line := range slices.Concat(planSteps, draftSteps) {
		out.WriteByte('\n')
		if err := json.MarshalWrite(&out, line, sharedCodec().encode); err != nil {
			return nil, fmt.Errorf("encode state %d: %w", s.Revision, err)
		}
	}
	return out.Bytes(), nil
}

// detachSteps removes the steps from a body and returns them in lines.
func detachSteps(b *plan.Body) [][]*plan.Step {
	if b == nil {
		return nil
	}
	lines := slices.Collect(slices.Chunk(b.Steps, stepsPerLine))
	b.Steps = nil
	return lines
}

// DecodeState reads the output of EncodeState. The error wraps ErrNewer if data holds a field that
// this version does not know.
func DecodeState(data []byte) (plan.State, error) {
	lines := bytes.Split(data, []byte{'\n'})
	var head stateHead
	if err := json.Unmarshal(lines[0], &head, sharedCodec().decode); err != nil {
		return plan.State{}, fmt.Errorf("decode state: %w", markNewer(err))
	}
	steps, err := decodeLines(lines[1:])
	if err != nil {
		return plan.State{}, fmt.Errorf("decode state %d: %w", head.State.Revision, markNewer(err))
	}
	if err := head.attachSteps(steps); err != nil {
		return plan.State{}, fmt.Errorf("decode state %d: %w", head.State.Revision, err)
	}
	return head.State.Build(), nil
}

// attachSteps puts the lines back into the bodies they were taken from.
func (h *stateHead) attachSteps(lines [][]*plan.Step) error {
	if h.PlanLines < 0 || h.DraftLines < 0 || h.PlanLines > len(lines) || h.PlanLines+h.DraftLines != len(lines) {
		return fmt.Errorf("%d lines of steps instead of %d and %d", len(lines), h.PlanLines, h.DraftLines)
	}
	for _, b := range []struct {
		body  *plan.Body
		lines [][]*plan.Step
	}{{h.State.Plan, lines[:h.PlanLines]}, {h.State.Draft, lines[h.PlanLines:]}} {
		if b.body == nil && len(b.lines) > 0 {
			return fmt.Errorf("%d lines of steps without a plan", len(b.lines))
		}
		if b.body != nil {
			b.body.Steps = slices.Concat(append([][]*plan.Step{b.body.Steps}, b.lines...)...)
		}
	}
	return nil
}

// decodeLines decodes lines of steps on all processors.
func decodeLines(lines [][]byte) ([][]*plan.Step, error) {
	steps := make([][]*plan.Step, len(lines))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, line := range lines {
		group.Go(func() error { return json.Unmarshal(line, &steps[i], sharedCodec().decode) })
	}
	return steps, group.Wait()
}
