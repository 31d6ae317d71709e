package magento1

import (
	"context"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// Options are the records to read, the database to read them from, and how to read it.
type Options struct {
	ServerOptions
	// Schemas describe the records to read.
	Schemas *adapter.Schemas
	// Skipped is called for everything in the tables that no record holds, while the caller
	// iterates over Records. It may be nil.
	Skipped func(Skipped)
}

// A Database is an open database of Magento 1 or OpenMage. All that it reads comes from one server:
// after a lost connection it fails with ErrOtherServer if another one has taken its place. It must
// not be used concurrently.
type Database struct {
	conn    *connection
	schemas *adapter.Schemas
	digests map[Part]rangeStatement
}

// Open connects to a database, as [openServer] does.
func Open(ctx context.Context, o Options) (*Database, error) {
	conn, err := openServer(ctx, o.ServerOptions)
	if err != nil {
		return nil, err
	}
	return &Database{conn: &connection{conn: conn, skipped: o.Skipped, once: map[Skipped]bool{}}, schemas: o.Schemas, digests: map[Part]rangeStatement{}}, nil
}

// Close closes the connection.
func (d *Database) Close() error { return d.conn.Close() }

// Free returns when the rows that were read so far would have been read at the rate.
func (d *Database) Free() time.Time { return d.conn.Free() }

// Identity returns the identity of the server and the end of its binary log.
func (d *Database) Identity(ctx context.Context) (Identity, error) {
	return d.conn.Identity(ctx)
}

// ReadFrom reads from the state that the server had at p, or later.
func (d *Database) ReadFrom(p Position) { d.conn.ReadFrom(p) }

// Forget makes d ask the server again which columns and attributes there are, instead of taking
// them as they were when d first read them.
func (d *Database) Forget() {
	d.conn.Forget()
	clear(d.digests)
}
