package sqlstore

import (
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// A RecordSet reads the records of all resources.
type RecordSet struct {
	Schemas  *adapter.Schemas
	Tables   []*engine.Table
	Records  map[adapter.Resource]*recordStore // of all tables
	ReaderOf map[adapter.Resource]rules.Reader
	Products products
}

// NewRecordSet returns the records of a database.
func NewRecordSet(db *engine.DB, schemas *adapter.Schemas) *RecordSet {
	s := &RecordSet{
		Schemas: schemas, Tables: engine.Layout(schemas),
		Records: map[adapter.Resource]*recordStore{}, ReaderOf: map[adapter.Resource]rules.Reader{},
	}
	for _, t := range s.Tables {
		own := newStore(db, t)
		s.Records[t.Schema.Resource], s.ReaderOf[t.Schema.Resource] = own, own
	}
	s.Products = newProducts(s.Records[adapter.Products], s.Records[adapter.StockItems])
	s.ReaderOf[adapter.Products], s.ReaderOf[adapter.ProductImages] = s.Products, newProductImages(s.Records[adapter.ProductImages])
	return s
}

// Table returns the table of a resource, which must exist.
func (s *RecordSet) Table(r adapter.Resource) *engine.Table {
	for _, t := range s.Tables {
		if t.Schema.Resource == r {
			return t
		}
	}
	panic("sqlstore: no table for " + string(r))
}

// RecordCounters returns the counters of the records and of the prices of products, by their
// resources, in an order that is always the same so that transactions that move them
// cannot deadlock.
func (s *RecordSet) RecordCounters() (resources []adapter.Resource, counters []engine.Counter) {
	for _, t := range s.Tables {
		resources, counters = append(resources, t.Schema.Resource), append(counters, engine.Counter{Table: t.Name, Column: t.Schema.Key})
	}
	products := s.Schemas.Of(adapter.Products)
	for _, list := range rules.PriceLists() {
		at, _ := products.Index(list)
		nested := products.Attributes[at].Nested
		resources, counters = append(resources, nested.Resource), append(counters, engine.Counter{Table: priceTable(list), Column: nested.Key})
	}
	return resources, counters
}

// priceTable returns the table of a price list.
func priceTable(list string) string { return "product_" + list }
