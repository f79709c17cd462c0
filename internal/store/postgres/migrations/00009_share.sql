-- +goose Up

-- The record that ends an import also ends its claim. An imported record that says so is of a former import.
-- +goose StatementBegin
CREATE FUNCTION end_sharing() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
	DELETE FROM sharing WHERE track = NEW.track AND team = NEW.team;
	RETURN NULL;
END
$$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION end_sharing FROM PUBLIC; -- triggers need no right
CREATE TRIGGER end_sharing AFTER INSERT ON record FOR EACH ROW WHEN (position('{"kind":"track_shared"'::bytea IN NEW.line) > 0
	AND NOT starts_with(NEW.key, 'share ')) EXECUTE FUNCTION end_sharing();

-- Claims that a crash has left.
DELETE FROM sharing s USING track t, record r WHERE t.id = s.track AND r.team = t.team AND r.track = t.id AND r.seq = t.seq
	AND position('{"kind":"track_shared"'::bytea IN r.line) > 0 AND NOT starts_with(r.key, 'share ');
