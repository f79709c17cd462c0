package teamserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// do decides about an action on the newest state of a track.
func (s *Server) do(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
	var req teamwire.DoRequest
	if err := decode(r, &req); err != nil {
		return nil, err
	}
	if req.Key == "" || len(req.Key) > teamwire.MaxKey || req.After < 0 {
		return nil, wrong(teamwire.CodeInvalid, "the request has no valid key or revision",
			fmt.Sprintf("send a key of at most %d bytes, the same for each try", teamwire.MaxKey))
	}
	action, err := store.DecodeAction(req.Action)
	if err != nil {
		return nil, unreadable("the action", err)
	}
	if err := mayAsk(action); err != nil {
		return nil, err
	}
	var claims plan.Facts
	if len(req.Facts) > 0 {
		if claims, err = store.DecodeFacts(req.Facts); err != nil {
			return nil, unreadable("a fact", err)
		}
		if _, err := cleanTexts(req.Facts); err != nil {
			return nil, wrong(teamwire.CodeInvalid, "the request holds a text that is not accepted: "+err.Error(),
				"check the files that the action names")
		}
	}
	ch := change{req: &req, action: action, claims: claims}
	for round := 0; ; round++ {
		reply, err := s.doAs(r, c, ch, round > 0)
		if round == 5 || !errors.Is(err, postgres.ErrOld) && (round > 0 || err == nil && reply.Seq > 0 || !isAnswer(err)) {
			return reply, err
		}
		if c, err = s.readAgain(r); err != nil {
			return nil, err
		}
	}
}

// isAnswer reports whether an error says something about the request, and nil, that nothing was to be changed: things that must not be
// said without having looked.
func isAnswer(err error) bool {
	return err == nil || errors.As(err, new(*plan.ValidationError)) || errors.As(err, new(*teamwire.Error))
}

// doAs decides about a request of a caller. If fresh is false, it relies on what was read before: then only the answer that the change was
// recorded counts, since the append checks all that.
func (s *Server) doAs(r *http.Request, c *caller, ch change, fresh bool) (reply *teamwire.DoReply, err error) {
	ctx, req := r.Context(), ch.req
	if ch.by, err = c.actor(req.Agent, req.Kind, ch.action); err != nil {
		return nil, err
	}
	if req.Scope != nil { // decide checks that it is an attempt of the caller
		ch.by.Scope = *req.Scope
	}
	t, release, err := s.useTrack(ctx, c, r.PathValue("ws"), r.PathValue("track"), fresh)
	if err != nil {
		return nil, err
	}
	defer release()
	key := sha256.Sum256(fmt.Appendf(nil, "%d %s", c.memberID, req.Key)) // one member cannot take another's key
	ch.key, ch.on = hex.EncodeToString(key[:16]), c.member+"'s "+c.machine
	var rules rules
	if known := t.rules.Load(); known != nil && !fresh {
		rules, rules.keyed = *known, 0
	} else if rules, err = s.readRules(ctx, t, ch.key); err != nil {
		return nil, err
	}
	if fresh {
		presence{s, t}.forget()
		if _, err := t.session.State(ctx); err != nil { // reads the log and that of main
			return nil, err
		}
	}
	ch.relied = c.relied(rules.number)
	if t.main != nil {
		ch.relied.Main = t.main.log
	}
	reply, err = s.decide(ctx, t, rules, ch)
	if !fresh || !isAnswer(err) || err == nil && reply.Seq > 0 {
		return reply, err
	}
	latest, failed := s.readRules(ctx, t, ch.key) // another try may be the reason for this answer
	if rules.keyed = latest.keyed; failed == nil && rules.keyed > 0 {
		return s.decide(ctx, t, rules, ch)
	}
	return reply, cmp.Or(failed, err)
}

// mayAsk refuses actions that no token may ask for. Decisions are refused by their own rules.
func mayAsk(action plan.Action) error {
	switch a := action.(type) {
	case nil:
		return wrong(teamwire.CodeInvalid, "the request has an empty action", "update planloop")
	case plan.ShareTrack, plan.Purge:
		return wrong(teamwire.CodeForbidden, "a token may not "+strings.ReplaceAll(plan.ActionWord(a), "_", " "),
			"ask an admin of the team")
	case plan.Batch:
		for _, part := range a.Parts {
			if err := mayAsk(part.Action); err != nil {
				return err
			}
		}
	}
	return nil
}

func unreadable(what string, err error) error {
	if errors.Is(err, store.ErrNewer) {
		return wrong(teamwire.CodeInvalid, what+" needs a newer server: "+plan.Shorten(err.Error(), 200), "update the server")
	}
	return wrong(teamwire.CodeInvalid, what+" cannot be read: "+plan.Shorten(err.Error(), 200), "update planloop")
}

// change is an action with everything that a decision about it needs beside the team's rules.
type change struct {
	req    *teamwire.DoRequest
	by     plan.Actor
	action plan.Action
	claims plan.Facts       // of a laptop, unproved
	key    string           // a repeated one is answered as the first time
	on     string           // the caller's machine, as "ann's laptop"
	relied *postgres.Relied // checked by the append
}

