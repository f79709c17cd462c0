-- +goose Up

-- serves reports whether a transaction may see a team's rows through a function that runs with its owner's rights: the team it has set, or
-- any if it has set none, as for a server's own work.
-- +goose StatementBegin
CREATE FUNCTION serves(of_team bigint) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
	RETURN coalesce(public.current_team(), 0) IN (0, of_team);

CREATE OR REPLACE FUNCTION heads(of_teams bigint[]) RETURNS TABLE (team bigint, track bigint, chain text, seq bigint) LANGUAGE sql STABLE
	SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
	SELECT t.team, t.id, t.chain, t.seq FROM public.track t WHERE t.team = ANY (of_teams) AND public.serves(t.team);
END;

CREATE OR REPLACE FUNCTION claim_notice(busy bigint[]) RETURNS TABLE (id bigint, team bigint, workspace text, track text, seq bigint,
	tries integer) LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
	UPDATE public.notice n SET tries = n.tries + 1, due = now() + interval '1 minute' * 4 ^ n.tries
	FROM public.track t JOIN public.workspace w ON w.id = t.workspace
	WHERE t.id = n.track AND n.id = (SELECT c.id FROM public.notice c
		WHERE c.due <= now() AND c.team <> ALL (busy) AND public.serves(c.team) ORDER BY c.due LIMIT 1 FOR UPDATE SKIP LOCKED)
	RETURNING n.id, n.team, w.name, t.name, n.seq, n.tries;
END;

CREATE OR REPLACE FUNCTION claim_notice() RETURNS TABLE (id bigint, team bigint, workspace text, track text, seq bigint, tries integer)
	LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
	SELECT * FROM public.claim_notice('{}');
END;

-- append_record is as before, but within a transaction that has set another team it appends nothing. Its plan never depends on the
-- arguments, so it is made once for a connection.
CREATE OR REPLACE FUNCTION append_record(of_team bigint, of_track bigint, of_chain text, of_seq bigint, of_phase text, opened boolean,
	of_line bytea, of_key text, of_rules bigint, until timestamptz, main_track bigint, main_chain text, main_seq bigint) RETURNS bytea
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
	new_hash bytea;
BEGIN
	UPDATE track SET seq = of_seq, hash = sha256(hash || of_line), phase = of_phase, is_open = opened, bytes = bytes + octet_length(of_line)
		WHERE id = of_track AND team = of_team AND chain = of_chain AND seq = of_seq - 1 AND serves(of_team)
			AND (of_rules IS NULL OR EXISTS (SELECT FROM team WHERE id = of_team AND rules = of_rules AND until > clock_timestamp()))
			AND (main_track IS NULL OR EXISTS (SELECT FROM track m
				WHERE m.id = main_track AND m.team = of_team AND m.seq = main_seq AND (m.chain = main_chain OR main_seq = 0)))
		RETURNING hash INTO new_hash;
	IF FOUND THEN
		INSERT INTO record VALUES (of_team, of_track, of_seq, of_phase, new_hash, of_line, of_key);
	ELSIF EXISTS (SELECT FROM track WHERE id = of_track AND team = of_team AND chain = of_chain AND seq = of_seq - 1 AND serves(of_team)) THEN
		RETURN '';
	END IF;
	RETURN new_hash;
END
$$;
-- +goose StatementEnd
DROP FUNCTION append_record(bigint, bigint, text, bigint, text, boolean, bytea, text); -- of servers before schema 5
REVOKE EXECUTE ON FUNCTION claim_notice (bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION claim_notice (bigint[]) TO planloop_server;
