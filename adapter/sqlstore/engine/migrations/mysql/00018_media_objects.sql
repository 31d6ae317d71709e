-- +goose Up
ALTER TABLE media_file
    ADD COLUMN object VARCHAR(255),
    ADD KEY media_file_object (object);
