package replica

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// A resourcePlan is a BackendResource prepared for use.
type resourcePlan struct {
	BackendResource
	schema        *adapter.Schema
	store         adapter.Store   // the local replica's
	root          *resourcePlan   // of a part; a root is its own root
	parts         []*resourcePlan // of a root
	rootAttribute string          // of a part: the attribute that holds the key of its root
	owned         []bool          // by attribute index: the attribute is backend-owned
	importable    []bool          // by attribute index: a backend value can be stored in the replica
	ownResource   []bool          // by attribute index: the nested records are a resource of their own
	// onDemand names the backend-owned attributes that records hold on demand only.
	onDemand []string
	// exclusive names the attributes that only one part of a root can have.
	exclusive []string
	// readOnly: clients cannot write the records, so Replica.UpdateReadOnly does.
	readOnly bool
}

// newPlans prepares the resources that a backend declares. It returns them by name and in
// their order.
func newPlans(replica Replica, backend Backend, schemas *adapter.Schemas) (plans map[adapter.Resource]*resourcePlan, ordered []*resourcePlan, err error) {
	plans = map[adapter.Resource]*resourcePlan{}
	var res BackendResource
	invalid := func(field, format string, args ...any) error {
		return &adapter.Error{Kind: adapter.Invalid, Op: fmt.Sprintf("open %s: %s", backend.Name(), res.Resource), Field: field, Err: fmt.Errorf(format, args...)}
	}
	for _, res = range backend.Resources() {
		schema := schemas.Of(res.Resource)
		if schema == nil || plans[res.Resource] != nil {
			return nil, nil, invalid("", "not a resource, or declared twice")
		}
		if res.ImportsParts && schema.HasFile {
			return nil, nil, invalid("", "%s cannot be imported, as their bytes are not transferred: leave adopts out", res.Resource)
		}
		store, err := replica.Store(res.Resource)
		if err != nil {
			return nil, nil, err
		}
		plan := &resourcePlan{BackendResource: res, schema: schema, store: store, owned: make([]bool, len(schema.Attributes)), importable: make([]bool, len(schema.Attributes)), ownResource: make([]bool, len(schema.Attributes))}
		plan.readOnly = !slices.ContainsFunc(schema.Attributes, func(a adapter.Attribute) bool { return !a.ReadOnly })
		for _, a := range schema.Attributes {
			if a.Exclusive {
				plan.exclusive = append(plan.exclusive, a.Name)
			}
		}
		for _, name := range append(slices.Clone(res.MatchBy), res.Attributes...) {
			if _, ok := schema.Index(name); !ok {
				return nil, nil, invalid(name, "no such attribute")
			}
		}
		for _, name := range res.Attributes {
			at, _ := schema.Index(name)
			plan.owned[at] = true
		}
		plan.onDemand = plan.onDemandOf(res.Attributes)
		if res.Root == res.Resource {
			plan.root = plan
		} else {
			plan.root, plan.rootAttribute = plans[res.Root], schema.RootAttribute
			if plan.root == nil || !plan.root.isRoot() || res.Root != schema.Root {
				return nil, nil, invalid("", "its root %q must be %q, and declared before it", res.Root, schema.Root)
			}
			plan.root.parts = append(plan.root.parts, plan)
		}
		plans[res.Resource], ordered = plan, append(ordered, plan)
	}
	for _, plan := range ordered {
		res = plan.BackendResource
		for i := range plan.schema.Attributes {
			nested := plan.schema.Attributes[i].Nested // parts have records of their own
			plan.ownResource[i] = nested != nil && schemas.Of(nested.Resource) != nil
			if nested != nil && plans[nested.Resource] != nil && !plan.owned[i] {
				return nil, nil, invalid(plan.schema.Attributes[i].Name, "the backend owns %s, which are also written through this attribute: declare it as backend-owned", nested.Resource)
			}
			plan.importable[i] = plan.canImport(i) && (nested == nil || plans[nested.Resource] == nil)
		}
	}
	return plans, ordered, nil
}

// canImport reports whether a backend value of the attribute can be stored in an existing
// record of the local replica.
func (plan *resourcePlan) canImport(at int) bool {
	a := &plan.schema.Attributes[at]
	switch {
	case a.Name == plan.schema.Key, a.Name == plan.rootAttribute, a.WriteOnly, slices.Contains(plan.MatchBy, a.Name):
		return false
	default:
		return plan.readOnly && !a.OnDemand || !a.ReadOnly && !a.Fixed
	}
}

func (plan *resourcePlan) isRoot() bool { return plan.root == plan }

