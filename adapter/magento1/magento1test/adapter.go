package magento1test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/memstore"
)

// A ShopAdapter serves the tables of a shop. It implements [adapter.Adapter].
type ShopAdapter struct {
	shop    *LiveShop
	schemas *adapter.Schemas
	tables  string // all of the shop's, separated by commas

	reading chan struct{} // a lock on the fields below: holds a value while the tables are being read
	legacy  *magento1.Database
	parts   map[magento1.Part]readPart
	// records holds the records of the tables when their checksums were these. It is never written
	// to.
	records   *memstore.Adapter
	checksums []string
}

// A readPart holds the records and the digest of a part of the shop.
type readPart struct {
	digest  string
	records []adapter.Aggregate
}

// Adapter returns an adapter of the shop, whose database has this DSN in the form of
// [magento1.Options]. The caller must close it.
func (s *LiveShop) Adapter(ctx context.Context, dsn string, schemas *adapter.Schemas) (*ShopAdapter, error) {
	a := &ShopAdapter{shop: s, schemas: schemas, reading: make(chan struct{}, 1), parts: map[magento1.Part]readPart{}}
	tables, err := s.tables(ctx)
	if err != nil {
		return nil, err
	}
	a.tables = strings.Join(tables, ", ")
	a.legacy, err = magento1.Open(ctx, magento1.Options{ServerOptions: magento1.ServerOptions{DSN: dsn, Prefix: s.prefix}, Schemas: schemas})
	return a, err
}

// Name returns "oldshop".
func (a *ShopAdapter) Name() string { return "oldshop" }

// Store returns the store of a resource.
func (a *ShopAdapter) Store(r adapter.Resource) (adapter.Store, error) {
	if a.schemas.Of(r) == nil || r == adapter.Admins {
		return nil, &adapter.Error{Kind: adapter.Unsupported, Op: "store " + string(r)}
	}
	return store{a, r}, nil
}

// Ping reports whether the database answers.
func (a *ShopAdapter) Ping(ctx context.Context) error {
	if err := a.shop.db.PingContext(ctx); err != nil {
		return &adapter.Error{Kind: adapter.Unavailable, Op: "ping", Err: err}
	}
	return nil
}

// Close closes the connection of the adapter's own.
func (a *ShopAdapter) Close() error { return a.legacy.Close() }

// The tables may change while a call reads them. After enoughRounds the call takes them as
// they are, of several moments since it began, if all that they refer to is there; after
// maxRounds in any case.
const (
	enoughRounds = 3
	maxRounds    = 20
)

// present returns the records that the tables hold now.
func (a *ShopAdapter) present(ctx context.Context) (*memstore.Adapter, error) {
	select {
	case a.reading <- struct{}{}:
		defer func() { <-a.reading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for round := 1; ; round++ {
		before, err := a.shop.checksums(ctx, a.tables)
		switch {
		case err != nil:
			return nil, err
		case slices.Equal(before, a.checksums):
			return a.records, nil
		}
		records, complete, unchanged, err := a.read(ctx, before)
		switch {
		case err != nil:
			return nil, err
		case unchanged:
			a.records, a.checksums = records, before
			return records, nil
		case round >= enoughRounds && complete, round == maxRounds:
			return records, nil
		}
	}
}

// read returns the records of the tables, which had these checksums before. complete: none
// is missing. unchanged: the tables had the same checksums all the time.
func (a *ShopAdapter) read(ctx context.Context, before []string) (records *memstore.Adapter, complete, unchanged bool, err error) {
	read, err := a.readChanged(ctx)
	defer func() {
		if !unchanged { // the digests may belong to other records
			for _, p := range read {
				delete(a.parts, p)
			}
		}
	}()
	if err != nil {
		return nil, false, false, err
	}
	after, err := a.shop.checksums(ctx, a.tables)
	if err != nil {
		return nil, false, false, err
	}
	records, complete, err = a.load(ctx)
	return records, complete, err == nil && slices.Equal(before, after), err
}

// readChanged reads the parts that have changed since they were read, and returns their
// names. Each digest is older than the records: if they change in between, so do the
// checksums.
func (a *ShopAdapter) readChanged(ctx context.Context) (read []magento1.Part, err error) {
	for _, p := range magento1.Parts() {
		digest, err := a.legacy.Digests(ctx, p, 0, math.MaxInt64-1)
		if err != nil {
			return read, err
		}
		if digest == a.parts[p].digest {
			continue
		}
		next := readPart{digest: digest}
		for one, err := range a.legacy.Records(ctx, p) {
			if err != nil {
				return read, err
			}
			setAssignmentKeys(one.Parts)
			next.records = append(next.records, one)
		}
		a.parts[p], read = next, append(read, p)
	}
	return read, nil
}

// load returns the records of all parts, except records that no store can hold. complete: there are
// no such records.
func (a *ShopAdapter) load(ctx context.Context) (records *memstore.Adapter, complete bool, err error) {
	records, complete = memstore.New(memstore.Options{Schemas: a.schemas}), true
	for _, p := range magento1.Parts() {
		batch := a.parts[p].records
		_, err := records.Import(ctx, batch, adapter.ImportOptions{})
		if err == nil {
			continue
		}
		if !adapter.IsRefusal(err) {
			return nil, false, err
		}
		complete = false
		for _, one := range batch {
			if _, err := records.Import(ctx, []adapter.Aggregate{one}, adapter.ImportOptions{}); err != nil && !adapter.IsRefusal(err) {
				return nil, false, err
			}
		}
	}
	return records, complete, nil
}

// An assignment of a product has no id in the tables. Its key here is computed from the ids of the
// product and the target, so that it is the same each time that the tables are read.
const assignmentBits = 20

func assignmentKey(product, to int64) int64 { return product<<assignmentBits | to }

// assignedProduct returns the product of an assignment.
func assignedProduct(assignment adapter.Key) adapter.Key { return assignment >> assignmentBits }

// assignedTo returns the name of the attribute with the target of an assignment.
func assignedTo(r adapter.Resource) string {
	switch r {
	case adapter.ProductWebsites:
		return "website_id"
	case adapter.ProductCategories:
		return "category_id"
	default:
		return ""
	}
}

// setAssignmentKeys sets the keys of those parts that are assignments.
func setAssignmentKeys(parts []adapter.Record) {
	for _, part := range parts {
		if to := assignedTo(part.Schema.Resource); to != "" {
			part.Set(part.Schema.Key, adapter.IntegerValue(assignmentKey(part.Get("product_id").Int(), part.Get(to).Int())))
		}
	}
}

// errReadOnly says why a write is refused.
var errReadOnly = errors.New("records of this resource are only read here")
