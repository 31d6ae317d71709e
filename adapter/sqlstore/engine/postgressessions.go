package engine

import (
	"cmp"
	"context"
	"database/sql/driver"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// hostTimeout is connectTimeout for a DSN with several hosts: a host that does not answer
	// must not keep the next one from being asked.
	hostTimeout = 3 * time.Second
	// recheckAfter is how old the last check of a connection may be when it is borrowed, and
	// recheckTimeout how long a server may take to answer the next one.
	recheckAfter   = time.Second
	recheckTimeout = 2 * time.Second
)

// postgresSettings are the settings of all sessions. They are set by a statement rather than by
// start-up parameters: poolers refuse unknown parameters, and target_session_attrs of the DSN
// must find the server's own default_transaction_read_only.
func postgresSettings(readOnly string) string {
	return "SET timezone = 'UTC'; SET datestyle = 'ISO, YMD'; SET standard_conforming_strings = on;" +
		" SET default_transaction_isolation = 'read committed'; SET default_transaction_read_only = " + readOnly + ";" +
		" SET lock_timeout = '" + strconv.Itoa(lockSeconds) + "s'; SET idle_in_transaction_session_timeout = '" + strconv.Itoa(idleSeconds) + "s'"
}

// postgresSessions are the connections to one database in all pools. A failover makes all of
// them useless, and the first one that notices retires the others: a connection belongs to a
// generation, and a connection of an earlier generation is replaced when it is borrowed, which
// costs no round trip. A failover is noticed by
//
//   - the check of a borrowed connection, at most one in recheckAfter for each: whether the
//     server answers and still has the role, primary or standby, that it had at the start of the
//     session. A server changes its role beneath a session where a standby is promoted, and
//     behind a proxy or pooler that moves sessions to another server;
//   - an error which means that the server is shutting down, or that it cannot be written.
type postgresSessions struct{ generation atomic.Int64 }

// A postgresSession is the state of one connection.
type postgresSession struct {
	generation int64
	standby    bool // role of the server at the start
	checked    time.Time
}

// sessionKey is the key of the postgresSession among the custom data of a connection.
const sessionKey = "portico"

// connector returns a connector for a pool whose sessions have some settings. readers are pools
// whose statements fail by design if they write, which is no sign of a failover.
func (p *postgresSessions) connector(config *pgx.ConnConfig, settings string, readers bool) driver.Connector {
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, connectTimeoutOf(config))
	if config.ValidateConnect == nil {
		// A standby shows old records and accepts no writes. A DSN selects one with
		// target_session_attrs=standby.
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		generation := p.generation.Load()
		standby, err := startSession(ctx, conn, settings)
		conn.CustomData()[sessionKey] = &postgresSession{generation, standby, time.Now()}
		return err
	}
	config.OnPgError = func(conn *pgconn.PgConn, e *pgconn.PgError) bool {
		switch {
		case e.Code == readOnlyTransaction && !readers:
			p.retire(conn)
			return false
		case e.Code == "57P01", e.Code == "57P02": // shutdown, crash of another process
			p.retire(conn)
		}
		return !strings.EqualFold(e.Severity, "FATAL") // as without this function
	}
	return stdlib.GetConnector(*config,
		stdlib.OptionShouldPing(func(context.Context, stdlib.ShouldPingParams) bool { return false }), // the check includes a ping
		stdlib.OptionResetSession(func(ctx context.Context, conn *pgx.Conn) error { return p.check(ctx, conn.PgConn()) }))
}

// connectTimeoutOf returns the default of connect_timeout, which limits the attempt at one host.
func connectTimeoutOf(config *pgx.ConnConfig) time.Duration {
	for _, next := range config.Fallbacks {
		if next.Host != config.Host || next.Port != config.Port { // not the same one without TLS
			return hostTimeout
		}
	}
	return connectTimeout
}

// retire causes all connections that are as old as conn or older to be replaced.
func (p *postgresSessions) retire(conn *pgconn.PgConn) {
	if s, ok := conn.CustomData()[sessionKey].(*postgresSession); ok {
		p.generation.CompareAndSwap(s.generation, s.generation+1) // or another connection has done so
	}
}

// check fails with driver.ErrBadConn, after which package sql tries another connection, if the
// server of a borrowed connection has changed its role or does not answer.
func (p *postgresSessions) check(ctx context.Context, conn *pgconn.PgConn) error {
	s, ok := conn.CustomData()[sessionKey].(*postgresSession)
	if !ok || s.generation != p.generation.Load() {
		return driver.ErrBadConn
	}
	if time.Since(s.checked) < recheckAfter {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, recheckTimeout)
	defer cancel()
	standby, err := startSession(limited, conn, "")
	switch {
	case err != nil && ctx.Err() != nil: // the caller has given up, which closes the connection
		return driver.ErrBadConn
	case err != nil, standby != s.standby:
		p.retire(conn)
		return driver.ErrBadConn
	}
	s.checked = time.Now()
	return nil
}

// startSession sets settings, and reports whether the server is a standby, in one round trip.
func startSession(ctx context.Context, conn *pgconn.PgConn, settings string) (standby bool, err error) {
	results, err := conn.Exec(ctx, settings+"; SELECT pg_is_in_recovery()").ReadAll()
	if err != nil {
		return false, err
	}
	last := results[len(results)-1]
	return len(last.Rows) == 1 && string(last.Rows[0][0]) == "t", nil
}
