package mapping

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A GateWrite names the records of a write that the legacy store has executed.
type GateWrite struct {
	Resource adapter.Resource
	// Keys are the keys of the records, and perhaps of others. None: any of the resource.
	Keys []adapter.Key
}

// A batchItems collects the ids that a forwarded batch names, while its body is read, without
// holding the body.
type batchItems struct {
	io.ReadCloser
	name   int // how much of itemIDName the last bytes are
	gap    int // bytes since the name; -1: no id follows
	digits []byte
	keys   []adapter.Key
	many   bool // there were too many
}

const (
	itemIDName = "item_id"
	// maxIDGap is the number of bytes between the name of a field and its value, such as ":"
	// and quotes, and maxIDDigits the number of digits of an id.
	maxIDGap, maxIDDigits = 32, 19
	// maxBatchKeys is the number of ids that are collected.
	maxBatchKeys = 1000
)

// BatchItems makes reading the body of r collect the ids in it if r updates many records at a
// time. Otherwise it returns nil. r must be an API request.
func (s *Gate) BatchItems(r *resource.Request) *batchItems {
	if s.pipeline.Address(r).Name() != "updateStockItems" || r.HTTP.Body == nil {
		return nil
	}
	items := &batchItems{ReadCloser: r.HTTP.Body, gap: -1}
	r.HTTP.Body = items
	return items
}

// Read reads a piece of the body.
func (b *batchItems) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for _, c := range p[:n] {
		b.scan(c)
	}
	if err != nil {
		b.endID()
	}
	return n, err
}

// scan looks for ids in any format: the first number shortly after the name of their field.
func (b *batchItems) scan(c byte) {
	switch {
	case b.gap >= 0 && '0' <= c && c <= '9' && len(b.digits) < maxIDDigits:
		b.digits = append(b.digits, c)
	case len(b.digits) > 0:
		b.endID()
	case b.gap >= 0:
		if b.gap++; b.gap > maxIDGap {
			b.gap = -1
		}
	}
	switch {
	case c == itemIDName[b.name]:
		b.name++
	case c == itemIDName[0]:
		b.name = 1
	default:
		b.name = 0
	}
	if b.name == len(itemIDName) {
		b.name, b.gap = 0, 0
	}
}

// endID takes the digits that were found.
func (b *batchItems) endID() {
	id, err := strconv.ParseInt(string(b.digits), 10, 64)
	b.gap, b.digits = -1, b.digits[:0]
	switch {
	case err != nil || id <= 0:
	case len(b.keys) == maxBatchKeys:
		b.many = true
	default:
		b.keys = append(b.keys, adapter.Key(id))
	}
}

// found returns the ids, or nil if there were too many.
func (b *batchItems) found() []adapter.Key {
	if b == nil || b.many {
		return nil
	}
	return b.keys
}

// LegacyWrite returns the records that the forwarded write r names: the records in its path, and
// the created record, whose address is in header. status and header are the legacy store's answer,
// and items are the ids in the body of r. ok is false if the write has failed or can have changed
// no records. r must be an API request.
func (s *Gate) LegacyWrite(ctx context.Context, r *resource.Request, status int, header http.Header, items *batchItems) (w GateWrite, ok bool) {
	address := s.pipeline.Address(r)
	created, isCreated := s.createdAddress(header)
	done := status >= http.StatusOK && status < http.StatusMultipleChoices || status == http.StatusFound && isCreated // PHP's status with a Location
	if address.ReadOnly || address.Name() == "other" || !done {
		return w, false
	}
	w.Resource, w.Keys = s.named(ctx, address)
	if items != nil {
		w.Keys = items.found()
	}
	if len(w.Keys) == 0 && isCreated {
		w.Resource, w.Keys = s.named(ctx, &created)
	}
	return w, true
}

// createdAddress returns the address of the record that the legacy store reports as created.
func (s *Gate) createdAddress(header http.Header) (a contract.Address, ok bool) {
	location, err := url.Parse(header.Get("Location"))
	if err != nil {
		return a, false
	}
	path := location.EscapedPath()
	at := strings.Index(path, contract.Base+"/")
	if at < 0 {
		return a, false
	}
	a, ok = s.pipeline.Table().Address(http.MethodGet, path[at:])
	return a, ok && a.Route != nil
}

// named returns the records that a path names; for the path of a part, the records that the
// part belongs to.
func (s *Gate) named(ctx context.Context, a *contract.Address) (adapter.Resource, []adapter.Key) {
	c := resource.Call{Address: *a}
	switch adapter.Resource(a.Route.Resource) {
	case adapter.Products, adapter.ProductImages, adapter.ProductWebsites, adapter.ProductCategories:
		return adapter.Products, s.namedProducts(ctx, firstParam(a, "id", "product_id"))
	case adapter.CustomerAddresses:
		if _, ok := a.Route.Param("customer_id"); ok {
			return adapter.Customers, possibleKeys(c.Param("customer_id"))
		}
		return adapter.CustomerAddresses, possibleKeys(c.Param("id"))
	case adapter.Orders, adapter.OrderItems, adapter.OrderAddresses, adapter.OrderComments:
		return adapter.Orders, possibleKeys(firstParam(a, "id", "order_id"))
	default:
		return adapter.Resource(a.Route.Resource), possibleKeys(firstParam(a, "id"))
	}
}

// firstParam returns the first of some parameters that a path has, or "".
func firstParam(a *contract.Address, names ...string) string {
	for _, name := range names {
		if at, ok := a.Route.Param(name); ok {
			return a.Params[at]
		}
	}
	return ""
}

// namedProducts returns the keys of the products that the legacy store may take an id for: a
// number, or a SKU.
func (s *Gate) namedProducts(ctx context.Context, id string) []adapter.Key {
	if id == "" || codec.IsCanonicalNumber(id) {
		return possibleKeys(id)
	}
	keys := possibleKeys(id)
	found, err := s.products.BySKU(ctx, id, adapter.GetParams{Only: []string{}})
	if err != nil { // it may have got another SKU in the meantime
		return nil
	}
	return append(keys, found.Key())
}

// possibleKeys returns the keys that the legacy store may take an id for.
func possibleKeys(id string) (keys []adapter.Key) {
	for _, read := range []func(string) (int64, bool){codec.ParseID, codec.ParseIDPart, codec.ParseRoundedID} {
		if key, ok := read(id); ok {
			keys = append(keys, adapter.Key(key))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