// hasMappings reports whether the records have mappings. Parts without ids have none.
func (plan *resourcePlan) hasMappings() bool { return plan.isRoot() || plan.HasIDs }

// keyOf returns the key of a record.
func keyOf(r adapter.Record) adapter.Key { return adapter.Key(r.Get(r.Schema.Key).Int()) }

// rootKeyOf returns the key of the root that a record belongs to.
func (plan *resourcePlan) rootKeyOf(r adapter.Record) adapter.Key {
	if plan.isRoot() {
		return keyOf(r)
	}
	return adapter.Key(r.Get(plan.rootAttribute).Int())
}

// changedAttributes returns the backend-owned attributes in which two records differ.
func (rc *reconciler) changedAttributes(plan *resourcePlan, before, after adapter.Record) []string {
	var names []string
	for i, v := range after.Values {
		if plan.owned[i] && !rc.sameOwned(&plan.schema.Attributes[i], before.Values[i], v) {
			names = append(names, plan.schema.Attributes[i].Name)
		}
	}
	return names
}

// sameOwned reports whether two values are equal in what the backend owns: of nested
// records that are parts, only their backend-owned attributes are compared.
func (rc *reconciler) sameOwned(attribute *adapter.Attribute, v, w adapter.Value) bool {
	if attribute.Nested == nil || rc.plans[attribute.Nested.Resource] == nil {
		return sameValue(v, w)
	}
	part := rc.plans[attribute.Nested.Resource]
	return slices.EqualFunc(v.Records(), w.Records(), func(v, w adapter.Record) bool {
		return len(rc.changedAttributes(part, v, w)) == 0
	})
}

// nestedResources returns the backend resources whose records are values of these
// attributes.
func (rc *reconciler) nestedResources(plan *resourcePlan, names []string) []adapter.Resource {
	var nested []adapter.Resource
	for _, name := range names {
		at, _ := plan.schema.Index(name)
		if n := plan.schema.Attributes[at].Nested; n != nil && rc.plans[n.Resource] != nil {
			nested = append(nested, n.Resource)
		}
	}
	return nested
}

// matchKey returns the values of MatchBy, which distinguish a part without an id from the
// others of its root. ok is false if one of them is empty.
func (plan *resourcePlan) matchKey(r adapter.Record) (matchKey string, ok bool) {
	texts := make([]string, len(plan.MatchBy))
	for i, name := range plan.MatchBy {
		v := r.Get(name)
		if v.Empty() {
			return "", false
		}
		texts[i] = strconv.Quote(v.Text())
	}
	return strings.Join(texts, ","), true
}

// onDemandOf returns the on-demand attributes among names.
func (plan *resourcePlan) onDemandOf(names []string) (onDemand []string) {
	for _, name := range names {
		if at, ok := plan.schema.Index(name); ok && plan.schema.Attributes[at].OnDemand {
			onDemand = append(onDemand, name)
		}
	}
	return onDemand
}

// get returns a record of the local replica at the default scope, with all backend-owned
// attributes and the given on-demand ones.
func (plan *resourcePlan) get(ctx context.Context, key adapter.Key, onDemand ...string) (adapter.Record, error) {
	return plan.store.Get(ctx, &adapter.GetParams{Key: key, With: slices.Concat(plan.onDemand, onDemand)})
}

// query queries the local replica and applies what its store left undone, so that only
// returned records are compared with the backend.
func (plan *resourcePlan) query(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	found, err := plan.store.List(ctx, p)
	if err != nil || !found.Partial {
		return found, err
	}
	page, total, err := adapter.Apply(ctx, plan.schema, found.Records, &p.Query)
	switch {
	case err != nil && adapter.KindOf(err) == adapter.Invalid:
		return found, nil // the caller's own Apply fails in the same way
	case err != nil:
		return nil, err
	case p.Count:
		return &adapter.ListResult{Total: total}, nil
	default:
		return &adapter.ListResult{Records: page}, nil
	}
}

// list returns all records of the local replica that a query selects.
func (plan *resourcePlan) list(ctx context.Context, p *adapter.ListParams) ([]adapter.Record, error) {
	found, err := plan.query(ctx, p)
	if err != nil {
		return nil, err
	}
	return found.Records, nil
}

// listParts returns the parts of a root from the local replica, sorted by key, as a store
// view shows them, with all backend-owned attributes.
func (plan *resourcePlan) listParts(ctx context.Context, rootKey adapter.Key, storeID int64) ([]adapter.Record, error) {
	q := adapter.Query{Where: []adapter.Condition{keyCondition(plan.rootAttribute, adapter.Eq, rootKey)}}
	return plan.list(ctx, &adapter.ListParams{Query: q, StoreID: storeID, With: plan.onDemand})
}
