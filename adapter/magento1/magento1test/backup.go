package magento1test

import (
	"context"
	"strings"
)

// Backup copies all tables into a new database, and returns a function that copies those
// back that have changed since. The caller must drop the database.
func (s *LiveShop) Backup(ctx context.Context, database string) (restore func(context.Context) error, err error) {
	tables, err := s.tables(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.inTx(ctx, func(tx transaction) error {
		if err := tx.exec(ctx, "CREATE DATABASE "+database); err != nil {
			return err
		}
		for _, table := range tables {
			if err := tx.exec(ctx, "CREATE TABLE "+database+"."+table+" SELECT * FROM "+table); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	list := strings.Join(tables, ", ")
	saved, err := s.checksums(ctx, list)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		present, err := s.checksums(ctx, list)
		if err != nil {
			return err
		}
		statements := "SET foreign_key_checks = 0;"
		for i, table := range tables {
			if present[i] != saved[i] {
				statements += "TRUNCATE " + table + "; INSERT INTO " + table + " SELECT * FROM " + database + "." + table + ";"
			}
		}
		_, err = s.db.ExecContext(ctx, statements+"SET foreign_key_checks = 1")
		return err
	}, nil
}
