package replica

import (
	"maps"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// same reports whether two values are the same.
func sameValue(v, w adapter.Value) bool {
	if v.Kind() != w.Kind() {
		return false
	}
	switch v.Kind() {
	case adapter.Texts:
		return slices.Equal(v.Texts(), w.Texts())
	case adapter.Records:
		return slices.EqualFunc(v.Records(), w.Records(), sameValues)
	default:
		return v.Text() == w.Text()
	}
}

// sameValues reports whether two records of one schema hold the same values.
func sameValues(r, s adapter.Record) bool { return slices.EqualFunc(r.Values, s.Values, sameValue) }

// has reports whether a value of the side already is what the backend says of it.
// What the backend has none of, the side may have as null or not at all; and of the
// records of a list the backend may leave something out.
func matches(replicaValue, backendValue adapter.Value) bool {
	switch {
	case backendValue.Empty():
		return replicaValue.Empty()
	case backendValue.Kind() == adapter.Records && replicaValue.Kind() == adapter.Records:
		return slices.EqualFunc(replicaValue.Records(), backendValue.Records(), func(replicaRecord, backendValues adapter.Record) bool {
			for i, v := range backendValues.Values {
				if v.Kind() != adapter.Absent && !matches(replicaRecord.Values[i], v) {
					return false
				}
			}
			return true
		})
	default:
		return sameValue(replicaValue, backendValue)
	}
}

// writable returns a value as a write may give it: its records without what is only
// read.
func writable(v adapter.Value) adapter.Value {
	if v.Kind() != adapter.Records {
		return v
	}
	list := make([]adapter.Record, len(v.Records()))
	for i, r := range v.Records() {
		list[i] = r.Clone()
		for at, a := range r.Schema.Attributes {
			if a.ReadOnly || a.Fixed {
				list[i].Values[at] = adapter.Value{}
			}
		}
	}
	return adapter.RecordsValue(list)
}

// sorted returns the keys of records in their order.
func sortedKeys(records map[adapter.Key]adapter.Record) []adapter.Key {
	return slices.Sorted(maps.Keys(records))
}
