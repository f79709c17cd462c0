package teamserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/planloop/planloop/internal/notify"
	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/plan"
)

const (
	noticesEvery  = 2 * time.Second
	noticesAtOnce = 32 // of as many teams, so that a slow webhook delays only its own team
	mostTries     = 5  // of a notice: the last one 85 minutes after the first
	webhookWait   = 15 * time.Second
)

func parseWebhook(text string) (*url.URL, error) {
	address, problem := outbound.Rules{Example: `"webhook": "https://chat.example.com/hook"`,
		Credentials: "take them out; a webhook's secret is part of its path or query", Unencrypted: "write https://"}.Parse(text)
	switch {
	case problem != nil:
		return nil, unfit("webhook %s; %s", problem.Problem, problem.Want)
	case address.Scheme != "https":
		return nil, unfit("webhook does not start with https://; write https://")
	}
	return address, nil
}

// dueNotice is a record for a team's webhook. This server has claimed it.
type dueNotice struct {
	id, team         int64
	workspace, track string
	seq              plan.Revision
	tries            int
}

// sendNotices calls the teams' webhooks until the server ends.
func (s *Server) sendNotices() {
	tick := time.NewTicker(noticesEvery)
	defer tick.Stop()
	busy, sent := map[int64]bool{}, make(chan int64, noticesAtOnce) // teams
	var sending sync.WaitGroup
	defer sending.Wait()
	for {
		for len(busy) < noticesAtOnce {
			var n dueNotice
			limited, cancel := context.WithTimeout(s.ending, answerWithin)
			err := s.pool.QueryRow(limited, "SELECT id, team, workspace, track, seq, tries FROM claim_notice($1)",
				slices.AppendSeq([]int64{}, maps.Keys(busy))).Scan(&n.id, &n.team, &n.workspace, &n.track, &n.seq, &n.tries)
			cancel()
			if err != nil {
				if !errors.Is(err, pgx.ErrNoRows) && s.ending.Err() == nil {
					s.log.Warn("the notices for webhooks cannot be read", "error", err)
				}
				break
			}
			busy[n.team] = true
			sending.Go(func() { s.sendNotice(s.ending, n); sent <- n.team })
		}
		select {
		case <-s.ending.Done():
			return
		case team := <-sent:
			delete(busy, team)
		case <-tick.C:
		}
	}
}

// sendNotice calls a webhook, and deletes the notice unless it must be sent again.
func (s *Server) sendNotice(ctx context.Context, n dueNotice) {
	ctx, cancel := context.WithTimeout(ctx, 2*webhookWait)
	defer cancel()
	address, body, err := s.notice(ctx, n)
	if err == nil && body != nil {
		limits := outbound.Limits{Timeout: webhookWait, Total: webhookWait, Tries: 1}
		message := outbound.Message{Body: body, Secrets: []string{address.RequestURI()}}
		err = outbound.New(address, limits, s.opts.Webhooks, s.log).Post(ctx, message)
	}
	if err != nil {
		s.log.Warn("a webhook was not called", "workspace", n.workspace, "try", n.tries, "of", mostTries, "error", err)
	}
	if err != nil && n.tries < mostTries {
		return
	}
	if err := s.db.Exec(ctx, n.team, "DELETE FROM notice WHERE id = $1", n.id); err != nil && s.ending.Err() == nil {
		s.log.Warn("a notice may be sent twice", "error", err)
	}
}

// notice returns the webhook's address and the notice; nil if there is nothing to report, or no webhook any longer.
func (s *Server) notice(ctx context.Context, n dueNotice) (*url.URL, []byte, error) {
	t, release, err := s.useTrack(ctx, &caller{team: n.team}, n.workspace, n.track, false)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	rules, err := s.readRules(ctx, t, "")
	if err != nil || rules.settings.Webhook == "" {
		return nil, nil, err
	}
	address, err := parseWebhook(rules.settings.Webhook)
	if err != nil {
		return nil, nil, err
	}
	head, err := t.log.Head(ctx)
	if err != nil {
		return nil, nil, err
	}
	for change, err := range t.session.Changes(ctx, n.seq-1, false) {
		if err != nil {
			return nil, nil, err
		}
		notice := noticeOf(change.Record, plan.Fold(change.Before, change.Record)) // the plan may have changed since
		if notice.Event == "" {
			break
		}
		notice.ID, notice.Workspace = fmt.Sprintf("%s-%d", head.Chain, n.seq), placeOf(n.workspace, n.track).Name
		if s.opts.Address != "" {
			notice.How = s.opts.Address + "/#workspace=" + url.QueryEscape(n.workspace+"/"+n.track)
		}
		body, err := notice.Encode()
		return address, body, err
	}
	return nil, nil, nil
}

// noticeOf describes a record after which a plan waits for approval or was decided. Its event is "" for any other.
func noticeOf(r plan.Record, now plan.State) (n notify.Notice) {
	waits := func(p *plan.Plan) {
		n = notify.Notice{Event: "plan_waits", PlanID: p.ID, Title: p.Objective, Text: p.Summary, Questions: p.Questions}
		for step := range p.Steps.All() {
			n.Steps = append(n.Steps, notify.Step{ID: step.ID.String(), Title: step.Title, Risk: string(step.Risk)})
		}
	}
	decided := func(act, id, comment string) {
		objective := "the plan"
		for _, p := range []*plan.Plan{now.Plan, now.Draft} {
			if p != nil && p.ID == id {
				objective = plan.Quote(p.Objective)
			}
		}
		n = notify.Notice{Event: "plan_decided", PlanID: id, Title: r.Actor.Name + " " + act + " " + objective, Text: comment}
	}
	for _, e := range r.Events {
		switch e := e.(type) {
		case plan.PlanSubmitted:
			waits(e.Plan.Build())
		case plan.ChangeProposed:
			waits(e.Plan.Build())
		case plan.TrackShared:
			if now.Draft != nil && !now.IsReturned() {
				waits(now.Draft)
			}
		case plan.PlanApproved:
			if now.Plan != nil {
				decided("approved", now.Plan.ID, "")
			}
		case plan.PlanRejected:
			decided("rejected", e.Plan, e.Reason)
		case plan.PlanReturned:
			decided("requested changes to", e.Plan, e.Comment)
		}
	}
	return n
}
