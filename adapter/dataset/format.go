package dataset

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// A shape describes the records of one kind in a data set. Decoding, encoding and the JSON
// Schema follow it.
type shape struct {
	schema  *adapter.Schema
	members []member
}

// A member is one name in the JSON object of a record.
type member struct {
	name, doc string
	form      form
	attribute *adapter.Attribute // of form value
	of        *shape             // of the forms one, list and byStore
	refers    adapter.Resource   // the value, or each of the list, is the key of such a record; 0 means no record
	required  bool
	fallback  adapter.Value // value of a record without the member
}

// A form is the structure of a member's value.
type form uint8

const (
	value   form = iota // the value of an attribute
	text                // a text that is no attribute
	one                 // one record
	list                // a list of records
	byStore             // an object of records by the id of a store view
	keys                // a list of ids
)

// comment is the name under which every object may hold a remark of any kind.
const comment = "$comment"

// Members of the top-level object other than lists.
const (
	schemaMember   = "$schema"
	verbatimMember = "verbatim"
	credentials    = "credentials"
)

// newFormat returns the lists of a data set, in the order of resources.
func newFormat(schemas *adapter.Schemas) []member {
	var lists []member
	for _, r := range adapter.Resources() {
		if s := schemas.Of(r); s.Doc != "" {
			lists = append(lists, member{name: string(r), doc: s.Doc, form: list, of: shapeOf(schemas, r)})
		}
	}
	lists = append(lists, member{name: string(roles), doc: "REST roles: the calls that all Guests, all Customers or some administrators may make. Without any, all calls", form: list, of: roleShape()})
	return append(lists, member{name: string(consumers), doc: "client programs with their access tokens", form: list, of: consumerShape()})
}

// shapeOf returns the shape of the records of a resource, with the data that belongs to
// them.
func shapeOf(schemas *adapter.Schemas, r adapter.Resource) *shape {
	s := newShape(schemas.Of(r))
	switch r {
	case adapter.Categories:
		s.addLevels(inLevel)
	case adapter.Customers:
		s.add(member{name: "password", form: text, doc: "password in plain text, in place of password_hash"})
	case adapter.Products:
		s.add(
			member{name: "categories", form: list, of: newShape(schemas.Of(adapter.ProductCategories)), doc: "the categories that the product is in"},
			member{name: "websites", form: keys, refers: adapter.Websites, doc: "ids of the websites that sell the product"},
			member{name: "stock_data", form: one, of: newShape(schemas.Of(adapter.StockItems)), required: true, doc: "the stock item"},
			member{name: "images", form: list, of: imageShape(schemas), doc: "the images of the gallery"},
		)
		s.addLevels(func(a *adapter.Attribute) bool { return inLevel(a) || isPointer(a.Name) })
	case adapter.Orders:
		s.add(
			member{name: "order_items", form: list, of: newShape(schemas.Of(adapter.OrderItems)), doc: "the lines of the order"},
			member{name: "addresses", form: list, of: newShape(schemas.Of(adapter.OrderAddresses)), doc: "the billing and the shipping address"},
			member{name: "comments", form: list, of: newShape(schemas.Of(adapter.OrderComments)), doc: "the history of the order"},
		)
	}
	return s
}

// imageShape returns the shape of the images of a product.
func imageShape(schemas *adapter.Schemas) *shape {
	s := newShape(schemas.Of(adapter.ProductImages))
	s.add(
		member{name: "path", form: text, doc: "path of the file with the bytes, below the folder of the data set"},
		member{name: "content", form: text, doc: "the bytes in base64, in place of path"},
	)
	s.addLevels(func(a *adapter.Attribute) bool { return a.Scope == adapter.ScopeStore })
	return s
}

// newShape returns the shape of records without the data that belongs to them.
func newShape(schema *adapter.Schema) *shape {
	s := &shape{schema: schema}
	for i := range schema.Attributes {
		a := &schema.Attributes[i]
		if !holds(schema, a) {
			continue
		}
		m := member{name: a.Name, doc: a.Doc, attribute: a, refers: references(schema.Resource)[a.Name], fallback: fallbacks(schema.Resource)[a.Name]}
		m.required = m.fallback.Kind() == adapter.Absent && (isRequired(schema, a) || requiredKey(schema, a))
		if a.Nested != nil {
			m.form, m.of = list, newShape(a.Nested)
		}
		s.add(m)
	}
	return s
}

