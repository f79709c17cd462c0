-- +goose Up

-- The verified address of the account with which a member signs in. The account that did so first is the subject.
ALTER TABLE member ADD COLUMN email text CHECK (email = lower(email));
CREATE INDEX member_email ON member (email) WHERE removed IS NULL;
GRANT UPDATE (email) ON member TO planloop_server;

ALTER TABLE signin ADD COLUMN page_key bytea; -- hash of the key in the page's own storage

-- Like the functions of schema 3, these find a person before the team is known.
-- +goose StatementBegin
CREATE FUNCTION signed_in(of_hash bytea, of_key bytea) RETURNS TABLE (team bigint, team_name text, member bigint, member_name text,
	role text, since timestamptz) LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
	SELECT s.team, g.name, m.id, m.name, m.role, s.since
	FROM public.signin s JOIN public.member m ON m.id = s.member JOIN public.team g ON g.id = s.team
	WHERE s.hash = of_hash AND (of_key IS NULL OR s.page_key = of_key) AND s.expires > clock_timestamp() AND m.removed IS NULL;
END;

-- account_members finds the members of an account in all teams, or in the named one.
CREATE FUNCTION account_members(of_email text, of_subject text, of_team text) RETURNS TABLE (team bigint, member bigint, member_name text)
	LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
	SELECT m.team, m.id, m.name FROM public.member m JOIN public.team g ON g.id = m.team
	WHERE m.email = of_email AND coalesce(m.subject, of_subject) = of_subject AND m.removed IS NULL AND of_team IN ('', g.name);
END;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION signed_in(bytea, bytea), account_members FROM PUBLIC;
GRANT EXECUTE ON FUNCTION signed_in(bytea, bytea), account_members TO planloop_server;

-- Records about which a team's webhook is to be called. The trigger writes them with the record, so that none is lost or made twice; a
-- server deletes a row when the call has succeeded, or too many have failed.
CREATE TABLE notice (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	team bigint NOT NULL REFERENCES team ON DELETE CASCADE,
	track bigint NOT NULL REFERENCES track ON DELETE CASCADE,
	seq bigint NOT NULL,
	tries integer NOT NULL DEFAULT 0,
	due timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX notice_due ON notice (due);
ALTER TABLE notice ENABLE ROW LEVEL SECURITY;
CREATE POLICY team ON notice USING (team = current_team());
GRANT SELECT, DELETE ON notice TO planloop_server;

-- +goose StatementBegin
CREATE FUNCTION add_notice() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
	-- An imported history is old; its last record says that it was shared.
	IF EXISTS (SELECT FROM policy p JOIN track t ON t.team = p.team AND p.workspace IN (0, t.workspace)
			WHERE t.id = NEW.track AND p.settings ? 'webhook')
		AND (position('{"kind":"track_shared"'::bytea IN NEW.line) > 0 OR NOT EXISTS (SELECT FROM sharing WHERE track = NEW.track)) THEN
		INSERT INTO notice (team, track, seq) VALUES (NEW.team, NEW.track, NEW.seq);
	END IF;
	RETURN NULL;
END
$$;

-- Events about a whole plan: most records have none. Quotes in texts are escaped, so no text looks like an event.
CREATE TRIGGER add_notice AFTER INSERT ON record FOR EACH ROW WHEN (position('{"kind":"plan_'::bytea IN NEW.line) > 0
	OR position('{"kind":"change_proposed"'::bytea IN NEW.line) > 0 OR position('{"kind":"track_shared"'::bytea IN NEW.line) > 0)
	EXECUTE FUNCTION add_notice();

-- claim_notice gives the oldest due notice to the calling server, and makes it due again in case that server does not delete it.
CREATE FUNCTION claim_notice() RETURNS TABLE (id bigint, team bigint, workspace text, track text, seq bigint, tries integer)
	LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
	UPDATE public.notice n SET tries = n.tries + 1, due = now() + interval '1 minute' * 4 ^ n.tries
	FROM public.track t JOIN public.workspace w ON w.id = t.workspace
	WHERE t.id = n.track
		AND n.id = (SELECT c.id FROM public.notice c WHERE c.due <= now() ORDER BY c.due LIMIT 1 FOR UPDATE SKIP LOCKED)
	RETURNING n.id, n.team, w.name, t.name, n.seq, n.tries;
END;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION claim_notice FROM PUBLIC;
GRANT EXECUTE ON FUNCTION claim_notice TO planloop_server;
