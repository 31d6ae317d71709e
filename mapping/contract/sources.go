package contract

import (
	"slices"
	"strings"
)

// KeyFields returns the names of the fields that identify a record of a list. A record may
// have several, among them the key of its parent: the first one that all records have
// counts.
func KeyFields() []string {
	return []string{"entity_id", "item_id", "id", "website_id", "category_id", "address_type"}
}

// KeyField returns the field that identifies the records of r, or "" if no field does, as
// with the comments on an order.
func (r *Route) KeyField() string {
	for _, name := range KeyFields() {
		if _, ok := r.Fields.Index(name); ok {
			return name
		}
	}
	return ""
}

// A PathParam is a parameter of a route, and where its values come from.
type PathParam struct {
	Name string
	// List is the list whose records have the values of the parameter as their keys. It is
	// nil for store views, which the contract does not list.
	List *Route
	// Owner: the route addresses that record, or a part of it. Otherwise the parameter
	// narrows or translates a list or a record.
	Owner bool
}

// PathParams returns the parameters of r, a route of t, in the order of its path. A
// parameter behind the path of a list has the keys of that list; a single record without
// such a list is one of the list of its resource; another parameter has the values of one
// with the same name elsewhere.
func (t *Table) PathParams(r *Route) []PathParam {
	var params []PathParam
	for i, part := range r.parts {
		if part[0] != ':' {
			continue
		}
		p := PathParam{Name: part[1:], List: t.listAt(r.parts[:i])}
		if p.List == nil && len(params) == 0 && r.Shape == Entity {
			p.List = t.listOf(r.Resource)
		}
		if p.Owner = p.List != nil; !p.Owner {
			p.List = t.listNamed(p.Name)
		}
		params = append(params, p)
	}
	return params
}

// listAt returns the list whose path has the given segments, or nil. The names of
// parameters do not count.
func (t *Table) listAt(parts []string) *Route {
	same := func(a, b string) bool { return a == b || a[0] == ':' && b[0] == ':' }
	for _, r := range t.byLen[len(parts)] {
		if r.Shape == Collection && slices.EqualFunc(r.parts, parts, same) {
			return r
		}
	}
	return nil
}

// listOf returns the first list of a resource, or nil.
func (t *Table) listOf(resource string) *Route {
	for _, r := range t.routes {
		if r.Shape == Collection && r.Resource == resource {
			return r
		}
	}
	return nil
}

// listNamed returns the list whose keys are the values of a parameter called name of
// another route, or nil.
func (t *Table) listNamed(name string) *Route {
	for _, r := range t.routes {
		for i, part := range r.parts {
			if part == ":"+name {
				if list := t.listAt(r.parts[:i]); list != nil {
					return list
				}
			}
		}
	}
	return nil
}

// Expand returns the path of r below /api/rest with values in place of its parameters, in
// path order. The values must need no escape in a path.
func (r *Route) Expand(values ...string) string {
	parts := slices.Clone(r.parts)
	for i, part := range parts {
		if part[0] == ':' && len(values) > 0 {
			parts[i], values = values[0], values[1:]
		}
	}
	return "/" + strings.Join(parts, "/")
}
