package sqlstore

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/sqlstore/backups"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// storeState returns the identity and the epoch of a database.
func storeState(t *testing.T, db *DB) (identity, epoch string) {
	t.Helper()
	if err := db.records.Readers.QueryRowContext(t.Context(), "SELECT identity, epoch FROM store_state").Scan(&identity, &epoch); err != nil || identity == "" || epoch == "" {
		t.Fatalf("identity %q, epoch %q, %v", identity, epoch, err)
	}
	return identity, epoch
}

// TestRestoreRenewsEpoch restores an archive into the database that it is of, and into another one.
func TestRestoreRenewsEpoch(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		options := Options{DSN: NewDemo(t, e), MediaDir: t.TempDir(), SecretKey: SecretKey}
		db := OpenWith(t, options)
		// Processes that used the database when the archive was made, and tell nothing of now.
		execute(t, db, "INSERT INTO import_process (id, imports, expires_ms) VALUES ('serving', 0, 9000000000000000)",
			"INSERT INTO write_process (process_id, wishes, known, expires_ms) VALUES ('writing', '{}', '{}', 9000000000000000)")
		archive, _ := backUp(t, db)
		execute(t, db, "DELETE FROM import_process", "DELETE FROM write_process")
		identity, epoch := storeState(t, db)
		restore := func(o Options, how backups.Options) error {
			how.Verify = true
			_, err := Restore(t.Context(), o, bytes.NewReader(archive), how)
			return err
		}
		for range 2 { // processes of the archive would refuse the second time
			if err := restore(options, backups.Options{Force: true}); err != nil {
				t.Fatal(err)
			}
		}
		if i, e := storeState(t, db); i != identity || e == epoch {
			t.Errorf("restored: the identity is the same: %t, the epoch is the same: %t", i == identity, e == epoch)
		}
		if n := count(t, db, "SELECT (SELECT COUNT(*) FROM import_process) + (SELECT COUNT(*) FROM write_process)"); n != 0 {
			t.Errorf("%d processes of the archive use the database", n)
		}
		if i, _ := storeState(t, restoreTo(t, e.Empty(t), archive)); i == identity {
			t.Error("another database has the same identity")
		}
		execute(t, db, "INSERT INTO import_process (id, imports, expires_ms) VALUES ('serving', 0, 9000000000000000)")
		_, epoch = storeState(t, db)
		if err := restore(options, backups.Options{Force: true}); !errors.As(err, new(*coordination.InUseError)) {
			t.Errorf("beside a process: %v", err)
		}
		if _, e := storeState(t, db); e != epoch {
			t.Error("a refused restore has changed the epoch")
		}
		if err := restore(options, backups.Options{Force: true, WhileRunning: true}); err != nil {
			t.Errorf("beside a process that notices: %v", err)
		}
		if _, e := storeState(t, db); e == epoch {
			t.Error("beside a process the epoch stays")
		}
		if n := count(t, db, "SELECT COUNT(*) FROM import_process"); n != 1 {
			t.Errorf("%d processes are noted, want the one that serves", n)
		}
	})
}

