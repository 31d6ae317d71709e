//go:build linux

package demotest

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"modernc.org/sqlite"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/memstore"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

var (
	decode   = sync.OnceValues(dataset.Load)
	template = sqltest.NewTemplate("demo", Load)
	memory   = sync.OnceValues(loadMemory)
)

// Data returns the demo store. All tests share it and must not change it.
func Data(tb testing.TB) *adapter.Dataset {
	tb.Helper()
	data, err := decode()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// Load creates the tables in an empty database and loads the demo store into it.
func Load(dsn string) error {
	data, err := decode()
	if err != nil {
		return err
	}
	ctx := context.Background() // all tests share the database
	db, err := sqlstore.Open(ctx, sqlstore.Options{DSN: dsn, Migrate: true})
	if err != nil {
		return err
	}
	return errors.Join(db.Load(ctx, data, nil), db.Close())
}

// images are two images of one product and one of another, because no data set has any.
const images = `
	INSERT INTO product_image (id, product_id, file, media_type) VALUES
		(1, 1, 'o/n/one.png', 'image/png'), (2, 1, 't/w/two.jpg', 'image/jpeg'), (3, 2, 't/h/three.png', 'image/png');
	INSERT INTO product_image_value (image_id, store_id, label, position, exclude) VALUES
		(1, 0, 'One', 30, 0), (1, 2, 'Un', 5, 1), (2, 0, 'Two', 20, 1), (3, 0, NULL, 1, 0);
	INSERT INTO product_image_pointer (product_id, store_id, type, image_id) VALUES
		(1, 0, 'image', 1), (1, 0, 'thumbnail', 2), (2, 0, 'image', 3);
	INSERT INTO media_file (file, media_type) SELECT file, media_type FROM product_image;`

// LoadWithImages is [Load] for a SQLite file, with three images of products. The media folder
// belongs to the file. The bytes of each image are its name.
func LoadWithImages(dsn string) error {
	if err := Load(dsn); err != nil {
		return err
	}
	path := strings.TrimPrefix(dsn, "sqlite:")
	for _, name := range []string{"o/n/one.png", "t/w/two.jpg", "t/h/three.png"} {
		image := filepath.Join(filepath.Dir(path), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(image), 0o700), os.WriteFile(image, []byte(name), 0o600)); err != nil {
			return err
		}
	}
	file, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	_, err = file.Exec(images)
	return errors.Join(err, file.Close()) // the last connection to close checkpoints the log
}

// SQLite returns the DSN of a SQLite file with the demo store. The test may store media
// files in its folder.
func SQLite(tb testing.TB) (dsn string) { tb.Helper(); return template.SQLite(tb) }

