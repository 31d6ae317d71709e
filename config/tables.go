package config

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
)

// A Table is a setting whose value is a list of entries with the same keys. It can be set
// in the YAML file only.
type Table struct {
	Name   string
	Help   string
	Reload bool      // as of a [Setting], for the whole list
	Keys   []Setting // keys of an entry; omitted keys have their defaults
	// Identity are the keys whose combination must be unique.
	Identity []string
	Example  string // an example entry in YAML

	field int          // of Config
	entry reflect.Type // of the elements of the field
}

// Tables returns the definitions of all tables in the order of the example file: the fields
// of [Config] with a tag table.
func Tables() []Table {
	var all []Table
	for field := range reflect.TypeFor[Config]().Fields() {
		if !strings.HasPrefix(string(field.Tag), "table:") {
			continue
		}
		tag, entry := maps.Collect(pairs(field.Tag)), field.Type.Elem()
		all = append(all, Table{
			Name: tag["table"], Help: tag["help"], Reload: tag["reload"] == "true", Keys: taggedSettings(entry),
			Identity: strings.Fields(tag["identity"]), Example: tag["example"], field: field.Index[0], entry: entry,
		})
	}
	return all
}

// An Attribute is an entry of the table attributes.
type Attribute struct {
	Resource string   `setting:"resource" help:"Resource that has the attribute: customers, customer_addresses or products."`
	Name     string   `setting:"name" help:"Its name in requests and answers, of lower-case letters, digits and underscores. It must not be a name of the contract."`
	Kind     string   `setting:"kind" choices:"text textarea integer decimal time select multiselect boolean price image fixed_tax" help:"How its values are written and compared. It cannot change once values are stored. textarea: a text of any length. select: the id of one of the attribute's options, which an import or a data set brings; multiselect: such ids, separated by commas. boolean: 1 or 0. price: an amount whose scope is store.price_scope. image: the file of one of the product's images, or no_selection. fixed_tax: amounts by country that come on top of the price, such as a recycling fee; products only, shown in single records, and set by imports alone, so writers is []."`
	Scope    string   `setting:"scope" default:"global" choices:"global website store" help:"For products: whether websites or store views may have values of their own."`
	Roles    []string `setting:"roles" choices:"admin customer guest" empty:"true" help:"Roles that read it. [] means none."`
	Writers  []string `setting:"writers" default:"admin" choices:"admin customer" empty:"true" help:"Roles that write it. Customers write only what is their own, and no products. [] means none."`
	Views    []string `setting:"views" default:"list,single" choices:"list single" help:"Views that show it by default. In other views attrs asks for it."`
}

// A FieldList is an entry of the table fields. A nil list means all fields, an empty list
// none.
type FieldList struct {
	Resource string   `setting:"resource" help:"Resource that has the fields: customers, customer_addresses, products, product_images, product_websites, product_categories, stock_items, orders, order_items, order_addresses or order_comments (in orders, too)."`
	Role     string   `setting:"role" choices:"admin customer guest" help:"Role that the entry restricts."`
	Read     []string `setting:"read" help:"The only fields that the role reads; records show nothing for other names. Without this key: all. [] means none."`
	Write    []string `setting:"write" help:"The only fields that the role writes; others that it sends are dropped. Without this key: all. [] means none."`
	// WithoutComputed stands in place of Read.
	WithoutComputed bool `setting:"without_computed" default:"false" help:"Dialect openmage, products, customer or guest: whether replies lack the fields that the original computes (prices, is_saleable, image_url, url, buy_now_url, has_custom_options, total_reviews_count), and tier_price has the prices of all groups. OpenMage answers so where the role's attributes are All, and not ticked one by one. Not with read."`
}

// decode returns the value of an entry, such as an [Attribute].
func (t Table) decode(e entry) reflect.Value {
	v := reflect.New(t.entry).Elem()
	assign(v, t.Keys, e.values)
	return v
}

// An entry holds the values of one table entry.
type entry struct {
	name   string // "attributes[0]"
	values values
	origin string
}

// loadTable loads the entries of a table from a file.
func (l *loader) loadTable(t Table, path string, given tableEntries) {
	at := func(line int) string { return fmt.Sprintf("%s:%d", path, line) }
	l.origins[t.Name] = at(given.line)
	seen := map[string]string{}
	for i, document := range given.entries {
		e := entry{fmt.Sprintf("%s[%d]", t.Name, i), values{}, at(document.line)}
		known := len(l.faults)
		l.loadKeys(t, e, document, at)
		var identity []string
		for _, key := range t.Identity {
			identity = append(identity, key+" "+quoteIfNeeded(e.values[key].text))
		}
		about := strings.Join(identity, ", ")
		first, ok := seen[about]
		if ok && len(l.faults) == known {
			l.addFault(e.name, e.origin, about+" is already in "+first+": merge the two entries")
		}
		seen[about] = e.name
		l.checkEntry(t, e)
		l.entries[t.Name] = append(l.entries[t.Name], e)
	}
}

// loadKeys loads the keys of one entry.
func (l *loader) loadKeys(t Table, e entry, given *document, at func(int) string) {
	names := make([]string, len(t.Keys))
	unknown := map[string]bool{}
	for name := range given.lines {
		unknown[name] = true
	}
	for i, key := range t.Keys {
		names[i] = key.Name
		delete(unknown, key.Name)
		text, ok := given.texts[key.Name]
		if !ok && key.Kind == Names {
			continue
		}
		origin := e.origin
		if ok {
			origin = at(given.lines[key.Name])
		} else {
			text, key.MayBeEmpty = key.Default, false // a key that is left out is no empty list
		}
		parsed, err := key.parse(text)
		if err != nil {
			l.addFault(e.name+"."+key.Name, origin, key.describeValue(text)+" "+err.Error())
			parsed = key.placeholder()
		}
		e.values[key.Name] = value{text, parsed, origin}
	}
	for _, name := range given.names {
		section, _, nested := strings.Cut(name, ".")
		if unknown[name] && !(nested && unknown[section]) {
			l.addFault(e.name+"."+name, at(given.lines[name]), "unknown key"+l.suggest(name, names))
		}
	}
}

// placeholder returns a valid value for a key with an invalid one, so that the rest of the
// entry can still be checked.
func (s Setting) placeholder() any {
	switch s.Kind {
	case Choice:
		return s.Choices[0]
	case Choices:
		return s.Choices
	default:
		return nil
	}
}

// checkEntry calls the program's validation of an entry. Each line of its error is a
// problem.
func (l *loader) checkEntry(t Table, e entry) {
	var err error
	switch v := t.decode(e).Interface().(type) {
	case Attribute:
		if l.sources.Attribute != nil {
			err = l.sources.Attribute(v)
		}
	case FieldList:
		if l.sources.Fields != nil {
			err = l.sources.Fields(v)
		}
	case Route:
		err = v.check()
	}
	if err == nil {
		return
	}
	for problem := range strings.SplitSeq(err.Error(), "\n") {
		l.addFault(e.name, e.origin, problem)
	}
}

// text returns the entry as YAML, without keys that have their default.
func (e entry) text(t Table) string {
	var parts []string
	for _, key := range t.Keys {
		v, given := e.values[key.Name]
		switch {
		case !given || v.text == key.Default && v.text != "":
		case key.Kind == Names || key.Kind == Choices:
			quoted := []string{}
			for _, name := range get[[]string](e.values, key.Name) {
				quoted = append(quoted, yamlText(name))
			}
			parts = append(parts, key.Name+": ["+strings.Join(quoted, ", ")+"]")
		default:
			parts = append(parts, key.Name+": "+yamlText(v.text))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
