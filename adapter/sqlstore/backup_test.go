package sqlstore

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore/backups"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// backUp returns an archive of a database, and its manifest.
func backUp(t *testing.T, db *DB) ([]byte, *backups.Manifest) {
	t.Helper()
	var archive bytes.Buffer
	manifest, err := db.Backup(t.Context(), &archive, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	return archive.Bytes(), manifest
}

// restoreTo fills a database from an archive, and opens it.
func restoreTo(t *testing.T, dsn string, archive []byte) *DB {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "media")
	if _, err := Restore(t.Context(), Options{DSN: dsn, MediaDir: folder}, bytes.NewReader(archive), backups.Options{Verify: true}); err != nil {
		t.Fatal(err)
	}
	db := OpenWith(t, Options{DSN: dsn, MediaDir: folder, SecretKey: SecretKey})
	mediaDirs.Store(db, folder)
	return db
}

// dump returns all rows of some tables, sorted, as the driver returns them.
func dump(t *testing.T, db *DB, tables []string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, table := range tables {
		rows, err := db.records.Readers.QueryContext(t.Context(), "SELECT * FROM "+table)
		if err != nil {
			t.Fatal(err)
		}
		columns, _ := rows.Columns()
		for rows.Next() {
			values, pointers := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				pointers[i] = &values[i]
			}
			if err := rows.Scan(pointers...); err != nil {
				t.Fatal(err)
			}
			for i, value := range values {
				if raw, ok := value.([]byte); ok {
					values[i] = string(raw)
				}
			}
			all[table] = append(all[table], fmt.Sprintf("%#v", values))
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(all[table])
	}
	return all
}

// TestBackup restores a store on every engine, and compares every row, image and record.
func TestBackup(t *testing.T) { sqltest.EachEngine(t, testBackup) }

func testBackup(t *testing.T, e sqltest.Engine) {
	db := OpenWith(t, Options{DSN: NewDemo(t, e), MediaDir: t.TempDir(), SecretKey: SecretKey})
	const image = "n/e/new.gif"
	if _, err := addImage(t, db, image, "\x00bytes\xff", nil); err != nil {
		t.Fatal(err)
	}
	execute(t, db, "INSERT INTO media_file (file, media_type) VALUES ('l/o/lost.gif', 'image/gif')",
		"INSERT INTO evidence (name, content, noted_ms) VALUES ('odd', 'ä\n\t\"☃', 1)")
	customers := storeOf(t, db, adapter.Customers)
	deleted := newCustomer(t, db, "deleted@example.com")
	adaptertest.MustDelete(t, customers, adapter.DeleteParams{Key: deleted})

	archive, manifest := backUp(t, db)
	if m := manifest.Media; m.Files != 1 || m.Missing != 1 || m.Bytes != 7 {
		t.Errorf("images %+v", m)
	}
	restored := restoreTo(t, e.Empty(t), archive)
	tables := slices.Sorted(maps.Keys(manifest.Tables))
	want, got := dump(t, db, tables), dump(t, restored, tables)
	for _, table := range tables {
		if !slices.Equal(got[table], want[table]) || int64(len(want[table])) != manifest.Tables[table].Rows {
			t.Errorf("table %s:\n%s\nwant\n%s", table, strings.Join(got[table], "\n"), strings.Join(want[table], "\n"))
		}
	}
	if got := mediaText(t, restored, image); got != "image/gif \x00bytes\xff" {
		t.Errorf("the image: %q", got)
	}
	image2 := func(db *DB) func(string) ([]byte, error) {
		return func(file string) ([]byte, error) {
			in, err := db.OpenMedia(t.Context(), file)
			if err != nil {
				return nil, err
			}
			defer func() { _ = in.Close() }()
			return io.ReadAll(in)
		}
	}
	schemas := adapter.NewSchemas()
	if got, want := exported(t, restored.Adapter(), schemas, image2(restored)), exported(t, db.Adapter(), schemas, image2(db)); got != want {
		t.Error("the restored store exports other records")
	}
	if next := newCustomer(t, restored, "next@example.com"); next <= deleted {
		t.Errorf("a new customer has the key %d, which was given before: the last was %d", next, deleted)
	}
	again, _ := backUp(t, restored)
	testRestoreRefusals(t, e, archive, again)
}

