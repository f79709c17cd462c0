package teamserver_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/postgres/postgrestest"
	"github.com/planloop/planloop/internal/team"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// copyVia returns a session on a laptop's copy of its track, which reaches the servers through a wire.
func (l *laptop) copyVia(t *testing.T, w *wire) (*session.Session, *team.Copy) {
	t.Helper()
	m := team.Membership{Address: "http://" + w.address, Token: outbound.Secret(l.token), Team: "blue", Member: fmt.Sprint("ann", l.id),
		Machine: "laptop", Role: teamwire.RoleMember}
	place, dir := team.Place{Team: "blue", Workspace: "shop", Track: l.track}, t.TempDir()
	check(t, place.Save(dir))
	client, err := team.NewClient(m, slog.New(slog.DiscardHandler))
	check(t, err)
	c := team.NewCopy(m, place, dir, client)
	s := session.New(store.NewMemory(), session.Options{Decider: c})
	t.Cleanup(func() { check(t, s.Close()); client.Close() })
	return s, c
}

// operation is a laptop's change or read of a track, with its result.
type operation struct {
	track  string
	isRead bool
	note   string        // of a change
	after  int           // the steps that the change relies on; -1: any
	seq    plan.Revision // of the change's record, 0: it was refused, since there are other steps; of the head that was read
}

// trackState is a track reduced to its records and steps.
type trackState struct {
	seq   plan.Revision
	steps int
}

// trackModel says which changes and reads of a track may follow one another. Each track begins with one record.
func trackModel(steps int) porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
			tracks := map[string][]porcupine.Operation{}
			for _, o := range history {
				tracks[o.Output.(operation).track] = append(tracks[o.Output.(operation).track], o)
			}
			for _, part := range tracks {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() any { return trackState{1, steps} },
		Step: func(state, _, output any) (bool, any) {
			is, op := state.(trackState), output.(operation)
			next := trackState{is.seq + 1, is.steps}
			switch {
			case op.isRead:
				return op.seq == is.seq, is
			case op.seq == 0:
				return op.after != is.steps, is
			case op.after >= 0:
				next.steps++
				return op.seq == next.seq && op.after == is.steps, next
			}
			return op.seq == next.seq, next
		},
	}
}

// historian keeps the operations of all laptops.
type historian struct {
	began time.Time
	done  chan struct{} // receives after each operation

	mu      sync.Mutex
	known   []porcupine.Operation
	unknown []porcupine.Operation // changes that may have been made
	never   []string              // notes of changes that were not made
}

// note adds an operation that began at a time.
func (h *historian) note(client int, call time.Duration, op operation, err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := porcupine.Operation{ClientId: client, Output: op, Call: call.Nanoseconds(), Return: time.Since(h.began).Nanoseconds()}
	offline, isOffline := errors.AsType[*team.Offline](err)
	switch {
	case err == nil:
		h.known = append(h.known, o)
	case op.isRead && isOffline:
	case isOffline && offline.MayHaveChanged || !isOffline && strings.Contains(err.Error(), "was accepted"):
		h.unknown = append(h.unknown, o)
	case isOffline || errors.Is(err, session.ErrChanged):
		h.never = append(h.never, op.note)
	default:
		return fmt.Errorf("laptop %d: %+v: %w", client, op, err)
	}
	select {
	case h.done <- struct{}{}:
	default: // nothing waits for one
	}
	return nil
}

// use reads and changes a track until stop is closed: by its copy, and by requests that are sent several times.
func (h *historian) use(ctx context.Context, l *laptop, s *session.Session, stop <-chan struct{}) error {
	me := plan.NewActor(plan.ChannelMCP, fmt.Sprintf("ann%d/codex", l.id))
	for n := 0; n < 900; n++ {
		select {
		case <-stop:
			return nil
		default:
		}
		note := fmt.Sprintf("note %d.%d", l.id, n)
		call, op := time.Since(h.began), operation{track: l.track, isRead: true}
		state, err := plan.State{}, s.Pull(ctx)
		if err == nil {
			state, err = s.State(ctx)
		}
		op.seq = state.Revision
		if err := h.note(l.id, call, op, err); err != nil {
			return err
		}
		call, op = time.Since(h.began), operation{track: l.track, note: note, after: -1}
		if n%2 == 0 || err != nil {
			outcome, err := s.Do(ctx, me, plan.ReportStep{Step: plan.StepID(l.id + 1), Note: note}, nil)
			op.seq = outcome.After.Revision
			if err := h.note(l.id, call, op, err); err != nil {
				return err
			}
			continue
		}
		basis := plan.BasisOf(state)
		op.after = state.Plan.Steps.Len()
		op.seq, err = l.addTwice(ctx, note, &basis)
		if err := h.note(l.id, call, op, err); err != nil {
			return err
		}
	}
	return nil
}

