package imports

import (
	"errors"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// MaxImportedKey is the greatest key that an imported record may have. New records get
// keys greater than all existing ones, and a single record must not exhaust the range.
const MaxImportedKey = 1<<53 - 1

var (
	errNotImported = errors.New("records of this resource cannot be imported")
	errKeyRange    = errors.New("the key is out of range")
	errOwned       = errors.New("the part belongs to another record")
	errTaken       = errors.New("a part of another record has this key")
	errUnique      = errors.New("another record has this value")
	errTwice       = errors.New("the record has it twice")
	errExists      = errors.New("a record with this key exists")
	errNoLevel     = errors.New("the record has no values of its own at this level")
	errNoImage     = errors.New("the product has no such image")
	errNoPart      = errors.New("neither the record nor a part of it has this key")
)

// partsOf names the resources of the parts that an aggregate may have.
func partsOf(schemas *adapter.Schemas, root adapter.Resource) []adapter.Resource {
	var parts []adapter.Resource
	for _, r := range adapter.Resources() {
		isPart := schemas.Of(r).Root == root && (root == adapter.Orders || root == adapter.Products && r != adapter.StockItems)
		if isPart { // parts of others are aggregates of their own
			parts = append(parts, r)
		}
	}
	return parts
}

// hasLevels reports whether records have scoped values.
func hasLevels(r adapter.Resource) bool {
	return r == adapter.Products || r == adapter.Categories || r == adapter.ProductImages
}

// isAtLevels reports whether records may have scoped values of an attribute.
func isAtLevels(r adapter.Resource, a *adapter.Attribute) bool {
	return hasLevels(r) && !a.Static && (isPointer(a) || rules.IsStored(a) && !a.OnDemand && a.Kind != adapter.KindTexts)
}

// isPointer reports whether an attribute of products points a type to an image.
func isPointer(a *adapter.Attribute) bool {
	return a.ReadOnly && a.OnDemand && slices.ContainsFunc(rules.ImageTypes(), func(name string) bool { return rules.PointerTo(name) == a.Name })
}

// fitAggregate converts a record with its parts and scoped values to the schemas of the
// database and checks them.
func fitAggregate(schemas *adapter.Schemas, op string, one *adapter.Aggregate, o adapter.ImportOptions) (fitted adapter.Aggregate, err error) {
	fitted = adapter.Aggregate{PartsOf: one.PartsOf, PartsOnly: one.PartsOnly, Gone: one.Gone}
	complete := !one.Gone && !one.PartsOnly && o.Existing != adapter.MergeExisting
	if fitted.Record, err = fitRecord(schemas, op, one.Record, complete); err != nil || one.Gone {
		return fitted, err
	}
	schema := fitted.Record.Schema
	if len(one.Parts)+len(one.Levels) > 0 || one.PartsOnly {
		if fitted.Record.Get(schema.Key).Empty() {
			return fitted, rules.Invalid(op, schema.Key, rules.ErrRequired)
		}
	}
	allowed := partsOf(schemas, schema.Resource)
	if one.PartsOf == nil && schema.Resource == adapter.Orders {
		fitted.PartsOf = allowed
	}
	for _, r := range one.PartsOf {
		if !slices.Contains(allowed, r) {
			return fitted, &adapter.Error{Kind: adapter.Unsupported, Op: op + " of " + string(r), Err: errNotImported}
		}
	}
	fitted.Parts = make([]adapter.Record, 0, len(one.Parts))
	for _, part := range one.Parts {
		if part.Schema == nil || !slices.Contains(allowed, part.Schema.Resource) {
			return fitted, &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errNotImported}
		}
		if part, err = fitPart(schemas, op, part, fitted.Record.Key()); err != nil {
			return fitted, err
		}
		fitted.Parts = append(fitted.Parts, part)
	}
	return fitted, fitLevels(schemas, op, one, &fitted)
}

// fitPart converts a part of a record.
func fitPart(schemas *adapter.Schemas, op string, part adapter.Record, root adapter.Key) (adapter.Record, error) {
	fitted, err := convert(schemas, op, part, func(a *adapter.Attribute) bool {
		return rules.IsStored(a) && !isDerived(a) && !isOwnedByLevels(part.Schema.Resource, a) || a.Name == "content"
	})
	if err != nil {
		return fitted, err
	}
	schema := fitted.Schema
	if schema.Resource == adapter.ProductImages {
		if fitted.Get("media_type").Empty() {
			fitted.Set("media_type", adapter.TextValue(mediaTypeOf(fitted.Get("file").Text())))
		}
		if fitted.Get(schema.Key).Empty() {
			return fitted, rules.Invalid(op, schema.Key, rules.ErrRequired)
		}
	}
	if err := checkFitted(op, fitted, true); err != nil {
		return fitted, err
	}
	if fitted.Get(schema.RootAttribute).Int() != int64(root) {
		return fitted, rules.Invalid(op, schema.RootAttribute, errOwned)
	}
	return fitted, nil
}

