package input

import (
	"math"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A Reader describes who requests which fields: it limits the fields that can be filtered,
// sorted and selected.
type Reader struct {
	Dialect *contract.Dialect
	Fields  *contract.FieldTable
	Role    contract.Role
	// Unapplied: the list validates its modifiers but does not apply them.
	Unapplied bool
	// Now is the clock for dates such as "today"; nil means time.Now.
	Now func() time.Time
}

// A List is a parsed list request. The offset and limit of Query are not set: they follow from
// Paging.
type List struct {
	Query  adapter.Query
	Paging paging
	// ByLabel: the attribute that Query orders by holds ids of options, whose labels count. The caller
	// sets the places of the options.
	ByLabel bool
	// ShownNull names the field that records without a value show as null instead of omitting
	// it; "" for none (wire 10).
	ShownNull string
}

// Parse parses page, limit, order, dir and filter from a decoded query string. schema must
// have the attributes of the fields. Errors are contract.Fault.
func (r Reader) Parse(schema *adapter.Schema, query *codec.Node) (*List, error) {
	paging, err := parsePaging(r.Dialect, query)
	if err != nil {
		return nil, err
	}
	list := &List{Paging: paging}
	if err := r.parseOrder(query, list); err != nil {
		return nil, err
	}
	list.Query.Where, err = r.parseFilter(schema, query)
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (r Reader) parseOrder(query *codec.Node, list *List) error {
	order, sent := query.Get("order")
	if !sent {
		return nil
	}
	field, ok := r.field(order)
	if !ok || !field.Sortable(r.Dialect, r.Role) || field.Sort == contract.Unsortable {
		return r.Dialect.Fault(contract.OrderingError)
	}
	dir, sent := query.Get("dir")
	if !sent {
		dir = &codec.Node{Kind: codec.Text}
	}
	ascending := strings.EqualFold(dir.Text, "asc")
	noDir := !ascending && !strings.EqualFold(dir.Text, "desc")
	if dir.Kind != codec.Text || field.Sort == contract.SortCrash || field.Sort == contract.SortRequiresDir && noDir {
		return r.Dialect.Fault(contract.OrderingCrash)
	}
	switch field.Sort {
	case contract.SortIgnored:
		return nil
	case contract.SortIgnoredAsNull:
	default:
		list.Query.OrderBy, list.Query.Desc = field.Attribute, !ascending
		list.ByLabel = field.Sort == contract.SortByLabel
	}
	if r.Dialect.OrderedByNull {
		list.ShownNull = field.Name
	}
	return nil
}

// field returns the field that a query names.
func (r Reader) field(name *codec.Node) (*contract.Field, bool) {
	if name.Kind != codec.Text {
		return nil, false
	}
	i, ok := r.Fields.Index(name.Text)
	if !ok {
		return nil, false
	}
	return &r.Fields.Fields[i], true
}

// queryable returns the field that a query names, if the role may filter by it.
func (r Reader) queryable(name *codec.Node) (*contract.Field, bool) {
	field, ok := r.field(name)
	return field, ok && field.Queryable(r.Dialect, r.Role)
}

// Select returns the indexes of the fields to show in view, in the order of the view: the fields
// named by attrs, or the dialect's default. nothing reports that attrs names no field that the role
// may read, not even an always absent one. The original crashes on such a selection as soon as
// there is a record to show.
func (r Reader) Select(view contract.View, query *codec.Node) (fields []int, nothing bool) {
	fields = make([]int, 0, len(r.Fields.Fields))
	attrs, sent := query.Get("attrs")
	if !sent {
		order, ordered := query.Get("order")
		for _, i := range r.Fields.Order(r.Dialect, view) {
			f := &r.Fields.Fields[i]
			added := f.Sort == contract.SortIgnoredAsNull && r.Dialect.OrderedByNull && view.InList() && ordered && order.Text == f.Name
			if f.Readable(r.Dialect, r.Role, view) && (f.Shown(r.Dialect, view) || added) {
				fields = append(fields, i)
			}
		}
		return fields, false
	}
	named := make(map[string]bool)
	if attrs.Kind == codec.Struct {
		for _, m := range attrs.Members {
			named[strings.TrimSpace(m.Value.Text)] = true
		}
	} else {
		for name := range strings.SplitSeq(attrs.Text, ",") {
			named[strings.TrimSpace(name)] = true
		}
	}
	for _, i := range r.Fields.RequestedOrder(r.Dialect, view) {
		if f := &r.Fields.Fields[i]; named[f.Name] && f.Readable(r.Dialect, r.Role, view) {
			fields = append(fields, i)
		}
	}
	nothing = len(fields) == 0
	for name := range named {
		nothing = nothing && !r.Fields.AlwaysAbsent(name, r.Role)
	}
	return fields, nothing
}

const (
	// DefaultLimit is the number of records on a page of a request without a limit.
	DefaultLimit = 10
	// MaxLimit is the greatest limit that a request may set.
	MaxLimit = 100
	// maxOffset is the maximum number of rows that a page number may ask a store to skip; no
	// list is that long.
	maxOffset = 1 << 53
)

// paging describes the requested page of a list.
type paging struct {
	// Limit is the number of rows per page; 0 means all rows on one page.
	Limit int64
	// page is the page number as sent: it may have a fraction.
	page float64
	// limit is the limit as sent, including its fraction: it determines the number of the
	// last page (wire 10).
	limit float64
}

// Offset returns the number of rows before the page. decided is false if it depends on the
// total whether the page is beyond the end: for page numbers with a fraction, for page numbers
// that no list can reach, and for every page of a limit with a fraction, where the last page
// is not the one that ends with the last row.
func (p paging) Offset() (offset int64, decided bool) {
	if p.Limit == 0 || p.page <= 1 {
		return 0, true
	}
	rows := math.Trunc((p.page - 1) * float64(p.Limit))
	if rows >= maxOffset {
		return maxOffset, false
	}
	return int64(rows), p.page == math.Trunc(p.page) && p.limit == math.Trunc(p.limit)
}

// OffsetIn returns the number of rows before the page in a list of total rows. A page beyond
// the end is the last page.
func (p paging) OffsetIn(total int64) int64 {
	offset, _ := p.Offset()
	if offset == 0 || total == 0 {
		return 0
	}
	last := math.Ceil(float64(total) / p.limit)
	if p.page > last {
		return (int64(last) - 1) * p.Limit
	}
	return offset
}

func parsePaging(d *contract.Dialect, query *codec.Node) (paging, error) {
	p := paging{Limit: DefaultLimit, page: 1, limit: DefaultLimit}
	if node, sent := query.Get("page"); sent {
		page, ok := number(node)
		if !ok {
			return p, d.Fault(contract.PagingCrash)
		}
		if page < 0 {
			return p, d.Fault(contract.PagingError)
		}
		p.page = page
	}
	if node, sent := query.Get("limit"); sent && !(node.Kind == codec.Text && node.Text == "") {
		limit, ok := number(node)
		if !ok {
			return p, d.Fault(contract.LimitCrash)
		}
		if limit < 0 || limit > MaxLimit {
			return p, d.Fault(contract.LimitError)
		}
		p.Limit, p.limit = int64(limit), limit
		if limit == 0 && node.Text != "0" && d.ZeroLimitOneRow {
			p.Limit, p.limit = 1, 1
		}
	}
	return p, nil
}

func number(n *codec.Node) (float64, bool) {
	if n.Kind != codec.Text {
		return 0, false
	}
	return codec.ParseNumber(n.Text)
}