// addTwice sends a request to two servers at once, again and again until both have answered, and the same.
func (l *laptop) addTwice(ctx context.Context, title string, basis *plan.Basis) (plan.Revision, error) {
	action := plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: title}}}}
	type answer struct {
		seq plan.Revision
		err error
	}
	other := &laptop{id: l.id, token: l.token, track: l.track, servers: append(slices.Clone(l.servers[1:]), l.servers[0])}
	answers := make(chan answer, 2)
	for _, one := range []*laptop{l, other} {
		go func() {
			seq, err := one.changeOn(ctx, title, action, basis)
			answers <- answer{seq, err}
		}()
	}
	first, second := <-answers, <-answers
	if first.seq != second.seq {
		return 0, fmt.Errorf("the same request was answered with records %d and %d", first.seq, second.seq)
	}
	return first.seq, errors.Join(first.err, second.err)
}

// TestChangesAreLinearizable: the changes and reads of laptops at three servers could have been made one after the other, although servers
// are killed and connections are cut.
func TestChangesAreLinearizable(t *testing.T) {
	laptops, servers := newFleet(t, postgrestest.Start(t), 3, testenv.Count(4, 6, 20), 2)
	h := &historian{began: time.Now(), done: make(chan struct{})}
	stop, failed := make(chan struct{}), make(chan error, len(laptops))
	var wires []*wire
	for i, l := range laptops {
		balancer := newTCPWire(t, append(slices.Clone(servers[i%3:]), servers[:i%3]...)...)
		s, _ := l.copyVia(t, balancer)
		wires = append(wires, balancer)
		go func() { failed <- h.use(t.Context(), l, s, stop) }()
	}
	await := func(operations int) {
		t.Helper()
		for range operations {
			select {
			case <-h.done:
			case err := <-failed:
				t.Fatal(cmp.Or(err, errors.New("a laptop ended too soon")))
			case <-time.After(time.Minute):
				t.Fatal("nothing was done for a minute")
			}
		}
	}
	for round := range testenv.Count(3, 6, 30) {
		await(3 * len(laptops))
		if round%3 == 0 {
			servers[round/3%3].kill()
			await(2 * len(laptops))
			check(t, servers[round/3%3].start())
			continue
		}
		for range 5 {
			await(2)
			wires[round%len(wires)].cut()
			wires[(round+1)%len(wires)].cut()
		}
	}
	await(len(laptops))
	close(stop)
	for range laptops {
		check(t, <-failed)
	}
	h.check(t, laptops)
}

// check compares the operations with the records, which settle those of unknown outcome, and with the model.
func (h *historian) check(t *testing.T, laptops []*laptop) {
	recorded, end := map[string]plan.Revision{}, time.Since(h.began).Nanoseconds()
	for _, l := range laptops[:2] {
		_, list := l.readAll(t)
		for _, record := range list {
			for _, event := range record.Events {
				note := ""
				switch e := event.(type) {
				case plan.StepReported:
					note = e.Note
				case plan.StepsAdded:
					note = e.Steps[0].Title
				}
				if strings.HasPrefix(note, "note ") {
					if recorded[note] != 0 {
						t.Errorf("%s was recorded twice, as %d and %d", note, recorded[note], record.Seq)
					}
					recorded[note] = record.Seq
				}
			}
		}
		h.known = append(h.known, porcupine.Operation{Output: operation{track: l.track, isRead: true, seq: list[len(list)-1].Seq},
			Call: end + 1, Return: end + 2})
	}
	made := 0
	for _, o := range h.unknown {
		op := o.Output.(operation)
		if op.seq = recorded[op.note]; op.seq > 0 {
			o.Output, o.Return, made = op, end, made+1
			h.known = append(h.known, o)
		}
	}
	for _, note := range h.never {
		if recorded[note] != 0 {
			t.Errorf("%s was not to be made, and is record %d", note, recorded[note])
		}
	}
	t.Logf("%d operations; %d changes refused or not sent, %d without an answer, of which %d were made", len(h.known), len(h.never),
		len(h.unknown), made)
	if result := porcupine.CheckOperationsTimeout(trackModel(len(laptops)), h.known, time.Minute); result != porcupine.Ok {
		t.Errorf("they are not linearizable: %v", result)
	}
}
