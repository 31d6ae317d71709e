-- +goose Up
-- Migration 31 replaces this one, whose functions on PostgreSQL did not name the schema of the functions that they called.
SELECT 1;
