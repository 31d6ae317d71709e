package sqlstore

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// A list with adapter.Query.Ranks is read place by place: for each place one statement, which reads the
// products of its options by an index that has them in the order of their ids. It ends at the place that
// fills the page. One statement for all places would have to read and sort all products.

// noPlace is the place of the products whose value has no rank.
const noPlace = -1

// A rankedList is a list of products in the order of the places of options.
type rankedList struct {
	products
	*productList
	wanted  recordParts
	at      int           // schema index of the attribute that has the options
	options map[int][]any // ids of options by place
}

// listByRank answers p, a list in the order of the places of options. ok is false if p has no such
// order, or if SQL cannot evaluate its conditions exactly.
func (s products) listByRank(ctx context.Context, p *productList, wanted recordParts) (result *adapter.ListResult, ok bool, err error) {
	q := &p.Query
	at, known := s.Table.Schema.Index(q.OrderBy)
	if q.Ranks == nil || p.Count || !known || !hasOptionIDs(&s.Table.Schema.Attributes[at]) {
		return nil, false, nil
	}
	l := rankedList{products: s, productList: p, wanted: wanted, at: at, options: map[int][]any{}}
	for _, id := range slices.Sorted(maps.Keys(q.Ranks)) {
		l.options[q.Ranks[id]] = append(l.options[q.Ranks[id]], id)
	}
	sb := s.db.Engine.Flavor.NewSelectBuilder()
	t, _ := s.scopedTable(sb, p)
	if selected, err := Select(s.db.Engine, sb, t, &adapter.Query{Where: q.Where}); err != nil || len(selected.Residual) > 0 {
		return nil, false, err
	}
	found := postFilter{limit: q.Limit, maxBytes: p.MaxBytes}
	if err = l.read(ctx, &found); err == nil {
		err = s.AddParts(ctx, s.db.ReadStatements.Query, found.records, wanted, p.ListParams)
	}
	if err != nil {
		return nil, true, s.db.WrapError(ctx, "list products", err)
	}
	return &adapter.ListResult{Records: found.records, More: found.truncated()}, true, nil
}

// hasOptionIDs reports whether an attribute may hold ids of options in the tables of added attributes.
func hasOptionIDs(a *adapter.Attribute) bool {
	return a.Added && (a.Kind == adapter.KindInteger || a.Kind == adapter.KindText)
}

// A rankedPage is a page of the products at one place, in the order of their ids: ids are greater than after,
// up to and including through. The page leaves out the first offset products, and has at most limit, 0 for all.
type rankedPage struct {
	place          int
	after, through adapter.Key // ids; through is 0 for no end, and for noPlace alone
	offset, limit  int64
}

// read reads the page of the list.
func (l *rankedList) read(ctx context.Context, found *postFilter) error {
	places := slices.Insert(slices.Sorted(maps.Keys(l.options)), 0, noPlace)
	if l.Query.Desc {
		slices.Reverse(places)
	}
	page := rankedPage{offset: l.Query.Offset}
	if l.Query.After != nil {
		page.after = l.Query.After.Key
		places = places[slices.Index(places, l.Query.Rank(l.Query.After.Value)):]
	}
	for probed := 0; len(places) > 0 && !found.full() && !found.truncated(); probed-- {
		page.place, places = places[0], places[1:]
		passed, err := l.readPlace(ctx, page, found)
		if err == nil && passed == 0 && probed <= 0 {
			next := min(len(places), placesPerProbe)
			var occupied []int
			occupied, err = l.occupied(ctx, places[:next])
			places, probed = append(occupied, places[next:]...), len(occupied)
		}
		if err != nil {
			return err
		}
		page = rankedPage{offset: page.offset - min(page.offset, passed)}
	}
	return nil
}

// placesPerProbe is the number of places that one statement checks for products, after an empty one.
const placesPerProbe = 32

// readPlace reads a page at a place until the page of the list is full. It returns the number of
// products that it has passed, up to the offset of the page and beyond.
func (l *rankedList) readPlace(ctx context.Context, page rankedPage, found *postFilter) (passed int64, err error) {
	if page.offset > 0 {
		if passed, err = l.count(ctx, page); err != nil || passed <= page.offset {
			return passed, err
		}
	}
	before := len(found.records)
	if l.Query.Limit > 0 {
		page.limit = l.Query.Limit - int64(before)
	}
	if page.place == noPlace && page.offset == 0 && page.limit > 0 {
		// A look at a few products saves counting where many have no place.
		for width := min(page.limit, maxLook) * idsPerLook; ; width *= 4 {
			page.through = page.after + adapter.Key(width)
			seen := len(found.records)
			if err := l.readPage(ctx, page, found); err != nil || found.full() || found.truncated() {
				return int64(len(found.records) - before), err
			}
			page.limit -= int64(len(found.records) - seen)
			page.after, page.through = page.through, 0
			if len(found.records) == seen {
				break
			}
		}
		if n, err := l.unplaced(ctx); err != nil || n == 0 {
			return 0, err
		}
	}
	err = l.readPage(ctx, page, found)
	return page.offset + int64(len(found.records)-before), err
}

