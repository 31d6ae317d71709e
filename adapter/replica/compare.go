package replica

import (
	"github.com/portico-commerce/portico/adapter"
	"slices"
)

// same reports whether two values are equal.
func same(v, w adapter.Value) bool {
	if v.Kind() == adapter.Records && w.Kind() == adapter.Records {
		return slices.EqualFunc(v.Records(), w.Records(), sameRecords)
	}
	return v.Equal(w)
}

// sameRecords reports whether two records of one schema hold equal values.
func sameRecords(r, s adapter.Record) bool { return slices.EqualFunc(r.Values, s.Values, same) }

// matches reports whether the replica's value already agrees with the backend's. A value
// that is empty at the backend may be null or absent in the replica, and a nested record of
// the backend may lack attributes.
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
		return same(replicaValue, backendValue)
	}
}

// writable returns a value that a write accepts: nested records lose their read-only
// attributes.
func writable(v adapter.Value) adapter.Value {
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

// present returns the attributes whose values are not absent.
func present(r adapter.Record) (names []string) {
	for i, v := range r.Values {
		if v.Kind() != adapter.Absent {
			names = append(names, r.Schema.Attributes[i].Name)
		}
	}
	return names
}

// differing returns the attributes whose values differ between a document and a base. selected
// chooses the attributes to compare by their positions in the schema.
func differing(base, document adapter.Record, selected func(at int) bool) (names []string) {
	for i, v := range document.Values {
		if v.Kind() != adapter.Absent && selected(i) && !same(v, base.Values[i]) {
			names = append(names, document.Schema.Attributes[i].Name)
		}
	}
	return names
}
