package replica

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// A keeping is what the backend keeps of a resource, worked out.
type resourcePlan struct {
	BackendResource
	schema      *adapter.Schema
	store       adapter.Store   // the side's
	root        *resourcePlan   // of a part; itself of a root
	parts       []*resourcePlan // of a root
	owned       []bool          // by place in the schema: the backend keeps the attribute
	importable  []bool          // by place in the schema: what the backend says can be stored
	ownResource []bool          // by place in the schema: its records are those of a resource
	// onDemand names the kept attributes that records hold on demand alone.
	onDemand []string
	// amends: clients do not write the records, so the side is amended.
	readOnly bool
}

// plan works out what a backend keeps.
func newPlans(replica Replica, backend Backend, schemas *adapter.Schemas) (map[adapter.Resource]*resourcePlan, []*resourcePlan, error) {
	kept, roots := map[adapter.Resource]*resourcePlan{}, []*resourcePlan{}
	for _, res := range backend.Resources() {
		op := fmt.Sprintf("open %s: %s", backend.Name(), res.Resource)
		wrong := func(field string, format string, args ...any) error {
			return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: field, Err: fmt.Errorf(format, args...)}
		}
		schema := schemas.Of(res.Resource)
		if schema == nil || kept[res.Resource] != nil {
			return nil, nil, wrong("", "no resource, or kept twice")
		}
		if res.ImportsParts && res.Resource == adapter.ProductImages {
			return nil, nil, wrong("", "images are not taken over, as their bytes are not: leave adopts out")
		}
		store, err := replica.Store(res.Resource)
		if err != nil {
			return nil, nil, err
		}
		one := &resourcePlan{BackendResource: res, schema: schema, store: store, owned: make([]bool, len(schema.Attributes)), importable: make([]bool, len(schema.Attributes)), ownResource: make([]bool, len(schema.Attributes))}
		one.readOnly = !slices.ContainsFunc(schema.Attributes, func(a adapter.Attribute) bool { return !a.ReadOnly })
		for _, name := range append(slices.Clone(res.MatchBy), res.Attributes...) {
			if _, ok := schema.Index(name); !ok {
				return nil, nil, wrong(name, "no such attribute")
			}
		}
		for _, name := range res.Attributes {
			at, _ := schema.Index(name)
			one.owned[at] = true
			if schema.Attributes[at].OnDemand {
				one.onDemand = append(one.onDemand, name)
			}
		}
		if res.Root == res.Resource {
			one.root = one
			roots = append(roots, one)
		} else {
			root := kept[res.Root]
			if root == nil || root.root != root {
				return nil, nil, wrong("", "part of %q, which is no root before it", res.Root)
			}
			if _, ok := schema.Index(res.RootAttribute); !ok {
				return nil, nil, wrong(res.RootAttribute, "no such attribute to name the owner")
			}
			one.root = root
			root.parts = append(root.parts, one)
		}
		kept[res.Resource] = one
	}
	for _, plan := range kept {
		for i := range plan.schema.Attributes {
			nested := plan.schema.Attributes[i].Nested // a part has records of its own
			plan.ownResource[i] = nested != nil && schemas.Of(nested.Resource) != nil
			if nested != nil && kept[nested.Resource] != nil && !plan.owned[i] {
				return nil, nil, &adapter.Error{
					Kind: adapter.Invalid, Op: fmt.Sprintf("open %s: %s", backend.Name(), plan.Resource), Field: plan.schema.Attributes[i].Name,
					Err: fmt.Errorf("the backend keeps %s, which are written through this attribute, too: keep it as well", nested.Resource),
				}
			}
			plan.importable[i] = plan.canImport(i) && (nested == nil || kept[nested.Resource] == nil)
		}
	}
	return kept, roots, nil
}

