package handlers

import (
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
	"github.com/portico-commerce/portico/mapping/resource"
)

// An assigner assigns a product to websites (product_parts 3.3 and 3.4). It checks the
// items against the websites that the product was in when the call began; the store
// refuses an assignment that concurrent changes have made invalid.
type assigner struct {
	*WebsiteAssignments
	call     *resource.Call
	shop     *resource.Shop
	product  int64
	assigned map[int64]bool
	// copySources are the websites that the product was in when the first copy of the
	// call was checked. The original does not read them again (product_parts 3.3).
	copySources map[int64]bool
}

const (
	// maxCopies limits the copies that one call may request.
	maxCopies = 1000
	// maxAttempts limits how often an assignment is retried after a conflict with a
	// concurrent change.
	maxAttempts = 5
)

// newWebsiteAssigner looks up the product in the path of c.
func (h *WebsiteAssignments) newWebsiteAssigner(ctx context.Context, c *resource.Call) (*assigner, error) {
	a := &assigner{WebsiteAssignments: h, call: c}
	var err error
	if a.product, err = h.websitesProductID(ctx, c); err != nil {
		return nil, err
	}
	if a.shop, err = h.shops.Current(ctx); err != nil {
		return nil, err
	}
	copies := 0
	for _, item := range a.items() {
		if n, sent := item.Get("copy_to_stores"); sent {
			copies += len(n.Members)
		}
	}
	if copies > maxCopies {
		return nil, h.Dialect.Fault(contract.RequestInvalid)
	}
	return a, a.loadAssigned(ctx)
}

// items returns the items to be assigned, with only the fields that the caller may write.
func (a *assigner) items() []codec.Node {
	if !a.call.List {
		return []codec.Node{a.call.Body}
	}
	items := make([]codec.Node, len(a.call.Body.Members))
	for i := range items {
		items[i] = codec.RecordNode(a.call.WritableMembers(a.Dialect, a.call.Body.Members[i].Value.Members)...)
	}
	return items
}

func (a *assigner) loadAssigned(ctx context.Context) error {
	wanted := productWebsiteList(a.product)
	wanted.Query.Limit = a.call.Limits.Total
	assignments, err := a.All(ctx, &wanted)
	a.assigned = make(map[int64]bool, len(assignments))
	for _, assignment := range assignments {
		a.assigned[assignment.Get("website_id").Int()] = true
	}
	return err
}

// check returns the assignment that an item requests, or all its faults.
func (a *assigner) check(item *codec.Node) (adapter.Record, contract.Faults) {
	var website int64
	sent, ok := item.Get("website_id")
	if ok {
		website, ok = input.IntegerPart(sent)
	}
	switch {
	case !ok:
		return adapter.Record{}, contract.Faults{a.Dialect.Fault(contract.WebsiteIDInvalid)}
	case !a.shop.HasWebsite(website):
		return adapter.Record{}, contract.Faults{a.Dialect.Fault(contract.WebsiteUnknown, website)}
	case a.assigned[website]:
		return adapter.Record{}, contract.Faults{a.Dialect.Fault(contract.WebsiteAssigned, a.product, website)}
	}
	assignment := adapter.NewRecord(a.Schema)
	assignment.Set("product_id", adapter.IntegerValue(a.product))
	assignment.Set("website_id", adapter.IntegerValue(website))
	return assignment, a.checkCopies(assignment, website, item)
}

