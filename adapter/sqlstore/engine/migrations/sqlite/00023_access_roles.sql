-- +goose Up

-- REST roles. Role 1 is every Guest's, role 2 every Customer's; without the row they may do
-- everything that the contract allows them. everything is 1 for a role that allows all calls,
-- whatever its rules. imported is 1 for a copy of a legacy store's role.
CREATE TABLE access_role (
    role_id INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    name_folded TEXT NOT NULL UNIQUE,
    everything INTEGER NOT NULL,
    imported INTEGER NOT NULL
);

-- The calls that a role allows.
CREATE TABLE access_rule (
    role_id INTEGER NOT NULL,
    resource TEXT NOT NULL,
    privilege TEXT NOT NULL,
    PRIMARY KEY (role_id, resource, privilege)
);

-- The role of an administrator. Without a row, and with everything 1, they may do everything;
-- otherwise, without a role_id, every call fails.
CREATE TABLE admin_role (
    admin_id INTEGER NOT NULL PRIMARY KEY,
    role_id INTEGER,
    everything INTEGER NOT NULL,
    imported INTEGER NOT NULL
);
