package adapter

import (
	"cmp"
	"context"
	"slices"
	"sort"
)

// Apply filters, sorts and pages records as q requires. It returns the page, and the total
// number of records that the conditions select, before After, Offset and Limit are applied.
// It is the reference for the List method of every store. It fails with kind Unsupported when
// q names an attribute that the schema lacks, with kind Invalid for an expression that does
// not compile, and with the errors of [Matcher.Matches].
func Apply(ctx context.Context, schema *Schema, records []Record, q *Query) (page []Record, total int64, err error) {
	m, err := NewMatcher(schema, q)
	if err != nil {
		return nil, 0, err
	}
	for _, r := range records {
		selected, err := m.Matches(ctx, r)
		if err != nil {
			return nil, 0, err
		}
		if selected {
			page = append(page, r)
		}
	}
	total = int64(len(page))
	slices.SortStableFunc(page, m.order)
	page = page[sort.Search(len(page), func(i int) bool { return m.IsAfterCursor(page[i]) }):]
	if q.Offset >= int64(len(page)) {
		return nil, total, nil
	}
	page = page[q.Offset:]
	if q.Limit > 0 && int64(len(page)) > q.Limit {
		page = page[:q.Limit]
	}
	return page, total, nil
}

// orderOf returns a function that compares two records in the sort order of q.
func orderOf(schema *Schema, q *Query) (func(a, b Record) int, error) {
	key, _ := schema.Index(schema.Key)
	byKey := func(a, b Record) int { return cmp.Compare(a.Values[key].Int(), b.Values[key].Int()) }
	if q.OrderBy == "" {
		return byKey, nil
	}
	at, ok := schema.Index(q.OrderBy)
	if !ok {
		return nil, unknownAttribute(schema, q.OrderBy)
	}
	kind := schema.Attributes[at].Kind
	return func(a, b Record) int {
		c := 0
		if q.Ranks != nil {
			c = cmp.Compare(q.Rank(a.Values[at]), q.Rank(b.Values[at]))
		} else {
			c = compareValues(kind, a.Values[at], b.Values[at])
		}
		if q.Desc {
			c = -c
		}
		if c == 0 {
			return byKey(a, b)
		}
		return c
	}, nil
}

// cursorRecord returns a record at the position q.After, for comparison with others.
func cursorRecord(schema *Schema, q *Query) Record {
	r := NewRecord(schema)
	if q.OrderBy != "" {
		r.Set(q.OrderBy, q.After.Value)
	}
	r.Set(schema.Key, IntegerValue(int64(q.After.Key)))
	return r
}

func compareValues(kind Kind, a, b Value) int {
	switch {
	case a.Empty() || b.Empty():
		return cmp.Compare(emptyRank(a), emptyRank(b))
	default:
		return comparer(kind, b.Text())(a)
	}
}

func emptyRank(v Value) int {
	if v.Empty() {
		return 0
	}
	return 1
}