// fitLevels converts the scoped values that come with a record.
func fitLevels(schemas *adapter.Schemas, op string, one, fitted *adapter.Aggregate) error {
	if len(one.Levels) == 0 {
		return nil
	}
	known := map[recordID]bool{{fitted.Record.Schema.Resource, fitted.Record.Key()}: true}
	for _, part := range fitted.Parts {
		known[recordID{part.Schema.Resource, part.Key()}] = true
	}
	seen := map[levelID]bool{}
	for _, l := range one.Levels {
		if l.Record.Schema == nil || !hasLevels(l.Record.Schema.Resource) {
			return &adapter.Error{Kind: adapter.Unsupported, Op: op + " of values at store views", Err: errNotImported}
		}
		r := l.Record.Schema.Resource
		values, err := convert(schemas, op, l.Record, func(a *adapter.Attribute) bool {
			s := schemas.Of(r)
			return a.Name == s.Key || a.Name == s.RootAttribute || isAtLevels(r, a) && (isPointer(a) || !one.PartsOnly || r == adapter.ProductImages)
		})
		if err != nil {
			return err
		}
		id := levelID{recordID{r, values.Key()}, l.StoreID}
		switch {
		case !known[id.recordID]:
			return rules.Invalid(op, values.Schema.Key, errNoPart)
		case l.StoreID < 0, l.StoreID == 0 && !isDefaultLevel(values):
			return rules.Invalid(op, "store_id", errNoLevel)
		case seen[id]:
			return rules.Invalid(op, "store_id", errTwice)
		}
		seen[id] = true
		fitted.Levels = append(fitted.Levels, adapter.Level{StoreID: l.StoreID, Record: values})
	}
	return nil
}

// isDefaultLevel reports whether values can belong to the default scope, 0, apart from the
// record itself: values of an image, or pointers to images. Others belong to the record
// itself.
func isDefaultLevel(values adapter.Record) bool {
	for i, v := range values.Values {
		a := &values.Schema.Attributes[i]
		if v.Kind() != adapter.Absent && a.Name != values.Schema.Key && !isPointer(a) {
			return values.Schema.Resource == adapter.ProductImages
		}
	}
	return values.Schema.Resource != adapter.Categories
}

// fitRecord converts a record to the schema of the database. If complete, it must have all
// required values.
func fitRecord(schemas *adapter.Schemas, op string, r adapter.Record, complete bool) (adapter.Record, error) {
	if r.Schema != nil && (r.Schema.Resource == adapter.ProductImages || r.Schema.Resource == adapter.Admins) {
		return r, &adapter.Error{Kind: adapter.Unsupported, Op: op + " of " + string(r.Schema.Resource), Err: errNotImported}
	}
	fitted, err := convert(schemas, op, r, func(a *adapter.Attribute) bool {
		return (rules.IsStored(a) || slices.Contains(rules.PriceLists(), a.Name)) && !isDerived(a)
	})
	if err != nil {
		return fitted, err
	}
	return fitted, checkFitted(op, fitted, complete)
}

// convert converts the values of a record to the schema of the database. It fails with
// kind Invalid for values of attributes that are not accepted.
func convert(schemas *adapter.Schemas, op string, r adapter.Record, accepts func(*adapter.Attribute) bool) (adapter.Record, error) {
	if r.Schema == nil || schemas.Of(r.Schema.Resource) == nil {
		return r, &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errNotImported}
	}
	schema := schemas.Of(r.Schema.Resource)
	converted := adapter.NewRecord(schema)
	for i, v := range r.Values {
		if v.Kind() == adapter.Absent {
			continue
		}
		at, name := i, r.Schema.Attributes[i].Name
		if r.Schema != schema {
			var ok bool
			if at, ok = schema.Index(name); !ok {
				return converted, rules.Invalid(op, name, rules.ErrKind)
			}
		}
		a := &schema.Attributes[at]
		if v.Kind() == adapter.Unset {
			return converted, rules.Invalid(op, name, rules.ErrKind)
		}
		if !accepts(a) {
			return converted, rules.Invalid(op, name, rules.ErrReadOnly)
		}
		var err error
		if converted.Values[at], err = a.Canonical(v); err != nil {
			return converted, rules.Invalid(op, name, err)
		}
	}
	return converted, nil
}

// checkFitted checks the key and the required values of a converted record.
func checkFitted(op string, r adapter.Record, complete bool) error {
	schema := r.Schema
	if key := r.Get(schema.Key); key.Kind() != adapter.Absent && !validKey(schema.Resource, key.Int()) {
		return rules.Invalid(op, schema.Key, errKeyRange)
	}
	if complete {
		if err := rules.CheckRequired(op, r); err != nil {
			return err
		}
	}
	for i, v := range r.Values {
		if a := &schema.Attributes[i]; a.Required && v.Kind() == adapter.Null {
			return rules.Invalid(op, a.Name, rules.ErrRequired)
		}
	}
	return nil
}

// validKey reports whether an imported record may have a key.
func validKey(r adapter.Resource, key int64) bool {
	return 0 < key && key <= MaxImportedKey || key == 0 && r == adapter.CustomerGroups // the group of guests
}

// isDerived reports whether an attribute is taken from other records.
func isDerived(a *adapter.Attribute) bool {
	return a.ReadOnly && (a.OnDemand && a.Nested == nil || a.Name == "default_url_key")
}
