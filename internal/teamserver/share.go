package teamserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/jackc/pgx/v5"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// share imports a part of a local history, and marks it as such after the last part. Its records are the
// laptop's word: their actors are not proved.
func (s *Server) share(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
	if err := c.may("share a track", teamwire.RoleMember, teamwire.RoleAdmin); err != nil {
		return nil, err
	}
	var req teamwire.ShareRequest
	if err := decode(r, &req); err != nil {
		return nil, err
	}
	t, release, err := s.useTrack(r.Context(), c, r.PathValue("ws"), r.PathValue("track"), true)
	if err != nil {
		return nil, err
	}
	defer release()
	records, err := s.checkRecords(r.Context(), t, &req) // before a claim of the track's name
	if err != nil {
		return nil, err
	}
	if err := s.beginSharing(r.Context(), c, t, req.After == 0); err != nil {
		return nil, err
	}
	if _, err := t.session.State(r.Context()); err != nil { // so that a part replaces no later change
		return nil, err
	}
	head := t.log.Known()
	if head.Seq != req.After && req.After > 0 {
		return nil, wrong(teamwire.CodeChanged, fmt.Sprintf("the track has %d records, not %d", head.Seq, req.After),
			"share it from the beginning")
	}
	readShare := func(ctx context.Context) (*caller, error) { // it still shares the track
		if c, err = s.readAgain(r); err == nil {
			err = s.beginSharing(ctx, c, t, false)
		}
		return c, err
	}
	ctx := withRights(r.Context(), c, readShare)
	was := head
	if head, err = t.importRecords(ctx, head, req.After, records); err != nil {
		if errors.Is(err, store.ErrConflict) && was.Seq == 0 && head.Seq == 0 { // the team began the track first
			err = cmp.Or(s.dropEmptyClaim(r.Context(), c, t), hasTrack())
		}
		return nil, err
	}
	if !req.Last {
		return teamwire.ShareReply{Head: head}, nil
	}
	from := c.member + "'s " + c.machine
	if _, err = t.session.Do(ctx, plan.NewActor(plan.ChannelEngine, c.member), plan.ShareTrack{From: from},
		func(_ plan.State, facts *plan.Facts) error {
			facts.Members = plan.Members{} // the team's rules do not concern it
			return nil
		}); err != nil {
		return nil, err
	}
	return teamwire.ShareReply{Head: t.log.Known()}, s.endSharing(r.Context(), c, t, from)
}

// beginSharing claims a track for the caller's import, or finds that this machine of the caller has. The first part of an import claims an
// empty track; it also replaces an import that the same member has abandoned, or that of any member for an admin. An import that is
// complete is not replaced, although a schema before 9 may have kept its claim.
func (s *Server) beginSharing(ctx context.Context, c *caller, t *track, isFirst bool) error {
	var member int64
	var machine string
	err := s.db.InTeam(ctx, c.team, func(tx pgx.Tx) error {
		if isFirst {
			done, err := tx.Exec(ctx, `INSERT INTO sharing (track, team, member, machine)
				SELECT $1, $2, $3, $4 FROM track t WHERE id = $1 AND (seq = 0 OR EXISTS (SELECT FROM sharing WHERE track = $1)
					AND EXISTS (SELECT FROM record r WHERE r.team = $2 AND r.track = $1 AND r.seq = t.seq AND starts_with(key, $6)))
				ON CONFLICT (track) DO UPDATE SET member = excluded.member, machine = excluded.machine, begun = now()
				WHERE sharing.member = excluded.member OR $5 OR sharing.begun < now() - interval '1 hour'
					AND (SELECT seq FROM track WHERE id = excluded.track) = 0`,
				t.ID, c.team, c.memberID, c.machine, c.role == teamwire.RoleAdmin, shareKey)
			if err != nil || done.RowsAffected() == 0 {
				return cmp.Or(err, hasTrack())
			}
		}
		return tx.QueryRow(ctx, "SELECT member, machine FROM sharing WHERE track = $1", t.ID).Scan(&member, &machine)
	})
	if errors.Is(err, pgx.ErrNoRows) || err == nil && (member != c.memberID || machine != c.machine) {
		return hasTrack()
	}
	return err
}

// shareKey begins the keys of imported records; those of other changes are hexadecimal.
const shareKey = "share "

func hasTrack() error {
	return wrong(teamwire.CodeExists, "the team has this track already", "share yours under another name, or pull the team's")
}

