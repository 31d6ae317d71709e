package mapping

import (
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// A websiteAssigner assigns a product to websites (product_parts 3.3 and 3.4). It checks
// the items against the websites that the product was in when the call began; the store
// refuses an assignment that concurrent changes have made invalid.
type websiteAssigner struct {
	*Service
	call     *Call
	shop     *shopConfig
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
func (s *Service) newWebsiteAssigner(ctx context.Context, c *Call) (*websiteAssigner, error) {
	a := &websiteAssigner{Service: s, call: c}
	var err error
	if a.product, err = s.websitesProductID(ctx, c); err != nil {
		return nil, err
	}
	if a.shop, err = s.shops.current(ctx); err != nil {
		return nil, err
	}
	copies := 0
	for _, item := range a.items() {
		if n, sent := item.Get("copy_to_stores"); sent {
			copies += len(n.Members)
		}
	}
	if copies > maxCopies {
		return nil, s.dialect.Fault(contract.RequestInvalid)
	}
	return a, a.loadAssigned(ctx)
}

// items returns the items to be assigned, with only the fields that the caller may write.
func (a *websiteAssigner) items() []codec.Node {
	if !a.call.List {
		return []codec.Node{a.call.Body}
	}
	items := make([]codec.Node, len(a.call.Body.Members))
	for i := range items {
		items[i] = codec.RecordNode(a.writableMembers(a.call, a.call.Body.Members[i].Value.Members)...)
	}
	return items
}

func (a *websiteAssigner) loadAssigned(ctx context.Context) error {
	wanted := productWebsiteList(a.product)
	wanted.Query.Limit = a.settings.MaxRows
	assignments, err := a.productWebsites.all(ctx, &wanted)
	a.assigned = make(map[int64]bool, len(assignments))
	for _, assignment := range assignments {
		a.assigned[assignment.Get("website_id").Int()] = true
	}
	return err
}

// check returns the assignment that an item requests, or all its faults.
func (a *websiteAssigner) check(item *codec.Node) (adapter.Record, contract.Faults) {
	var website int64
	sent, ok := item.Get("website_id")
	if ok {
		website, ok = integerPart(sent)
	}
	switch {
	case !ok:
		return adapter.Record{}, contract.Faults{a.dialect.Fault(contract.WebsiteIDInvalid)}
	case !a.shop.hasWebsite(website):
		return adapter.Record{}, contract.Faults{a.dialect.Fault(contract.WebsiteUnknown, website)}
	case a.assigned[website]:
		return adapter.Record{}, contract.Faults{a.dialect.Fault(contract.WebsiteAssigned, a.product, website)}
	}
	assignment := adapter.NewRecord(a.productWebsites.schema)
	assignment.Set("product_id", adapter.IntegerValue(a.product))
	assignment.Set("website_id", adapter.IntegerValue(website))
	return assignment, a.checkCopies(assignment, website, item)
}

// checkCopies adds the copies that item requests to the assignment.
func (a *websiteAssigner) checkCopies(assignment adapter.Record, website int64, item *codec.Node) (faults contract.Faults) {
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
		if from.fault == nil && !a.copySources[from.view.websiteID] {
			from.setFault(a.dialect.Fault(contract.CopyFromForeign, from.view.id, a.product))
		}
		to := a.readCopyStore(entry, "store_to", website, contract.CopyToInvalid)
		if to.fault == nil && to.view.websiteID != website {
			to.setFault(a.dialect.Fault(contract.CopyToForeign, to.view.id, website))
		}
		for _, store := range []copyStore{from, to} {
			if store.fault != nil {
				faults = append(faults, *store.fault)
			}
			canonical = canonical && store.canonical
		}
		r := adapter.NewRecord(nested)
		r.Set("store_from", adapter.IntegerValue(from.view.id))
		r.Set("store_to", adapter.IntegerValue(to.view.id))
		copies = append(copies, r)
	}
	// The original crashes when it copies, which it does only if there are no faults.
	if len(faults) == 0 && !canonical && a.dialect.PlainStoreIDs {
		return contract.Faults{a.dialect.Fault(contract.CopyStoreMisspelled)}
	}
	assignment.Set("copies", adapter.RecordsValue(copies))
	if a.dialect.CopiesWebsiteValues {
		assignment.Set("copy_website_values", adapter.IntegerValue(1))
	}
	return faults
}

// A copyStore is the store view from which or to which values are copied.
type copyStore struct {
	view      storeView
	canonical bool // whether the id was sent as a number or in its canonical digits
	fault     *contract.Fault
}

func (e *copyStore) setFault(fault contract.Fault) { e.fault = &fault }

// readCopyStore parses the source or target of a copy for a website that is being
// assigned.
func (a *websiteAssigner) readCopyStore(entry *codec.Node, field string, website int64, invalid contract.FaultKey) copyStore {
	store := copyStore{canonical: true}
	sent, ok := entry.Get(field)
	var id int64
	if ok {
		id, ok = integerPart(sent)
	}
	if ok && sent.Kind == codec.Text {
		number, _ := numeric.Parse(sent.Text)
		ok = a.dialect.PlainStoreIDs || number == math.Trunc(number)
		store.canonical = sent.Text == strconv.FormatInt(id, 10)
	}
	if !ok {
		store.setFault(a.dialect.Fault(invalid, website))
		return store
	}
	if store.view, ok = a.shop.view(id); !ok {
		store.setFault(a.dialect.Fault(contract.CopyStoreUnknown, id, website))
	}
	return store
}

// assign checks an item and assigns the product to its website. If the error is
// contract.Faults, it does not include the summary fault.
func (a *websiteAssigner) assign(ctx context.Context, item *codec.Node) (website int64, err error) {
	for range maxAttempts {
		assignment, faults := a.check(item)
		if len(faults) > 0 {
			return 0, faults
		}
		website = assignment.Get("website_id").Int()
		_, err = a.productWebsites.store.Create(ctx, &adapter.CreateParams{Record: assignment})
		switch {
		case err == nil, isStoreError(err, adapter.Conflict, "website_id"):
			first := len(a.assigned) == 0
			a.assigned[website] = true
			if err == nil {
				if first && a.dialect.URLKeyByWebsite {
					a.generateURLKey(ctx)
				}
				return website, nil
			}
		case isStoreError(err, adapter.Invalid, "copies"):
			if err := a.loadAssigned(ctx); err != nil {
				return 0, err
			}
			maps.DeleteFunc(a.copySources, func(website int64, _ bool) bool { return !a.assigned[website] })
		case isStoreError(err, adapter.Invalid, "product_id"):
			return 0, a.dialect.Fault(a.call.Route.NotFound, a.call.Param("product_id"))
		default:
			return 0, err
		}
	}
	return 0, err
}

// generateURLKey gives a product that has just got its first website the url_key that
// could not be generated before (products 6). A failure is only logged; the assignment
// remains.
func (a *websiteAssigner) generateURLKey(ctx context.Context) {
	err := a.products.store.Update(ctx, &adapter.UpdateParams{
		Key: adapter.Key(a.product),
		Change: func(current adapter.Record) (adapter.Record, error) {
			next := adapter.NewRecord(current.Schema)
			if isUnset(current.Get("url_key")) {
				if key := a.products.writes.urlKeys.generate(current.Get("name").Text()); key != "" {
					next.Set("url_key", adapter.TextValue(key))
				}
			}
			return next, nil
		},
	})
	if err != nil {
		a.logFailure(ctx, a.call.Name(), "url_key not generated", err)
	}
}

// singleFaults returns the error of a single assignment. All faults but a 404 are
// followed by a summary.
func (a *websiteAssigner) singleFaults(err error) error {
	var faults contract.Faults
	if !errors.As(err, &faults) || faults[0].Bare || faults[0].Code == http.StatusNotFound {
		return err
	}
	return append(faults, a.dialect.Fault(contract.PreValidation))
}

func (a *websiteAssigner) newBatch() *batchReply {
	product := codec.TextNode(strconv.FormatInt(a.product, 10))
	return &batchReply{idField: "website_id", extraMembers: []codec.Member{{Key: "product_id", Value: product}}}
}

// assignMany assigns the product to several websites, one after the other. A failure
// neither stops nor undoes the others. The exception is an item on which the original
// crashes: then nothing is written (product_parts 3.3).
func (a *websiteAssigner) assignMany(ctx context.Context) (*Reply, error) {
	items := a.items()
	if err := a.dryRun(items); err != nil {
		return nil, err
	}
	batch := a.newBatch()
	for i := range items {
		website, err := a.assign(ctx, &items[i])
		if err == nil {
			batch.succeed(website, a.dialect.Fault(contract.ItemUpdated))
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
				batch.fail(sent, fault)
			}
		case errors.As(err, &single):
			return nil, err // the product has been deleted
		case ctx.Err() != nil:
			return nil, ctx.Err()
		default:
			a.logFailure(ctx, a.call.Name(), "assignment failed", err)
			batch.fail(sent, a.dialect.Fault(contract.InternalError))
		}
	}
	return &Reply{Status: http.StatusMultiStatus, Body: batch.body()}, nil
}

// dryRun returns an error if the original would crash on one of the items.
func (a *websiteAssigner) dryRun(items []codec.Node) error {
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
