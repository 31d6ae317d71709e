-- +goose Up
-- Where the bytes of a media file are in an S3-compatible store: the key of an object, after the
-- configured prefix. NULL: they are under the name of the file, as in a folder.
ALTER TABLE media_file ADD COLUMN object TEXT;