// dropEmptyClaim ends the claim of a track that others have begun, and not another request of the same import.
func (s *Server) dropEmptyClaim(ctx context.Context, c *caller, t *track) error {
	return s.db.Exec(ctx, c.team, `DELETE FROM sharing WHERE track = $1 AND member = $2
		AND NOT EXISTS (SELECT FROM record WHERE track = $1 AND seq = 1 AND starts_with(key, $3))`, t.ID, c.memberID, shareKey)
}

// endSharing notes an import. The database has ended its claim with the last record, but for a schema before 9.
func (s *Server) endSharing(ctx context.Context, c *caller, t *track, from string) error {
	return s.db.InTeam(ctx, c.team, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "DELETE FROM sharing WHERE track = $1 AND member = $2", t.ID, c.memberID); err != nil {
			return err
		}
		return note(ctx, tx, c.team, c.member, "share", map[string]any{"track": t.Name, "from": from})
	})
}

// checkRecords decodes the records of a request. They must follow from those that the track has.
func (s *Server) checkRecords(ctx context.Context, t *track, req *teamwire.ShareRequest) (records []plan.Record, err error) {
	if len(req.Records) == 0 && !req.Last {
		return nil, wrong(teamwire.CodeInvalid, "the request has no records", "send some")
	}
	var state plan.State
	if req.After > 0 {
		if state, err = t.session.State(ctx); err != nil {
			return nil, err
		}
	}
	latest := s.clock.now().Add(time.Minute)
	for i, line := range req.Records {
		var record plan.Record
		clean, err := cleanTexts([]byte(line))
		if err == nil && len(line) > postgres.MaxRecord {
			err = errors.New("it is too long")
		}
		if err == nil {
			record, err = store.DecodeRecord(clean)
		}
		if err == nil && (record.Seq != req.After+plan.Revision(i)+1 || record.Time.After(latest)) {
			err = errors.New("its number or its time is not the next one")
		}
		if err == nil {
			state, err = foldShared(state, &record)
		}
		if err != nil {
			return nil, wrong(teamwire.CodeInvalid, fmt.Sprintf("record %d cannot be imported: %s", int(req.After)+i+1,
				plan.Shorten(err.Error(), 300)), "check the track with planloop doctor")
		}
		records = append(records, record)
	}
	return records, nil
}

// importRecords appends records to a log with this head, or, as the first of an import, replaces what an abandoned one has left.
func (t *track) importRecords(ctx context.Context, head store.Head, after plan.Revision, records []plan.Record) (store.Head, error) {
	log := rightsLog{t.log}
	add := log.Append
	if after < head.Seq {
		add = func(ctx context.Context, r plan.Record) (store.Head, error) {
			return log.Purge(ctx, store.NewChain(), r)
		}
	}
	for _, record := range records {
		ctx := store.WithKey(ctx, shareKey+rand.Text())
		now, err := add(ctx, record)
		for errors.Is(err, postgres.ErrOld) { // again, with the new rights
			now, err = add(ctx, record)
		}
		if err != nil {
			return head, err
		}
		head, add = now, log.Append
	}
	return head, nil
}

// foldShared returns the state after a record with events that were decided elsewhere.
func foldShared(state plan.State, r *plan.Record) (after plan.State, err error) {
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("its events do not fit the plan: %v", failed)
		}
	}()
	after = plan.Fold(state, *r)
	if after.PhaseNow() != r.Phase {
		return state, errors.New("its phase is not that of its events")
	}
	r.IsOpen = after.IsOpen()
	r.Opens = r.IsOpen && !state.IsOpen()
	return after, nil
}

// cleanTexts returns JSON with its texts masked, or refuses a text that planloop itself would not have recorded.
func cleanTexts(data []byte) ([]byte, error) {
	in := jsontext.NewDecoder(strings.NewReader(string(data)))
	var b strings.Builder
	out := jsontext.NewEncoder(&b)
	for in.PeekKind() != 0 {
		token, err := in.ReadToken()
		if err == nil && token.Kind() == jsontext.KindString {
			_, err = plan.Text{Max: maxSharedText, Multiline: true}.Clean(token.String())
			token = jsontext.String(plan.Mask(token.String()))
		}
		if err == nil {
			err = out.WriteToken(token)
		}
		if err != nil {
			return nil, err
		}
	}
	if in.InputOffset() < int64(len(strings.TrimRight(string(data), " \n"))) {
		return nil, errors.New("it is not one value of JSON")
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}

// maxSharedText bounds a text from a laptop, in characters.
const maxSharedText = 256 << 10
