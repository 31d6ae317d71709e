package magento1

import (
	"cmp"
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
