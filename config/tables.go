package config

import (
	"fmt"
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
}

// Tables returns the definitions of all tables in the order of the example file.
func Tables() []Table {
	roles := []string{"admin", "customer", "guest"}
	return []Table{
		{
			Name: "attributes",
			Help: "Attributes that the store has besides those of the contract. They can be read, written, filtered and sorted like those.",
			Keys: []Setting{
				{Name: "resource", Help: "Resource that has the attribute: customers, customer_addresses or products."},
				{Name: "name", Help: "Its name in requests and answers, of lower-case letters, digits and underscores. It must not be a name of the contract."},
				{Name: "kind", Kind: Choice, Choices: []string{"text", "integer", "decimal", "time"},
					Help: "How its values are written and compared. It cannot change once values are stored."},
				{Name: "scope", Kind: Choice, Choices: []string{"global", "website", "store"}, Default: "global",
					Help: "For products: whether websites or store views may have values of their own."},
				{Name: "roles", Kind: Choices, Choices: roles, Help: "Roles that read it."},
				{Name: "writers", Kind: Choices, Choices: []string{"admin", "customer"}, Default: "admin", Help: "Roles that write it. Customers write only what is their own, and no products."},
				{Name: "views", Kind: Choices, Choices: []string{"list", "single"}, Default: "list,single",
					Help: "Views that show it by default. In other views attrs asks for it."},
			},
			Identity: []string{"resource", "name"},
			Example:  "{resource: customers, name: loyalty_number, kind: text, roles: [admin, customer]}",
		},
		{
			Name: "fields",
			Help: "Which of the contract's fields a role reads and writes, where it is to have fewer than the contract allows. " +
				"A role can neither ask for a field that it does not read, nor filter or sort by it.",
			Keys: []Setting{
				{Name: "resource", Help: "Resource that has the fields: customers, customer_addresses, products, product_images, product_websites, " +
					"product_categories, stock_items (in products, too), orders, order_items, order_addresses or order_comments (in orders, too)."},
				{Name: "role", Kind: Choice, Choices: roles, Help: "Role that the entry restricts."},
				{Name: "read", Kind: Names, Help: "The only fields that the role reads. Without this key: all. [] means none."},
				{Name: "write", Kind: Names, Help: "The only fields that the role writes; others that it sends are dropped. Without this key: all. [] means none."},
			},
			Identity: []string{"resource", "role"},
			Example:  "{resource: products, role: guest, read: [entity_id, sku, name, final_price_with_tax]}",
		},
		routesTable(),
	}
}

// An Attribute is an entry of the table attributes.
type Attribute struct {
	Resource, Name, Kind, Scope string
	Roles, Writers, Views       []string
}

// A FieldList is an entry of the table fields. A nil list means all fields, an empty list
// none.
type FieldList struct {
	Resource, Role string
	Read, Write    []string
}

func newAttribute(v values) Attribute {
	return Attribute{
		Resource: get[string](v, "resource"), Name: get[string](v, "name"), Kind: get[string](v, "kind"), Scope: get[string](v, "scope"),
		Roles: get[[]string](v, "roles"), Writers: get[[]string](v, "writers"), Views: get[[]string](v, "views"),
	}
}

func newFieldList(v values) FieldList {
	return FieldList{
		Resource: get[string](v, "resource"), Role: get[string](v, "role"),
		Read: get[[]string](v, "read"), Write: get[[]string](v, "write"),
	}
}

// convertEntries returns the entries of a table, converted by entry.
func convertEntries[T any](l *loader, table string, entry func(values) T) []T {
	var all []T
	for _, e := range l.entries[table] {
		all = append(all, entry(e.values))
	}
	return all
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
		text, ok := given.texts[key.Name].(string)
		if !ok && key.Kind == Names {
			continue
		}
		origin := e.origin
		if ok {
			origin = at(given.lines[key.Name])
		} else {
			text = key.Default
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
	switch {
	case t.Name == "attributes" && l.sources.Attribute != nil:
		err = l.sources.Attribute(newAttribute(e.values))
	case t.Name == "fields" && l.sources.Fields != nil:
		err = l.sources.Fields(newFieldList(e.values))
	case t.Name == "routes":
		err = checkRoute(newRoute(e.values))
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