// checkCopies adds the copies that item requests to the assignment.
func (a *assigner) checkCopies(assignment adapter.Record, website int64, item *codec.Node) (faults contract.Faults) {
	sent, ok := item.Get("copy_to_stores")
	if !ok || len(sent.Members) == 0 {
		return nil
	}
	at, _ := assignment.Schema.Index("copies")
	nested := assignment.Schema.Attributes[at].Nested
	var copies []adapter.Record
	canonical := true
	for i := range sent.Members {
		entry := &sent.Members[i].Value
		from := a.readCopyStore(entry, "store_from", website, contract.CopyFromInvalid)
		if from.fault == nil && a.copySources == nil {
			a.copySources = maps.Clone(a.assigned)
		}
		if from.fault == nil && !a.copySources[from.view.WebsiteID] {
			from.setFault(a.Dialect.Fault(contract.CopyFromForeign, from.view.Id, a.product))
		}
		to := a.readCopyStore(entry, "store_to", website, contract.CopyToInvalid)
		if to.fault == nil && to.view.WebsiteID != website {
			to.setFault(a.Dialect.Fault(contract.CopyToForeign, to.view.Id, website))
		}
		for _, store := range []copyStore{from, to} {
			if store.fault != nil {
				faults = append(faults, *store.fault)
			}
			canonical = canonical && store.canonical
		}
		r := adapter.NewRecord(nested)
		r.Set("store_from", adapter.IntegerValue(from.view.Id))
		r.Set("store_to", adapter.IntegerValue(to.view.Id))
		copies = append(copies, r)
	}
	// The original crashes when it copies, which it does only if there are no faults.
	if len(faults) == 0 && !canonical && a.Dialect.PlainStoreIDs {
		return contract.Faults{a.Dialect.Fault(contract.CopyStoreMisspelled)}
	}
	assignment.Set("copies", adapter.RecordsValue(copies))
	if a.Dialect.CopiesWebsiteValues {
		assignment.Set("copy_website_values", adapter.IntegerValue(1))
	}
	return faults
}

// A copyStore is the store view from which or to which values are copied.
type copyStore struct {
	view      resource.StoreView
	canonical bool // whether the id was sent as a number or in its canonical digits
	fault     *contract.Fault
}

func (e *copyStore) setFault(fault contract.Fault) { e.fault = &fault }

// readCopyStore parses the source or target of a copy for a website that is being
// assigned.
func (a *assigner) readCopyStore(entry *codec.Node, field string, website int64, invalid contract.FaultKey) copyStore {
	store := copyStore{canonical: true}
	sent, ok := entry.Get(field)
	var id int64
	if ok {
		id, ok = input.IntegerPart(sent)
	}
	if ok && sent.Kind == codec.Text {
		number, _ := codec.ParseNumber(sent.Text)
		ok = a.Dialect.PlainStoreIDs || number == math.Trunc(number)
		store.canonical = sent.Text == strconv.FormatInt(id, 10)
	}
	if !ok {
		store.setFault(a.Dialect.Fault(invalid, website))
		return store
	}
	if store.view, ok = a.shop.View(id); !ok {
		store.setFault(a.Dialect.Fault(contract.CopyStoreUnknown, id, website))
	}
	return store
}

// assign checks an item and assigns the product to its website. If the error is
// contract.Faults, it does not include the summary fault.
func (a *assigner) assign(ctx context.Context, item *codec.Node) (website int64, err error) {
	for range maxAttempts {
		assignment, faults := a.check(item)
		if len(faults) > 0 {
			return 0, faults
		}
		website = assignment.Get("website_id").Int()
		_, err = a.Store.Create(ctx, &adapter.CreateParams{Record: assignment})
		switch {
		case err == nil, resource.IsStoreError(err, adapter.Conflict, "website_id"):
			first := len(a.assigned) == 0
			a.assigned[website] = true
			if err == nil {
				if first && a.Dialect.URLKeyByWebsite {
					a.generateURLKey(ctx)
				}
				return website, nil
			}
		case resource.IsStoreError(err, adapter.Invalid, "copies"):
			if err := a.loadAssigned(ctx); err != nil {
				return 0, err
			}
			maps.DeleteFunc(a.copySources, func(website int64, _ bool) bool { return !a.assigned[website] })
		case resource.IsStoreError(err, adapter.Invalid, "product_id"):
			return 0, a.Dialect.Fault(a.call.Route.NotFound, a.call.Param("product_id"))
		default:
			return 0, err
		}
	}
	return 0, err
}