// Open opens a database, and closes it when the test ends.
func Open(tb testing.TB, o sqlstore.Options) *sqlstore.DB {
	tb.Helper()
	db, err := sqlstore.Open(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// Database returns the DSN of a database of an engine, sqlite, postgres or mariadb, with the demo store.
func Database(tb testing.TB, engine string) (dsn string) {
	tb.Helper()
	return template.Database(tb, engine)
}

// Postgres returns the DSN of a PostgreSQL database with the demo store.
func Postgres(tb testing.TB) (dsn string) { tb.Helper(); return template.Postgres(tb) }

// Memory returns an adapter in memory with the demo store.
func Memory(tb testing.TB) *memstore.Adapter {
	tb.Helper()
	loaded, err := memory()
	if err != nil {
		tb.Fatal(err)
	}
	a := memstore.New(memstore.Options{Schemas: loaded.schemas})
	if err := a.Restore(tb.Context(), loaded.snapshot); err != nil {
		tb.Fatal(err)
	}
	return a
}

// A memorySnapshot is the demo store in memory, and the schemas of its records.
type memorySnapshot struct {
	schemas  *adapter.Schemas
	snapshot memstore.Snapshot
}

func loadMemory() (loaded memorySnapshot, err error) {
	data, err := decode()
	if err != nil {
		return loaded, err
	}
	loaded.schemas = adapter.NewSchemas()
	a := memstore.New(memstore.Options{Schemas: loaded.schemas})
	if err = a.Load(context.Background(), data); err == nil { // all tests share it
		loaded.snapshot, err = a.Snapshot()
	}
	return loaded, err
}

// MariaDB returns the DSN of a MariaDB database with the demo store.
func MariaDB(tb testing.TB) (dsn string) { tb.Helper(); return template.MariaDB(tb) }

// A saved is the content that a file of SQLite had. Restoring it takes a fraction of the
// time of sqlstore.DB.Reset.
type saved struct {
	file    *sql.DB
	copy    string
	version int64 // of the file, when Changed last looked
}

// Save saves the content of the database of a DSN, a file of SQLite, which must not change
// meanwhile, until the test ends. Media files do not belong to it.
func Save(tb testing.TB, dsn string) *saved {
	tb.Helper()
	path := strings.TrimPrefix(dsn, "sqlite:")
	address := url.URL{Scheme: "file", Path: path, RawQuery: "_pragma=busy_timeout(10000)"} // names of folders may contain #
	file, err := sql.Open("sqlite", address.String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = file.Close() })
	file.SetMaxOpenConns(1) // each connection has a version of its own
	s := &saved{file: file, copy: filepath.Join(tb.TempDir(), "saved.db")}
	var content []byte
	if _, err = file.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)"); err == nil {
		content, err = os.ReadFile(path)
	}
	if err == nil {
		err = os.WriteFile(s.copy, content, 0o600)
	}
	if err == nil {
		_, err = s.Changed()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// Changed reports whether another connection has changed the database since the previous
// call, the first of which is Save.
func (s *saved) Changed() (changed bool, err error) {
	var version int64
	err = s.file.QueryRowContext(context.Background(), "PRAGMA data_version").Scan(&version)
	changed = version != s.version
	s.version = version
	return changed, err
}

// Restore resets the database to its saved state, in one transaction.
func (s *saved) Restore() error {
	conn, err := s.file.Conn(context.Background())
	if err != nil {
		return err
	}
	err = conn.Raw(func(driver any) error {
		backup, err := driver.(interface {
			NewRestore(source string) (*sqlite.Backup, error)
		}).NewRestore((&url.URL{Scheme: "file", Path: s.copy}).String())
		if err != nil {
			return err
		}
		_, err = backup.Step(-1)
		return errors.Join(err, backup.Finish())
	})
	return errors.Join(err, conn.Close())
}

// SavePostgres saves the content of a database of PostgreSQL beside it, and returns a function that restores it
// in one transaction. That takes a fraction of the time of sqlstore.DB.Reset.
func SavePostgres(tb testing.TB, dsn string) (restore func(context.Context) error) {
	tb.Helper()
	pool := sqltest.Raw(tb, dsn)
	if _, err := pool.ExecContext(tb.Context(), savePostgres); err != nil {
		tb.Fatal(err)
	}
	return func(ctx context.Context) error {
		_, err := pool.ExecContext(ctx, "SELECT saved.restore()")
		return err
	}
}

// savePostgres copies every table into the schema saved, and makes a function that restores them and all
// counters. As it checks no foreign keys, their order does not matter. The locks keep a program that runs on the
// database from adding rows meanwhile.
const savePostgres = `
CREATE SCHEMA saved;
DO $save$
DECLARE
	name TEXT;
	last BIGINT;
	locked TEXT := '';
	body TEXT := '';
BEGIN
	FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1 LOOP
		EXECUTE format('CREATE TABLE saved.%1$I AS TABLE public.%1$I', name);
		locked := locked || format('LOCK TABLE public.%I IN SHARE ROW EXCLUSIVE MODE; ', name);
		body := body || format('DELETE FROM public.%1$I; INSERT INTO public.%1$I OVERRIDING SYSTEM VALUE TABLE saved.%1$I; ', name);
	END LOOP;
	FOR name, last IN SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'public' LOOP
		body := body || format('PERFORM setval(%L, %s, %L); ', 'public.' || quote_ident(name), coalesce(last, 1), last IS NOT NULL);
	END LOOP;
	EXECUTE format('CREATE FUNCTION saved.restore() RETURNS VOID LANGUAGE plpgsql SET session_replication_role = replica AS %L',
		'BEGIN ' || locked || body || 'END');
END
$save$`
