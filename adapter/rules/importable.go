package rules

import (
	"errors"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// MaxImportedKey is the greatest key that an imported record may have. New records get
// keys greater than all existing ones, and a single record must not exhaust the range.
const MaxImportedKey = 1<<53 - 1

var (
	errNotImported = errors.New("records of this resource cannot be imported")
	errKeyRange    = errors.New("the key is out of range")
	errOwned       = errors.New("the part belongs to another record")
	errTaken       = errors.New("a part of another record has this key")
	errExists      = errors.New("a record with this key exists")
)

// partsOf names the resources of the parts of an aggregate, each with the attribute that
// holds the key of its root.
func partsOf(schemas *adapter.Schemas, root adapter.Resource) map[adapter.Resource]string {
	if root != adapter.Orders { // parts of others are aggregates of their own
		return nil
	}
	attributes := map[adapter.Resource]string{}
	for _, r := range adapter.Resources() {
		if s := schemas.Of(r); s.Root == root {
			attributes[r] = s.RootAttribute
		}
	}
	return attributes
}

// fitAggregate converts a record and its parts to the schemas of the database and checks
// them.
func fitAggregate(schemas *adapter.Schemas, op string, one adapter.Aggregate, o adapter.ImportOptions) (adapter.Aggregate, error) {
	fitted := adapter.Aggregate{Gone: one.Gone}
	var err error
	if fitted.Record, err = fit(schemas, op, one.Record, !one.Gone && o.Existing != adapter.MergeExisting); err != nil || one.Gone {
		return fitted, err
	}
	attributes := partsOf(schemas, fitted.Record.Schema.Resource)
	for _, part := range one.Parts {
		if part.Schema == nil || attributes[part.Schema.Resource] == "" {
			return fitted, &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errNotImported}
		}
		attribute := attributes[part.Schema.Resource]
		part, err := fit(schemas, op, part, true)
		if err == nil && part.Get(attribute).Int() != int64(keyOf(fitted.Record)) {
			err = invalid(op, attribute, errOwned)
		}
		if err != nil {
			return fitted, err
		}
		fitted.Parts = append(fitted.Parts, part)
	}
	return fitted, nil
}

// fit converts a record to the schema of the database. If complete, it must have all
// required values.
func fit(schemas *adapter.Schemas, op string, r adapter.Record, complete bool) (adapter.Record, error) {
	if r.Schema == nil {
		return r, &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errNotImported}
	}
	schema := schemas.Of(r.Schema.Resource)
	if schema == nil || r.Schema.Resource == adapter.ProductImages || r.Schema.Resource == adapter.Admins {
		return r, &adapter.Error{Kind: adapter.Unsupported, Op: op + " of " + string(r.Schema.Resource), Err: errNotImported}
	}
	fitted := adapter.NewRecord(schema)
	for i, v := range r.Values {
		if v.Kind() == adapter.Absent {
			continue
		}
		name := r.Schema.Attributes[i].Name
		at, ok := schema.Index(name)
		if !ok || v.Kind() == adapter.Unset {
			return fitted, invalid(op, name, errKind)
		}
		a := &schema.Attributes[at]
		if !isStored(a) && !slices.Contains(PriceLists(), name) || isDerived(a) {
			return fitted, invalid(op, name, errReadOnly)
		}
		var err error
		if fitted.Values[at], err = a.Canonical(v); err != nil {
			return fitted, invalid(op, name, err)
		}
	}
	if key := fitted.Get(schema.Key); key.Kind() != adapter.Absent && !validKey(schema.Resource, key.Int()) {
		return fitted, invalid(op, schema.Key, errKeyRange)
	}
	for i := range fitted.Values {
		a, v := &schema.Attributes[i], fitted.Values[i]
		setLater := schema.DistinctNulls && slices.Contains(timestamps(), a.Name)
		if a.Required && (v.Kind() == adapter.Null || complete && v.Empty() && !setLater) {
			return fitted, invalid(op, a.Name, errRequired)
		}
	}
	return fitted, nil
}

// validKey reports whether an imported record may have a key.
func validKey(r adapter.Resource, key int64) bool {
	return 0 < key && key <= MaxImportedKey || key == 0 && r == adapter.CustomerGroups // that of guests
}

// isDerived reports whether an attribute is taken from other records.
func isDerived(a *adapter.Attribute) bool {
	return a.ReadOnly && (a.OnDemand && a.Nested == nil || a.Name == "default_url_key")
}
