package rules

import (
	"context"
	"regexp"

	"github.com/portico-commerce/portico/adapter"
)

// The number of bytes from which a url_key is shortened in an address, and to which (openmage 3).
const (
	maxKeyInPath   = 250
	shortKeyInPath = 240
)

// keyInPath returns a url_key as addresses have it.
func keyInPath(key string) string {
	if len(key) > maxKeyInPath {
		return key[:shortKeyInPath]
	}
	return key
}

// moveRequestPaths lets the addresses of a product follow its url_key, which change sets at a scope
// or with everywhere at all of them (openmage 3). stored holds the values before the change. An
// address that does not begin with the url_key was chosen by hand, and stays.
func moveRequestPaths(ctx context.Context, tx Tx, stored, change adapter.Record, level int64, everywhere bool) error {
	key := keyInPath(change.Get("url_key").Text())
	if key == "" {
		return nil
	}
	levels, err := tx.Levels(ctx, adapter.Products, []adapter.Key{stored.Key()})
	if err != nil {
		return err
	}
	for _, l := range levels {
		own := l.Record.Get("url_key")
		if l.Level != level && (level != 0 || own.Kind() != adapter.Absent && !everywhere) {
			continue
		}
		if own.Kind() == adapter.Absent {
			own = stored.Get("url_key")
		}
		before := keyInPath(own.Text())
		// A number behind the key makes the address unique.
		rest := regexp.MustCompile("^" + regexp.QuoteMeta(before) + `(-\d+)?($|[^A-Za-z0-9-].*$)`).FindStringSubmatch(l.Record.Get("request_path").Text())
		if before == "" || rest == nil || before == key {
			continue
		}
		moved := adapter.NewRecord(stored.Schema)
		moved.Set("request_path", adapter.TextValue(key+rest[2]))
		if err := tx.SetValues(ctx, stored.Key(), []int64{l.Level}, moved); err != nil {
			return err
		}
	}
	return nil
}
