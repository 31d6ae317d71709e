-- +goose Up
-- Migration 31 has taken the place of this one, whose functions on PostgreSQL called others without their schema.
SELECT 1;
