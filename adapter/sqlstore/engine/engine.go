package engine

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/huandu/go-sqlbuilder"
	"github.com/pressly/goose/v3"

	"github.com/portico-commerce/portico/adapter"
)

// An Engine holds the differences between one kind of database and the others.
type Engine struct {
	// System is the name of the database system in traces.
	System string
	// validate checks a DSN without the engine's prefix. Its error lists the valid forms, and
	// repeats nothing of the DSN, which may hold a password.
	validate func(dsn string) error
	// Open opens the pools.
	Open func(dsn string, o PoolOptions) (Pools, error)
	// mediaDir returns the folder for media beside a database file; nil for an engine
	// without database files.
	mediaDir func(dsn string) string
	// location returns the location of the database of a valid DSN, without user and password.
	location func(dsn string) string

	// placeSQL are statements; the first one that succeeds returns the server and the database.
	placeSQL []string
	// PlaceIsUnique: no two servers have the same identifier.
	PlaceIsUnique bool

	dialect    goose.Dialect
	migrations string // folder of its migrations
	// commitsChanges: the server commits each change of a table immediately, see
	// migrationsteps.go.
	commitsChanges bool
	// tryMigrationLock keeps two processes from migrating at once.
	tryMigrationLock migrationLock
	// LockImports keeps two processes from importing at once, as described at coordination.ImportLog.Lock.
	// It gets a pool that has a connection to spare, the name that Open was given, and how long
	// the process may be silent, as described at coordination.ImportLog.LockWithin; 0 means without a
	// limit.
	LockImports func(ctx context.Context, readers *sql.DB, dsn string, wait, silence time.Duration) (release func() error, err error)

	Flavor sqlbuilder.Flavor
	// numberedParameters is true if parameters are written $1, $2, …, and false if they
	// are question marks.
	numberedParameters bool
	// hasArrays: a parameter may be an array of ids, or of the values of a column. PostgreSQL plans a long
	// list of parameters at each execution, which takes a third of its time, and an array once.
	hasArrays bool
	// Inlines: the engine supports [Inline]. MariaDB would cut the column at group_concat_max_len without an error, and on
	// SQLite a second statement costs no round trip.
	Inlines bool
	// OrderedJoin is the join operator that reads the left table first. It is "" if the engine has none, or if a subquery
	// is as fast.
	OrderedJoin string
	// LockClause ends a SELECT that locks the rows it finds; "" if a writing transaction
	// locks the whole database at its start.
	LockClause string
	// ShareClause ends a SELECT that keeps the rows it finds from being changed until the
	// transaction ends, while others may do so too; "" as for LockClause.
	ShareClause string
	// Ascending and descending follow a column in ORDER BY; both sort NULL below every
	// value.
	Ascending, Descending string
	// LikeFormat formats a LIKE that compares characters exactly and whose escape
	// character is the backslash, from the column, "" or "NOT ", and the parameter.
	LikeFormat string
	// WithTrailingBlanks formats a folded column with the blanks behind the text of its raw column.
	WithTrailingBlanks string
	// LeadingInteger formats the number with which a text begins, NULL for another text. It formats
	// digits beyond the eighteenth, which no id has, differently on each engine.
	LeadingInteger string
	// OptionID formats that number of the column value of an alias of product_default_value or
	// product_value, as the indexes of these tables have it.
	OptionID string
	// casts holds, for an attribute's kind, the type to which a stored text is cast
	// before it is compared. Kinds without an entry are compared as text.
	casts map[adapter.Kind]string
	// IsTableSQL selects a row for the name of a table, and none for the name of a view.
	IsTableSQL string
	// IgnoreDuplicate ends an INSERT, so that it changes nothing if a row has the same key. The key is a
	// column, or several with commas.
	IgnoreDuplicate func(key string) string
	// Now is an expression for the current time of the database's clock, in milliseconds since
	// 1970. SQLite uses this machine's clock.
	Now string
	// Upsert ends an INSERT, so that the named columns of an existing row with the same key, a
	// column or several with commas, get the values of the new row.
	Upsert func(key string, columns ...string) string
	// LastKeyFollows is true if the keys that an INSERT of several rows generates are
	// consecutive, and the last insert id is the last of them. It is not used with
	// UseReturning.
	LastKeyFollows bool
	// UseReturning is true if an INSERT returns the new key by a RETURNING clause, and
	// false if the driver reports a last insert id.
	UseReturning bool
	// Analyze renews the statistics by which statements are planned; "" for an engine that needs
	// none.
	Analyze string
	// Scrub are statements, outside a transaction, that remove the remains of deleted rows from
	// the files of the database; none for an engine that cannot do so at once.
	Scrub    []string
	Counters CounterStatements
	// Decimal returns the argument of a statement for a decimal.
	Decimal func(tenThousandths int64) any
	// Classify returns the kind of a driver's error, and whether the transaction failed only
	// because of concurrent ones, so that it is worth a retry.
	Classify func(error) (kind adapter.ErrorKind, again bool)
	// Check fails if the server answers but cannot write, as far as the engine can detect; nil for
	// an engine that always can write.
	Check func(ctx context.Context, p Pools) error
	// HasLost reports whether an error means that the server of a connection no longer serves,
	// while another one at the same address may; nil for an engine without such errors.
	HasLost func(error) bool
	// queryDirect runs a query without package sql; nil for an engine that gains nothing by it.
	queryDirect func(ctx context.Context, pool *sql.DB, text string, arguments []any) (Rows, error)
}

