package magento1

import (
	"context"
	"database/sql"
	"errors"

	"github.com/go-sql-driver/mysql"
)

// An Identity identifies a database and the end of its binary log. Fields that the server does not
// have, or that the user may not read, are empty.
type Identity struct {
	Server   string // server_uuid of MySQL, server_uid of MariaDB, and server_id otherwise
	Version  string
	Database string
	Prefix   string
	// LogFile and LogPosition are the end of the binary log, and GTID the transactions
	// that it holds.
	LogFile     string
	LogPosition int64
	GTID        string
}

// Identity returns the identity of the server and the end of its binary log.
func (c *conn) Identity(ctx context.Context) (Identity, error) {
	id := Identity{Database: c.Database, Prefix: c.Prefix}
	err := c.Retry(ctx, func(tx *sql.Tx) error {
		for _, ask := range []struct {
			into       *string
			statements []string // the first one that the server has, and allows, is the one
		}{
			{&id.Server, serverStatements()},
			{&id.Version, []string{"SELECT VERSION()"}},
			{&id.LogFile, []string{"SHOW MASTER STATUS", "SHOW BINARY LOG STATUS"}},
			{&id.GTID, []string{"SELECT @@GLOBAL.gtid_binlog_pos", "SELECT @@GLOBAL.gtid_executed"}},
		} {
			for _, statement := range ask.statements {
				*ask.into = ""
				err := c.Each(ctx, tx, statement, func(r row) error {
					*ask.into = string(r[0])
					if ask.into == &id.LogFile && len(r) > 1 {
						id.LogPosition = r.ID(1)
					}
					return nil
				})
				if _, ok := errors.AsType[*mysql.MySQLError](err); err != nil && !ok {
					return err
				}
				if *ask.into != "" {
					break
				}
			}
		}
		return nil
	})
	return id, err
}

// Position returns the end of the binary log, or the zero Position if the server has none or
// the user may not see it.
func (id Identity) Position() Position {
	if id.LogFile == "" {
		return Position{}
	}
	return Position{File: id.LogFile, Offset: uint64(id.LogPosition), GTID: id.GTID, Server: id.Server}
}
