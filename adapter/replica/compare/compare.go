// Package compare compares values of the local replica with values of a backend. It is tested with
// package replica, which merges them.
package compare

import (
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// Same reports whether two values are equal.
func Same(v, w adapter.Value) bool {
	if v.Kind() == adapter.Records && w.Kind() == adapter.Records {
		return slices.EqualFunc(v.Records(), w.Records(), SameRecords)
	}
	return v.Equal(w)
}

// SameRecords reports whether two records of one schema hold equal values.
func SameRecords(r, s adapter.Record) bool { return slices.EqualFunc(r.Values, s.Values, Same) }

// Matches reports whether the replica's value already agrees with the backend's. A value
// that is empty at the backend may be null or absent in the replica, and a nested record of
// the backend may lack attributes.
func Matches(replicaValue, backendValue adapter.Value) bool {
	switch {
	case backendValue.Empty():
		return replicaValue.Empty()
	case backendValue.Kind() == adapter.Records && replicaValue.Kind() == adapter.Records:
		return slices.EqualFunc(replicaValue.Records(), backendValue.Records(), func(replicaRecord, backendValues adapter.Record) bool {
			for i, v := range backendValues.Values {
				if v.Kind() != adapter.Absent && !Matches(replicaRecord.Values[i], v) {
					return false
				}
			}
			return true
		})
	default:
		return Same(replicaValue, backendValue)
	}
}

// Writable returns a value that a write accepts: nested records lose their read-only
// attributes.
func Writable(v adapter.Value) adapter.Value {
	if v.Kind() != adapter.Records {
		return v
	}
	records := make([]adapter.Record, len(v.Records()))
	for i, r := range v.Records() {
		records[i] = r.Clone()
		for at, a := range r.Schema.Attributes {
			if a.ReadOnly || a.Fixed {
				records[i].Values[at] = adapter.Value{}
			}
		}
	}
	return adapter.RecordsValue(records)
}

// Present returns the attributes whose values are not absent.
func Present(r adapter.Record) (names []string) {
	for i, v := range r.Values {
		if v.Kind() != adapter.Absent {
			names = append(names, r.Schema.Attributes[i].Name)
		}
	}
	return names
}

// Differing returns those attributes that are selected by their places in the schema, and of which a document has
// another value than a base.
func Differing(base, document adapter.Record, selected func(at int) bool) (names []string) {
	for i, v := range document.Values {
		if v.Kind() != adapter.Absent && selected(i) && !Same(v, base.Values[i]) {
			names = append(names, document.Schema.Attributes[i].Name)
		}
	}
	return names
}
