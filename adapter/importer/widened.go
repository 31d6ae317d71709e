package importer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/credentials"
)

// widenedEvidence is the name under which a store notes whose rights an import has widened.
const widenedEvidence = "widened rights"

// Widened are the users who have all rights in a store though the legacy store limits them, because
// an option of an import widened their rights.
type Widened struct {
	Administrators []string `json:"administrators,omitempty"` // usernames in the legacy store
	Customers      bool     `json:"customers,omitempty"`      // tokens of customers
}

// ReadWidened returns whose rights imports into a store have widened.
func ReadWidened(ctx context.Context, db *sqlstore.DB) (w Widened, err error) {
	text, _, err := db.Evidence(ctx, widenedEvidence)
	if err != nil || text == "" {
		return w, err
	}
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return w, fmt.Errorf("read the evidence %q: %w", widenedEvidence, err)
	}
	return w, nil
}

// Has reports whether an administrator is one of them.
func (w Widened) Has(username string) bool {
	return slices.ContainsFunc(w.Administrators, func(name string) bool { return adapter.Fold(name) == adapter.Fold(username) })
}

// with returns w with those whom the options of an import widen.
func (w Widened) with(o credentials.ImportOptions) Widened {
	more := Widened{Administrators: slices.Clone(w.Administrators), Customers: w.Customers || o.WidenCustomers}
	for _, name := range o.Widened {
		if !more.Has(name) {
			more.Administrators = append(more.Administrators, name)
		}
	}
	return more
}

func (w Widened) equal(other Widened) bool {
	return w.Customers == other.Customers && slices.Equal(w.Administrators, other.Administrators)
}

// note stores w.
func (w Widened) note(ctx context.Context, db *sqlstore.DB) error {
	text, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return db.NoteEvidence(ctx, widenedEvidence, string(text))
}

// checkWidened returns an error if the legacy store has no administrator of one of the names.
func checkWidened(ctx context.Context, legacy *magento1.Database, names []string) error {
	if len(names) == 0 {
		return nil
	}
	var there Widened
	for one, err := range legacy.Admins(ctx) {
		if err != nil {
			return err
		}
		there.Administrators = append(there.Administrators, one.Username)
	}
	for _, name := range names {
		if !there.Has(name) {
			return fmt.Errorf("the legacy store has no administrator %q, whose rights are to be widened: use a username of its table admin_user", name)
		}
	}
	return nil
}
