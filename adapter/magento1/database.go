package magento1

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/portico-commerce/portico/adapter"
)

// connectTimeout bounds connecting, if the DSN does not.
const connectTimeout = 10 * time.Second

var (
	errDSN    = errors.New(`must be "mysql:user:password@tcp(host:3306)/database"`)
	errPrefix = errors.New("a table prefix must have at most 32 letters, digits and underscores")
	errRate   = errors.New("the rate must not be negative")
	// ErrOldTLS means that the server's TLS is too old without Options.OldTLS.
	ErrOldTLS = errors.New("the server offers only TLS 1.0 or 1.1, or ciphers of that time, which must be allowed explicitly")
)

// Options say which database to read, and how.
type Options struct {
	// DSN has the form of the SQL adapter's: "mysql:" and a DSN of go-sql-driver/mysql,
	// whose parameters tls and allowOldPasswords apply.
	DSN string
	// Prefix is the prefix of all table names.
	Prefix string
	// Charset is the encoding that the bytes of texts really have if it is not the one that
	// the tables claim, by a name of the WHATWG Encoding Standard, such as "windows-1252"
	// or "utf-8". "": what the tables claim.
	Charset string
	// OldTLS accepts TLS 1.0 and 1.1 and the ciphers of that time, for a DSN with TLS.
	OldTLS bool
	// Rate is the maximum average number of rows read per second. 0: no maximum.
	Rate int
	// Schemas describe the records to read.
	Schemas *adapter.Schemas
	// Skipped is called for everything in the tables that no record holds, while the
	// caller iterates over Records. nil: nobody asks.
	Skipped func(Skipped)
}

// A Database is an open database of Magento 1 or OpenMage. It must not be used
// concurrently.
type Database struct {
	pool     *sql.DB
	database string
	prefix   string
	text     textDecoder
	rate     int // rows per second; 0: no maximum
	schemas  *adapter.Schemas
	skipped  func(Skipped)
	columns  map[string]columnSet // by table name, with the prefix; nil for tables that are missing

	digests map[Part]rangeStatement

	rows    int       // number of rows read since the last pause
	free    time.Time // when the next rows may be read, with a rate
	bytes   int       // size of the rows read in this batch
	pending []Skipped // what this batch has skipped
	once    map[Skipped]bool
}

// A columnSet holds the names of a table's columns, in lower case.
type columnSet map[string]bool

// Open connects to a database. Errors do not contain the DSN, and say which option makes
// an old server acceptable.
func Open(ctx context.Context, o Options) (*Database, error) {
	if !regexp.MustCompile(`^[A-Za-z0-9_]{0,32}$`).MatchString(o.Prefix) {
		return nil, errPrefix
	}
	text, err := newTextDecoder(o.Charset)
	if err != nil {
		return nil, err
	}
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, errDSN
	}
	d := &Database{
		pool: sql.OpenDB(connector), database: config.DBName, prefix: o.Prefix, rate: o.Rate, text: text, schemas: o.Schemas, skipped: o.Skipped,
		columns: map[string]columnSet{}, digests: map[Part]rangeStatement{}, once: map[Skipped]bool{},
	}
	d.pool.SetMaxOpenConns(1) // leave the other connections to the running shop
	if err := d.pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to the legacy database: %w", explainConnectError(err)), d.pool.Close())
	}
	return d, nil
}

// config returns the driver's configuration.
func (o *Options) config() (*mysql.Config, error) {
	rest, ok := strings.CutPrefix(o.DSN, "mysql:")
	config, err := mysql.ParseDSN(rest)
	switch {
	case !ok || err != nil || config.DBName == "" || strings.HasPrefix(rest, "//"):
		return nil, errDSN // the driver's error could contain the password
	case o.Rate < 0:
		return nil, errRate
	}
	if config.Timeout == 0 {
		config.Timeout = connectTimeout
	}
	config.Logger = &mysql.NopLogger{} // errors are returned
	config.ParseTime = false           // zero dates cannot be parsed
	if err := config.Apply(mysql.Charset("utf8mb4", "")); err != nil {
		return nil, errDSN
	}
	if config.Params == nil {
		config.Params = map[string]string{}
	}
	if config.Params["time_zone"] == "" {
		config.Params["time_zone"] = "'+00:00'"
	}
	if o.Charset != "" {
		config.Params["character_set_results"] = "NULL" // the server sends the bytes that it has
	}
	if o.OldTLS && config.TLS != nil {
		config.TLS = config.TLS.Clone()
		config.TLS.MinVersion = tls.VersionTLS10
		config.TLS.CipherSuites = oldCipherSuites()
	}
	return config, nil
}

