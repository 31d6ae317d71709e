package engine

import (
	"database/sql"
	"github.com/portico-commerce/portico/adapter"
	"path/filepath"
	"testing"
)

// TestClassifySQLite classifies the error of a write while another connection writes; the write
// does not wait here. TestClassify covers all other errors.
func TestClassifySQLite(t *testing.T) {
	raw, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "shop.db")+"?_pragma=busy_timeout(0)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	tx, err := raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	_, err = raw.ExecContext(t.Context(), "CREATE TABLE part (id INTEGER)") // on another connection
	if got, _ := classifySQLite(err); got != adapter.Unavailable || err == nil {
		t.Errorf("%v is %v, want unavailable", err, got)
	}
}