const (
	// maxLook and idsPerLook bound the ids that readPlace looks at first.
	maxLook, idsPerLook = 100, 20
)

// readPage adds the products of a page to found.
func (l *rankedList) readPage(ctx context.Context, page rankedPage, found *postFilter) error {
	sc := l.ScannerPool.Get().(*engine.Scanner)
	defer l.PutScanner(sc)
	sb, indexes := l.pageSelect(page)
	return l.eachRecord(ctx, l.db.ReadStatements.Query, sb, l.rowReader(sc, indexes), found.add)
}

// count returns the number of products at the place of a page, but no more than one above its offset if
// that saves counting.
func (l *rankedList) count(ctx context.Context, page rankedPage) (n int64, err error) {
	if page.place == noPlace && page.after == 0 {
		if n, err = l.unplaced(ctx); err != nil || n == 0 || l.byID() && len(l.Filters) == 0 {
			return n, err
		}
	}
	return l.number(ctx, l.countSelect(rankedPage{place: page.place, after: page.after, limit: sum(page.offset, 1)}))
}

// unplaced returns the number of products of the whole catalog that have no place. Indexes have the
// products with a place, but not those without: it is the difference.
func (l *rankedList) unplaced(ctx context.Context) (int64, error) {
	all := l.db.Engine.Flavor.NewSelectBuilder().Select("COUNT(*)").From(l.Table.Name)
	n, err := l.number(ctx, all)
	if err != nil || len(l.Query.Ranks) == 0 {
		return n, err
	}
	ids := slices.Concat(slices.Collect(maps.Values(l.options))...)
	inDefault := l.stored(l.Table.Values.Name, ids).Select("COUNT(*)")
	placed, err := l.number(ctx, inDefault)
	if err != nil || !l.atView() {
		return n - placed, err
	}
	// Values of the store view add products with a place, and replace places in the default scope.
	atView := l.stored("product_value", ids).Select("COUNT(*)")
	added, err := l.number(ctx, atView.Where(atView.Equal("stored.store_id", l.StoreID)))
	if err != nil {
		return 0, err
	}
	both := l.db.Engine.Flavor.NewSelectBuilder().Select("COUNT(*)").From("product_value AS own")
	under := l.stored(l.Table.Values.Name, ids).Select("1")
	under.Where("stored.product_id = own.product_id")
	both.Where(both.Equal("own.attribute", l.Query.OrderBy), both.Equal("own.store_id", l.StoreID), "EXISTS ("+both.Var(under)+")")
	replaced, err := l.number(ctx, both)
	return n - placed - added + replaced, err
}

// number returns the number that a statement selects.
func (l *rankedList) number(ctx context.Context, sb *sqlbuilder.SelectBuilder) (n int64, err error) {
	text, arguments := sb.Build()
	err = engine.First(l.db.ReadStatements.Query(ctx, text, arguments...)).Scan(&n)
	return n, err
}

// atView reports whether the list reads values of a store view, which replace values of the default scope.
func (l *rankedList) atView() bool {
	return l.StoreID != 0 && l.Reads(&l.Table.Schema.Attributes[l.at]) != adapter.ReadsNone
}

// stored returns a statement that finds the rows of a table that have one of the options.
func (l *rankedList) stored(table string, ids []any) *sqlbuilder.SelectBuilder {
	sb := l.db.Engine.Flavor.NewSelectBuilder()
	return sb.From(table+" AS stored").Where(sb.Equal("stored.attribute", l.Query.OrderBy),
		sb.In(fmt.Sprintf(l.db.Engine.OptionID, "stored"), ids...))
}

// sum returns the sum of two numbers that are not negative, or the greatest number if that is less.
func sum(a, b int64) int64 { return a + min(b, math.MaxInt64-a) }

// byID reports whether the conditions of the list concern only the ids of products, so that the ids at a
// place are all that a page needs.
func (l *rankedList) byID() bool { return len(l.Query.Where) == 0 && !l.productList.inCategory }

// pageSelect returns the statement that reads a page at a place, and the schema indexes of the
// attributes that it reads.
func (l *rankedList) pageSelect(page rankedPage) (sb *sqlbuilder.SelectBuilder, indexes []int) {
	sb = l.db.Engine.Flavor.NewSelectBuilder()
	t, nulls := l.from(sb, page)
	indexes = l.selectProducts(sb, t, nulls, l.wanted, l.productList)
	sb.OrderBy(l.keyAt(page.place))
	if page.place == noPlace || !l.byID() {
		setPage(sb, &adapter.Query{Offset: page.offset, Limit: page.limit})
	}
	return sb, indexes
}

// countSelect returns the statement that counts the products of a page.
func (l *rankedList) countSelect(page rankedPage) *sqlbuilder.SelectBuilder {
	sb := l.db.Engine.Flavor.NewSelectBuilder()
	counted := l.db.Engine.Flavor.NewSelectBuilder()
	if page.place != noPlace && l.byID() {
		counted = l.ids(page)
	} else {
		l.from(counted, page)
		counted.Select(l.keyAt(page.place)).Limit(int(page.limit))
	}
	return sb.Select("COUNT(*)").From(sb.BuilderAs(counted, "counted"))
}

