package magento1

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Position is a place in the binary log of a server: the end of a transaction. The zero
// Position is none.
type Position struct {
	File   string `json:"file,omitempty"`
	Offset uint64 `json:"offset,omitempty"`
	// GTID names the transactions up to there, in the server's own form. It is "" if the
	// server numbers none.
	GTID string `json:"gtid,omitempty"`
	// Server is the [Identity].Server of the server whose log it is.
	Server string `json:"server,omitempty"`
}

const maxPosition = 1 << 20 // bytes of a Position's text: MySQL's sets of GTIDs can be long

var (
	errPosition = errors.New("a position in a binary log must be a JSON object as String returns it")
	gtidText    = regexp.MustCompile(`^[0-9A-Za-z_:,\n -]*$`)
	// The lengths make these take more time than all else that the program initializes at its
	// start, which few starts have a use for.
	logFile    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^\x00-\x1f/\\]{1,500}\.[0-9]{1,18}$`) })
	serverText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\x20-\x7e]{0,200}$`) })
)

// String returns p as a text for [ParsePosition]: "" for the zero Position.
func (p Position) String() string {
	if p == (Position{}) {
		return ""
	}
	text, _ := json.Marshal(p) // strings and a number
	return string(text)
}

// ParsePosition returns the Position with a text.
func ParsePosition(text string) (p Position, err error) {
	if text == "" {
		return p, nil
	}
	if len(text) > maxPosition || json.Unmarshal([]byte(text), &p) != nil || !p.valid() {
		return Position{}, errPosition
	}
	return p, nil
}

func (p Position) valid() bool {
	file := p.File == "" && p.Offset == 0 || logFile().MatchString(p.File)
	return file && gtidText.MatchString(p.GTID) && serverText().MatchString(p.Server)
}

// isWithin reports whether everything up to p is also up to a place in the same log. It fails
// if they are not places in the same log.
func (p Position) isWithin(file string, offset uint64) (bool, error) {
	name, number, err := splitLogFile(p.File)
	otherName, otherNumber, otherErr := splitLogFile(file)
	if err != nil || otherErr != nil || name != otherName {
		return false, fmt.Errorf("%q and %q are not files of the same binary log", p.File, file)
	}
	return number < otherNumber || number == otherNumber && p.Offset <= offset, nil
}

// splitLogFile splits "bin.000012" into "bin" and 12.
func splitLogFile(file string) (name string, number uint64, err error) {
	at := strings.LastIndexByte(file, '.')
	if at < 0 {
		return "", 0, errPosition
	}
	number, err = strconv.ParseUint(file[at+1:], 10, 64)
	return file[:at], number, err
}

const (
	// maxInvisible bounds how long reads wait until the logged changes are visible, and firstPause
	// and maxPause the time between two checks.
	maxInvisible         = time.Minute
	firstPause, maxPause = time.Millisecond, 100 * time.Millisecond
)

// errInvisible means that reads have waited for maxInvisible.
var errInvisible = fmt.Errorf("what the legacy database has in its binary log has not become visible within %s: check whether commits hang there, "+
	"as they do while a semi-synchronous replica does not answer", maxInvisible)

// awaitPosition waits until a snapshot reaches the position of ReadFrom. Later snapshots reach it,
// too.
func (c *conn) awaitPosition(ctx context.Context) error {
	if c.from == (Position{}) {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxInvisible, errInvisible)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		visible, err := c.shows(ctx, c.from)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case visible:
			c.from = Position{}
			return nil
		}
		select { // no statement waits for it
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// shows reports whether a snapshot that is taken now holds everything up to p. MariaDB and
// Percona Server say to which place in the log a snapshot belongs. MySQL has a transaction in
// gtid_executed only after it shows it.
func (c *conn) shows(ctx context.Context, p Position) (bool, error) {
	conn, err := c.pool.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"); err != nil {
		return false, err
	}
	defer func() { _, _ = conn.ExecContext(ctx, "ROLLBACK") }() // it has changed nothing
	file, offset, err := snapshotPlace(ctx, conn)
	if err != nil {
		return false, err
	}
	if file != "" {
		return p.isWithin(file, offset)
	}
	if p.GTID == "" {
		return false, errors.New("the server does not say which transactions a snapshot holds: switch gtid_mode on")
	}
	var visible sql.NullBool
	err = conn.QueryRowContext(ctx, "SELECT GTID_SUBSET(?, @@GLOBAL.gtid_executed)", p.GTID).Scan(&visible)
	return visible.Bool, err
}

// snapshotPlace returns the place in the log to which the snapshot of a connection belongs, or
// "" if the server does not say.
func snapshotPlace(ctx context.Context, conn *sql.Conn) (file string, offset uint64, err error) {
	rows, err := conn.QueryContext(ctx, `SHOW STATUS LIKE 'binlog\_snapshot\_%'`)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return "", 0, err
		}
		switch strings.ToLower(name) {
		case "binlog_snapshot_file":
			file = value
		case "binlog_snapshot_position":
			offset, _ = strconv.ParseUint(value, 10, 64) // the server's own number
		}
	}
	return file, offset, rows.Err()
}
