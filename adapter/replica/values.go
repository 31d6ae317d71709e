package replica

import (
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// sameValue reports whether two values are equal.
func sameValue(v, w adapter.Value) bool {
	if v.Kind() == adapter.Records && w.Kind() == adapter.Records {
		return slices.EqualFunc(v.Records(), w.Records(), sameValues)
	}
	return v.Equal(w)
}

// sameValues reports whether two records of one schema hold equal values.
func sameValues(r, s adapter.Record) bool { return slices.EqualFunc(r.Values, s.Values, sameValue) }

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
		return sameValue(replicaValue, backendValue)
	}
}

// writable returns a value that a write accepts: nested records lose their read-only
// attributes.
func writable(v adapter.Value) adapter.Value {
	if v.Kind() != adapter.Records {
		return v
	}
	return adapter.RecordsValue(convert(v.Records(), func(r adapter.Record) adapter.Record {
		r = r.Clone()
		for at, a := range r.Schema.Attributes {
			if a.ReadOnly || a.Fixed {
				r.Values[at] = adapter.Value{}
			}
		}
		return r
	}))
}
