package replica

import (
	"context"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"slices"
)

// A resourcePlan is a BackendResource prepared for use.
type resourcePlan struct {
	BackendResource
	schema   *adapter.Schema
	store    adapter.Store                      // the local replica's
	writes   adapter.Store                      // the same, for the writes of clients
	all      map[adapter.Resource]*resourcePlan // of all resources
	root     *resourcePlan                      // of a part; a root is its own root
	rootKey  string                             // the attribute that holds the key of the root
	parts    []*resourcePlan                    // of a root
	onDemand []string                           // the backend-owned attributes that records hold on demand only
	// exclusive names the attributes that only one part of a root can have.
	exclusive []string
}

// newPlans prepares the resources that a backend declares. It returns them by name and in
// their order.
func newPlans(o Options) (plans map[adapter.Resource]*resourcePlan, ordered []*resourcePlan, err error) {
	plans = map[adapter.Resource]*resourcePlan{}
	backend := o.Backend
	for _, res := range backend.Resources() {
		plan := &resourcePlan{BackendResource: res, schema: o.Schemas.Of(res.Resource), all: plans}
		if plan.schema == nil || plans[res.Resource] != nil {
			return nil, nil, plan.invalid(backend, "", "not a resource, or declared twice")
		}
		plan.root, plan.rootKey = plan, plan.schema.Key
		if res.Root != res.Resource {
			plan.root, plan.rootKey = plans[res.Root], plan.schema.RootAttribute
			if plan.root == nil || !plan.root.isRoot() || res.Root != plan.schema.Root {
				return nil, nil, plan.invalid(backend, "", "its root %q must be %q, and declared before it", res.Root, plan.schema.Root)
			}
			plan.root.parts = append(plan.root.parts, plan)
		}
		if plan.store, err = o.Replica.Store(res.Resource); err == nil {
			plan.writes, err = o.Writes.Store(res.Resource)
		}
		if err != nil {
			return nil, nil, err
		}
		plan.onDemand = plan.localRecords().OnDemand(res.Attributes)
		for _, a := range plan.schema.Attributes {
			if a.Exclusive {
				plan.exclusive = append(plan.exclusive, a.Name)
			}
		}
		plans[res.Resource], ordered = plan, append(ordered, plan)
	}
	for _, plan := range ordered {
		if err := plan.check(backend); err != nil {
			return nil, nil, err
		}
	}
	return plans, ordered, nil
}

// invalid returns the error for an invalid declaration of a resource.
func (plan *resourcePlan) invalid(backend Backend, field, format string, args ...any) error {
	return &adapter.Error{Kind: adapter.Invalid, Op: fmt.Sprintf("open %s: %s", backend.Name(), plan.Resource), Field: field, Err: fmt.Errorf(format, args...)}
}

// check checks a backend's declaration of a resource.
func (plan *resourcePlan) check(backend Backend) error {
	for _, name := range slices.Concat(plan.MatchBy, plan.Attributes, slices.DeleteFunc([]string{plan.OrderedBy}, func(name string) bool { return name == "" })) {
		if _, ok := plan.schema.Index(name); !ok {
			return plan.invalid(backend, name, "no such attribute")
		}
	}
	for _, name := range plan.ViewAttributes {
		at, ok := plan.schema.Index(name)
		if !ok || !slices.Contains(plan.Attributes, name) || !plan.isRoot() || plan.schema.Attributes[at].Scope == adapter.ScopeGlobal {
			return plan.invalid(backend, name, "only backend-owned attributes of a root can have values of their own at store views")
		}
	}
	for _, a := range plan.schema.Attributes {
		if nested := plan.nested(a.Name); nested != nil && !slices.Contains(plan.Attributes, a.Name) {
			return plan.invalid(backend, a.Name, "the backend owns %s, which are also written through this attribute: declare it as backend-owned", nested.Resource)
		}
	}
	return nil
}

// nested returns the resource whose records are the values of an attribute; nil if the
// backend owns nothing of that resource, or the attribute holds no records.
func (plan *resourcePlan) nested(name string) *resourcePlan {
	if at, ok := plan.schema.Index(name); ok && plan.schema.Attributes[at].Nested != nil {
		return plan.all[plan.schema.Attributes[at].Nested.Resource]
	}
	return nil
}

