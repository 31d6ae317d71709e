-- +goose Up
-- Nothing changes on SQLite, whose stores are seldom so large that pages deep in a list matter.
SELECT 1;