// oldCipherSuites returns all cipher suites but RC4.
func oldCipherSuites() (ids []uint16) {
	for _, suite := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		if !strings.Contains(suite.Name, "RC4") {
			ids = append(ids, suite.ID)
		}
	}
	return ids
}

// explainConnectError returns an error that says how to connect to an old server.
func explainConnectError(err error) error {
	switch text := err.Error(); {
	case errors.Is(err, mysql.ErrOldPassword):
		return errors.New("the server knows the user's password in the form of MySQL before 4.1: set the password again, or add allowOldPasswords=true to the DSN")
	case errors.Is(err, mysql.ErrCleartextPassword):
		return errors.New("the server asks for the password in plain text: add allowCleartextPasswords=true to the DSN, with TLS")
	case strings.Contains(text, "tls:") && (strings.Contains(text, "protocol version") || strings.Contains(text, "handshake failure")):
		return fmt.Errorf("%w (%w)", ErrOldTLS, err)
	default:
		return err
	}
}

// Close closes the connection.
func (d *Database) Close() error { return d.pool.Close() }

// table returns the quoted name of a table, with the prefix.
func (d *Database) table(name string) string { return quoteName(d.prefix + name) }

func quoteName(name string) string { return "`" + name + "`" }

// inReadOnlyTx runs f in a read-only transaction in which all statements see the same
// snapshot. Afterwards it pauses as Options.Rate demands.
func (d *Database) inReadOnlyTx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := d.pool.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err == nil {
		err = errors.Join(f(tx), tx.Rollback()) // a read-only transaction has nothing to commit
	}
	if err != nil {
		return d.wrapError(ctx, err)
	}
	return d.pause(ctx)
}

// pause waits as long as reading the rows should have taken that were read since the last
// pause.
func (d *Database) pause(ctx context.Context) error {
	rows := d.rows
	if d.rows = 0; d.rate == 0 {
		return nil
	}
	if now := time.Now(); d.free.Before(now) {
		d.free = now
	}
	d.free = d.free.Add(time.Duration(rows) * time.Second / time.Duration(d.rate))
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(d.free) {
		return fmt.Errorf("%w: there is no time left to pause as the rate demands", context.DeadlineExceeded)
	}
	timer := time.NewTimer(time.Until(d.free))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// deniedTable finds the name of the table in the server's message.
var deniedTable = regexp.MustCompile("for (?:table|column) .*?[`']?([A-Za-z0-9_$]+)[`']?$")

// wrapError adds context to an error. It returns the error of ctx if that has ended.
func (d *Database) wrapError(ctx context.Context, err error) error {
	var fault *mysql.MySQLError
	errors.As(err, &fault)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case isMissingTable(err):
		return fmt.Errorf("%w: check that it is a database of Magento 1 or OpenMage and that its table prefix is %q", err, d.prefix)
	case fault != nil && (fault.Number == 1142 || fault.Number == 1143): // a table or a column may not be read
		name := "*"
		if found := deniedTable.FindStringSubmatch(fault.Message); found != nil {
			name = quoteName(found[1])
		}
		return fmt.Errorf("the user may not read a table that the import needs: an administrator of the database can allow it by GRANT SELECT ON `%s`.%s TO that user", d.database, name)
	default:
		return fmt.Errorf("read the legacy database: %w", err)
	}
}

// isMissingTable reports whether a statement failed because a table does not exist.
func isMissingTable(err error) bool {
	var fault *mysql.MySQLError
	return errors.As(err, &fault) && fault.Number == 1146
}

// columnsOf returns the columns of a table, or nil if there is no such table.
func (d *Database) columnsOf(ctx context.Context, tx *sql.Tx, table string) (columnSet, error) {
	name := d.prefix + table
	if known, ok := d.columns[name]; ok {
		return known, nil
	}
	rows, err := tx.QueryContext(ctx, "SELECT * FROM "+quoteName(name)+" LIMIT 0")
	if isMissingTable(err) {
		d.columns[name] = nil
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	there := columnSet{}
	for _, column := range names {
		there[strings.ToLower(column)] = true
	}
	d.columns[name] = there
	return there, rows.Err()
}
