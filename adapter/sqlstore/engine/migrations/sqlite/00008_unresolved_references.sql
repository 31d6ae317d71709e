-- +goose Up

-- The base of a document names the references that had no legacy id when it was read. Those
-- stored before do not, so that each document is read once more.
UPDATE backend_record SET tag = '' WHERE tag <> '';
