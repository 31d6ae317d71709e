package binlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/go-sql-driver/mysql"
	"github.com/portico-commerce/portico/adapter/magento1"
)

const (
	// defaultMaxKeys and defaultHeartbeat are Options.MaxKeys and Options.Heartbeat that are 0.
	defaultMaxKeys   = 20_000
	defaultHeartbeat = 10 * time.Second
	// missedHeartbeats is how many heartbeats the server may miss before the connection
	// counts as lost, and minSilence the time that it may be silent in any case.
	missedHeartbeats = 3
	minSilence       = 30 * time.Second
	// closeTimeout is how long Close waits for a server that does not answer.
	closeTimeout = 3 * time.Second
)

var (
	// ErrGap means that the log does not go on from the position: it has been purged or
	// reset, it is another server's, the server has lost events, or one cannot be decoded.
	// Compare all records, and open the log without a position.
	ErrGap = errors.New("the binary log does not go on where it was last read")
	// ErrNoLog means that the server has no binary log, or none that the user may see.
	ErrNoLog = errors.New("the server has no binary log, or the user has not the right to read it: portico follow --check says what is missing")
	// ErrServerID means that the server has cut off the reader for another replica with the
	// same id.
	ErrServerID = errors.New("another replica of the server has the same server id")
)

// Options are the log to read, and the position to start from.
type Options struct {
	// DSN, Prefix and OldTLS are as in [magento1.ServerOptions]. With tls=preferred in the DSN the
	// server must offer TLS.
	DSN, Prefix string
	OldTLS      bool
	// From is the position after which to read. Zero: the present end of the log.
	From magento1.Position
	// ServerID is the id under which the server knows the reader as a replica; no other one
	// may have it. 0: a random one of 31 bits.
	ServerID uint32
	// MaxKeys is the maximum number of records of each part that a batch names one by one.
	// If more have changed, it names the part. 0: 20,000.
	MaxKeys int
	// Heartbeat is the period after which Next returns a batch without changes. 0: 10 s.
	Heartbeat time.Duration
}

func (o *Options) database() magento1.Options {
	return magento1.Options{ServerOptions: magento1.ServerOptions{DSN: o.DSN, Prefix: o.Prefix, OldTLS: o.OldTLS}}
}

// A Batch holds the changes of whole transactions of the source. It does not hold the current
// records: read them from a [magento1.Database] with ReadFrom(Position).
type Batch struct {
	// Changes are sorted by part, in the order of [magento1.Parts], and then by key.
	Changes []Change
	// Credentials: administrators, consumers or tokens have changed.
	Credentials bool
	// Settings name the changed sources of [magento1.Database.Settings], in the form of
	// [magento1.Setting.From], or only by the name of the table.
	Settings []string
	// Schema: columns or attributes may have changed. Call [magento1.Database.Forget].
	Schema bool
	// Findings are the reasons why some changes name more than the changed records. Each is in one
	// batch.
	Findings []Finding
	// Position is the end of the last transaction.
	Position magento1.Position
	// At is when the oldest transaction with changes was written, by the clock of the
	// source. It is zero if there are no changes.
	At time.Time
}

// A Reader reads a binary log. It does so all the time, whether or not Next is called, so
// that the server need not wait. It must be closed.
type Reader struct {
	prefix    string
	database  string
	heartbeat time.Duration
	syncer    *replication.BinlogSyncer
	stop      context.CancelFunc
	closing   atomic.Bool

	metadata sync.Mutex // locked while tables is in use
	tables   *magento1.Database

	stream // used by the goroutine that reads

	mu       sync.Mutex
	ready    batch
	err      error
	returned time.Time     // when Next last returned
	wake     chan struct{} // has a value if there may be something to return
	opened   chan struct{} // closed when the server has begun to send
}

// A batch is a Batch of which keys must still be looked up.
type batch struct {
	changes  *Set
	schema   bool
	findings []Finding
	position magento1.Position
	at       time.Time
	beat     bool // there is a reason to return it although it has no changes
}

