package input

import (
	"math"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

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
