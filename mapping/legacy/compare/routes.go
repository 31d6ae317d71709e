package compare

import (
	"slices"

	"github.com/portico-commerce/portico/mapping/contract"
)

// routes is the route table in the order in which a sweep needs it.
type routes struct {
	// lists are the lists of the store, including lists narrowed by a store view or by a record of
	// another list.
	lists []listRoute
	// children are the single records and parts of the records of a list.
	children map[*contract.Route][]childRoute
	// needed are the lists whose keys narrow other lists.
	needed map[*contract.Route]bool
}

// A listRoute is a list of the store.
type listRoute struct {
	route  *contract.Route
	params []contract.PathParam
}

// phase returns the phase in which the list is read: lists that depend on records come last.
func (l *listRoute) phase() int {
	if slices.ContainsFunc(l.params, func(p contract.PathParam) bool { return p.List != nil }) {
		return 1
	}
	return 0
}

// phases is the number of phases.
const phases = 2

// A childRoute is a route below a record.
type childRoute struct {
	route *contract.Route
	at    int // number of parameters before the key of the record
	views int // number of parameters behind it, all of them store views
}

// newRoutes sorts the routes of a table.
func newRoutes(table *contract.Table) *routes {
	all := &routes{children: map[*contract.Route][]childRoute{}, needed: map[*contract.Route]bool{}}
	for _, r := range table.Routes() {
		if !isRead(r) {
			continue
		}
		params := table.PathParams(r)
		owner := -1
		for i, p := range params {
			if p.Owner {
				owner = i
			} else if p.List != nil {
				all.needed[p.List] = true
			}
		}
		if owner >= 0 {
			list := params[owner].List
			all.children[list] = append(all.children[list], childRoute{route: r, at: owner, views: len(params) - owner - 1})
		} else if r.Shape == contract.Collection {
			all.lists = append(all.lists, listRoute{r, params})
		}
	}
	return all
}

// isRead reports whether anyone may read r.
func isRead(r *contract.Route) bool {
	return slices.ContainsFunc(contract.Roles(), func(role contract.Role) bool { return readable(r, role) })
}

// readable reports whether a role may read r in one of the dialects.
func readable(r *contract.Route, role contract.Role) bool {
	return slices.ContainsFunc(contract.Dialects(), func(d *contract.Dialect) bool { return r.Access(d, role, contract.GET) == contract.Serve })
}

// below returns the number of routes that are read for a record of list, if every part has
// one record, for a number of store views.
func (all *routes) below(list *contract.Route, role contract.Role, views int) int {
	n := 0
	for _, c := range all.children[list] {
		if !readable(c.route, role) || list.KeyField() == "" {
			continue
		}
		each := 1
		for range c.views {
			each *= views
		}
		n += each
		if c.views == 0 && c.route.Shape == contract.Collection {
			n += all.below(c.route, role, views)
		}
	}
	return n
}

// unlisted returns the routes of single records whose keys no list contains.
func (all *routes) unlisted() []*contract.Route {
	var found []*contract.Route
	for list, children := range all.children {
		if list.KeyField() != "" {
			continue
		}
		for _, c := range children {
			found = append(found, c.route)
		}
	}
	return found
}
