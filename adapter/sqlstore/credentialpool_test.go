package sqlstore

import (
	"errors"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// TestCredentialsDuringLists reads credentials while lists occupy all connections for
// reading.
func TestCredentialsDuringLists(t *testing.T) {
	EachEngine(t, func(t *testing.T, e Engine) {
		db := openTest(t, e)
		if db.pools.credentialReaders == db.readers {
			return // servers have one pool for all reads
		}
		for range db.readers.Stats().MaxOpenConnections {
			conn, err := db.readers.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
		}
		c := db.Credentials()
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
