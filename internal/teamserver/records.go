package teamserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/planloop/planloop/internal/origin"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// readRecords answers with the records after one, and waits for some if the caller says so.
func (s *Server) readRecords(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
	query := r.URL.Query()
	after, errAfter := strconv.ParseInt(query.Get("after"), 10, 64)
	wait, errWait := time.Duration(0), error(nil)
	if text := query.Get("wait"); text != "" {
		wait, errWait = time.ParseDuration(text)
	}
	if errors.Join(errAfter, errWait) != nil || after < 0 || wait < 0 {
		return nil, wrong(teamwire.CodeInvalid, "after or wait cannot be read", "send them as after=12&wait=25s")
	}
	t, release, err := s.useTrack(r.Context(), c, r.PathValue("ws"), r.PathValue("track"), false)
	if err != nil {
		return nil, cmp.Or(s.confirm(r, c, 0), err)
	}
	defer release()
	ctx, cancel := s.untilEnd(r.Context())
	defer cancel()
	chain := query.Get("chain")
	is, err := s.waitForRecord(ctx, t, plan.Revision(after), chain, min(wait, teamwire.MaxWait))
	if ended := s.confirm(r, c, is.Rules); err != nil || ended != nil {
		return nil, cmp.Or(ended, err)
	}
	if chain != "" && chain != is.Head.Chain && is.Head.Seq > 0 || plan.Revision(after) > is.Head.Seq {
		return nil, chainError(is.Head)
	}
	return teamwire.Records{Head: is.Head, Records: is.Lines, More: is.More}, nil
}

// untilEnd returns a context that also ends when the server stops.
func (s *Server) untilEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ending, cancel)
	return ctx, func() { stop(); cancel() }
}

// waitForRecord returns the records once the log has one after a number or is another chain, or at the end of the wait.
func (s *Server) waitForRecord(ctx context.Context, t *track, after plan.Revision, chain string, wait time.Duration) (
	postgres.Lines, error) {
	timed, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var grown <-chan struct{}
	for {
		is, err := t.log.Lines(context.WithoutCancel(ctx), after, teamwire.MaxRecords)
		if err != nil || wait == 0 || is.Head.Seq != after || chain != "" && is.Head.Chain != chain {
			return is, err
		}
		if grown == nil {
			if grown, err = t.log.Watch(timed); timed.Err() != nil {
				return is, nil
			} else if err != nil {
				return is, err
			}
			continue // it may have grown before the watch began
		}
		if _, open := <-grown; !open {
			return is, nil
		}
	}
}

func (s *Server) listTracks(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
	heads, err := s.heads(r.Context(), c.team, r.PathValue("ws"))
	if err != nil {
		return nil, err
	}
	list := make([]teamwire.Track, 0, len(heads))
	for _, h := range heads {
		list = append(list, teamwire.Track{Track: h.Track, Head: h.Head, IsOpen: h.IsOpen})
	}
	return list, nil
}

type trackHead struct {
	ID               int64
	Workspace, Track string
	store.Head
	IsOpen bool
}

// heads returns the heads of a workspace's tracks that have records, main first; of those with these ids if any is given. The workspace ""
// stands for all of the team.
func (s *Server) heads(ctx context.Context, team int64, workspace string, ids ...int64) ([]trackHead, error) {
	of := "w.name = $2"
	if workspace == "" {
		of = "$2 = ''"
	}
	return postgres.Collect(ctx, s.db, team, pgx.RowToStructByPos[trackHead], `SELECT t.id, w.name, t.name, t.chain, t.seq, t.hash, t.phase,
		t.is_open FROM track t JOIN workspace w ON w.id = t.workspace
		WHERE w.team = $1 AND `+of+` AND t.seq > 0 AND ($3::bigint[] IS NULL OR t.id = ANY ($3))
		ORDER BY w.name, t.name <> $4, t.name`, team, workspace, ids, mainTrack)
}

// putValue keeps a value that is too large for the log. Its name must be its digest.
func (s *Server) putValue(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
	t, release, err := s.useTrack(r.Context(), c, r.PathValue("ws"), r.PathValue("track"), true)
	if err != nil {
		return nil, err
	}
	defer release()
	value, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if name := store.ValueName(value); name != r.PathValue("name") {
		return nil, wrong(teamwire.CodeInvalid, "the value's SHA-256 is "+name+", not its name", "send it again")
	}
	if _, err := t.session.PutValue(r.Context(), value); err != nil {
		return nil, err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil, nil
}

func (s *Server) readValue(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
	t, release, err := s.useTrack(r.Context(), c, r.PathValue("ws"), r.PathValue("track"), false)
	if err != nil {
		return nil, err
	}
	defer release()
	value, err := t.session.Value(r.Context(), r.PathValue("name"))
	if errors.Is(err, store.ErrNoValue) {
		return nil, wrong(teamwire.CodeNotFound, "the track has no such value, or it was purged", "pull the track again")
	}
	if err != nil {
		return nil, err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	origin.LimitWrite(w)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(value))
	return nil, nil
}

func (s *Server) noteSeen(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
	var req teamwire.Seen
	if err := decode(r, &req); err != nil {
		return nil, err
	}
	if len(req.Agents)+len(req.Gone) > mostAgents {
		return nil, wrong(teamwire.CodeTooLarge, fmt.Sprintf("more than %d agents are listed", mostAgents), "list those of the last hour")
	}
	seen := map[string]time.Time{}
	for _, label := range slices.Concat(slices.Collect(maps.Keys(req.Agents)), req.Gone) {
		by, err := c.actor(label, "", nil)
		if err != nil {
			return nil, err
		}
		if seen[by.Name] = req.Agents[label]; slices.Contains(req.Gone, label) {
			seen[by.Name] = time.Time{}
		}
	}
	t, release, err := s.useTrack(r.Context(), c, r.PathValue("ws"), mainTrack, false)
	if err != nil {
		return nil, err
	}
	defer release()
	defer presence{s, t}.forget()
	if err := s.see(r.Context(), t.Team, t.Workspace, seen, true); err != nil {
		return nil, err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil, nil
}

const mostAgents = 200

func (s *Server) listMembers(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
	return NewAdmin(s.db, c.member).Members(r.Context(), c.team)
}
