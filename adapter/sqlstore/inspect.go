package sqlstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
)

// An Inspection is what [DB.Inspect] has found out about a database and its server.
type Inspection struct {
	// Version is the name and version of the server, such as "PostgreSQL 15.4". Oldest is the
	// oldest version that will do if the server is older, and "" otherwise.
	Version, Oldest string
	// Ahead is how far the server's clock is ahead of this machine's, within RoundTrip.
	Ahead, RoundTrip time.Duration
	// Pending are the migrations that the database lacks, and Unknown those that a newer
	// version of the program has made.
	Pending, Unknown []int64
	// MissingWrites are the rights that the user lacks to serve clients, and MissingChanges
	// those to migrate, in the words of the server.
	MissingWrites, MissingChanges []string
}

// Inspect returns what the database and the rights of its user are like. It changes nothing:
// what it tries is rolled back, or can only fail. Kinds: Unavailable, Internal.
func (db *DB) Inspect(ctx context.Context) (*Inspection, error) {
	i := &Inspection{}
	for _, step := range []func(context.Context, *DB) error{i.addServer, i.addClock, i.addMigrations, i.addRights} {
		if err := step(ctx, db); err != nil {
			return nil, db.wrapError(ctx, "inspect database", err)
		}
	}
	return i, nil
}

// An inspector has what differs between engines when a database is inspected.
type inspector struct {
	// versionSQL selects the version of the server as text. describe returns it with the name
	// of the system, and the oldest version that will do.
	versionSQL string
	describe   func(version string) (name, oldest string)
	// rights adds the rights that the user lacks.
	rights func(context.Context, *DB, *Inspection) error
}

// addServer adds the version of the server.
func (i *Inspection) addServer(ctx context.Context, db *DB) error {
	found, err := selectColumn[string](ctx, db.readers.QueryContext, db.engine.inspector.versionSQL)
	if err != nil {
		return err
	}
	name, oldest := db.engine.inspector.describe(found[0])
	version := leadingVersion(found[0])
	i.Version = name + " " + version
	if olderThan(version, oldest) {
		i.Oldest = oldest
	}
	return nil
}

// leadingVersion returns the numbers with which the text of a version begins.
func leadingVersion(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(text)
	}
	return strings.TrimRight(text[:end], ".")
}

// olderThan reports whether a version is older than another one.
func olderThan(version, other string) bool {
	numbers := func(text string) (all []int) {
		for part := range strings.SplitSeq(text, ".") {
			n, _ := strconv.Atoi(part) // digits, or nothing at all
			all = append(all, n)
		}
		return all
	}
	return slices.Compare(numbers(version), numbers(other)) < 0
}

// addClock adds the clock of the server.
func (i *Inspection) addClock(ctx context.Context, db *DB) error {
	sent := time.Now()
	found, err := selectColumn[int64](ctx, db.readers.QueryContext, "SELECT "+db.engine.now)
	if err != nil {
		return err
	}
	i.RoundTrip = time.Since(sent)
	i.Ahead = time.UnixMilli(found[0]).Sub(sent.Add(i.RoundTrip / 2))
	return nil
}

// versionTable is the table in which goose notes the migrations that have run.
const versionTable = "goose_db_version"

// addMigrations compares the migrations that have run with those of the program.
func (i *Inspection) addMigrations(ctx context.Context, db *DB) error {
	known, err := db.engine.migrationVersions()
	if err != nil {
		return err
	}
	var applied []int64
	migrated, err := db.engine.isTable(ctx, db.readers.QueryContext, versionTable)
	if err == nil && migrated {
		applied, err = selectColumn[int64](ctx, db.readers.QueryContext, "SELECT version_id FROM "+versionTable+" WHERE is_applied AND version_id > 0 ORDER BY version_id")
	}
	if err != nil {
		return err
	}
	i.Pending = slices.DeleteFunc(slices.Clone(known), func(v int64) bool { return slices.Contains(applied, v) })
	i.Unknown = slices.DeleteFunc(applied, func(v int64) bool { return slices.Contains(known, v) })
	return nil
}

// migrationVersions returns the versions of the engine's migrations in order.
func (e *engine) migrationVersions() (versions []int64, err error) {
	files, err := migrations.ReadDir("migrations/" + e.migrations)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		version, err := goose.NumericComponent(file.Name())
		if err != nil {
			return nil, err
		}
		versions = append(versions, version)
	}
	slices.Sort(versions)
	return versions, nil
}

// addRights adds the rights that the user lacks.
func (i *Inspection) addRights(ctx context.Context, db *DB) error {
	return db.engine.inspector.rights(ctx, db, i)
}

// probeName returns the name of a table that does not exist.
func probeName() string { return "portico_probe_" + strings.ToLower(rand.Text()[:12]) }

// tryTable creates a table and fills it, and rolls both back.
func tryTable(ctx context.Context, db *DB) (err error) {
	tx, err := db.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = awaitTxEnd(ctx, tx.Rollback) }()
	name := probeName()
	if _, err = tx.ExecContext(ctx, "CREATE TABLE "+name+" (id BIGINT PRIMARY KEY)"); err == nil {
		_, err = tx.ExecContext(ctx, "INSERT INTO "+name+" (id) VALUES (1)")
	}
	return err
}

// File returns the path of the file of a database of SQLite, and "" for a server.
func File(dsn string) string {
	e, name, err := engineOf(dsn)
	if err != nil || e.mediaDir == nil {
		return ""
	}
	return name
}

var errNotWAL = errors.New("is no database of Portico's: it is not one of SQLite with a write-ahead log")

// CheckFile reports whether the file of a database of SQLite exists and has content. It fails if
// the file cannot be read, or was not made by Open, which would convert it.
func CheckFile(path string) (exists bool, err error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }() // opened for reading only
	header := make([]byte, 20)
	switch _, err := io.ReadFull(file, header); {
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return false, err
	}
	// The format of the file is described in sqlite.org/fileformat.html; 2 is the version of
	// a file with a write-ahead log, for writers and for readers.
	if !bytes.HasPrefix(header, []byte("SQLite format 3\x00")) || header[18] != 2 || header[19] != 2 {
		return true, errNotWAL
	}
	return true, nil
}
