package credentials

import (
	"strconv"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestPruneNonces checks that prune deletes by age alone.
func TestPruneNonces(t *testing.T) {
	sqltest.EachEngine(t, testPrune)
}

func testPrune(t *testing.T, e sqltest.Engine) {
	db := sqltest.Open(t, e.NewDSN(t))
	credentials, err := New(db, "")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	const old = int64(maxNonceAge / time.Second)
	fill := func(id, received int64) {
		t.Helper()
		if _, err := db.WriteStatements.Exec(t.Context(), "INSERT INTO oauth_nonce VALUES (?, ?, 1, ?)", id, strconv.FormatInt(id, 10), received); err != nil {
			t.Fatal(err)
		}
	}
	fill(1, now)
	fill(2, now-old-1) // too old
	fill(3, now-old)   // just not too old
	fill(5_000_000, now)
	if err := credentials.prune(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	for nonce, want := range map[string]bool{"1": true, "2": false, "3": true, "5000000": true} {
		if used, err := credentials.Used(t.Context(), nonce); used != want || err != nil {
			t.Errorf("nonce %s kept: %v, %v; want %v", nonce, used, err, want)
		}
	}
}

// TestUsePrunesNonces checks that Use prunes from time to time.
func TestUsePrunesNonces(t *testing.T) {
	sqltest.EachEngine(t, testUsePrunes)
}

func testUsePrunes(t *testing.T, e sqltest.Engine) {
	db := sqltest.Open(t, e.NewDSN(t))
	credentials, err := New(db, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Writer.ExecContext(t.Context(), "INSERT INTO oauth_nonce (nonce, timestamp, received_at) VALUES ('old', 1, 1)"); err != nil {
		t.Fatal(err)
	}
	credentials.nonceUses.Store(pruneEvery - 2)
	for _, step := range []struct {
		nonce string
		left  bool
	}{{"a", true}, {"b", false}} {
		if fresh, err := credentials.Use(t.Context(), step.nonce, 1); !fresh || err != nil {
			t.Fatal(fresh, err)
		}
		if used, err := credentials.Used(t.Context(), "old"); used != step.left || err != nil {
			t.Errorf("after %s the old nonce is there: %v, %v", step.nonce, used, err)
		}
	}
}
