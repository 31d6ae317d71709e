package sqlstore

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestEvidence stores, replaces and resets results, which another process finds.
func TestEvidence(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		dsn := e.NewDSN(t)
		db, other := openAt(t, dsn), openAt(t, dsn)
		expect := func(name, want string) time.Time {
			t.Helper()
			content, at, err := other.Evidence().Last(t.Context(), name)
			if err != nil || content != want || at.IsZero() != (want == "") {
				t.Errorf("%s is %.20q of %v (%v), want %.20q", name, content, at, err, want)
			}
			return at
		}
		expect("sweep", "")
		before := time.Now().Truncate(time.Millisecond)
		long := strings.Repeat("ü", coordination.MaxEvidence/2)
		for _, content := range []string{"first", long, `{"a":"ü"}`} {
			if err := db.Evidence().Note(t.Context(), "sweep", content); err != nil {
				t.Fatal(err)
			}
			if at := expect("sweep", content); at.Before(before) || at.After(time.Now()) {
				t.Errorf("noted at %v", at)
			}
		}
		if err := db.Evidence().Note(t.Context(), "other", "x"); err != nil {
			t.Fatal(err)
		}
		var fault *adapter.Error
		if err := db.Evidence().Note(t.Context(), "sweep", long+"x"); !errors.As(err, &fault) || fault.Kind != adapter.Invalid {
			t.Errorf("too long: %v", err)
		}
		expect("sweep", `{"a":"ü"}`)
		if err := db.Reset(t.Context(), &adapter.Dataset{}); err != nil {
			t.Fatal(err)
		}
		expect("sweep", "")
		expect("other", "")
	})
}
