-- +goose Up
ALTER TABLE media_file ADD COLUMN object TEXT COLLATE "C";
