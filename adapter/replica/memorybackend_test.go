package replica_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
)

// A memoryBackend is a backend in memory. It owns part of the attributes and stores some
// less exactly: e-mail addresses in lower case, prices with two decimal places, quantities
// with one. It has ids of its own; its documents may also carry the legacy ids.
type memoryBackend struct {
	resources []replica.BackendResource
	// withoutKeys: documents carry no legacy ids.
	withoutKeys bool
	// viewReads counts the reads of values at store views.
	viewReads atomic.Int64
	// findsBy is an attribute whose value finds documents without legacy ids; "" for none.
	findsBy string
	// ids translates the references of documents.
	ids *idmap.Cache
	// before and after, unless nil, may fail a call before or after it is done. call is the
	// method and the resource, as in "Create products".
	before, after func(ctx context.Context, call string) error

	mu     sync.Mutex
	next   int
	docs   map[adapter.Resource]map[string]*memoryDoc
	calls  map[string]int
	closed bool
	// unlisted is the id of a document that scans leave out; they then report that they may lack
	// records.
	unlisted string
	// files holds the bytes of images that were created, by key.
	files map[adapter.Key]string
	// created lists the records in the order of their creation, as in "products 1".
	created []string
}

type memoryDoc struct {
	memoryItem
	parts   map[adapter.Resource][]memoryItem
	changed time.Time
	broken  bool // Read fails
	// categories are the backend ids of a product's categories that have ids here.
	categories []string
	views      replica.Views // the values that store views have of their own
}

type memoryItem struct {
	id     string
	key    adapter.Key
	record adapter.Record // backend-owned values
	rest   adapter.Record
	file   func(context.Context) (replica.File, error) // of an image that is read from the backend
}

func newMemory() *memoryBackend {
	return &memoryBackend{resources: memoryResources(), docs: map[adapter.Resource]map[string]*memoryDoc{}, calls: map[string]int{}, files: map[adapter.Key]string{}}
}

func memoryResources() []replica.BackendResource {
	return []replica.BackendResource{
		{Resource: adapter.Customers, Root: adapter.Customers, Attributes: []string{"email", "firstname", "lastname", "middlename", "dob", "group_id"}, Creates: true, Updates: true, Deletes: true},
		{
			Resource: adapter.CustomerAddresses, Root: adapter.Customers, HasIDs: true, ImportsParts: true,
			Attributes: []string{"firstname", "lastname", "street", "city", "postcode", "telephone", "country_id", "is_default_billing", "is_default_shipping"},
			Creates:    true, Updates: true, Deletes: true,
		},
		{Resource: adapter.Products, Root: adapter.Products, Attributes: []string{"sku", "name", "description", "price", "special_price", "special_from_date", "status", "tier_price", "stock_item"}, ViewAttributes: []string{"name", "description", "status"}, Creates: true, Updates: true, Deletes: true},
		{Resource: adapter.StockItems, Root: adapter.Products, ImportsParts: true, Attributes: []string{"qty", "manage_stock", "backorders"}, Updates: true},
		{Resource: adapter.ProductWebsites, Root: adapter.Products, MatchBy: []string{"website_id"}, ImportsParts: true, Attributes: []string{"website_id"}, Creates: true, Deletes: true},
		{Resource: adapter.ProductCategories, Root: adapter.Products, MatchBy: []string{"category_id"}, ImportsParts: true, Attributes: []string{"category_id", "position"}, Creates: true, Deletes: true},
		{Resource: adapter.ProductImages, Root: adapter.Products, HasIDs: true, Attributes: []string{"file", "label", "position"}, Creates: true, Updates: true, Deletes: true},
		{Resource: adapter.Orders, Root: adapter.Orders, Attributes: []string{"increment_id", "customer_id", "store_id", "state", "status", "grand_total", "created_at"}},
		{Resource: adapter.OrderItems, Root: adapter.Orders, HasIDs: true, ImportsParts: true, Attributes: []string{"sku", "name", "qty_ordered", "price"}},
		{Resource: adapter.OrderAddresses, Root: adapter.Orders, HasIDs: true, ImportsParts: true, Attributes: []string{"address_type", "lastname", "city"}},
	}
}