func (s *shape) add(members ...member) { s.members = append(s.members, members...) }

// addLevels adds the scoped values of a record, if its schema has some.
func (s *shape) addLevels(has func(*adapter.Attribute) bool) {
	at := &shape{schema: s.schema}
	for i := range s.schema.Attributes {
		if a := &s.schema.Attributes[i]; has(a) && !a.WriteOnly {
			at.add(member{name: a.Name, doc: a.Doc, attribute: a})
		}
	}
	if len(at.members) > 0 {
		s.add(member{name: "stores", form: byStore, of: at, refers: adapter.Stores, doc: "values at store views, by the id of the store view; absent ones are those of the default scope"})
	}
}

// find returns the member of a name.
func (s *shape) find(name string) (*member, bool) {
	i := slices.IndexFunc(s.members, func(m member) bool { return m.name == name })
	if i < 0 {
		return nil, false
	}
	return &s.members[i], true
}

// names returns the names of all members.
func names(members []member) []string {
	all := make([]string, len(members))
	for i, m := range members {
		all[i] = m.name
	}
	return all
}

// holds reports whether the records of a data set hold an attribute. They hold neither
// write-only attributes nor values that a store takes from other records, nor the id of the
// record in which the JSON object of a part is.
func holds(schema *adapter.Schema, a *adapter.Attribute) bool {
	switch {
	case a.WriteOnly, a.Name == "stock_item", a.Name == "default_url_key":
		return false
	case schema.Root != adapter.Customers && a.Name == schema.RootAttribute:
		return false
	default:
		return a.Nested != nil || !a.ReadOnly || !a.OnDemand || isPointer(a.Name)
	}
}

// inLevel reports whether a record may have a value of an attribute at a store view.
func inLevel(a *adapter.Attribute) bool {
	return a.Nested == nil && !a.Static && !a.OnDemand
}

// isPointer reports whether an attribute of products holds the id of an image.
func isPointer(name string) bool {
	return slices.ContainsFunc(rules.ImageTypes(), func(imageType string) bool { return rules.PointerTo(imageType) == name })
}

// isRequired reports whether a record must have a value of an attribute. Keys, the times of
// records that clients write, and the media types of images are set by the store.
func isRequired(schema *adapter.Schema, a *adapter.Attribute) bool {
	isTime := a.Name == "created_at" || a.Name == "updated_at"
	isSet := isTime && (schema.DistinctNulls || schema.Resource == adapter.OrderItems) || a.Name == "media_type"
	return a.Required && !isSet
}

// requiredKey reports whether records must have an id of their own, because their parts
// hold it.
func requiredKey(schema *adapter.Schema, a *adapter.Attribute) bool {
	return a.Name == schema.Key && (schema.Resource == adapter.Products || schema.Resource == adapter.Orders)
}

// references returns the attributes that hold the keys of other records.
func references(r adapter.Resource) map[string]adapter.Resource {
	return map[adapter.Resource]map[string]adapter.Resource{
		adapter.Stores:            {"website_id": adapter.Websites},
		adapter.CustomerAddresses: {"customer_id": adapter.Customers},
		adapter.ProductCategories: {"category_id": adapter.Categories},
		adapter.Orders:            {"customer_id": adapter.Customers},
		roleAdmins:                {"admin_id": adapter.Admins},
		tokens:                    {"admin_id": adapter.Admins, "customer_id": adapter.Customers},
	}[r]
}

