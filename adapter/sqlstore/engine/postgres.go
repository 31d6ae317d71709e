package engine

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/huandu/go-sqlbuilder"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/portico-commerce/portico/adapter"
	"github.com/pressly/goose/v3"
)

// postgresEngine returns the engine of PostgreSQL. Transactions run at read committed, so that
// a transaction that waited for a record's lock sees the latest record.
func postgresEngine() *Engine {
	return &Engine{
		System:     "postgresql",
		validate:   validPostgres,
		Open:       openPostgres,
		location:   locationOfPostgres,
		dialect:    goose.DialectPostgres,
		migrations: "postgres",
		tryMigrationLock: serverLock{
			lock:   "SELECT CAST(pg_try_advisory_lock(" + postgresMigrationLock + ") AS INTEGER)",
			unlock: "SELECT CAST(pg_advisory_unlock(" + postgresMigrationLock + ") AS INTEGER)",
		}.migrationLock,
		LockImports: serverLock{
			lock:   "SELECT CAST(pg_try_advisory_lock(" + postgresImportLock + ") AS INTEGER)",
			unlock: "SELECT CAST(pg_advisory_unlock(" + postgresImportLock + ") AS INTEGER)",
			lockWithin: func(time.Duration) string {
				return "SELECT 1 FROM pg_advisory_lock(" + postgresImportLock + ")"
			},
			isRefused: func(err error) bool { // within lock_timeout
				var e *pgconn.PgError
				return errors.As(err, &e) && e.Code == lockNotAvailable
			},
			limitSilence: limitPostgresSilence,
			// Not RESET ALL, after which a reader could write.
			unlimitSilence: "SELECT set_config(name, reset_val, false) FROM pg_settings WHERE name = 'idle_session_timeout'",
		}.lockImports,
		Flavor:             sqlbuilder.PostgreSQL,
		numberedParameters: true,
		hasArrays:          true,
		Inlines:            true,
		queryDirect:        queryPostgres,
		LockClause:         " FOR UPDATE",
		ShareClause:        " FOR SHARE",
		Ascending:          " ASC NULLS FIRST",
		Descending:         " DESC NULLS LAST",
		LikeFormat:         `%s %sLIKE %s ESCAPE '\'`,
		WithTrailingBlanks: "%s || SUBSTR(%[2]s, LENGTH(RTRIM(%[2]s)) + 1)",
		LeadingInteger:     "CAST(SUBSTRING(%s FROM '^[0-9]{1,18}') AS BIGINT)",
		OptionID:           "CAST(SUBSTRING(%s.value FROM '^[0-9]{1,18}') AS BIGINT)",
		casts:              map[adapter.Kind]string{adapter.KindInteger: "BIGINT", adapter.KindDecimal: "DECIMAL(12,4)", adapter.KindTime: "TIMESTAMP(0)"},
		placeSQL:           []string{"SELECT system_identifier::text || ' ' || current_database() || ' ' || current_schema() FROM pg_control_system()"},
		PlaceIsUnique:      true,
		IsTableSQL:         "SELECT 1 FROM pg_class WHERE oid = to_regclass(?) AND relkind IN ('r', 'p')",
		IgnoreDuplicate:    func(key string) string { return " ON CONFLICT (" + key + ") DO NOTHING" },
		Now:                "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
		Upsert:             upsertOnConflict,
		UseReturning:       true,
		Analyze:            "ANALYZE",
		Counters: CounterStatements{
			// Unlike setval alone, this is rolled back with its transaction, and so is a
			// later setval in the same transaction.
			Restart: func(c Counter) string { return "ALTER SEQUENCE " + postgresSequence(c) + " RESTART" },
			Advance: func(c Counter) string {
				return "SELECT setval('" + postgresSequence(c) + "', MAX(" + c.Column + ")) FROM " + c.Table +
					" HAVING MAX(" + c.Column + ") >= (SELECT last_value FROM " + postgresSequence(c) + ")"
			},
			PassKey: passPostgres,
			Last: func(c Counter) string {
				return "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM " + postgresSequence(c)
			},
		},
		Decimal:  func(tenThousandths int64) any { return adapter.FormatDecimal(tenThousandths) },
		Classify: classifyPostgres,
	}
}

