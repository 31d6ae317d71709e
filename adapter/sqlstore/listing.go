package sqlstore

import (
	"context"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// The table product_listing materializes the products that shoppers may list at each
// store view (the filter adapter.Listed). It follows from other tables, but no index of
// theirs could answer the question: to skip or count products, a statement would have to
// read each product and its status in the website. A scan of the primary key of
// product_listing reads a deep page some thirty times as fast.

// listFromListing answers p from product_listing and reads only the products of the page,
// so that skipped products are never read. ok is false if p concerns more than the
// listing: another order than by id, conditions on other attributes, a category or a
// website.
func (s products) listFromListing(ctx context.Context, p *productList, wanted recordParts) (result *adapter.ListResult, ok bool, err error) {
	key := s.Table.Schema.Key
	isOther := func(name string) bool { return name != key }
	if !p.listed || p.inCategory || p.inWebsite || slices.ContainsFunc(engine.QueriedAttributes(&p.Query), isOther) {
		return nil, false, nil
	}
	if p.Count {
		page, err := s.listingSelect(p)
		if page == nil || err != nil {
			return nil, false, err
		}
		result, err = s.count(ctx, page.Select("COUNT(*)"))
		return result, true, err
	}
	text, arguments, indexes, err := s.pageStatement(p, wanted)
	if text == "" || err != nil {
		return nil, false, err
	}
	sc := s.ScannerPool.Get().(*engine.Scanner)
	defer s.PutScanner(sc)
	found := postFilter{limit: p.Query.Limit, maxBytes: p.MaxBytes}
	err = s.eachRecordOf(ctx, s.db.ReadStatements.Query, text, arguments, s.rowReader(sc, indexes), found.add)
	if err == nil {
		err = s.AddParts(ctx, s.db.ReadStatements.Query, found.records, wanted, p.ListParams)
	}
	if err != nil {
		return nil, true, s.db.WrapError(ctx, "list products", err)
	}
	return &adapter.ListResult{Records: found.records, More: found.truncated()}, true, nil
}
