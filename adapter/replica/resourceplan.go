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
type keeping struct {
	BackendResource
	schema *adapter.Schema
	store  adapter.Store // the side's
	root   *keeping      // of a part; itself of a root
	parts  []*keeping    // of a root
	keeps  []bool        // by place in the schema: the backend keeps the attribute
	takes  []bool        // by place in the schema: what the backend says can be stored
	apart  []bool        // by place in the schema: its records are those of a resource
	// onDemand names the kept attributes that records hold on demand alone.
	onDemand []string
	// amends: clients do not write the records, so the side is amended.
	amends bool
}

// plan works out what a backend keeps.
func plan(side Replica, backend Backend, schemas *adapter.Schemas) (map[adapter.Resource]*keeping, []*keeping, error) {
	kept, roots := map[adapter.Resource]*keeping{}, []*keeping{}
	for _, k := range backend.Resources() {
		op := fmt.Sprintf("open %s: %s", backend.Name(), k.Resource)
		wrong := func(field string, format string, args ...any) error {
			return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: field, Err: fmt.Errorf(format, args...)}
		}
		schema := schemas.Of(k.Resource)
		if schema == nil || kept[k.Resource] != nil {
			return nil, nil, wrong("", "no resource, or kept twice")
		}
		if k.ImportsParts && k.Resource == adapter.ProductImages {
			return nil, nil, wrong("", "images are not taken over, as their bytes are not: leave adopts out")
		}
		store, err := side.Store(k.Resource)
		if err != nil {
			return nil, nil, err
		}
		one := &keeping{BackendResource: k, schema: schema, store: store, keeps: make([]bool, len(schema.Attributes)), takes: make([]bool, len(schema.Attributes)), apart: make([]bool, len(schema.Attributes))}
		one.amends = !slices.ContainsFunc(schema.Attributes, func(a adapter.Attribute) bool { return !a.ReadOnly })
		for _, name := range append(slices.Clone(k.MatchBy), k.Attributes...) {
			if _, ok := schema.Index(name); !ok {
				return nil, nil, wrong(name, "no such attribute")
			}
		}
		for _, name := range k.Attributes {
			at, _ := schema.Index(name)
			one.keeps[at] = true
			if schema.Attributes[at].OnDemand {
				one.onDemand = append(one.onDemand, name)
			}
		}
		if k.Root == k.Resource {
			one.root = one
			roots = append(roots, one)
		} else {
			root := kept[k.Root]
			if root == nil || root.root != root {
				return nil, nil, wrong("", "part of %q, which is no root before it", k.Root)
			}
			if _, ok := schema.Index(k.RootAttribute); !ok {
				return nil, nil, wrong(k.RootAttribute, "no such attribute to name the owner")
			}
			one.root = root
			root.parts = append(root.parts, one)
		}
		kept[k.Resource] = one
	}
	for _, k := range kept {
		for i := range k.schema.Attributes {
			nested := k.schema.Attributes[i].Nested // a part has records of its own
			k.apart[i] = nested != nil && schemas.Of(nested.Resource) != nil
			if nested != nil && kept[nested.Resource] != nil && !k.keeps[i] {
				return nil, nil, &adapter.Error{
					Kind: adapter.Invalid, Op: fmt.Sprintf("open %s: %s", backend.Name(), k.Resource), Field: k.schema.Attributes[i].Name,
					Err: fmt.Errorf("the backend keeps %s, which are written through this attribute, too: keep it as well", nested.Resource),
				}
			}
			k.takes[i] = k.canTake(i) && (nested == nil || kept[nested.Resource] == nil)
		}
	}
	return kept, roots, nil
}

// canTake reports whether the side can store what the backend says of the attribute at
// a place, of a record that is there.
func (k *keeping) canTake(at int) bool {
	a := &k.schema.Attributes[at]
	switch {
	case a.Name == k.schema.Key, a.Name == k.RootAttribute, a.WriteOnly, slices.Contains(k.MatchBy, a.Name):
		return false
	default:
		return k.amends && !a.OnDemand || !a.ReadOnly && !a.Fixed
	}
}

func (k *keeping) isRoot() bool { return k.root == k }

// keyOf returns the key of a record.
func keyOf(r adapter.Record) adapter.Key { return adapter.Key(r.Get(r.Schema.Key).Int()) }

// rootOf returns the key of the root of a record.
func (k *keeping) rootOf(r adapter.Record) adapter.Key {
	if k.isRoot() {
		return keyOf(r)
	}
	return adapter.Key(r.Get(k.RootAttribute).Int())
}

// differing returns the kept attributes in which two records differ.
func (a *Adapter) differing(k *keeping, before, after adapter.Record) []string {
	var names []string
	for i, v := range after.Values {
		if k.keeps[i] && !a.sameKept(&k.schema.Attributes[i], before.Values[i], v) {
			names = append(names, k.schema.Attributes[i].Name)
		}
	}
	return names
}

// sameKept compares what the backend keeps of two values: of records that are parts,
// only what it keeps of those.
func (a *Adapter) sameKept(attribute *adapter.Attribute, v, w adapter.Value) bool {
	if attribute.Nested == nil || a.kept[attribute.Nested.Resource] == nil {
		return same(v, w)
	}
	part := a.kept[attribute.Nested.Resource]
	return slices.EqualFunc(v.Records(), w.Records(), func(v, w adapter.Record) bool {
		return len(a.differing(part, v, w)) == 0
	})
}

// nested returns the kept resources whose records are values of the attributes.
func (a *Adapter) nested(k *keeping, names []string) []adapter.Resource {
	var nested []adapter.Resource
	for _, name := range names {
		at, _ := k.schema.Index(name)
		if n := k.schema.Attributes[at].Nested; n != nil && a.kept[n.Resource] != nil {
			nested = append(nested, n.Resource)
		}
	}
	return nested
}

// place returns what tells a part without an id from the others of its root; ok is
// false for one that does not say it.
func (k *keeping) place(r adapter.Record) (place string, ok bool) {
	texts := make([]string, len(k.MatchBy))
	for i, name := range k.MatchBy {
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
func (k *keeping) get(ctx context.Context, key adapter.Key, with ...string) (adapter.Record, error) {
	return k.store.Get(ctx, &adapter.GetParams{Key: key, With: union(k.onDemand, with)})
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
func (k *keeping) list(ctx context.Context, p *adapter.ListParams) ([]adapter.Record, error) {
	found, err := k.store.List(ctx, p)
	if err != nil {
		return nil, err
	}
	if !found.Partial {
		return found.Records, nil
	}
	records, _, err := adapter.Apply(ctx, k.schema, found.Records, &p.Query)
	return records, err
}

// partsOf returns the records of a part's resource that a root has at the side, by
// key, as a level shows them, with all that the backend keeps of them.
func (k *keeping) partsOf(ctx context.Context, root adapter.Key, level int64) ([]adapter.Record, error) {
	mine := adapter.Test{Attribute: k.RootAttribute, Op: adapter.Eq, Operands: []string{strconv.FormatInt(int64(root), 10)}}
	return k.list(ctx, &adapter.ListParams{Query: adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{mine}}}}, StoreID: level, With: k.onDemand})
}