// newCustomer creates a customer.
func newCustomer(t *testing.T, db *DB, email string) adapter.Key {
	t.Helper()
	r := attrs{"website_id": 1, "store_id": 1, "group_id": 1, "disable_auto_group_change": 0, "email": email, "firstname": "A", "lastname": "B", "password": "secret-123"}.Record(db.records.Table(adapter.Customers).Schema)
	key, err := storeOf(t, db, adapter.Customers).Create(t.Context(), &adapter.CreateParams{Record: r})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// decompressed returns the content of an archive or nil if it cannot be read whole.
func decompressed(archive []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return nil
	}
	return content
}

// testRestoreRefusals restores archives that are cut off or changed, into an empty database, and into
// one that is not empty.
func testRestoreRefusals(t *testing.T, e sqltest.Engine, archive, other []byte) {
	options := Options{DSN: e.Empty(t), MediaDir: t.TempDir()}
	restore := func(archive []byte, force bool) error {
		_, err := Restore(t.Context(), options, bytes.NewReader(archive), backups.Options{Force: force})
		return err
	}
	for _, length := range []int{0, 1, 100, len(archive) / 3, len(archive) / 2, len(archive) - 400, len(archive) - 40} {
		if err := restore(archive[:length], false); err == nil {
			t.Errorf("%d of %d bytes were restored", length, len(archive))
		}
	}
	for at := len(archive) / 20; at < len(archive)-8; at += len(archive) / 7 {
		changed := bytes.Clone(archive)
		changed[at] ^= 0x10
		if bytes.Equal(decompressed(changed), decompressed(archive)) {
			continue // these bits only fill a byte
		}
		if err := restore(changed, false); err == nil {
			t.Errorf("an archive with another byte at %d of %d was restored", at, len(archive))
		}
	}
	db := OpenWith(t, options)
	if empty, err := db.Empty(t.Context()); !empty || err != nil {
		t.Errorf("after refused archives the database is not empty: %v", err)
	}
	if err := restore(archive, false); err != nil {
		t.Fatal(err)
	}
	if err := restore(other, false); !errors.Is(err, backups.ErrNotEmpty) || adapter.KindOf(err) != adapter.Conflict {
		t.Errorf("into a database with records: %v", err)
	}
	if err := restore(other[:len(other)/2], true); err == nil {
		t.Error("half an archive replaced a database")
	}
	if err := restore(other, true); err != nil {
		t.Errorf("with Force: %v", err)
	}
	reopened := OpenWith(t, options)
	if found, err := storeOf(t, reopened, adapter.Customers).List(t.Context(), &adapter.ListParams{Query: adapter.Query{
		Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "email", Op: adapter.Eq, Operands: []string{"next@example.com"}}}}},
	}}); err != nil || len(found.Records) != 1 {
		t.Errorf("the other archive's customer: %v, %v", found, err)
	}
}

// TestBackupIsOfOneMoment backs up while transactions change several tables, and checks that the
// archive has all or nothing of each transaction.
func TestBackupIsOfOneMoment(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		db := OpenWith(t, Options{DSN: NewDemo(t, e), MediaDir: t.TempDir(), SecretKey: SecretKey})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var writers sync.WaitGroup
		begun := make(chan struct{})
		first := sync.OnceFunc(func() { close(begun) })
		writers.Go(func() {
			for n := 1; ctx.Err() == nil; n++ {
				tx, err := db.records.Writer.BeginTx(t.Context(), nil)
				if err != nil {
					t.Error(err)
					return
				}
				for _, statement := range []string{"UPDATE tax_rate SET rate = %d", "UPDATE stock_item SET min_qty = %d", "UPDATE product SET weight = %d"} {
					_, err = tx.ExecContext(t.Context(), fmt.Sprintf(statement, n))
					if err != nil {
						t.Error(err)
					}
				}
				if err := tx.Commit(); err != nil {
					t.Error(err)
				}
				first()
			}
		})
		<-begun
		archives := make([][]byte, 3)
		for i := range archives {
			archives[i], _ = backUp(t, db)
		}
		stop()
		writers.Wait()
		for _, archive := range archives {
			restored := restoreTo(t, e.Empty(t), archive)
			var values []string
			for _, column := range []string{"rate FROM tax_rate", "min_qty FROM stock_item", "weight FROM product"} {
				for _, row := range dump(t, restored, []string{"(SELECT DISTINCT CAST(CAST(" + strings.Replace(column, " FROM", " AS DECIMAL(12)) AS CHAR(12)) AS n FROM", 1) + ") x"}) {
					values = append(values, row...)
				}
			}
			if len(values) != 3 || len(slices.Compact(values)) != 1 {
				t.Errorf("the archive has %q", values)
			}
		}
	})
}