// lossy returns a value as the backend stores it.
func lossy(name string, v adapter.Value) adapter.Value {
	switch {
	case v.Empty():
		return adapter.NullValue()
	case name == "email":
		return adapter.TextValue(strings.ToLower(v.Text()))
	case name == "price", name == "special_price":
		return rounded(v, 2)
	case name == "qty":
		return rounded(v, 1)
	case v.Kind() == adapter.Records:
		list := make([]adapter.Record, len(v.Records()))
		for i, r := range v.Records() {
			list[i] = adapter.NewRecord(r.Schema)
			for at, a := range r.Schema.Attributes {
				if !a.ReadOnly {
					list[i].Values[at] = lossy(a.Name, r.Values[at])
				}
			}
		}
		return adapter.RecordsValue(list)
	default:
		return v
	}
}

func rounded(v adapter.Value, places int) adapter.Value {
	r, ok := new(big.Rat).SetString(v.Text())
	if !ok {
		return v
	}
	r, _ = new(big.Rat).SetString(r.FloatString(places))
	return adapter.TextValue(r.FloatString(4))
}

// call counts a call and runs it between the hooks that may fail it.
func (m *memoryBackend) call(ctx context.Context, name string, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	m.calls[name]++
	before, after := m.before, m.after
	m.mu.Unlock()
	if before != nil {
		if err := before(ctx, name); err != nil {
			return err
		}
	}
	m.mu.Lock()
	err := do()
	m.mu.Unlock()
	if err == nil && after != nil {
		err = after(ctx, name)
	}
	return err
}

