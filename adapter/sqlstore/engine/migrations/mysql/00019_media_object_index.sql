-- +goose Up
ALTER TABLE media_file ADD KEY media_file_object (object);
