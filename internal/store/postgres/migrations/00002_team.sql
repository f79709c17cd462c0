-- +goose Up

ALTER TABLE team ADD COLUMN format integer NOT NULL DEFAULT 1; -- of records and requests

CREATE TABLE member (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	team bigint NOT NULL REFERENCES team ON DELETE CASCADE,
	name text NOT NULL,
	role text NOT NULL CHECK (role IN ('member', 'admin')),
	subject text, -- issuer and subject of the account that signs in
	created timestamptz NOT NULL DEFAULT now(),
	removed timestamptz,
	UNIQUE (team, name),
	UNIQUE (team, id),
	UNIQUE (team, subject)
);

CREATE TABLE token (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	team bigint NOT NULL,
	member bigint NOT NULL,
	hash bytea NOT NULL UNIQUE,
	role text NOT NULL CHECK (role IN ('agent', 'ci', 'member', 'admin')),
	machine text NOT NULL,
	created timestamptz NOT NULL DEFAULT now(),
	expires timestamptz NOT NULL,
	used timestamptz,
	revoked timestamptz,
	FOREIGN KEY (team, member) REFERENCES member (team, id) ON DELETE CASCADE
);

-- The settings of the workspace 0 are the team's.
CREATE TABLE policy (
	team bigint NOT NULL REFERENCES team ON DELETE CASCADE,
	workspace bigint NOT NULL DEFAULT 0,
	settings jsonb NOT NULL,
	changed timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (team, workspace)
);

-- Signs of life need no log of their own: after a crash they arrive again within seconds.
CREATE UNLOGGED TABLE sighting (
	team bigint NOT NULL,
	workspace bigint NOT NULL,
	name text NOT NULL,
	at timestamptz NOT NULL,
	heard timestamptz, -- the last of regular signs; null: it sends none
	gone boolean NOT NULL DEFAULT false,
	PRIMARY KEY (workspace, name)
);

-- A track whose history a member is importing.
CREATE TABLE sharing (
	track bigint PRIMARY KEY REFERENCES track ON DELETE CASCADE,
	team bigint NOT NULL,
	member bigint NOT NULL,
	machine text NOT NULL,
	begun timestamptz NOT NULL DEFAULT now(),
	FOREIGN KEY (team, member) REFERENCES member (team, id) ON DELETE CASCADE
);

-- People: an invitation registers a passkey once; a sign-in lasts until it expires.
CREATE TABLE invitation (
	hash bytea PRIMARY KEY,
	team bigint NOT NULL,
	member bigint NOT NULL,
	expires timestamptz NOT NULL,
	used timestamptz,
	FOREIGN KEY (team, member) REFERENCES member (team, id) ON DELETE CASCADE
);
CREATE TABLE passkey (
	id bytea PRIMARY KEY,
	team bigint NOT NULL,
	member bigint NOT NULL,
	credential jsonb NOT NULL,
	created timestamptz NOT NULL DEFAULT now(),
	used timestamptz,
	FOREIGN KEY (team, member) REFERENCES member (team, id) ON DELETE CASCADE
);
CREATE TABLE signin (
	hash bytea PRIMARY KEY,
	team bigint NOT NULL,
	member bigint NOT NULL,
	way text NOT NULL, -- how the person signed in
	since timestamptz NOT NULL DEFAULT now(),
	expires timestamptz NOT NULL,
	FOREIGN KEY (team, member) REFERENCES member (team, id) ON DELETE CASCADE
);

CREATE TABLE audit (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	team bigint NOT NULL REFERENCES team ON DELETE CASCADE,
	at timestamptz NOT NULL DEFAULT now(),
	actor text NOT NULL, -- a member, or "operator" for a command on the server
	act text NOT NULL,
	detail jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_team ON audit (team, id);

-- +goose StatementBegin
DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY ARRAY['member', 'token', 'policy', 'sighting', 'sharing', 'invitation', 'passkey', 'signin', 'audit'] LOOP
		EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
		EXECUTE format('CREATE POLICY team ON %I USING (team = current_team())', name);
	END LOOP;
END
$$;

-- team_token finds the holder of a valid token, before the team is known. Only the hash's owner knows what it finds.
CREATE FUNCTION team_token(of_hash bytea) RETURNS TABLE (token bigint, team bigint, team_name text, member bigint, member_name text,
	machine text, role text, format integer, expires timestamptz, used timestamptz) LANGUAGE sql STABLE
	SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
	SELECT t.id, t.team, g.name, m.id, m.name, t.machine, CASE WHEN t.role = 'admin' THEN m.role ELSE t.role END, g.format, t.expires, t.used
	FROM public.token t JOIN public.member m ON m.id = t.member JOIN public.team g ON g.id = t.team
	WHERE t.hash = of_hash AND t.revoked IS NULL AND t.expires > clock_timestamp() AND m.removed IS NULL;
END;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION team_token FROM PUBLIC;
GRANT EXECUTE ON FUNCTION team_token TO planloop_server;

GRANT SELECT ON member, token, policy, invitation, passkey, signin, audit TO planloop_server;
GRANT INSERT ON member, token, policy, invitation, passkey, signin, audit TO planloop_server;
GRANT UPDATE (role, subject, removed) ON member TO planloop_server;
GRANT UPDATE (used, revoked) ON token TO planloop_server;
GRANT UPDATE (settings, changed) ON policy TO planloop_server;
GRANT UPDATE (used) ON invitation TO planloop_server;
GRANT UPDATE (credential, used) ON passkey TO planloop_server;
GRANT DELETE ON passkey, signin, policy TO planloop_server;
GRANT SELECT, INSERT, UPDATE, DELETE ON sighting, sharing TO planloop_server;
GRANT SELECT ON goose_db_version TO planloop_server; -- a server checks the version before it serves