// fail makes the named calls fail, before or after they are done.
func (m *memoryBackend) fail(name string, before, after error) {
	on := func(err error) func(context.Context, string) error {
		return func(_ context.Context, call string) error {
			if call == name {
				return err
			}
			return nil
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before, m.after = on(before), on(after)
}

func (m *memoryBackend) clearFaults() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before, m.after = nil, nil
}

func (m *memoryBackend) callCount(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls[name]
}

func memoryError(kind adapter.ErrorKind, field string) error {
	return &adapter.Error{Kind: kind, Op: "memory", Field: field}
}

func (m *memoryBackend) Name() string                         { return "memory" }
func (m *memoryBackend) Resources() []replica.BackendResource { return m.resources }
func (m *memoryBackend) Ping(context.Context) error           { return nil }

func (m *memoryBackend) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

func (m *memoryBackend) resource(r adapter.Resource) *replica.BackendResource {
	return &m.resources[slices.IndexFunc(m.resources, func(res replica.BackendResource) bool { return res.Resource == r })]
}

func (m *memoryBackend) Fetch(ctx context.Context, root adapter.Resource, ids []string) (docs []replica.Document, err error) {
	err = m.call(ctx, "Fetch "+string(root), func() error {
		for _, id := range ids {
			if d := m.docs[root][id]; d != nil {
				docs = append(docs, m.document(d))
			}
		}
		return nil
	})
	return docs, err
}

func (m *memoryBackend) Scan(ctx context.Context, root adapter.Resource, since time.Time, found func([]replica.Document) error) error {
	var docs []replica.Document
	var incomplete error
	err := m.call(ctx, "Scan "+string(root), func() error {
		for _, id := range slices.Sorted(maps.Keys(m.docs[root])) {
			switch d := m.docs[root][id]; {
			case id == m.unlisted:
				list := &replica.IncompleteListError{Listed: len(docs), Distinct: len(docs), Total: int64(len(m.docs[root]))}
				incomplete = &adapter.Error{Kind: adapter.Unavailable, Op: "scan", Err: list}
			case !d.changed.Before(since):
				docs = append(docs, m.document(d))
			}
		}
		return nil
	})
	for batch := range slices.Chunk(docs, 3) {
		if err == nil {
			err = found(batch)
		}
	}
	return cmp.Or(err, incomplete)
}

func (m *memoryBackend) Find(ctx context.Context, root adapter.Resource, key adapter.Key, record adapter.Record) (doc replica.Document, err error) {
	err = m.call(ctx, "Find "+string(root), func() error {
		if m.withoutKeys && m.findsBy == "" {
			return memoryError(adapter.Unsupported, "")
		}
		for _, d := range m.docs[root] {
			if !m.withoutKeys && d.key == key || m.findsBy != "" && d.record.Get(m.findsBy).Equal(lossy(m.findsBy, record.Get(m.findsBy))) {
				doc = m.document(d)
				return nil
			}
		}
		return memoryError(adapter.NotFound, "")
	})
	return doc, err
}

// put stores the named attributes of r in an item.
func (m *memoryBackend) put(i *memoryItem, r adapter.Record, names []string) {
	for _, name := range names {
		at, _ := r.Schema.Index(name)
		if nested := r.Schema.Attributes[at].Nested; nested == nil || nested.Resource != adapter.StockItems {
			i.record.Set(name, lossy(name, r.Get(name)))
		}
	}
}

// memoryStores are the store views of the backend.
var memoryStores = []adapter.Key{1, 2, 3}

// putViews stores the values of store views.
func (d *memoryDoc) putViews(writes []replica.ViewWrite) {
	d.views = maps.Clone(d.views)
	if d.views == nil {
		d.views = replica.Views{}
	}
	for _, w := range writes {
		view := adapter.NewRecord(w.New.Schema)
		if before, known := d.views[w.Store]; known {
			view = before.Clone()
		}
		for _, name := range w.Changed {
			view.Set(name, w.New.Get(name))
		}
		d.views[w.Store] = view
	}
}

// viewsOf returns the values at all store views of a product, nil for another resource.
func (m *memoryBackend) viewsOf(d *memoryDoc) replica.Views {
	names := m.resource(d.record.Schema.Resource).ViewAttributes
	if names == nil {
		return nil
	}
	all := replica.Views{}
	for _, store := range memoryStores {
		all[store] = adapter.NewRecord(d.record.Schema)
		for _, name := range names {
			v := adapter.NullValue()
			// A value that equals the default one cannot be told from an inherited one.
			if own, known := d.views[store]; known && own.Get(name).Kind() != adapter.Absent && !own.Get(name).Equal(d.record.Get(name)) {
				v = own.Get(name)
			}
			all[store].Set(name, v)
		}
	}
	return all
}

// putStock stores the stock item of a product in its document.
func (m *memoryBackend) putStock(d *memoryDoc, product adapter.Record, names []string) {
	items := product.Get("stock_item").Records()
	if !slices.Contains(names, "stock_item") || len(items) == 0 {
		return
	}
	item := memoryItem{record: adapter.NewRecord(items[0].Schema)}
	m.put(&item, items[0], m.resource(adapter.StockItems).Attributes)
	d.parts[adapter.StockItems] = []memoryItem{item}
}

func (m *memoryBackend) newID(prefix string) string {
	m.next++
	return fmt.Sprintf("%s_%02d", prefix, m.next)
}

// checkRoot checks the root's record in the write of a part: the SKU or e-mail address is that of the document.
// A root's write has none.
func (m *memoryBackend) checkRoot(w *replica.Write) error {
	root, isPart := m.resource(w.Resource).Root, w.RootKey != 0
	if isPart != (w.Root.Schema != nil) || isPart && (w.Root.Schema.Resource != root || w.Root.Key() != w.RootKey) {
		return fmt.Errorf("unexpected root: %+v", w)
	}
	if d := m.docs[root][w.RootID]; isPart && d != nil {
		for _, name := range []string{"sku", "email"} {
			if v := d.record.Get(name); !v.Empty() && !strings.EqualFold(v.Text(), w.Root.Get(name).Text()) {
				return fmt.Errorf("unexpected %s of the root: %+v, not %s", name, w, v.Text())
			}
		}
	}
	return nil
}

func (m *memoryBackend) Create(ctx context.Context, w *replica.Write) (id string, err error) {
	err = m.call(ctx, "Create "+string(w.Resource), func() error {
		res := m.resource(w.Resource)
		if err := m.checkRoot(w); err != nil {
			return err
		}
		if !res.Creates || w.ID != "" || w.Old.Schema != nil || !slices.Equal(w.Changed, res.Attributes) {
			return fmt.Errorf("unexpected: %+v", w)
		}
		item := memoryItem{key: w.Key, record: adapter.NewRecord(w.New.Schema)}
		m.put(&item, w.New, w.Changed)
		m.created = append(m.created, fmt.Sprintf("%s %d", w.Resource, w.Key))
		if w.Resource == adapter.ProductImages {
			m.files[w.Key] = w.New.Get("content").Text()
		}
		if res.Root == res.Resource {
			item.id = m.newID(string(res.Resource[:4]))
			d := &memoryDoc{memoryItem: item, parts: map[adapter.Resource][]memoryItem{}, changed: time.Now()}
			m.putStock(d, w.New, w.Changed)
			d.putViews(w.Views)
			id = d.id
			return m.add(res.Resource, d)
		}
		d := m.docs[res.Root][w.RootID]
		if d == nil {
			return memoryError(adapter.NotFound, "")
		}
		if res.HasIDs {
			item.id = m.newID("part")
		}
		for _, p := range d.parts[w.Resource] {
			for _, name := range res.MatchBy {
				if p.record.Get(name).Int() == item.record.Get(name).Int() {
					return memoryError(adapter.Conflict, name)
				}
			}
		}
		d.parts[w.Resource] = append(d.parts[w.Resource], item)
		m.clearOtherDefaults(d, item)
		d.changed, id = time.Now(), item.id
		if want := len(d.parts[w.Resource]); len(w.Siblings) < want && res.MatchBy != nil {
			return fmt.Errorf("unexpected siblings of %d: %+v", want, w.Siblings)
		}
		return nil
	})
	return id, err
}

// add stores a document, unless another has its e-mail address or SKU.
func (m *memoryBackend) add(r adapter.Resource, d *memoryDoc) error {
	for _, name := range []string{"email", "sku"} {
		for _, other := range m.docs[r] {
			if v := d.record.Get(name); !v.Empty() && v.Text() == other.record.Get(name).Text() {
				return memoryError(adapter.Conflict, name)
			}
		}
	}
	if m.docs[r] == nil {
		m.docs[r] = map[string]*memoryDoc{}
	}
	m.docs[r][d.id] = d
	return nil
}

// clearOtherDefaults clears the flags that an address has on the customer's other
// addresses.
func (m *memoryBackend) clearOtherDefaults(d *memoryDoc, item memoryItem) {
	for i := range d.parts[adapter.CustomerAddresses] {
		other := &d.parts[adapter.CustomerAddresses][i]
		for _, name := range []string{"is_default_billing", "is_default_shipping"} {
			if other.id != item.id && item.record.Get(name).Int() == 1 {
				other.record = other.record.Clone()
				other.record.Set(name, adapter.IntegerValue(0))
			}
		}
	}
}

// find returns the document and the item that a write concerns, and the item's index.
func (m *memoryBackend) find(w *replica.Write) (*memoryDoc, *memoryItem, int) {
	res := m.resource(w.Resource)
	if res.Root == res.Resource {
		d := m.docs[res.Root][w.ID]
		if d == nil {
			return nil, nil, -1
		}
		return d, &d.memoryItem, -1
	}
	d := m.docs[res.Root][w.RootID]
	if d == nil {
		return nil, nil, -1
	}
	for i := range d.parts[w.Resource] {
		item := &d.parts[w.Resource][i]
		same := !slices.ContainsFunc(res.MatchBy, func(name string) bool { return item.record.Get(name).Int() != w.Old.Get(name).Int() })
		if res.HasIDs && item.id == w.ID || !res.HasIDs && same {
			return d, item, i
		}
	}
	return d, nil, -1
}

func (m *memoryBackend) Update(ctx context.Context, w *replica.Write) error {
	return m.call(ctx, "Update "+string(w.Resource), func() error {
		if err := m.checkRoot(w); err != nil {
			return err
		}
		d, item, _ := m.find(w)
		if item == nil {
			return memoryError(adapter.NotFound, "")
		}
		if len(w.Changed)+len(w.Views) == 0 {
			return errors.New("an update without changes")
		}
		item.record = item.record.Clone()
		m.put(item, w.New, w.Changed)
		m.putStock(d, w.New, w.Changed)
		m.clearOtherDefaults(d, *item)
		d.putViews(w.Views)
		d.changed = time.Now()
		return nil
	})
}

func (m *memoryBackend) Delete(ctx context.Context, w *replica.Write) error {
	return m.call(ctx, "Delete "+string(w.Resource), func() error {
		if err := m.checkRoot(w); err != nil {
			return err
		}
		d, item, at := m.find(w)
		switch {
		case item == nil:
			return memoryError(adapter.NotFound, "")
		case at < 0:
			delete(m.docs[w.Resource], d.id)
			m.detachOrders(w)
		default:
			d.parts[w.Resource] = slices.Delete(slices.Clone(d.parts[w.Resource]), at, at+1)
			d.changed = time.Now()
		}
		return nil
	})
}

// detachOrders clears the customer of orders whose customer was deleted.
func (m *memoryBackend) detachOrders(w *replica.Write) {
	for _, order := range m.docs[adapter.Orders] {
		if w.Resource == adapter.Customers && order.record.Get("customer_id").Int() == int64(w.Key) {
			order.record = order.record.Clone()
			order.record.Set("customer_id", adapter.NullValue())
		}
	}
}
