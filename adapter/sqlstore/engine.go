package sqlstore

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/huandu/go-sqlbuilder"
	"github.com/pressly/goose/v3"

	"github.com/portico-commerce/portico/adapter"
)

// An engine is all that the store needs to know of one kind of database.
type engine struct {
	// valid tells whether a DSN, without the engine's prefix, can be used; its
	// error says what would be valid, and repeats nothing of the DSN.
	valid func(dsn string) error
	// open opens the pools. With create, a database in a file is made when it is
	// missing. Their connections come from what wrap returns.
	open func(dsn string, create bool, wrap func(driver.Connector) driver.Connector) (pools, error)
	// mediaDir returns the folder that stands beside a database in a file; nil for
	// an engine that has no files here.
	mediaDir func(dsn string) string

	dialect    goose.Dialect
	migrations string // folder of its migrations
	// migrationLock keeps two processes from migrating at once; without
	// statements the transactions do.
	migrationLock migrationLock

	flavor sqlbuilder.Flavor
	// numbered: parameters are written $1, $2, …; else each is a question mark.
	numbered bool
	// lock ends a SELECT that keeps other transactions from changing what it
	// found; "" when transactions that write are alone from their start.
	lock string
	// ascending and descending follow the column of an ORDER BY and put NULL
	// below every value.
	ascending, descending string
	// like is the format of a LIKE that compares characters as they are and
	// escapes with a backslash: the column, "" or "NOT ", and the parameter.
	like string
	// casts are the types that a stored text is cast to, to be compared as an
	// attribute of the kind; without one it is compared as it is.
	casts map[adapter.Kind]string
	// isTable finds a row for the name of a table, and none for that of a view.
	isTable string
	// newNonce ends an INSERT of a nonce that changes no row when the nonce is
	// there already.
	newNonce string
	// returning: an INSERT tells the new key by a RETURNING clause, for want of
	// a last insert id.
	returning bool
	counting  counting
	// decimal is what a statement binds for a number of ten-thousandths.
	decimal func(tenThousandths int64) any
	// classify returns the kind of an error of the driver, and whether it ended
	// a transaction only because of others at the same time, so that it is worth
	// running again.
	classify func(error) (kind adapter.ErrorKind, again bool)
}

// pools are the connections to one database.
type pools struct {
	writer  *sql.DB
	readers *sql.DB // whose connections only read
	// credentials reads what tells callers apart. It may be readers where that has
	// connections enough for long lists besides.
	credentials *sql.DB
}

// close closes all connections, each when its statement has ended.
func (p pools) close() error {
	err := errors.Join(p.readers.Close(), p.writer.Close())
	if p.credentials != p.readers {
		err = errors.Join(err, p.credentials.Close())
	}
	return err
}

// listed returns a condition that the column nulls lists an attribute.
func (e *engine) listed(sb *sqlbuilder.SelectBuilder, nulls, attribute string) string {
	return fmt.Sprintf(e.like, nulls, "", sb.Var("%,"+strings.ReplaceAll(attribute, "_", `\_`)+",%"))
}

// read returns the expression, a stored text, as a value of the kind.
func (e *engine) read(expression string, kind adapter.Kind) string {
	if to := e.casts[kind]; to != "" {
		return "CAST(" + expression + " AS " + to + ")"
	}
	return expression
}

// rebind returns a statement written with question marks, which it must not
// hold otherwise, with the parameters of the engine.
func (e *engine) rebind(text string) string {
	if !e.numbered {
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

// connectionLost reports whether err, of a driver, came from the way to the
// server rather than from the server.
func connectionLost(err error) bool {
	var network net.Error
	if errors.As(err, &network) {
		return true
	}
	for _, lost := range []error{driver.ErrBadConn, sql.ErrConnDone, net.ErrClosed, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, lost) {
			return true
		}
	}
	return false
}
