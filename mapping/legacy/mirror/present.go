package mirror

import (
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
)

// presentValues returns a record of an aggregate with its own values in a scope: absent ones are
// inherited. Global values, which clients cannot scope, have the default scope's value in every
// scope.
func presentValues(of *adapter.Aggregate, resource adapter.Resource, key adapter.Key, storeID int64) (record adapter.Record, found bool) {
	is := func(r adapter.Record) bool {
		return r.Schema != nil && r.Schema.Resource == resource && r.Key() == key
	}
	if is(of.Record) {
		record = of.Record
	} else if at := slices.IndexFunc(of.Parts, is); at >= 0 {
		record = of.Parts[at]
	} else {
		return record, false
	}
	if storeID == 0 && !record.Schema.PerLevel {
		return record, true
	}
	record = record.Clone()
	for i := range record.Values {
		if a := &record.Schema.Attributes[i]; !a.Static && a.Scope != adapter.ScopeGlobal {
			record.Values[i] = adapter.Value{}
		}
	}
	for _, l := range of.Levels {
		if l.StoreID != storeID || !is(l.Record) {
			continue
		}
		for i, a := range record.Schema.Attributes {
			if v := l.Record.Get(a.Name); v.Kind() != adapter.Absent && !a.Static && a.Scope != adapter.ScopeGlobal {
				record.Values[i] = v
			}
		}
	}
	return record, true
}

// partOf returns the first part of an aggregate that is a record of a resource.
func partOf(of *adapter.Aggregate, resource adapter.Resource) (part adapter.Record, found bool) {
	at := slices.IndexFunc(of.Parts, func(r adapter.Record) bool { return r.Schema.Resource == resource })
	if at < 0 {
		return part, false
	}
	return of.Parts[at], true
}

// An update collects the body of a request for the present values of a record.
type update struct {
	of         *adapter.Aggregate
	record     adapter.Record // with its own values in the scope
	storeID    int64
	attributes []string // the requested ones

	members       []codec.Member
	sent, omitted []string // of the requested attributes
}

// asks reports whether an attribute was requested.
func (u *update) asks(name string) bool { return slices.Contains(u.attributes, name) }

// addFields adds the requested fields.
func (u *update) addFields(fields []field) {
	for i := range fields {
		if u.asks(fields[i].name) && !fields[i].createOnly {
			u.add(&fields[i])
		}
	}
}

// add adds a requested field, if the interface has a form for its value.
func (u *update) add(f *field) {
	v := u.record.Get(f.name)
	n, ok := f.node(v)
	switch {
	case ok:
		u.sent = append(u.sent, f.name)
		u.put(f.name, n)
	case !f.onlySet:
		u.omitted = append(u.omitted, f.name)
	}
}

// put adds a member.
func (u *update) put(name string, n codec.Node) {
	u.members = append(u.members, codec.Member{Key: name, Value: n})
}
