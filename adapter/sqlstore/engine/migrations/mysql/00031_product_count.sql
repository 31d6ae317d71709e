-- +goose Up
-- Nothing changes on MariaDB, where a user of a server with a binary log may need one more right to create triggers.
SELECT 1;