// earlierArchive returns an archive as a version has made it that had no epoch, and saved the rows of
// processes as well.
func earlierArchive(t *testing.T, archive []byte) []byte {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var earlier bytes.Buffer
	compressed := gzip.NewWriter(&earlier)
	from, to := tar.NewReader(packed), tar.NewWriter(compressed)
	add := func(name string, content []byte) {
		t.Helper()
		if err := to.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	later, digests := map[string][]int{}, map[string]string{}
	for {
		entry, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		if entry.Name != "portico-backup.json" {
			_, name, _ := strings.Cut(entry.Name, "tables/")
			name, _, _ = strings.Cut(name, "/")
			if slices.Contains(tablesSince20(), name) {
				continue
			}
			if places := later[name]; len(places) > 0 {
				content = withoutColumns(t, content, places)
				digests[name] = digestOf(content)
			}
			if entry.Name == "manifest.json" {
				content = withDigests(t, content, digests)
			}
			add(entry.Name, content)
			continue
		}
		var header backups.Header
		if err := json.Unmarshal(content, &header); err != nil {
			t.Fatal(err)
		}
		header.Tables = slices.DeleteFunc(header.Tables, func(table *backups.Table) bool { return slices.Contains(tablesSince20(), table.Name) })
		for _, table := range header.Tables {
			later[table.Name] = laterColumns(table)
			table.Columns = slices.DeleteFunc(table.Columns, func(c backups.Column) bool { return slices.Contains(columnsSince20()[table.Name], c.Name) })
		}
		header.Migrations = slices.DeleteFunc(header.Migrations, func(n int64) bool { return n >= 20 })
		header.Tables = slices.Insert(header.Tables, 3, &backups.Table{Name: "import_process", Columns: []backups.Column{{Name: "id", Kind: "text"}, {Name: "imports", Kind: "integer"}, {Name: "expires_ms", Kind: "integer"}}})
		if content, err = json.Marshal(header); err != nil {
			t.Fatal(err)
		}
		add(entry.Name, content)
		add("tables/import_process/000001.jsonl", []byte("[\"serving\",0,9000000000000000]\n"))
	}
	if err := errors.Join(to.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return earlier.Bytes()
}

// columnsSince20 names the columns, by table, that migrations after 20 have added.
func columnsSince20() map[string][]string {
	return map[string][]string{
		"product":         {"parts_tax_class_id", "components", "component_of", "request_path", "price_view"},
		"product_listing": {"stock_state"},
		"tax_rate":        {"calculate_subtotal"},
		"website": {
			"tax_based_on", "prices_include_tax", "tax_cross_border", "origin_country", "origin_region_id", "origin_postcode", "tax_default_group",
			"base_currency", "currency_rate",
		},
		"store": {
			"tax_country", "tax_region_id", "tax_postcode", "tax_based_on", "prices_include_tax", "tax_cross_border", "origin_country",
			"origin_region_id", "origin_postcode", "tax_default_group",
		},
	}
}

// tablesSince20 names the tables that migrations after 20 have added.
func tablesSince20() []string {
	return []string{"access_role", "access_rule", "admin_role", "attribute_option"}
}

// laterColumns returns the places of these columns in the rows of a table.
func laterColumns(table *backups.Table) (places []int) {
	for i, c := range table.Columns {
		if slices.Contains(columnsSince20()[table.Name], c.Name) {
			places = append(places, i)
		}
	}
	return places
}

// withoutColumns returns rows, each in a line, without the values at some places.
func withoutColumns(t *testing.T, rows []byte, places []int) []byte {
	t.Helper()
	var rest bytes.Buffer
	for line := range bytes.Lines(rows) {
		var values, kept []json.RawMessage
		if err := json.Unmarshal(line, &values); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if !slices.Contains(places, i) {
				kept = append(kept, v)
			}
		}
		text, err := json.Marshal(kept)
		if err != nil {
			t.Fatal(err)
		}
		rest.Write(append(text, '\n'))
	}
	return rest.Bytes()
}

// digestOf returns the checksum of the rows of a table, as the manifest has it.
func digestOf(rows []byte) string {
	var lanes [4]uint64
	for line := range bytes.Lines(rows) {
		sum := sha256.Sum256(bytes.TrimSuffix(line, []byte("\n")))
		for i := range lanes {
			lanes[i] += binary.BigEndian.Uint64(sum[8*i:])
		}
	}
	return fmt.Sprintf("%016x%016x%016x%016x", lanes[0], lanes[1], lanes[2], lanes[3])
}

// withDigests returns a manifest with other checksums of some tables.
func withDigests(t *testing.T, content []byte, digests map[string]string) []byte {
	t.Helper()
	var manifest backups.Manifest
	if err := json.Unmarshal(content, &manifest); err != nil {
		t.Fatal(err)
	}
	for _, table := range tablesSince20() {
		delete(manifest.Tables, table)
	}
	for table, digest := range digests {
		sum := manifest.Tables[table]
		sum.Digest = digest
		manifest.Tables[table] = sum
	}
	content, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestRestoreEarlierArchive restores an archive of an earlier version.
func TestRestoreEarlierArchive(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		db := OpenWith(t, Options{DSN: NewDemo(t, e), MediaDir: t.TempDir(), SecretKey: SecretKey})
		archive, _ := backUp(t, db)
		restored := restoreTo(t, e.Empty(t), earlierArchive(t, archive))
		storeState(t, restored)
		if n := count(t, restored, "SELECT COUNT(*) FROM import_process"); n != 0 {
			t.Errorf("%d processes of the archive use the database", n)
		}
		if got, want := count(t, restored, "SELECT COUNT(*) FROM product"), count(t, db, "SELECT COUNT(*) FROM product"); got != want || want == 0 {
			t.Errorf("%d products, want %d", got, want)
		}
	})
}