// canTake reports whether the side can store what the backend says of the attribute at
// a place, of a record that is there.
func (plan *resourcePlan) canImport(at int) bool {
	a := &plan.schema.Attributes[at]
	switch {
	case a.Name == plan.schema.Key, a.Name == plan.RootAttribute, a.WriteOnly, slices.Contains(plan.MatchBy, a.Name):
		return false
	default:
		return plan.readOnly && !a.OnDemand || !a.ReadOnly && !a.Fixed
	}
}

func (plan *resourcePlan) isRoot() bool { return plan.root == plan }

// keyOf returns the key of a record.
func keyOf(r adapter.Record) adapter.Key { return adapter.Key(r.Get(r.Schema.Key).Int()) }

// rootOf returns the key of the root of a record.
func (plan *resourcePlan) rootKeyOf(r adapter.Record) adapter.Key {
	if plan.isRoot() {
		return keyOf(r)
	}
	return adapter.Key(r.Get(plan.RootAttribute).Int())
}

// differing returns the kept attributes in which two records differ.
func (a *Adapter) changedAttributes(plan *resourcePlan, before, after adapter.Record) []string {
	var names []string
	for i, v := range after.Values {
		if plan.owned[i] && !a.sameOwned(&plan.schema.Attributes[i], before.Values[i], v) {
			names = append(names, plan.schema.Attributes[i].Name)
		}
	}
	return names
}

// sameKept compares what the backend keeps of two values: of records that are parts,
// only what it keeps of those.
func (a *Adapter) sameOwned(attribute *adapter.Attribute, v, w adapter.Value) bool {
	if attribute.Nested == nil || a.plans[attribute.Nested.Resource] == nil {
		return sameValue(v, w)
	}
	part := a.plans[attribute.Nested.Resource]
	return slices.EqualFunc(v.Records(), w.Records(), func(v, w adapter.Record) bool {
		return len(a.changedAttributes(part, v, w)) == 0
	})
}

// nested returns the kept resources whose records are values of the attributes.
func (a *Adapter) nestedResources(plan *resourcePlan, names []string) []adapter.Resource {
	var nested []adapter.Resource
	for _, name := range names {
		at, _ := plan.schema.Index(name)
		if n := plan.schema.Attributes[at].Nested; n != nil && a.plans[n.Resource] != nil {
			nested = append(nested, n.Resource)
		}
	}
	return nested
}

// place returns what tells a part without an id from the others of its root; ok is
// false for one that does not say it.
func (plan *resourcePlan) matchKey(r adapter.Record) (place string, ok bool) {
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

// get returns a record of the side at the default scope, with all that the backend
// keeps of it.
func (plan *resourcePlan) get(ctx context.Context, key adapter.Key, onDemand ...string) (adapter.Record, error) {
	return plan.store.Get(ctx, &adapter.GetParams{Key: key, With: union(plan.onDemand, onDemand)})
}

// union returns the names of both lists.
func union(names, more []string) []string {
	all := slices.Clone(names)
	for _, name := range more {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// list returns all records of the side that a query selects.
func (plan *resourcePlan) list(ctx context.Context, p *adapter.ListParams) ([]adapter.Record, error) {
	found, err := plan.store.List(ctx, p)
	if err != nil {
		return nil, err
	}
	if !found.Partial {
		return found.Records, nil
	}
	records, _, err := adapter.Apply(ctx, plan.schema, found.Records, &p.Query)
	return records, err
}

// partsOf returns the records of a part's resource that a root has at the side, by
// key, as a level shows them, with all that the backend keeps of them.
func (plan *resourcePlan) listParts(ctx context.Context, root adapter.Key, storeID int64) ([]adapter.Record, error) {
	mine := adapter.Test{Attribute: plan.RootAttribute, Op: adapter.Eq, Operands: []string{strconv.FormatInt(int64(root), 10)}}
	return plan.list(ctx, &adapter.ListParams{Query: adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{mine}}}}, StoreID: storeID, With: plan.onDemand})
}