// fallbacks returns the values that records without them get.
func fallbacks(r adapter.Resource) map[string]adapter.Value {
	no, yes := adapter.IntegerValue(0), adapter.IntegerValue(1)
	return map[adapter.Resource]map[string]adapter.Value{
		adapter.Categories:        {"is_active": yes},
		adapter.Customers:         {"disable_auto_group_change": no},
		adapter.CustomerAddresses: {"is_default_billing": no, "is_default_shipping": no},
		adapter.ProductCategories: {"position": yes},
		adapter.StockItems: {
			"stock_id": yes, "qty": decimal("0.0000"), "is_in_stock": no, "min_qty": decimal("0.0000"), "use_config_min_qty": yes, "is_qty_decimal": no, "backorders": no, "use_config_backorders": yes,
			"min_sale_qty": decimal("1.0000"), "use_config_min_sale_qty": yes, "max_sale_qty": decimal("0.0000"), "use_config_max_sale_qty": yes,
			"use_config_notify_stock_qty": yes, "manage_stock": no, "use_config_manage_stock": yes, "stock_status_changed_auto": no,
			"use_config_qty_increments": yes, "qty_increments": decimal("0.0000"), "use_config_enable_qty_inc": yes, "enable_qty_increments": no,
			"is_decimal_divided": no,
		},
	}[r]
}

func decimal(s string) adapter.Value { return adapter.TextValue(s) }

// A valueForm describes how values of a kind are written.
type valueForm struct {
	must    string   // the required form, for errors
	types   []string // in JSON
	pattern string
}

// formOf returns the form in which values of a kind are written. Some flags are texts in the
// store and may be numbers in a data set.
func formOf(kind adapter.Kind) valueForm {
	switch kind {
	case adapter.KindInteger:
		return valueForm{must: "must be a whole number", types: []string{"integer"}}
	case adapter.KindDecimal:
		return valueForm{must: `must be a text with four decimal places, such as "12.5000"`, types: []string{"string"}, pattern: decimalPattern.String()}
	case adapter.KindTime:
		return valueForm{must: `must be a time, such as "2012-03-01 10:00:00"`, types: []string{"string"}, pattern: `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`}
	case adapter.KindTexts:
		return valueForm{must: "must be a list of texts without line breaks", types: []string{"array"}, pattern: `^[^\n]*$`}
	default:
		return valueForm{must: "must be a text", types: []string{"string", "integer"}}
	}
}

// decimalPattern matches decimals with four places (contract 2, convention 5). It leaves room
// for stored values that clients may not write.
var decimalPattern = regexp.MustCompile(`^-?[0-9]{1,14}\.[0-9]{4}$`)

// decodeValue decodes the value of an attribute.
func (d *decoder) decodeValue(m *member, schema *adapter.Schema, pointer jsontext.Pointer, raw jsontext.Value) adapter.Value {
	v, ok := parseValue(m.attribute.Kind, raw)
	switch {
	case !ok:
		d.addError(pointer, "%s", formOf(m.attribute.Kind).must)
	case m.name == schema.Key && v.Int() < 1 && schema.Resource != adapter.CustomerGroups:
		d.addError(pointer, "must be a number above 0")
	case m.refers != "" && !v.Empty():
		d.references = append(d.references, reference{pointer, m.refers, v.Int()})
	}
	return v
}

// parseValue returns the value of a kind that is written as raw. ok is false if it cannot be.
func parseValue(kind adapter.Kind, raw jsontext.Value) (v adapter.Value, ok bool) {
	if raw.Kind() == 'n' {
		return adapter.NullValue(), true
	}
	switch kind {
	case adapter.KindInteger:
		i, err := strconv.ParseInt(string(raw), 10, 64)
		return adapter.IntegerValue(i), err == nil
	case adapter.KindDecimal:
		s, ok := textOf(raw)
		return adapter.TextValue(s), ok && decimalPattern.MatchString(s)
	case adapter.KindTime:
		s, ok := textOf(raw)
		return adapter.TextValue(s), ok && adapter.IsTime(s)
	case adapter.KindTexts:
		var texts []string
		err := json.Unmarshal(raw, &texts)
		return adapter.TextsValue(texts), err == nil && !strings.ContainsAny(strings.Join(texts, ""), "\n\x00")
	default:
		s, ok := textOf(raw)
		return adapter.TextValue(s), ok
	}
}

// textOf decodes a JSON string, or a whole number as its digits: some flags of the demo
// store are stored as texts but written as numbers.
func textOf(raw jsontext.Value) (text string, ok bool) {
	if raw.Kind() == '0' {
		i, err := strconv.ParseInt(string(raw), 10, 64)
		return strconv.FormatInt(i, 10), err == nil
	}
	err := json.Unmarshal(raw, &text)
	return text, err == nil && !strings.ContainsRune(text, 0)
}