// Open begins to read a log. It returns ErrGap, ErrNoLog or ErrServerID, or an error that
// may pass. Next can return all of these, too.
func Open(ctx context.Context, o Options) (*Reader, error) {
	tables, err := magento1.Open(ctx, o.database())
	if err != nil {
		return nil, err
	}
	r, err := newReader(ctx, o, tables)
	if err != nil {
		return nil, errors.Join(err, tables.Close())
	}
	select {
	case <-r.opened:
	case <-r.wake: // it has failed
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		r.mu.Lock()
		err = r.err
		r.mu.Unlock()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func newReader(ctx context.Context, o Options, tables *magento1.Database) (*Reader, error) {
	id, err := tables.Identity(ctx)
	if err != nil {
		return nil, err
	}
	end := id.Position()
	switch {
	case end == magento1.Position{}:
		return nil, ErrNoLog
	case o.From == magento1.Position{}:
		o.From = end
	case o.From.Server != end.Server:
		return nil, fmt.Errorf("%w: it is the log of another server", ErrGap)
	}
	database := o.database()
	config, err := database.DriverConfig()
	if err != nil {
		return nil, err
	}
	r := &Reader{
		prefix: strings.ToLower(o.Prefix), database: config.DBName, heartbeat: cmp.Or(o.Heartbeat, defaultHeartbeat),
		tables: tables, returned: time.Now(), wake: make(chan struct{}, 1), opened: make(chan struct{}),
	}
	limit := cmp.Or(o.MaxKeys, defaultMaxKeys)
	r.stream = stream{open: NewSet(limit), layouts: map[uint64]*layout{}, found: map[Finding]bool{}, position: o.From}
	r.ready = batch{changes: NewSet(limit), position: o.From}
	flavor := gomysql.MySQLFlavor
	if isMariaDB(id.Version) {
		flavor = gomysql.MariaDBFlavor
	}
	if err := r.setGTIDs(flavor, o.From.GTID); err != nil {
		return nil, err
	}
	if o.ServerID == 0 {
		o.ServerID = 1<<31 | rand.Uint32()
	}
	return r, r.start(ctx, config, flavor, o)
}

func isMariaDB(version string) bool { return strings.Contains(version, "MariaDB") }

// start connects to the server as a replica.
func (r *Reader) start(ctx context.Context, config *mysql.Config, flavor string, o Options) error {
	r.syncer = replication.NewBinlogSyncer(replication.BinlogSyncerConfig{
		ServerID: o.ServerID, Flavor: flavor, Host: config.Addr, User: config.User, Password: config.Passwd, TLSConfig: config.TLS,
		Localhost: "portico", HeartbeatPeriod: r.heartbeat, ReadTimeout: max(missedHeartbeats*r.heartbeat, minSilence),
		DisableRetrySync: true, DiscardGTIDSet: true, // the caller opens it again; the stream counts GTIDs itself
		EventCacheCount: 1, SynchronousEventHandler: handler{r}, RowsEventDecodeFunc: r.decodeRows,
		Logger: slog.New(slog.DiscardHandler), // errors are returned
		Dialer: r.dial(config.Timeout),
	})
	var streamer *replication.BinlogStreamer
	set, err := gomysql.ParseGTIDSet(flavor, o.From.GTID)
	switch {
	case err == nil && o.From.GTID != "":
		streamer, err = r.syncer.StartSyncGTID(set)
	case o.From.Offset > math.MaxUint32:
		err = &streamError{fmt.Errorf("%w: a place after 4 GiB of a file can only be found by a GTID", ErrGap)}
	default:
		streamer, err = r.syncer.StartSync(gomysql.Position{Name: o.From.File, Pos: uint32(o.From.Offset)})
	}
	if err != nil {
		r.syncer.Close()
		return explain(err)
	}
	ended, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	go func() {
		// Events go to the handler, so that this returns only the error that ends it all.
		_, err := streamer.GetEvent(ended)
		if r.lookupErr != nil {
			err = r.lookupErr
		}
		r.fail(explain(err))
	}()
	return nil
}

// dial returns a function that connects. Close connects once more, to end the first connection.
func (r *Reader) dial(timeout time.Duration) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{Timeout: timeout}).DialContext(ctx, network, address)
		if err != nil || !r.closing.Load() {
			return conn, err
		}
		return closingConn{conn, time.Now().Add(closeTimeout)}, nil
	}
}

// A closingConn is a connection that does not wait for the server after a time, whatever its user
// asks for.
type closingConn struct {
	net.Conn
	end time.Time
}

// SetReadDeadline implements [net.Conn].
func (c closingConn) SetReadDeadline(time.Time) error { return c.Conn.SetReadDeadline(c.end) }

