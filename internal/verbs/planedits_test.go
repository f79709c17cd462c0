package verbs_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// worked returns a workspace with ann working on step 2 of four, and a second service for another process.
func worked(t *testing.T) (log *session.Session, s, other *verbs.Service) {
	t.Helper()
	clock := time.Now()
	now := func() time.Time { clock = clock.Add(time.Second); return clock }
	log = session.New(store.NewMemory(), session.Options{Now: now})
	s, other = verbs.New(log, verbs.Options{Now: now}), verbs.New(log, verbs.Options{Now: now})
	var steps []verbs.NewStep
	for _, title := range []string{"Look", "Build", "Check", "Tell"} {
		steps = append(steps, verbs.NewStep{Title: title})
	}
	if _, err := s.SetupPlan(t.Context(), ann, verbs.SetupPlan{Objective: "Ship it", InitialSteps: steps}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Mark(t.Context(), ann, plan.MarkStep{Step: 2, Status: plan.InProgress}); err != nil {
		t.Fatal(err)
	}
	return log, s, other
}

// TestAnAgentLearnsOfPeoplesEdits: from every status, and from the answer to its next report; its own steps first.
func TestAnAgentLearnsOfPeoplesEdits(t *testing.T) {
	status := func(t *testing.T, s *verbs.Service, c verbs.Caller) (told, text string) {
		reply, err := s.Status(t.Context(), c, verbs.Status{})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Edited, reply.Text()
	}
	asks := map[string]func(t *testing.T, s *verbs.Service, c verbs.Caller) (told, text string){
		"status": status,
		"mark": func(t *testing.T, s *verbs.Service, c verbs.Caller) (string, string) {
			reply, err := s.Mark(t.Context(), c, plan.MarkStep{Step: 2, Status: plan.Done})
			if err != nil {
				t.Fatal(err)
			}
			return reply.Edited, reply.Text()
		},
		"update": func(t *testing.T, s *verbs.Service, c verbs.Caller) (string, string) {
			reply, err := s.Update(t.Context(), c, verbs.Update{UpdateTasks: []verbs.TaskUpdate{{ID: 2, Status: new(verbs.Complete)}}})
			if err != nil {
				t.Fatal(err)
			}
			_, told, _ := strings.Cut(reply.Message, "successfully. ")
			return told, reply.Text()
		},
	}
	retitle := plan.UpdateStep{Step: 2, Patch: plan.Patch{Title: new("Build it well")}}
	risk := plan.UpdateStep{Step: 2, Patch: plan.Patch{Risk: new(plan.HighRisk), Title: new("Build it best")}}
	add := plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Write it down"}}}}
	for name, c := range map[string]struct {
		by   []verbs.Caller // the callers of the actions, default the person
		did  []plan.Action
		want string
	}{
		"its own step": {nil, []plan.Action{retitle}, `pat changed the title of S002 "Build it well", which you work on.`},
		"twice": {nil, []plan.Action{retitle, risk},
			`pat changed the title and risk of S002 "Build it best", which you work on.`},
		"another step behind its own": {nil, []plan.Action{add, plan.MoveStep{Step: 5, After: 3}, plan.MarkStep{Step: 4,
			Status: plan.Skipped}, retitle}, `pat changed the title of S002 "Build it well", which you work on; ` +
			`added S005 "Write it down"; moved S005 "Write it down"; marked S004 "Tell" as skipped.`},
		"another agent":   {[]verbs.Caller{carl}, []plan.Action{add}, ""},
		"a plan replaced": {nil, []plan.Action{retitle, plan.SetUp{Outline: plan.Outline{Objective: "Other"}}}, ""},
	} {
		for ask, asked := range asks {
			if ask != "status" && strings.Contains(name, "replaced") {
				continue // a refused one
			}
			for process, elsewhere := range map[string]bool{"here": false, "in another process": true} {
				t.Run(name+", "+ask+" "+process, func(t *testing.T) {
					log, s, other := worked(t)
					status(t, s, carl)
					status(t, s, ann)
					for i, a := range c.did {
						by := person
						if len(c.by) > i {
							by = c.by[i]
						}
						if _, err := log.Do(t.Context(), by.Actor, a, nil); err != nil {
							t.Fatal(err)
						}
					}
					if elsewhere {
						s = other
					}
					told, text := asked(t, s, ann)
					if told != c.want || !strings.Contains(text, strings.TrimSuffix(c.want, ".")) {
						t.Errorf("told %q, want %q:\n%s", told, c.want, text)
					}
					if again, _ := status(t, s, ann); (again != "") != (c.want != "") {
						t.Errorf("a status after that tells %q", again)
					}
					if told, _ := status(t, s, person); told != "" {
						t.Errorf("the person is told: %q", told)
					}
				})
			}
		}
	}
}

// TestAChangeStandsThoughNobodyCanReadWhatItWasMadeOver: after an error the agent would repeat its change. The next status has the edits.
func TestAChangeStandsThoughNobodyCanReadWhatItWasMadeOver(t *testing.T) {
	for name, change := range map[string]func(s *verbs.Service) error{
		"mark": func(s *verbs.Service) error {
			_, err := s.Mark(t.Context(), ann, plan.MarkStep{Step: 2, Status: plan.Done})
			return err
		},
		"update": func(s *verbs.Service) error {
			_, err := s.Update(t.Context(), ann, verbs.Update{UpdateTasks: []verbs.TaskUpdate{{ID: 2, Status: new(verbs.Complete)}}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := &unreadable{Log: store.NewMemory()}
			session := session.New(log, session.Options{})
			s := verbs.New(session, verbs.Options{})
			if _, err := s.SetupPlan(t.Context(), ann, verbs.SetupPlan{Objective: "Ship it",
				InitialSteps: []verbs.NewStep{{Title: "Look"}, {Title: "Build"}}}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Status(t.Context(), ann, verbs.Status{}); err != nil {
				t.Fatal(err)
			}
			retitle := plan.UpdateStep{Step: 1, Patch: plan.Patch{Title: new("Look well")}}
			if _, err := session.Do(t.Context(), person.Actor, retitle, nil); err != nil {
				t.Fatal(err)
			}
			log.fault = errors.New("the disk is gone")
			if err := change(s); err != nil {
				t.Errorf("a change that was made is answered by %v", err)
			}
			log.fault = nil
			if reply, err := s.Status(t.Context(), ann, verbs.Status{}); err != nil || !strings.Contains(reply.Edited, "Look well") {
				t.Errorf("%v: the next status tells %q", err, reply.Edited)
			}
		})
	}
}

// unreadable is a log with records that cannot be read while fault is set.
type unreadable struct {
	store.Log
	fault error
}

func (u *unreadable) Read(ctx context.Context, after plan.Revision) iter.Seq2[plan.Record, error] {
	if u.fault == nil {
		return u.Log.Read(ctx, after)
	}
	return func(yield func(plan.Record, error) bool) { yield(plan.Record{}, u.fault) }
}

// TestAStatusReadsABoundedPartOfTheLog: a status has the latest edits.
func TestAStatusReadsABoundedPartOfTheLog(t *testing.T) {
	log := &countedLog{Log: store.NewMemory()}
	session := session.New(log, session.Options{})
	s := verbs.New(session, verbs.Options{})
	if _, err := s.SetupPlan(t.Context(), ann, verbs.SetupPlan{Objective: "Ship it",
		InitialSteps: []verbs.NewStep{{Title: "Look"}, {Title: "Build"}}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		changes int // by another agent, since its last status
		want    string
	}{
		{10, `pat changed the title of S001 "Look 10"; changed the title of S002 "Build 10".`},
		{2_000, `pat changed the title of S002 "Build 2000".`},
		{10, `pat changed the title of S002 "Build 10"; changed the title of S001 "Look 10".`},
	} {
		if _, err := s.Status(t.Context(), ann, verbs.Status{}); err != nil {
			t.Fatal(err)
		}
		retitle := func(id plan.StepID, title string) {
			change := plan.UpdateStep{Step: id, Patch: plan.Patch{Title: new(fmt.Sprint(title, " ", c.changes))}}
			if _, err := session.Do(t.Context(), person.Actor, change, nil); err != nil {
				t.Fatal(err)
			}
		}
		retitle(1, "Look")
		for i := range c.changes {
			note := plan.RaiseSignal{ID: "note", Level: plan.Info, Message: fmt.Sprint(i)}
			if _, err := session.Do(t.Context(), carl.Actor, note, nil); err != nil {
				t.Fatal(err)
			}
		}
		retitle(2, "Build")
		log.read = 0
		reply, err := s.Status(t.Context(), ann, verbs.Status{})
		if err != nil || reply.Edited != c.want {
			t.Errorf("after %d changes: %v: told %q, want %q", c.changes, err, reply.Edited, c.want)
		}
		if log.read > 1_100 {
			t.Errorf("after %d changes %d records are read", c.changes, log.read)
		}
	}
}

// countedLog counts the records read.
type countedLog struct {
	store.Log
	read int
}

func (l *countedLog) Read(ctx context.Context, after plan.Revision) iter.Seq2[plan.Record, error] {
	return func(yield func(plan.Record, error) bool) {
		for record, err := range l.Log.Read(ctx, after) {
			if l.read++; !yield(record, err) {
				return
			}
		}
	}
}

// TestWhatPeopleChangedFitsAStatus for any number of edits.
func TestWhatPeopleChangedFitsAStatus(t *testing.T) {
	_, s, _ := worked(t)
	mustStatusOf := func(c verbs.Caller) verbs.StatusReply {
		reply, err := s.Status(t.Context(), c, verbs.Status{})
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	mustStatusOf(ann)
	for range 40 {
		long := []plan.NewStep{{Spec: plan.Spec{Title: strings.Repeat("word ", 30)}}}
		if _, err := s.AddStepsAfter(t.Context(), person, long, nil); err != nil {
			t.Fatal(err)
		}
	}
	reply := mustStatusOf(ann)
	if n := tokens.CountCautiously(reply.Edited); n == 0 || n > 140 {
		t.Errorf("%d tokens: %s", n, reply.Edited)
	}
	if n := tokens.CountCautiously(reply.Text()); n > 1_500 {
		t.Errorf("the status has %d tokens", n)
	}
}
