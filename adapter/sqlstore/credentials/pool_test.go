package credentials

import (
	"errors"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestCredentialsDuringLists reads credentials while lists occupy all connections for
// reading.
func TestCredentialsDuringLists(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		db := sqltest.Open(t, e.NewDSN(t))
		if db.CredentialReaders == db.Readers {
			return // servers have one pool for all reads
		}
		for range db.Readers.Stats().MaxOpenConnections {
			conn, err := db.Readers.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
		}
		c, err := New(db, "")
		if err != nil {
			t.Fatal(err)
		}
		var known *adapter.Error
		if _, err := c.Consumer(t.Context(), "x"); !errors.As(err, &known) || known.Kind != adapter.NotFound {
			t.Errorf("consumer: %v", err)
		}
		if _, err := c.Token(t.Context(), "x"); !errors.As(err, &known) || known.Kind != adapter.NotFound {
			t.Errorf("token: %v", err)
		}
		if _, err := c.Key(t.Context(), "x"); !errors.As(err, &known) || known.Kind != adapter.NotFound {
			t.Errorf("key: %v", err)
		}
		if used, err := c.Used(t.Context(), "x"); used || err != nil {
			t.Errorf("nonce: %v, %v", used, err)
		}
	})
}
