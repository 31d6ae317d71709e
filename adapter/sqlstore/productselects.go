package sqlstore

import (
	"strings"

	"github.com/huandu/go-sqlbuilder"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// The texts of the two product statements that make up shop traffic are cached: reading one product, and reading a
// page of the product listing. Building such a statement takes about a fifth of the time of the whole call.

// A selectKey holds everything that determines the text of a cached statement.
type selectKey struct {
	attributes        string // names of the attributes read, joined by commas; "*" for all
	image, stockFlags bool
	// Used for the statement that reads one product.
	single              bool
	website, anyWebsite bool
	inlined             partsKey
	// Used for the statement that reads a page of the product listing, ordered by id.
	desc, after, offset bool
	stockState          string
}

// newSelectKey returns a key with the fields that every statement uses.
func newSelectKey(wanted recordParts, only []string) selectKey {
	shape := selectKey{image: wanted.image, stockFlags: wanted.stockFlags, attributes: "*"}
	if only != nil {
		shape.attributes = strings.Join(only, ",")
	}
	return shape
}

// getStatement returns the statement that reads one product, its arguments, and the
// schema indexes of the attributes it reads.
func (s products) getStatement(key adapter.Key, p *productList, wanted recordParts) (text string, arguments []any, indexes []int) {
	shape := newSelectKey(wanted, p.Only)
	shape.single, shape.website, shape.anyWebsite = true, p.inWebsite && p.website != 0, p.inWebsite && p.website == 0
	if wanted.inlined != nil {
		shape.inlined = newPartsKey(inlined, wanted, p.ListParams)
	}
	plain := !p.listed && !p.inCategory
	if cached, ok := s.db.ReadStatements.LookupBuilt(shape); ok && plain {
		if wanted.image {
			arguments = append(arguments, imageLevel(p.ListParams))
		}
		arguments = append(append(arguments, shape.inlined.arguments(nil, p.ListParams, false)...), int64(key))
		if shape.website {
			arguments = append(arguments, p.website)
		}
		return cached.Text, arguments, cached.Indexes
	}
	sb := s.db.Engine.Flavor.NewSelectBuilder()
	sb.From(s.Table.Name).Where(sb.Equal(s.Table.KeyColumn(), int64(key)))
	p.restrict(sb)
	t, nulls := s.scopedTable(sb, p)
	indexes = s.selectProducts(sb, t, nulls, wanted, p)
	if wanted.inlined != nil {
		sb.SelectMore(engine.Inline(sb.Var(s.partsBuilder(shape.inlined, p.ListParams)), len(new(productPart).cells(shape.inlined.rulePrices))))
	}
	text, arguments = sb.Build()
	if plain {
		s.db.ReadStatements.AddBuilt(shape, engine.Built{Text: text, Indexes: indexes})
	}
	return text, arguments, indexes
}

// pageStatement returns the statement that reads the page of p from the product listing. The order
// and the conditions of p must concern only ids. text is "" when SQL cannot answer p exactly.
func (s products) pageStatement(p *productList, wanted recordParts) (text string, arguments []any, indexes []int, err error) {
	q := &p.Query
	shape := newSelectKey(wanted, p.Only)
	shape.desc, shape.after, shape.offset = q.Desc && q.OrderBy != "", q.After != nil, q.Offset > 0
	shape.stockState = p.stockState
	plain := len(q.Where) == 0 && q.Limit > 0
	if cached, ok := s.db.ReadStatements.LookupBuilt(shape); ok && plain {
		if wanted.image {
			arguments = append(arguments, imageLevel(p.ListParams))
		}
		arguments = append(arguments, p.StoreID)
		if shape.after {
			arguments = append(arguments, int64(q.After.Key))
		}
		arguments = append(arguments, int(q.Limit)) // the type that the builder binds
		if shape.offset {
			arguments = append(arguments, int(q.Offset))
		}
		return cached.Text, arguments, cached.Indexes, nil
	}
	page, err := s.listingSelect(p)
	if page == nil || err != nil {
		return "", nil, nil, err
	}
	direction := " ASC"
	if shape.desc {
		direction = " DESC"
	}
	page.OrderBy(listingProductID + direction)
	setPage(page, q)
	sb, join := page, s.db.Engine.OrderedJoin
	if join != "" && !shape.offset {
		sb.From("product_listing " + join + " " + s.Table.Name + " ON " + s.Table.KeyColumn() + " = " + listingProductID)
	} else {
		// The subquery finds the ids of the page first, so that the products before it are never read:
		// neither the products that an offset skips nor, by a merge join, the products before the mark
		// or before the first one of the store view.
		page.Select(listingProductID)
		sb = s.db.Engine.Flavor.NewSelectBuilder()
		sb.From(sb.BuilderAs(page, "product_listing")).OrderBy(listingProductID + direction)
		sb.Join(s.Table.Name, s.Table.KeyColumn()+" = "+listingProductID)
	}
	indexes = s.selectProducts(sb, s.Table, s.Table.Name+".nulls", wanted, p)
	text, arguments = sb.Build()
	if plain {
		s.db.ReadStatements.AddBuilt(shape, engine.Built{Text: text, Indexes: indexes})
	}
	return text, arguments, indexes, nil
}

// listingSelect returns a statement that finds the ids of the products that p selects,
// without order and page. It returns nil if SQL cannot evaluate p exactly.
func (s products) listingSelect(p *productList) (*sqlbuilder.SelectBuilder, error) {
	ids := s.db.Engine.Flavor.NewSelectBuilder()
	q := p.Query
	if p.Count {
		q.After = nil
	}
	selected, err := Select(s.db.Engine, ids, s.listingTable, &q)
	if err != nil || len(selected.Residual) > 0 {
		return nil, err
	}
	ids.From("product_listing").Where(ids.Equal("product_listing.store_id", p.StoreID)).Where(selected.Where...)
	if p.stockState != "" {
		ids.Where(p.stockState)
	}
	if selected.After != "" { // for keys, which are never null, always exact and without a tail
		ids.Where(selected.After)
	}
	return ids, nil
}