// explain returns an error without values of rows, which errors of decoding contain.
func explain(err error) error {
	var server *gomysql.MyError
	var own *streamError
	switch {
	case errors.As(err, &own):
		return own.error
	case errors.As(err, &server):
		return explainServer(server)
	case errors.Is(err, replication.ErrSyncClosed), errors.Is(err, context.Canceled):
		return errors.New("the reader of the binary log is closed")
	case isNetworkError(err):
		return fmt.Errorf("the connection to the binary log was lost: %w", err)
	default:
		return fmt.Errorf("%w: an event cannot be decoded", ErrGap)
	}
}

func explainServer(err *gomysql.MyError) error {
	const cannotRead, unknownLog = 1236, 1373
	switch {
	case strings.Contains(err.Message, "same server_uuid/server_id"): // 1236, or 4052 in MariaDB
		return ErrServerID
	case err.Code == cannotRead && strings.Contains(err.Message, "server_id was not set"):
		return errors.New("the server has the server_id 0, with which it has no replicas: set another one")
	case err.Code == cannotRead, err.Code == unknownLog:
		return fmt.Errorf("%w: the server says: %s", ErrGap, err.Message)
	case isDenied(err.Code):
		return fmt.Errorf("%w (%s)", ErrNoLog, err.Message)
	default:
		return fmt.Errorf("read the binary log: the server says: %s (%d)", err.Message, err.Code)
	}
}

// isDenied reports whether a code of the server means that a right is missing.
func isDenied(code uint16) bool {
	return slices.Contains([]uint16{1044, 1045, 1142, 1143, 1227}, code)
}

// fail ends reading.
func (r *Reader) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	r.signal()
}

// signal wakes Next up.
func (r *Reader) signal() {
	select {
	case r.wake <- struct{}{}:
	default: // it has been woken up
	}
}

// Next waits for changes and returns the changes of all transactions that have been read since.
// Without changes it returns a batch with the position about once in Options.Heartbeat, as the
// position must not fall behind the log. If it fails because ctx has ended, the next call returns
// the same and more; after other errors the Reader is to be closed. Next must not be called
// concurrently.
func (r *Reader) Next(ctx context.Context) (Batch, error) {
	for {
		if b, ok, err := r.take(); err != nil {
			return Batch{}, err
		} else if ok {
			return r.complete(ctx, b)
		}
		select {
		case <-ctx.Done():
			return Batch{}, ctx.Err()
		case <-r.wake:
		}
	}
}

// take returns the ready batch, if it is due.
func (r *Reader) take() (b batch, ok bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ready.isDue() {
		return batch{}, false, r.err
	}
	r.ready.position.GTID = r.gtids() // a set can be large, so that it is not written for each transaction
	b, r.ready = r.ready, batch{changes: r.ready.changes.New(), position: r.ready.position}
	r.returned = time.Now()
	return b, true, nil
}

func (b *batch) isDue() bool { return b.beat || !b.changes.Empty() || len(b.findings) > 0 }

// complete looks up keys. If that fails, the batch is put back.
func (r *Reader) complete(ctx context.Context, b batch) (Batch, error) {
	r.metadata.Lock()
	defer r.metadata.Unlock()
	settings := b.changes.Settings()
	b.schema = b.schema || slices.ContainsFunc(settings, func(name string) bool { return strings.HasPrefix(name, "eav_") })
	if b.schema {
		r.tables.Forget()
	}
	r.tables.ReadFrom(b.position)
	changes, err := b.changes.Changes(ctx, r.tables)
	r.tables.ReadFrom(magento1.Position{}) // columns are read without waiting
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		b.add(&r.ready)
		r.ready = b
		r.signal()
		return Batch{}, err
	}
	return Batch{
		Changes: changes, Credentials: b.changes.Credentials(), Settings: settings, Schema: b.schema,
		Findings: b.findings, Position: b.position, At: b.at,
	}, nil
}

// add adds a later batch.
func (b *batch) add(later *batch) {
	b.changes.Merge(later.changes)
	b.findings = append(b.findings, later.findings...)
	b.schema, b.beat = b.schema || later.schema, b.beat || later.beat
	b.position = later.position
	if b.at.IsZero() {
		b.at = later.at
	}
}

// Close ends reading.
func (r *Reader) Close() error {
	r.stop()
	r.closing.Store(true)
	r.syncer.Close()
	r.metadata.Lock()
	defer r.metadata.Unlock()
	return r.tables.Close()
}

// isNetworkError reports whether a connection has ended.
func isNetworkError(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gomysql.ErrBadConn) || errors.As(err, new(net.Error))
}
