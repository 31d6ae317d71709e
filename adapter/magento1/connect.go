package magento1

import (
	"cmp"
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

// connectTimeout bounds connecting, if the DSN does not.
const connectTimeout = 10 * time.Second

var (
	errDSN       = errors.New(`must be "mysql:user:password@tcp(host:3306)/database"`)
	errPrefix    = errors.New("a table prefix must have at most 32 letters, digits and underscores")
	errRate      = errors.New("the rate must not be negative")
	errOldServer = errors.New("the server is older than MySQL 5.6 and MariaDB 10, which the import needs: restore a backup of the database on a newer server, and import from there")
	// ErrOldTLS means that the server's TLS is too old without Options.OldTLS.
	ErrOldTLS = errors.New("the server offers only TLS 1.0 or 1.1, or ciphers of that time, which must be allowed explicitly")
	// ErrOtherServer means that the address has led to another server since Open.
	ErrOtherServer = errors.New("another server answers at the address of the legacy database")
)

// ServerOptions are the database to read, and how to read it.
type ServerOptions struct {
	// DSN has the form of the SQL adapter's: "mysql:" and a DSN of go-sql-driver/mysql,
	// whose parameters tls and allowOldPasswords apply.
	DSN string
	// Prefix is the prefix of all table names.
	Prefix string
	// Charset is the real encoding of the bytes of texts if the tables declare another one, by a
	// name of the WHATWG Encoding Standard, such as "windows-1252" or "utf-8". "": the declared
	// encoding.
	Charset string
	// OldTLS accepts TLS 1.0 and 1.1 and the ciphers of that time, for a DSN with TLS.
	OldTLS bool
	// Rate is the maximum average number of rows read per second. 0: no maximum.
	Rate int
	// PauseLater leaves it to the caller to wait until Free before it reads more.
	PauseLater bool
}

// openServer connects to a database. Errors do not contain the DSN, and name the option that makes
// an old server acceptable.
func openServer(ctx context.Context, o ServerOptions) (*conn, error) {
	if !regexp.MustCompile(`^[A-Za-z0-9_]{0,32}$`).MatchString(o.Prefix) {
		return nil, errPrefix
	}
	text, err := newTextDecoder(o.Charset)
	if err != nil {
		return nil, err
	}
	config, err := o.DriverConfig()
	if err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, errDSN
	}
	conn := &conn{
		Database: config.DBName, Prefix: o.Prefix, Text: text,
		pool: sql.OpenDB(&pinnedConnector{Connector: connector}), rate: o.Rate, later: o.PauseLater, columns: map[string]columnSet{},
	}
	conn.pool.SetMaxOpenConns(1) // leave the other connections to the running shop
	if err := conn.pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to the legacy database: %w", explainConnectError(err)), conn.pool.Close())
	}
	return conn, nil
}

// DriverConfig returns the configuration of the driver for connections as Open makes them.
func (o *ServerOptions) DriverConfig() (*mysql.Config, error) {
	rest, ok := strings.CutPrefix(o.DSN, "mysql:")
	config, err := mysql.ParseDSN(rest)
	switch {
	case !ok || err != nil || config.DBName == "" || strings.HasPrefix(rest, "//"):
		return nil, errDSN // the driver's error could contain the password
	case o.Rate < 0:
		return nil, errRate
	}
	config.Timeout = cmp.Or(config.Timeout, connectTimeout)
	config.Logger = &mysql.NopLogger{} // errors are returned
	config.ParseTime = false           // zero dates cannot be parsed
	if err := config.Apply(mysql.Charset("utf8mb4", "")); err != nil {
		return nil, errDSN
	}
	if config.Params == nil {
		config.Params = map[string]string{}
	}
	config.Params["time_zone"] = cmp.Or(config.Params["time_zone"], "'+00:00'")
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

// explainConnectError adds instructions for connecting to an old server to an error.
func explainConnectError(err error) error {
	switch text := err.Error(); {
	case isFault(err, 1115): // it does not know utf8mb4
		return errOldServer
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

// serverStatements returns the statements that ask a server for its identity. The first one that it
// accepts counts.
func serverStatements() []string {
	return []string{"SELECT @@server_uuid", "SELECT @@server_uid", "SELECT @@server_id"}
}

// A pinnedConnector connects to one server only: the server of the first connection.
type pinnedConnector struct {
	driver.Connector
	mu     sync.Mutex
	server string // "": not connected yet
}

// Connect implements [driver.Connector].
func (c *pinnedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	server, err := identify(ctx, conn)
	if err == nil && !c.accept(server) {
		err = ErrOtherServer
	}
	if err != nil {
		_ = conn.Close() // the first error says more
		return nil, err
	}
	return conn, nil
}

// accept reports whether a server is the server of the first connection.
func (c *pinnedConnector) accept(server string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server = cmp.Or(c.server, server)
	return c.server == server
}

// identify returns the identity of a connection's server.
func identify(ctx context.Context, conn driver.Conn) (server string, err error) {
	for _, statement := range serverStatements() {
		server, err = firstValue(ctx, conn.(driver.QueryerContext), statement)
		if _, ok := errors.AsType[*mysql.MySQLError](err); err == nil || !ok {
			return server, err
		}
	}
	return "a server that does not say", nil
}

// firstValue returns the only value of a statement as a text.
func firstValue(ctx context.Context, conn driver.QueryerContext, statement string) (text string, err error) {
	rows, err := conn.QueryContext(ctx, statement, nil)
	if err != nil {
		return "", err
	}
	values := make([]driver.Value, len(rows.Columns()))
	if err = rows.Next(values); err == nil {
		text = fmt.Sprint(values[0])
	} else if err == io.EOF {
		err = nil
	}
	return text, errors.Join(err, rows.Close())
}