// keyAt returns the column of the ids of products whose order a statement for a place uses.
func (l *rankedList) keyAt(place int) string {
	if place == noPlace {
		return l.Table.KeyColumn()
	}
	return "placed.product_id"
}

// from adds to sb the tables and conditions of a page, and returns the results of scopedTable. If the
// conditions of the list concern only ids, the page is selected by the ids of the place alone.
func (l *rankedList) from(sb *sqlbuilder.SelectBuilder, page rankedPage) (t *engine.Table, nulls string) {
	switch {
	case page.place == noPlace:
		sb.From(l.Table.Name)
	case l.byID():
		sb.From(sb.BuilderAs(l.ids(page), "placed")).Join(l.Table.Name, l.Table.KeyColumn()+" = placed.product_id")
	default:
		sb.From(sb.BuilderAs(l.idsAt(page, 0), "placed")).Join(l.Table.Name, l.Table.KeyColumn()+" = placed.product_id")
	}
	t, nulls = l.scopedTable(sb, l.productList)
	if page.place != noPlace && l.byID() {
		return t, nulls
	}
	selected, _ := Select(l.db.Engine, sb, t, &adapter.Query{Where: l.Query.Where}) // listByRank has checked it
	sb.Where(selected.Where...)
	l.restrict(sb)
	if page.place == noPlace {
		if page.through > 0 {
			sb.Where(sb.LessEqualThan(l.Table.KeyColumn(), int64(page.through)))
		}
		sb.Where(sb.GreaterThan(l.Table.KeyColumn(), int64(page.after)), sb.IsNull(sortExpression(l.db.Engine, t, &l.Query, l.at)))
	}
	return t, nulls
}

// ids returns a statement that finds the ids of a page at a place, in their order, by filters that concern
// only ids.
func (l *rankedList) ids(page rankedPage) *sqlbuilder.SelectBuilder {
	atMost := int64(0)
	if page.limit > 0 && len(l.Filters) == 0 {
		atMost = sum(page.offset, page.limit)
	}
	sb := l.db.Engine.Flavor.NewSelectBuilder()
	// The ids take the place of the table that restrict refers to.
	sb.Select("product.entity_id AS product_id").From(sb.BuilderAs(l.idsAt(page, atMost), "product")).OrderBy("product.entity_id")
	l.restrict(sb)
	setPage(sb, &adapter.Query{Offset: page.offset, Limit: page.limit})
	return sb
}

// idsAt returns a statement that finds the ids of the products at a place after page.after, each as
// product_id and as entity_id. From each table it may read only the first atMost ids, all if that is 0.
func (l *rankedList) idsAt(page rankedPage, atMost int64) *sqlbuilder.SelectBuilder {
	arm := func(table string) *sqlbuilder.SelectBuilder {
		sb := l.stored(table, l.options[page.place]).Select("stored.product_id", "stored.product_id AS entity_id")
		return sb.Where(sb.GreaterThan("stored.product_id", int64(page.after)))
	}
	inDefault := arm(l.Table.Values.Name)
	if !l.atView() {
		return inDefault
	}
	// A value of the store view replaces that of the default scope.
	inDefault.Where("NOT EXISTS (SELECT 1 FROM product_value AS own WHERE own.product_id = stored.product_id AND " +
		inDefault.Equal("own.store_id", l.StoreID) + " AND " + inDefault.Equal("own.attribute", l.Query.OrderBy) + ")")
	atView := arm("product_value")
	atView.Where(atView.Equal("stored.store_id", l.StoreID))
	both := l.db.Engine.Flavor.NewSelectBuilder()
	arms := make([]string, 2)
	for i, one := range []*sqlbuilder.SelectBuilder{inDefault, atView} {
		if atMost > 0 {
			one.OrderBy("stored.product_id").Limit(int(atMost))
		}
		arms[i] = "SELECT product_id, entity_id FROM (" + both.Var(one) + ") AS arm"
	}
	return both.Select("product_id", "entity_id").From("(" + arms[0] + " UNION ALL " + arms[1] + ") AS arms")
}

// occupied returns the places that may have products: noPlace, and each place that a stored value names.
func (l *rankedList) occupied(ctx context.Context, places []int) (occupied []int, err error) {
	sb := l.db.Engine.Flavor.NewSelectBuilder()
	var probes []string
	for _, place := range places {
		if place != noPlace {
			ids := sb.Var(l.idsAt(rankedPage{place: place}, 0))
			probes = append(probes, fmt.Sprintf("SELECT %d AS place WHERE EXISTS (%s)", place, ids))
		}
	}
	if len(probes) == 0 {
		return places, nil
	}
	sb.Select("place").From("(" + strings.Join(probes, " UNION ALL ") + ") AS probes")
	text, arguments := sb.Build()
	found, err := engine.SelectColumn[int](ctx, l.db.ReadStatements.Query, text, arguments...)
	for _, place := range places {
		if place == noPlace || slices.Contains(found, place) {
			occupied = append(occupied, place)
		}
	}
	return occupied, err
}
