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
