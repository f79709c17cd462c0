-- +goose Up

-- A team's rules are its members, tokens, settings, format and imports. Their number grows with each change, so that a server may use what it
-- has read as long as an append or a read finds the same number.
ALTER TABLE team ADD COLUMN rules bigint NOT NULL DEFAULT 1;

-- +goose StatementBegin
CREATE FUNCTION change_rules() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
	UPDATE team SET rules = rules + 1 WHERE id = coalesce(NEW.team, OLD.team);
	RETURN NULL;
END
$$;

CREATE FUNCTION change_format() RETURNS trigger LANGUAGE plpgsql
AS $$
BEGIN
	NEW.rules := OLD.rules + 1;
	RETURN NEW;
END
$$;

-- append_record is as before, but appends nothing and returns an empty text unless, when it begins, the team's rules still have the number
-- of_rules, the time until has not come, and the log of the track main_track ends at main_seq of main_chain. Null arguments are not checked.
CREATE FUNCTION append_record(of_team bigint, of_track bigint, of_chain text, of_seq bigint, of_phase text, opened boolean, of_line bytea,
	of_key text, of_rules bigint, until timestamptz, main_track bigint, main_chain text, main_seq bigint) RETURNS bytea LANGUAGE plpgsql
	SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
	new_hash bytea;
BEGIN
	UPDATE track SET seq = of_seq, hash = sha256(hash || of_line), phase = of_phase, is_open = opened, bytes = bytes + octet_length(of_line)
		WHERE id = of_track AND team = of_team AND chain = of_chain AND seq = of_seq - 1
			AND (of_rules IS NULL OR EXISTS (SELECT FROM team WHERE id = of_team AND rules = of_rules AND until > clock_timestamp()))
			AND (main_track IS NULL OR EXISTS (SELECT FROM track m
				WHERE m.id = main_track AND m.team = of_team AND m.seq = main_seq AND (m.chain = main_chain OR main_seq = 0)))
		RETURNING hash INTO new_hash;
	IF FOUND THEN
		INSERT INTO record VALUES (of_team, of_track, of_seq, of_phase, new_hash, of_line, of_key);
	ELSIF EXISTS (SELECT FROM track WHERE id = of_track AND team = of_team AND chain = of_chain AND seq = of_seq - 1) THEN
		RETURN '';
	END IF;
	RETURN new_hash;
END
$$;

-- For servers of the build before.
CREATE OR REPLACE FUNCTION append_record(of_team bigint, of_track bigint, of_chain text, of_seq bigint, of_phase text, opened boolean,
	of_line bytea, of_key text) RETURNS bytea LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
BEGIN ATOMIC
	SELECT public.append_record(of_team, of_track, of_chain, of_seq, of_phase, opened, of_line, of_key, NULL, NULL, NULL, NULL, NULL);
END;
-- +goose StatementEnd
CREATE TRIGGER rules AFTER INSERT OR DELETE OR UPDATE OF name, role, removed ON member FOR EACH ROW EXECUTE FUNCTION change_rules();
CREATE TRIGGER rules AFTER DELETE OR UPDATE OF role, machine, expires, revoked ON token FOR EACH ROW EXECUTE FUNCTION change_rules();
CREATE TRIGGER rules AFTER INSERT OR DELETE OR UPDATE ON policy FOR EACH ROW EXECUTE FUNCTION change_rules();
CREATE TRIGGER rules AFTER INSERT OR DELETE OR UPDATE ON sharing FOR EACH ROW EXECUTE FUNCTION change_rules();
CREATE TRIGGER rules BEFORE UPDATE OF format ON team FOR EACH ROW EXECUTE FUNCTION change_format();
REVOKE EXECUTE ON FUNCTION append_record (bigint, bigint, text, bigint, text, boolean, bytea, text, bigint, timestamptz, bigint, text,
	bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION append_record (bigint, bigint, text, bigint, text, boolean, bytea, text, bigint, timestamptz, bigint, text,
	bigint) TO planloop_server;