// PoolOptions configure the pools of an engine.
type PoolOptions struct {
	// Create creates a missing database file.
	Create bool
	// Wrap, if not nil, may replace the connector of each pool.
	Wrap func(driver.Connector) driver.Connector
	// Writers and Readers are the sizes of the pools of a server. 0 stands for two and four
	// connections for each processor, and for four and eight at least.
	Writers, Readers int
	// PerTransaction is for a pooler in transaction mode, which gives a connection a session of
	// the server for one transaction at a time: no statement is prepared, and nothing is left in
	// the session. Only PostgreSQL supports it.
	PerTransaction bool
}

// ErrPerTransaction means that an engine has no [PoolOptions.PerTransaction].
var ErrPerTransaction = errors.New("transaction mode is for PostgreSQL alone")

// wrap returns the connector of a pool.
func (o PoolOptions) wrap(c driver.Connector) driver.Connector {
	if o.Wrap == nil {
		return c
	}
	return o.Wrap(c)
}

// Pools are the connections to one database.
type Pools struct {
	Writer  *sql.DB
	Readers *sql.DB // connections that cannot write
	// CredentialReaders is used to authenticate callers. It may be the same pool as Readers if
	// that has enough connections beside the ones that long lists occupy.
	CredentialReaders *sql.DB
	// IsCluster reports whether the server is a node of a cluster whose nodes lock rows for
	// themselves, as far as connections have been opened; nil for an engine without such clusters.
	IsCluster func() bool
}

// CloseIdle closes the connections that are not in use, so that new ones reach another server.
func (p Pools) CloseIdle() {
	for _, pool := range []*sql.DB{p.Readers, p.Writer, p.CredentialReaders} {
		most := pool.Stats().MaxOpenConnections
		pool.SetMaxIdleConns(0)
		pool.SetMaxIdleConns(most) // as many as may be open, as in openPool
	}
}

// Close closes all connections once their statements have ended.
func (p Pools) Close() error {
	err := errors.Join(p.Readers.Close(), p.Writer.Close())
	if p.CredentialReaders != p.Readers {
		err = errors.Join(err, p.CredentialReaders.Close())
	}
	return err
}

// ListedAsNull returns a condition that the column nulls lists an attribute.
func (e *Engine) ListedAsNull(sb *sqlbuilder.SelectBuilder, nulls, attribute string) string {
	return fmt.Sprintf(e.LikeFormat, nulls, "", sb.Var(InNulls(attribute)))
}