// decide decides about a change on the newest state of a track, and records it.
func (s *Server) decide(ctx context.Context, t *track, rules rules, ch change) (*teamwire.DoReply, error) {
	if rules.keyed > 0 {
		reply := &teamwire.DoReply{Seq: rules.keyed}
		return reply, addRecords(ctx, t, ch.req.After, reply)
	}
	if rules.sharing != 0 {
		return nil, wrong(teamwire.CodeExists, "a member is sharing this track, and its history is not complete",
			"wait for it; if it was abandoned, that member or an admin must share it again")
	}
	prepare, err := t.session.WithFormerPlan(ctx, ch.action, func(now plan.State, facts *plan.Facts) error {
		if head := t.log.Known(); ch.req.Chain != "" && ch.req.Chain != head.Chain && head.Seq > 0 || ch.req.After > head.Seq {
			return chainError(head)
		}
		if ch.req.Basis != nil && *ch.req.Basis != plan.BasisOf(now) {
			return wrong(teamwire.CodeChanged, "the plan has changed since you looked", "look again")
		}
		if run := now.OpenRun(); run != nil && carriesOut(ch.action, ch.by) && plan.MemberOf(run.By) != plan.MemberOf(ch.by.Name) {
			return plan.Refuse(plan.Conflict, "", "only an engine of "+plan.MemberOf(run.By)+" carries out this run",
				"wait for its end, or decide on the page")
		}
		if scope := ch.by.Scope; scope != (plan.Attempt{}) && !isOwnAttempt(now, scope, ch.by) {
			return plan.Refuse(plan.Conflict, "", "no engine of "+plan.MemberOf(ch.by.Name)+" carries out "+scope.Step.String(),
				"leave it to its owner")
		}
		facts.Resolutions, facts.Definitions, facts.Missing = ch.claims.Resolutions, ch.claims.Definitions, ch.claims.Missing
		facts.Limits, facts.Policy, facts.Members, facts.Machine = rules.settings.limits(), rules.settings.policy(), rules.members, ch.on
		return nil
	})
	if err != nil {
		return nil, err
	}
	outcome, err := t.session.Do(postgres.Rely(store.WithKey(ctx, ch.key), ch.relied), ch.by, ch.action, prepare)
	if errors.Is(err, store.ErrRepeated) { // another try with the same key was faster
		return nil, postgres.ErrOld // the next look finds its record
	}
	if err != nil {
		return nil, s.pointToPage(err, ch)
	}
	reply := &teamwire.DoReply{}
	if len(outcome.Events) > 0 {
		reply.Seq = outcome.After.Revision
		s.metrics.records.Add(1)
		if ch.req.After+1 == reply.Seq {
			reply.Head, reply.Records = ch.relied.Head, []string{string(ch.relied.Line)}
			return reply, nil
		}
	}
	return reply, addRecords(ctx, t, ch.req.After, reply)
}

// carriesOut reports whether an action continues a run or stops its steps, which is for the member that began it.
func carriesOut(a plan.Action, by plan.Actor) bool {
	switch a := a.(type) {
	case plan.BeginRun:
		return true
	case plan.AnswerStep:
		return a.Choice == plan.Stop || a.Choice == plan.Abort
	case plan.Batch:
		return slices.ContainsFunc(a.Parts, func(part plan.Part) bool { return carriesOut(part.Action, by) })
	}
	return by.Channel == plan.ChannelEngine && isOfEngine(a)
}

// addRecords adds the head of a track and its records after a revision, as many as fit an answer.
func addRecords(ctx context.Context, t *track, after plan.Revision, reply *teamwire.DoReply) error {
	is, err := t.log.Lines(ctx, after, teamwire.MaxRecords)
	reply.Head, reply.Records, reply.More = is.Head, is.Lines, is.More
	return err
}

// isOwnAttempt reports whether an engine of the actor's member has the step of an attempt.
func isOwnAttempt(now plan.State, a plan.Attempt, by plan.Actor) bool {
	if now.Plan == nil {
		return false
	}
	step, ok := now.Plan.Steps.Get(a.Step)
	return ok && plan.MemberOf(step.ClaimedBy) == plan.MemberOf(by.Name)
}

// pointToPage says in the refusal of a decision where people decide: no token does.
func (s *Server) pointToPage(err error, ch change) error {
	refused, is := errors.AsType[*plan.ValidationError](err)
	if !is || ch.by.IsPresent() || s.opts.Address == "" {
		return err
	}
	switch ch.action.(type) {
	case plan.DecideDraft, plan.CancelMode, plan.EditDraft, plan.AcceptUndone, plan.AnswerQuestion, plan.EndRun:
		pointed := *refused
		pointed.Fix = "decide at " + s.opts.Address
		return &pointed
	}
	return err
}

func chainError(head store.Head) error {
	return wrong(teamwire.CodeChain, fmt.Sprintf("the track's log is the chain %s, with %d records", head.Chain, head.Seq),
		"read it from the beginning")
}
