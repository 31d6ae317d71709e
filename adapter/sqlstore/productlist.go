package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// List returns the products that a query selects.
func (s products) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	if p.OwnerID != 0 {
		_, err := s.ownerColumn("list")
		return nil, err
	}
	list, err := s.newProductList(p)
	if err != nil {
		return nil, err
	}
	wanted, err := s.RequestedParts(&p.Query, p.With)
	if err != nil {
		return nil, err
	}
	if s.isCounted(&list) {
		switch {
		case p.Count:
			return s.countByBlocks(ctx, &list)
		case p.Query.Offset >= 2<<blockBits:
			if err := s.skipBlocks(ctx, &list); err != nil {
				return nil, s.db.WrapError(ctx, "list products", err)
			}
			p = list.ListParams
		}
	}
	if found, ok, err := s.listFromListing(ctx, &list, wanted); ok || err != nil {
		return found, err
	}
	if found, ok, err := s.listByRank(ctx, &list, wanted); ok || err != nil {
		return found, err
	}
	sb := s.db.Engine.Flavor.NewSelectBuilder()
	t, nulls := s.scopedTable(sb, &list)
	selected, err := Select(s.db.Engine, sb, t, &p.Query)
	if err != nil {
		return nil, err
	}
	sb.From(t.Name).Where(selected.Where...)
	list.restrict(sb)
	sc := s.ScannerPool.Get().(*engine.Scanner)
	defer s.PutScanner(sc)
	found, err := s.find(ctx, sb, selected, p, s.rowReader(sc, s.selectProducts(sb, t, nulls, wanted, &list)))
	if err != nil {
		return nil, err
	}
	if err := s.AddParts(ctx, s.db.ReadStatements.Query, found.Records, wanted, p); err != nil {
		return nil, s.db.WrapError(ctx, "list products", err)
	}
	return found, nil
}

// Get returns one product.
func (s products) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	op := fmt.Sprintf("get products %d", p.Key)
	wanted, err := s.RequestedParts(&adapter.Query{}, p.With)
	if err != nil {
		return adapter.Record{}, err
	}
	list, err := s.newProductList(&adapter.ListParams{StoreID: p.StoreID, WebsiteScope: p.WebsiteScope, Filters: p.Filters, Only: p.Only, Buyer: p.Buyer})
	if err != nil {
		return adapter.Record{}, err
	}
	// With added attributes, a product has many parts. As JSON they take longer than a second statement.
	if s.db.Engine.Inlines && s.hasParts(&wanted, p.StoreID) && !s.Table.Added {
		wanted.inlined = new(engine.Inlined)
	}
	text, arguments, indexes := s.getStatement(p.Key, &list, wanted)
	sc := s.ScannerPool.Get().(*engine.Scanner)
	defer s.PutScanner(sc)
	var found postFilter
	read := s.rowReader(sc, indexes)
	if wanted.inlined != nil {
		sc.Also(wanted.inlined)
	}
	err = s.eachRecordOf(ctx, s.db.ReadStatements.Query, text, arguments, read, found.add)
	if err == nil && (len(found.records) == 0 || p.OwnerID != 0) {
		err = sql.ErrNoRows
	}
	if err == nil {
		err = s.AddParts(ctx, s.db.ReadStatements.Query, found.records, wanted, list.ListParams)
	}
	if err != nil {
		return adapter.Record{}, s.db.WrapError(ctx, op, err)
	}
	return found.records[0], nil
}

// newProductList returns the list of p. It fails with kind Unsupported for filters that
// products do not have.
func (s products) newProductList(p *adapter.ListParams) (productList, error) {
	l := productList{ListParams: p}
	for _, f := range p.Filters {
		switch f.Name {
		case adapter.Listed:
			l.listed = true
		case adapter.InStock:
			if l.listed, l.stockState = true, inStockIfManaged; f.Value == 0 {
				l.stockState = inStockIfUnmanaged
			}
		case adapter.InWebsite:
			l.inWebsite, l.website = true, f.Value
		case adapter.InCategory:
			l.inCategory, l.category = true, f.Value
		}
	}
	return l, s.Table.Schema.CheckFilters(p.Filters)
}