// InNulls returns the LIKE pattern of a list of attributes that holds one. In their names, which
// are letters, digits and underscores, only underscores have a meaning.
func InNulls(attribute string) string { return "%," + strings.ReplaceAll(attribute, "_", `\_`) + ",%" }

// Cast returns an expression that converts a stored text to a value of the kind.
func (e *Engine) Cast(expression string, kind adapter.Kind) string {
	if to := e.casts[kind]; to != "" {
		return "CAST(" + expression + " AS " + to + ")"
	}
	return expression
}

// Rebind replaces the question marks of a statement by the engine's parameters. The statement must
// have no other question marks.
func (e *Engine) Rebind(text string) string {
	if !e.numberedParameters || !strings.Contains(text, "?") {
		return text
	}
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(text, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
		text = after
	}
}

// upsertOnConflict returns the end of an INSERT for SQLite and PostgreSQL.
func upsertOnConflict(key string, columns ...string) string {
	assignments := make([]string, len(columns))
	for i, name := range columns {
		assignments[i] = name + " = excluded." + name
	}
	return " ON CONFLICT (" + key + ") DO UPDATE SET " + strings.Join(assignments, ", ")
}

// connectionLost reports whether a driver's error comes from the connection rather than
// from the server.
func connectionLost(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || slices.ContainsFunc([]error{driver.ErrBadConn, sql.ErrConnDone, net.ErrClosed, io.EOF, io.ErrUnexpectedEOF}, func(lost error) bool {
		return errors.Is(err, lost)
	})
}

// AwaitTxEnd runs end, a commit or rollback, and waits for it at most until ctx ends.
// Some drivers ignore the context there, and a server that hangs would block the
// caller. end then continues in the background and keeps its connection.
func AwaitTxEnd(ctx context.Context, end func() error) error {
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = end()
	}()
	if !awaitEnd(ctx, ended) {
		return ctx.Err()
	}
	return err
}

// awaitEnd waits until ended is closed, at most until ctx ends, and reports whether it is.
func awaitEnd(ctx context.Context, ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	case <-ctx.Done():
	}
	select {
	case <-ended: // at the same time
		return true
	default:
		return false
	}
}

const (
	// connectTimeout bounds making a connection, where the DSN does not.
	connectTimeout = 10 * time.Second
	// lockSeconds is how long a statement waits for a record's lock.
	lockSeconds = 5
	// idleSeconds is how long a transaction may be idle before the server ends it and
	// frees its locks, because its process has probably died.
	idleSeconds = 60
	// connectionIdle and connectionLife bound how long a connection stays open, unused
	// and at all, so that the pools reach a new server after a failover.
	connectionIdle = 5 * time.Minute
	connectionLife = time.Hour
)

// openServer opens the connection pools of a database server. Writers have a pool of
// their own, so that writers waiting for locks do not keep readers waiting.
func openServer(writing, reading driver.Connector, o PoolOptions) Pools {
	processors := runtime.GOMAXPROCS(0)
	readers := openPool(o.wrap(reading), cmp.Or(o.Readers, max(8, 4*processors)))
	writer := openPool(o.wrap(writing), cmp.Or(o.Writers, max(4, 2*processors)))
	return Pools{Writer: writer, Readers: readers, CredentialReaders: readers}
}

func openPool(c driver.Connector, connections int) *sql.DB {
	pool := sql.OpenDB(c)
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	pool.SetConnMaxIdleTime(connectionIdle)
	pool.SetConnMaxLifetime(connectionLife)
	return pool
}

// An initConnector runs a statement on every new connection.
type initConnector struct {
	driver.Connector
	statement string
}

// Connect opens a connection and runs the statement on it.
func (c initConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.(driver.ExecerContext).ExecContext(ctx, c.statement, nil); err != nil {
		_ = conn.Close() // the statement's error says more
		return nil, err
	}
	return conn, nil
}