// generateURLKey gives a product that has just got its first website the url_key that
// could not be generated before (products 6). A failure is only logged; the assignment
// remains.
func (a *assigner) generateURLKey(ctx context.Context) {
	err := a.products.Store.Update(ctx, &adapter.UpdateParams{
		Key: adapter.Key(a.product),
		Change: func(current adapter.Record) (adapter.Record, error) {
			next := adapter.NewRecord(current.Schema)
			if current.Get("url_key").Empty() {
				if key := a.urlKeys.Generate(current.Get("name").Text()); key != "" {
					next.Set("url_key", adapter.TextValue(key))
				}
			}
			return next, nil
		},
	})
	if err != nil {
		resource.LogFailure(ctx, a.log, a.call.Name(), "url_key not generated", err)
	}
}

// singleFaults returns the error of a single assignment. All faults but a 404 are
// followed by a summary.
func (a *assigner) singleFaults(err error) error {
	var faults contract.Faults
	if !errors.As(err, &faults) || faults[0].Bare || faults[0].Code == http.StatusNotFound {
		return err
	}
	return append(faults, a.Dialect.Fault(contract.PreValidation))
}

func (a *assigner) newBatch() *resource.Batch {
	product := resource.IntegerNode(a.Dialect, a.product)
	return &resource.Batch{IdField: "website_id", ExtraMembers: []codec.Member{{Key: "product_id", Value: product}}}
}

// assignMany assigns the product to several websites, one after the other. A failure
// neither stops nor undoes the others. The exception is an item on which the original
// crashes: then nothing is written (product_parts 3.3).
func (a *assigner) assignMany(ctx context.Context) (*resource.Reply, error) {
	items := a.items()
	if err := a.dryRun(items); err != nil {
		return nil, err
	}
	batch := a.newBatch()
	for i := range items {
		website, err := a.assign(ctx, &items[i])
		if err == nil {
			batch.Succeed(resource.IntegerNode(a.Dialect, website), a.Dialect.Fault(contract.ItemUpdated))
			continue
		}
		var sent codec.Node
		if n, ok := items[i].Get("website_id"); ok {
			sent = *n
		}
		var faults contract.Faults
		var single contract.Fault
		switch {
		case errors.As(err, &faults):
			for _, fault := range faults {
				batch.Fail(sent, fault)
			}
		case errors.As(err, &single):
			return nil, err // the product has been deleted
		case ctx.Err() != nil:
			return nil, ctx.Err()
		default:
			resource.LogFailure(ctx, a.log, a.call.Name(), "assignment failed", err)
			batch.Fail(sent, a.Dialect.Fault(contract.InternalError))
		}
	}
	return &resource.Reply{Status: http.StatusMultiStatus, Body: batch.Body()}, nil
}

// dryRun returns an error if the original would crash on one of the items.
func (a *assigner) dryRun(items []codec.Node) error {
	dry := *a
	dry.assigned = maps.Clone(a.assigned)
	for i := range items {
		assignment, faults := dry.check(&items[i])
		switch {
		case len(faults) == 0:
			dry.assigned[assignment.Get("website_id").Int()] = true
		case faults[0].Bare:
			return faults
		}
	}
	return nil
}

// CreateProductWebsites handles POST /products/:product_id/websites, with one assignment
// or a list of them.
func (h *WebsiteAssignments) CreateProductWebsites(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	a, err := h.newWebsiteAssigner(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.List {
		return a.assignMany(ctx)
	}
	website, err := a.assign(ctx, &c.Body)
	if err != nil {
		return nil, a.singleFaults(err)
	}
	reply := resource.Created("/products/"+url.PathEscape(c.Param("product_id"))+"/websites/", adapter.Key(website))
	if c.Route.ListsSuccess(h.Dialect) {
		batch := a.newBatch()
		batch.Succeed(resource.IntegerNode(h.Dialect, website), h.Dialect.Fault(contract.ItemUpdated))
		reply.Body = batch.Body()
	}
	return reply, nil
}
