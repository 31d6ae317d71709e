-- +goose Up

-- Options of the attributes that the configuration adds, of kind select or multiselect.
-- labels holds the labels at store views, each as "2:Rouge", joined by line feeds.
CREATE TABLE IF NOT EXISTS attribute_option (
    option_id INTEGER PRIMARY KEY AUTOINCREMENT,
    resource TEXT NOT NULL,
    attribute TEXT NOT NULL,
    label TEXT NOT NULL,
    labels TEXT,
    position INTEGER
);
