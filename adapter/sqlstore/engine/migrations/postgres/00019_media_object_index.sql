-- +goose NO TRANSACTION
-- +goose Up

-- Building the index waits for transactions that run, for as long as they take.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS media_file_object;
CREATE INDEX CONCURRENTLY media_file_object ON media_file (object);
SET lock_timeout = '5s';
