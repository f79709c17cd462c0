-- +goose Up
ALTER TABLE token ADD COLUMN format integer NOT NULL DEFAULT 1; -- the newest that its laptop knew at its last use
GRANT UPDATE (format) ON token TO planloop_server;
GRANT UPDATE (format) ON team TO planloop_server;
