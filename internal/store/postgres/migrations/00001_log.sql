-- +goose Up

-- Serving processes act as this role in every transaction. Migrations run as the owner.
-- +goose StatementBegin
DO $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'planloop_server') THEN
		CREATE ROLE planloop_server NOLOGIN;
	END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
	NULL; -- another database of this server was migrated at the same time
END
$$;
-- +goose StatementEnd
GRANT planloop_server TO CURRENT_USER;

CREATE TABLE team (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name text NOT NULL UNIQUE
);

CREATE TABLE workspace (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	team bigint NOT NULL REFERENCES team ON DELETE CASCADE,
	name text NOT NULL,
	UNIQUE (team, name),
	UNIQUE (team, id)
);

-- A track's row is the head of its log. Free space in its pages lets PostgreSQL change the head in place.
CREATE TABLE track (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	team bigint NOT NULL,
	workspace bigint NOT NULL,
	name text NOT NULL,
	chain text NOT NULL,
	seq bigint NOT NULL DEFAULT 0,
	hash bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
	phase text NOT NULL DEFAULT '',
	is_open boolean NOT NULL DEFAULT false,
	bytes bigint NOT NULL DEFAULT 0, -- of its records and values
	UNIQUE (workspace, name),
	FOREIGN KEY (team, workspace) REFERENCES workspace (team, id) ON DELETE CASCADE
) WITH (fillfactor = 40);

CREATE INDEX track_team ON track (team);

-- Keys begin with the team, so that no team can take a number of another team's log. Foreign keys would cost each
-- append a look-up; rows are written together with their track's and deleted by delete_log.
CREATE TABLE record (
	team bigint NOT NULL,
	track bigint NOT NULL,
	seq bigint NOT NULL CHECK (seq > 0),
	phase text NOT NULL,
	hash bytea NOT NULL CHECK (octet_length(hash) = 32),
	line bytea NOT NULL CHECK (octet_length(line) <= 1048576),
	key text NOT NULL, -- of the call that wrote it
	PRIMARY KEY (team, track, seq)
);
CREATE UNIQUE INDEX record_key ON record (team, track, key);

CREATE TABLE value (
	team bigint NOT NULL,
	track bigint NOT NULL,
	name text NOT NULL,
	bytes bytea NOT NULL CHECK (octet_length(bytes) <= 4194304),
	PRIMARY KEY (team, track, name)
);

CREATE TABLE snapshot (
	team bigint NOT NULL,
	track bigint NOT NULL,
	seq bigint NOT NULL,
	chain text NOT NULL,
	hash bytea NOT NULL,
	phase text NOT NULL,
	fold integer NOT NULL,
	state bytea NOT NULL,
	PRIMARY KEY (team, track, seq)
);

-- The second wall: a transaction sees the rows of the team that it has set.
-- +goose StatementBegin
CREATE FUNCTION current_team() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
	RETURN nullif(current_setting('planloop.team', true), '')::bigint;
-- +goose StatementEnd
ALTER TABLE workspace ENABLE ROW LEVEL SECURITY;
ALTER TABLE track ENABLE ROW LEVEL SECURITY;
ALTER TABLE record ENABLE ROW LEVEL SECURITY;
ALTER TABLE value ENABLE ROW LEVEL SECURITY;
ALTER TABLE snapshot ENABLE ROW LEVEL SECURITY;
CREATE POLICY team ON workspace USING (team = current_team());
CREATE POLICY team ON track USING (team = current_team());
CREATE POLICY team ON record USING (team = current_team());
CREATE POLICY team ON value USING (team = current_team());
CREATE POLICY team ON snapshot USING (team = current_team());

GRANT SELECT, INSERT ON team, workspace, track, value TO planloop_server;
GRANT SELECT ON record, goose_db_version TO planloop_server;
GRANT UPDATE (bytes) ON track TO planloop_server;
GRANT SELECT, INSERT, UPDATE, DELETE ON snapshot TO planloop_server;

-- heads returns where the logs of teams end, for watching.
-- +goose StatementBegin
CREATE FUNCTION heads(of_teams bigint[]) RETURNS TABLE (team bigint, track bigint, chain text, seq bigint) LANGUAGE sql STABLE
	SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
	SELECT t.team, t.id, t.chain, t.seq FROM public.track t WHERE t.team = ANY (of_teams);
END;
-- +goose StatementEnd

-- append_record moves a track's head from of_seq - 1 to of_seq and adds the record, and returns the new head's hash, or null if the log does
-- not end there. Serving processes have no other way to change heads and records.
-- +goose StatementBegin
CREATE FUNCTION append_record(of_team bigint, of_track bigint, of_chain text, of_seq bigint, of_phase text, opened boolean, of_line bytea,
	of_key text) RETURNS bytea LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
	new_hash bytea;
BEGIN
	UPDATE track SET seq = of_seq, hash = sha256(hash || of_line), phase = of_phase, is_open = opened, bytes = bytes + octet_length(of_line)
		WHERE id = of_track AND team = of_team AND chain = of_chain AND seq = of_seq - 1 RETURNING hash INTO new_hash;
	IF FOUND THEN
		INSERT INTO record VALUES (of_team, of_track, of_seq, of_phase, new_hash, of_line, of_key);
	END IF;
	RETURN new_hash;
END
$$;
-- +goose StatementEnd

-- delete_log deletes everything below a track. It is not for serving processes.
-- +goose StatementBegin
CREATE FUNCTION delete_log(of_team bigint, of_track bigint) RETURNS void LANGUAGE sql
BEGIN ATOMIC
	DELETE FROM public.record WHERE team = of_team AND track = of_track;
	DELETE FROM public.value WHERE team = of_team AND track = of_track;
	DELETE FROM public.snapshot WHERE team = of_team AND track = of_track;
END;

-- purge_track begins the chain new_chain in place of old_chain with record 1, and returns whether it did.
CREATE FUNCTION purge_track(of_track bigint, old_chain text, new_chain text, new_phase text, new_open boolean, new_line bytea,
	new_key text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
	first_hash bytea := sha256(decode(repeat('00', 32), 'hex') || new_line);
BEGIN
	PERFORM FROM track WHERE id = of_track AND team = current_team() AND chain = old_chain FOR UPDATE;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM delete_log(current_team(), of_track);
	UPDATE track SET chain = new_chain, seq = 1, hash = first_hash, phase = new_phase, is_open = new_open,
		bytes = octet_length(new_line) WHERE id = of_track;
	INSERT INTO record VALUES (current_team(), of_track, 1, new_phase, first_hash, new_line, new_key);
	RETURN true;
END
$$;

-- delete_team deletes the transaction's team.
CREATE FUNCTION delete_team() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
	PERFORM FROM track WHERE team = current_team() FOR UPDATE;
	PERFORM delete_log(team, id) FROM track WHERE team = current_team();
	DELETE FROM team WHERE id = current_team();
END
$$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION heads, append_record, delete_log, purge_track, delete_team FROM PUBLIC;
GRANT EXECUTE ON FUNCTION heads, append_record, purge_track, delete_team TO planloop_server;