// holdsParts reports whether the values of an attribute are records that exist on their own,
// as parts of the record.
func holdsParts(a *adapter.Attribute) bool { return a.Nested != nil && a.Nested.Root != "" }

// canImport reports whether a backend value of the attribute can be stored in an existing
// record of the local replica. Values that are parts are merged into their own records.
func (plan *resourcePlan) canImport(at int) bool {
	a := &plan.schema.Attributes[at]
	switch {
	case a.Name == plan.schema.Key, a.Name == plan.rootKey, a.WriteOnly, plan.nested(a.Name) != nil, slices.Contains(plan.MatchBy, a.Name):
		return false
	default:
		return plan.schema.ReadOnly() && !a.OnDemand || !a.ReadOnly && !a.Fixed
	}
}

func (plan *resourcePlan) isRoot() bool { return plan.root == plan }

// importsFile reports whether a scan imports a part that only the backend has, with its file.
func (plan *resourcePlan) importsFile(item Item) bool {
	return plan.ImportsParts && plan.schema.HasFile && item.File != nil
}

// hasMappings reports whether the records have mappings. Parts without ids have none.
func (plan *resourcePlan) hasMappings() bool { return plan.isRoot() || plan.HasIDs }

// rootKeyOf returns the key of the root that a record belongs to.
func (plan *resourcePlan) rootKeyOf(r adapter.Record) adapter.Key {
	return adapter.Key(r.Get(plan.rootKey).Int())
}

// changedAttributes returns the backend-owned attributes in which two records differ. For
// parts that are values of an attribute, it compares only their backend-owned attributes.
func (plan *resourcePlan) changedAttributes(before, after adapter.Record) []string {
	return slices.DeleteFunc(slices.Clone(plan.Attributes), func(name string) bool {
		v, w, part := before.Get(name), after.Get(name), plan.nested(name)
		if part == nil {
			return same(v, w)
		}
		return slices.EqualFunc(v.Records(), w.Records(), func(v, w adapter.Record) bool { return len(part.changedAttributes(v, w)) == 0 })
	})
}

// get returns a record of the local replica at the default scope, with all backend-owned
// attributes and the given on-demand ones.
func (plan *resourcePlan) get(ctx context.Context, key adapter.Key, onDemand ...string) (adapter.Record, error) {
	return plan.store.Get(ctx, &adapter.GetParams{Key: key, With: slices.Concat(plan.onDemand, onDemand)})
}

// localRecords are the records of the resource in the local replica.
func (plan *resourcePlan) localRecords() records {
	return records{Schema: plan.schema, Store: plan.store}
}

// findRecords returns the given keys that have records in the local replica, each with the
// key of its root.
func (plan *resourcePlan) findRecords(ctx context.Context, keys []adapter.Key) (map[adapter.Key]adapter.Key, error) {
	q := adapter.Query{Where: []adapter.Condition{keyCondition(plan.schema.Key, adapter.In, keys...)}}
	records, err := plan.localRecords().List(ctx, &adapter.ListParams{Query: q, Only: plan.withRootKey([]string{})})
	rootKeys := make(map[adapter.Key]adapter.Key, len(records))
	for _, r := range records {
		rootKeys[r.Key()] = plan.rootKeyOf(r)
	}
	return rootKeys, err
}

// listParts returns the parts of a root from the local replica, sorted by key, as shown at a
// store view, with all backend-owned attributes.
func (plan *resourcePlan) listParts(ctx context.Context, rootKey adapter.Key, storeID int64) ([]adapter.Record, error) {
	q := adapter.Query{Where: []adapter.Condition{keyCondition(plan.rootKey, adapter.Eq, rootKey)}}
	return plan.localRecords().List(ctx, &adapter.ListParams{Query: q, StoreID: storeID, With: plan.onDemand})
}

// excluding returns a query without the records of some roots.
func (plan *resourcePlan) excluding(q adapter.Query, excluded []adapter.Key) adapter.Query {
	if len(excluded) == 0 {
		return q
	}
	q.Where = append(slices.Clip(q.Where), keyCondition(plan.rootKey, adapter.NotIn, excluded...))
	return q
}
