-- +goose Up

-- A member that is added again is one since then: earlier votes do not count.
-- +goose StatementBegin
CREATE FUNCTION rejoin() RETURNS trigger LANGUAGE plpgsql
AS $$
BEGIN
	NEW.created := clock_timestamp();
	RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER rejoin BEFORE UPDATE OF removed ON member FOR EACH ROW WHEN (OLD.removed IS NOT NULL AND NEW.removed IS NULL)
	EXECUTE FUNCTION rejoin();
REVOKE EXECUTE ON FUNCTION rejoin, change_rules, change_format, add_notice FROM PUBLIC; -- triggers need no right

-- claim_notice is as before, but leaves out teams to which the calling server is sending. The other form is for servers of the build before.
-- +goose StatementBegin
CREATE FUNCTION claim_notice(busy bigint[]) RETURNS TABLE (id bigint, team bigint, workspace text, track text, seq bigint, tries integer)
	LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
	UPDATE public.notice n SET tries = n.tries + 1, due = now() + interval '1 minute' * 4 ^ n.tries
	FROM public.track t JOIN public.workspace w ON w.id = t.workspace
	WHERE t.id = n.track
		AND n.id = (SELECT c.id FROM public.notice c WHERE c.due <= now() AND c.team <> ALL (busy)
			ORDER BY c.due LIMIT 1 FOR UPDATE SKIP LOCKED)
	RETURNING n.id, n.team, w.name, t.name, n.seq, n.tries;
END;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION claim_notice (bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION claim_notice (bigint[]) TO planloop_server;
