-- +goose Up
ALTER TABLE media_file ADD COLUMN object TEXT COLLATE "C";

CREATE INDEX media_file_object ON media_file (object);
