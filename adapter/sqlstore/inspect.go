package sqlstore

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter/sqlstore/credentials"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// An Inspection describes a database and its server, as found by [DB.Inspect].
type Inspection struct {
	// Version is the name and version of the server, such as "PostgreSQL 15.4". Oldest is the
	// oldest supported version if the server is older, and "" otherwise.
	Version, Oldest string
	// Ahead is the lead of the server's clock over this machine's, within RoundTrip.
	Ahead, RoundTrip time.Duration
	// Pending are the migrations that the database lacks, and Unknown the migrations that a
	// newer version of the program has made.
	Pending, Unknown []int64
	// TooNew means that this version must not use the tables of a newer one.
	TooNew bool
	// Connections is the maximum number of connections that the pools of this process open, and
	// Capacity the number that the server grants the user; both are 0 without a server.
	Connections, Capacity int
	// MissingWrites are the rights that the user lacks to serve clients, and MissingChanges the
	// rights that the user lacks to migrate, in the words of the server.
	MissingWrites, MissingChanges []string
}

// Inspect inspects the database and the rights of its user. It changes nothing: its probes are
// rolled back, or can only fail. Kinds: Unavailable, Internal.
func (db *DB) Inspect(ctx context.Context) (*Inspection, error) {
	i := &Inspection{}
	for _, step := range []func(context.Context, *DB) error{i.addServer, i.addCapacity, i.addClock, i.addMigrations, i.addRights} {
		if err := step(ctx, db); err != nil {
			return nil, db.records.WrapError(ctx, "inspect database", err)
		}
	}
	return i, nil
}

// addServer adds the version of the server.
func (i *Inspection) addServer(ctx context.Context, db *DB) error {
	found, err := engine.SelectColumn[string](ctx, engine.QueryOf(db.records.Readers.QueryContext), inspectorOf(db.records.Engine).versionSQL)
	if err != nil {
		return err
	}
	name, oldest := inspectorOf(db.records.Engine).describe(found[0])
	version := leadingVersion(found[0])
	i.Version = name + " " + version
	if olderThan(version, oldest) {
		i.Oldest = oldest
	}
	return nil
}

// addCapacity adds the numbers of connections.
func (i *Inspection) addCapacity(ctx context.Context, db *DB) error {
	text := inspectorOf(db.records.Engine).capacitySQL
	if text == "" {
		return nil
	}
	found, err := engine.SelectColumn[int](ctx, engine.QueryOf(db.records.Readers.QueryContext), text)
	if err != nil {
		return err
	}
	i.Capacity = found[0]
	i.Connections = db.records.Writer.Stats().MaxOpenConnections + db.records.Readers.Stats().MaxOpenConnections
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
	found, err := engine.SelectColumn[int64](ctx, engine.QueryOf(db.records.Readers.QueryContext), "SELECT "+db.records.Engine.Now)
	if err != nil {
		return err
	}
	i.RoundTrip = time.Since(sent)
	i.Ahead = time.UnixMilli(found[0]).Sub(sent.Add(i.RoundTrip / 2))
	return nil
}

// addMigrations compares the migrations that have run with the migrations of the program.
func (i *Inspection) addMigrations(ctx context.Context, db *DB) error {
	versions, err := db.records.Engine.Versions(ctx, db.records.Readers)
	i.Pending, i.Unknown, i.TooNew = versions.Pending, versions.Unknown, versions.TooNew()
	return err
}

// addRights adds the rights that the user lacks.
func (i *Inspection) addRights(ctx context.Context, db *DB) error {
	names := credentials.Tables()[:3]
	for _, t := range db.records.Tables {
		names = append(names, t.Name)
	}
	var err error
	i.MissingWrites, i.MissingChanges, err = inspectorOf(db.records.Engine).rights(ctx, db.records.Pools, names)
	return err
}
