-- +goose Up

-- Challenges that a browser is to sign with a passkey, each at most once. Until then nobody knows whose they are. After a crash
-- people begin again.
CREATE UNLOGGED TABLE challenge (
	hash bytea PRIMARY KEY,
	session jsonb NOT NULL, -- what the answer is checked with
	expires timestamptz NOT NULL
);
CREATE INDEX challenge_expires ON challenge (expires);
GRANT SELECT, INSERT, DELETE ON challenge TO planloop_server;

-- These functions find a person before the team is known. Only who has the secret, or the passkey's id, knows what they find.
-- +goose StatementBegin
CREATE FUNCTION signed_in(of_hash bytea) RETURNS TABLE (team bigint, member bigint, member_name text, since timestamptz)
	LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
	SELECT s.team, m.id, m.name, s.since FROM public.signin s JOIN public.member m ON m.id = s.member
	WHERE s.hash = of_hash AND s.expires > clock_timestamp() AND m.removed IS NULL;
END;

CREATE FUNCTION invited(of_hash bytea) RETURNS TABLE (team bigint, member bigint, member_name text)
	LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
	SELECT i.team, m.id, m.name FROM public.invitation i JOIN public.member m ON m.id = i.member
	WHERE i.hash = of_hash AND i.used IS NULL AND i.expires > clock_timestamp() AND m.removed IS NULL;
END;

CREATE FUNCTION passkey_of(of_id bytea) RETURNS TABLE (team bigint, member bigint, member_name text, credential jsonb)
	LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
	SELECT p.team, m.id, m.name, p.credential FROM public.passkey p JOIN public.member m ON m.id = p.member
	WHERE p.id = of_id AND m.removed IS NULL;
END;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION signed_in, invited, passkey_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION signed_in, invited, passkey_of TO planloop_server;
