-- +goose Up
-- Finds the row of an object in the store, when uploads without a row are removed.
CREATE INDEX media_file_object ON media_file (object);
