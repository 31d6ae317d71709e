-- +goose Up
ALTER TABLE media_file ADD COLUMN object VARCHAR(255);