// postgresMigrationLock and postgresImportLock are arbitrary numbers among the advisory locks
// of a database.
const postgresMigrationLock, postgresImportLock = "7024931501", "7024931502"

// limitPostgresSilence is serverLock.limitSilence. Versions before 14 do not have the setting.
func limitPostgresSilence(silence time.Duration) string {
	if silence == 0 { // the server does not limit it
		return ""
	}
	return fmt.Sprintf("SELECT set_config('idle_session_timeout', '%d', false) WHERE current_setting('idle_session_timeout', true) IS NOT NULL", silence.Milliseconds())
}

// lockNotAvailable is the SQLSTATE of a statement that has waited too long for a lock.
const lockNotAvailable = "55P03"

// readOnlyTransaction is the SQLSTATE of a write to a standby, or in a session that only reads.
const readOnlyTransaction = "25006"

// postgresSequence returns the name of the sequence that PostgreSQL creates for an
// identity column.
func postgresSequence(c Counter) string { return c.Table + "_" + c.Column + "_seq" }

// passPostgres returns the statements of CounterStatements.PassKey. setval alone would
// undo increments by concurrent transactions, so an ALTER SEQUENCE that changes nothing
// locks the sequence first.
func passPostgres(c Counter, key int64) (behind string, move []string) {
	sequence, number := postgresSequence(c), strconv.FormatInt(key, 10)
	return "SELECT 1 FROM " + sequence + " WHERE last_value < " + number + " OR NOT is_called", []string{
		"ALTER SEQUENCE " + sequence + " NO CYCLE",
		"SELECT setval('" + sequence + "', GREATEST(last_value, " + number + ")) FROM " + sequence,
	}
}

var errPostgresDSN = errors.New(`must be "postgres://user:password@host:5432/database", or "postgres:" and settings such as "host=/run/postgresql dbname=shop"`)

func validPostgres(dsn string) error {
	if dsn == "" {
		return errPostgresDSN
	}
	// The driver's error would repeat parts of the DSN.
	if _, err := pgx.ParseConfig(dsn); err != nil {
		return errPostgresDSN
	}
	return nil
}

func locationOfPostgres(dsn string) string {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return ""
	}
	return "postgres:" + net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + config.Database
}

func openPostgres(dsn string, o PoolOptions) (Pools, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return Pools{}, errPostgresDSN
	}
	sessions := &postgresSessions{}
	if o.PerTransaction {
		config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe // this prepares nothing
		return openServer(
			scopedConnector{sessions.connector(config.Copy(), "", false), postgresScope(false)},
			scopedConnector{sessions.connector(config, "", true), postgresScope(true)}, o), nil
	}
	return openServer(
		sessions.connector(config.Copy(), postgresSettings("off"), false),
		sessions.connector(config, postgresSettings("on"), true), o), nil
}

// classifyPostgres classifies errors by their SQLSTATE, whose first two characters are
// its class.
func classifyPostgres(err error) (kind adapter.ErrorKind, again bool) {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		if _, ok := errors.AsType[*pgconn.ConnectError](err); ok || pgconn.SafeToRetry(err) || connectionLost(err) {
			return adapter.Unavailable, false
		}
		return adapter.Internal, false
	}
	switch e.Code {
	case "40001", "40P01": // serialization failure, deadlock
		return adapter.Unavailable, true
	case "23502", "23514": // not null, check
		return adapter.Invalid, false
	case "54000": // a text too long for its index
		return adapter.Invalid, false
	case "0A000", "55000": // a column or a view that cannot be written
		return adapter.Unsupported, false
	case readOnlyTransaction: // the server became a standby
		return adapter.Unavailable, false
	case lockNotAvailable, "57014": // lock timeout, cancelled by the server
		return adapter.Unavailable, false
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "22": // a value that does not fit its column's type
		return adapter.Invalid, false
	case "23":
		return adapter.Conflict, false
	case "08", "28", "3D", "53", "57", "58": // connection, login, no database, resources, shutdown, system
		return adapter.Unavailable, false
	default:
		return adapter.Internal, false
	}
}
