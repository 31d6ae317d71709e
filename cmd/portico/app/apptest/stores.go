package apptest

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/config/testenv"
)

// The credentials of the data sets that [WriteDataset] writes.
const (
	DatasetKey         = "33333333333333333333333333333333"
	DatasetSecret      = "44444444444444444444444444444444"
	DatasetToken       = "55555555555555555555555555555555"
	DatasetTokenSecret = "66666666666666666666666666666666"
)

// SecretKey is a value of auth.secret_key, and OpsToken one of ops.token.
const (
	SecretKey = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	OpsToken  = "a-token-nobody-knows"
)

// WriteDataset writes the demo data set with other credentials, without passwords, and
// with the members of changes, and returns the path of the file. A nil member is removed.
func WriteDataset(t testing.TB, changes map[string]any) string {
	t.Helper()
	var data map[string]any
	Parse(t, ReadFile(t, filepath.Join(testenv.Root(t), "adapter", "dataset", "dataset.json")), &data)
	data["credentials"] = map[string]any{
		"consumer": map[string]any{"key": DatasetKey, "secret": DatasetSecret},
		"admin":    map[string]any{"token": DatasetToken, "secret": DatasetTokenSecret, "admin_id": 1},
	}
	// Hashing passwords takes long, and no test here logs in.
	for _, customer := range data["customers"].([]any) {
		delete(customer.(map[string]any), "password")
	}
	for name, member := range changes {
		data[name] = member
		if member == nil {
			delete(data, name)
		}
	}
	path := filepath.Join(t.TempDir(), "dataset.json")
	writeJSON(t, path, data)
	return path
}

// ChangeRecords changes records of a list of the data set in a file.
func ChangeRecords(t testing.TB, path, list string, change func(records []map[string]any)) {
	t.Helper()
	var data map[string]any
	Parse(t, ReadFile(t, path), &data)
	var records []map[string]any
	for _, record := range data[list].([]any) {
		records = append(records, record.(map[string]any))
	}
	change(records)
	writeJSON(t, path, data)
}

// writeJSON writes a value to a file.
func writeJSON(t testing.TB, path string, value any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	WriteFile(t, path, string(text))
}

// NewStore returns the path of a new database, and an environment whose commands use it. Its variables
// are also the environment for a server.
func NewStore(t testing.TB, key string) (path string, commands Environment) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store.db")
	return path, Environment{"PORTICO_SQL_DSN=sqlite:" + path, "PORTICO_AUTH_SECRET_KEY=" + key}
}

// AddConsumer adds a consumer with the command.
func (e Environment) AddConsumer(t testing.TB, name string) (added Consumer) {
	t.Helper()
	Parse(t, e.MustRun(t, "credentials", "add-consumer", "--name", name, "--json"), &added)
	return added
}

// AddToken adds a token of the consumer with the given key.
func (e Environment) AddToken(t testing.TB, key, owner, id string) (token Token) {
	t.Helper()
	Parse(t, e.MustRun(t, "credentials", "add-token", "--consumer", key, owner, id, "--json"), &token)
	return token
}

// AddAdmin adds an administrator and returns the id.
func (e Environment) AddAdmin(t testing.TB, username string) (id string) {
	t.Helper()
	text, _, err := e.RunWith(t, strings.NewReader("a good one"), WaitTimeout, "credentials", "add-admin", "--username", username, "--password-file", "-", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var admin struct {
		ID int64 `json:"admin_id"`
	}
	Parse(t, text, &admin)
	return strconv.FormatInt(admin.ID, 10)
}

// Parse decodes JSON into into.
func Parse(t testing.TB, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// DatabaseBytes returns the bytes of a database and its journals.
func DatabaseBytes(t testing.TB, path string) string {
	t.Helper()
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no database at %s (%v)", path, err)
	}
	var all strings.Builder
	for _, file := range files {
		if file == engine.MediaDir(path) {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(content)
	}
	return all.String()
}

// A Consumer is one that [Environment.AddConsumer] has added.
type Consumer struct{ Name, Key, Secret string }

// A Token is one that [Environment.AddToken] has added.
type Token struct{ Token, Secret string }

// ExpireLease makes the lease of a follower expire immediately.
func ExpireLease(t testing.TB, engine, dsn string) {
	t.Helper()
	Execute(t, OpenStore(t, engine, dsn), "UPDATE lease SET expires_ms = 0")
}

// Execute runs statements on the legacy store.
func Execute(t testing.TB, old *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := old.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// SelectTexts returns the only column of the rows that a statement selects.
func SelectTexts(t testing.TB, db *sql.DB, statement string) []string {
	t.Helper()
	all, err := engine.SelectColumn[string](t.Context(), engine.QueryOf(db.QueryContext), statement)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// OpenStore opens the database of a store for statements of a test.
func OpenStore(t testing.TB, engine, dsn string) *sql.DB {
	t.Helper()
	driver, name := "sqlite", strings.TrimPrefix(dsn, "sqlite:")
	switch engine {
	case "postgres":
		driver = "pgx"
	case "mariadb":
		driver, name = "mysql", strings.TrimPrefix(dsn, "mysql:")
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// AwaitTransactions waits until the server has ended all present transactions that write
// products. They belong to a killed program, and may still be committed.
func AwaitTransactions(t testing.TB, engine, dsn string) {
	t.Helper()
	if engine != "sqlite" { // whose transactions have ended with the program
		LockTable(t, engine, OpenStore(t, engine, dsn), "product")()
	}
}

// LockTable locks a table of a server's database against changes until unlock is called.
func LockTable(t testing.TB, engine string, db *sql.DB, table string) (unlock func()) {
	t.Helper()
	lock, end := "LOCK TABLE "+table+" IN EXCLUSIVE MODE", "ROLLBACK"
	if engine == "mariadb" {
		lock, end = "LOCK TABLES "+table+" WRITE", "UNLOCK TABLES"
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"BEGIN", lock} {
		if _, err := conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if _, err := conn.ExecContext(t.Context(), end); err != nil {
			t.Error(err)
		}
		_ = conn.Close()
	}
}

// RoutesFile writes a configuration with entries of the setting routes, and returns the
// environment variable that names it.
func RoutesFile(t testing.TB, entries ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "routes.yaml")
	if err := os.WriteFile(name, []byte("routes:\n  - {"+strings.Join(entries, "}\n  - {")+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return "PORTICO_CONFIG=" + name
}

// LegacyConsumer returns settings with which Portico signs calls as the administrator of the demo
// shop.
func LegacyConsumer() []string {
	of := func(letter string) string { return strings.Repeat(letter, 32) }
	return []string{"PORTICO_LEGACY_CONSUMER_KEY=" + of("a"), "PORTICO_LEGACY_CONSUMER_SECRET=" + of("b"), "PORTICO_LEGACY_TOKEN=" + of("c"), "PORTICO_LEGACY_TOKEN_SECRET=" + of("d")}
}
