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
