package sqlstore

import (
	"strings"
	"sync"

	"github.com/portico-commerce/portico/adapter"
)

// The statements of the calls that shops live by, one product and a page of those
// listed, are kept as they were built: to build one takes a fifth of the time of
// the whole call.

// maxSelects bounds them. The attributes they read are as a client names them;
// what comes later than the shapes of the usual calls is built each time.
const maxSelects = 128

// A selectShape is all that the text of such a statement depends on.
type selectShape struct {
	only              string // the attributes that are read, "*" for all
	image, stockFlags bool
	// One product.
	one                 bool
	website, anyWebsite bool
	// A page of those listed, in the order of ids.
	desc, after, offset bool
}

// A keptSelect is a statement, and the places of the attributes it reads.
type keptSelect struct {
	text string
	at   []int
}

type keptSelects struct {
	mu sync.RWMutex
	of map[selectShape]keptSelect
}

func newKeptSelects() *keptSelects { return &keptSelects{of: map[selectShape]keptSelect{}} }

func (k *keptSelects) find(shape selectShape) (keptSelect, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	kept, ok := k.of[shape]
	return kept, ok
}

func (k *keptSelects) keep(shape selectShape, built keptSelect) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.of) < maxSelects {
		k.of[shape] = built
	}
}

// shapeOf returns the part of a shape that any statement has.
func shapeOf(wanted wantedParts, only []string) selectShape {
	shape := selectShape{image: wanted.image, stockFlags: wanted.stockFlags, only: "*"}
	if only != nil {
		shape.only = strings.Join(only, ",")
	}
	return shape
}

// selectOne returns the statement that reads one product, with its arguments and
// the places of the attributes it reads.
func (s products) selectOne(key adapter.Key, p *adapter.ListParams, wanted wantedParts) (text string, arguments []any, at []int) {
	shape := shapeOf(wanted, p.Only)
	shape.one, shape.website, shape.anyWebsite = true, p.Products.WebsiteID > 0, p.Products.WebsiteID == adapter.AnyWebsite
	plain := p.Products == adapter.ProductParams{WebsiteID: p.Products.WebsiteID, WebsiteScope: p.Products.WebsiteScope}
	if kept, ok := s.kept.find(shape); ok && plain {
		if wanted.image {
			arguments = append(arguments, imageLevel(p))
		}
		arguments = append(arguments, int64(key))
		if shape.website {
			arguments = append(arguments, p.Products.WebsiteID)
		}
		return kept.text, arguments, kept.at
	}
	sb := s.db.engine.flavor.NewSelectBuilder()
	sb.From(s.table.name).Where(sb.Equal(s.table.key(), int64(key)))
	keepTo(sb, p.StoreID, &p.Products)
	t, nulls := s.scoped(sb, p)
	at = s.selectProducts(sb, t, nulls, wanted, p)
	text, arguments = sb.Build()
	if plain {
		s.kept.keep(shape, keptSelect{text, at})
	}
	return text, arguments, at
}

// selectPage returns the statement that reads the page of p, whose order and
// conditions are about ids alone, by the listing. text is "" when SQL cannot.
func (s products) selectPage(p *adapter.ListParams, wanted wantedParts) (text string, arguments []any, at []int, err error) {
	q := &p.Query
	shape := shapeOf(wanted, p.Only)
	shape.desc, shape.after, shape.offset = q.Desc && q.OrderBy != "", q.After != nil, q.Offset > 0
	plain := len(q.Where) == 0 && q.Limit > 0
	if kept, ok := s.kept.find(shape); ok && plain {
		if wanted.image {
			arguments = append(arguments, imageLevel(p))
		}
		arguments = append(arguments, p.StoreID)
		if shape.after {
			arguments = append(arguments, int64(q.After.Key))
		}
		arguments = append(arguments, int(q.Limit)) // as the builder has it
		if shape.offset {
			arguments = append(arguments, int(q.Offset))
		}
		return kept.text, arguments, kept.at, nil
	}
	page, err := s.listedIDs(p)
	if page == nil || err != nil {
		return "", nil, nil, err
	}
	direction := " ASC"
	if shape.desc {
		direction = " DESC"
	}
	page.OrderBy(listedProduct + direction)
	cut(page, q)
	sb := page
	if shape.offset {
		// The products that are skipped are not looked at, for which those of the page
		// are put aside.
		page.Select(listedProduct)
		sb = s.db.engine.flavor.NewSelectBuilder()
		sb.From(sb.BuilderAs(page, "product_listing")).OrderBy(listedProduct + direction)
	}
	sb.Join(s.table.name, s.table.key()+" = "+listedProduct)
	at = s.selectProducts(sb, s.table, s.table.name+".nulls", wanted, p)
	text, arguments = sb.Build()
	if plain {
		s.kept.keep(shape, keptSelect{text, at})
	}
	return text, arguments, at, nil
}
