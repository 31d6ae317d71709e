package magento1test

import (
	"context"
	"strings"
)

// An entity is a kind of record with values in EAV tables, by its entity_type_code. Its
// table has the name of the code and "_entity".
type entity string

const (
	product  entity = "catalog_product"
	category entity = "catalog_category"
	customer entity = "customer"
	address  entity = "customer_address"
)

// scoped reports whether records have values at store views.
func (e entity) scoped() bool { return e == product || e == category }

// table returns the name of the entity's own table.
func (e entity) table() string { return "{p}" + string(e) + "_entity" }

// An attribute gives the table of an attribute's values.
type attribute struct {
	id      int64
	backend string // the suffix of the table, or static
}

// An entityTable knows the columns and attributes of an entity.
type entityTable struct {
	transaction
	entity
	typeID     int64
	attributes map[string]attribute // by code
	columns    map[string]bool
}

// entity returns the table of an entity.
func (x transaction) entity(ctx context.Context, e entity) (entityTable, error) {
	t := entityTable{transaction: x, entity: e, attributes: map[string]attribute{}, columns: map[string]bool{}}
	err := x.each(ctx, func(scan func(...any) error) error {
		var a attribute
		var code string
		err := scan(&t.typeID, &a.id, &code, &a.backend)
		t.attributes[code] = a
		return err
	}, "SELECT entity_type_id, attribute_id, attribute_code, backend_type FROM {p}eav_attribute JOIN {p}eav_entity_type USING (entity_type_id) WHERE entity_type_code = ?", string(e))
	if err != nil {
		return t, err
	}
	rows, err := x.tx.QueryContext(ctx, x.text("SELECT * FROM "+e.table()+" LIMIT 0"))
	if err != nil {
		return t, err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	for _, name := range names {
		t.columns[name] = true
	}
	return t, err
}

// isColumn reports whether the value of an attribute is a column of the entity's own table.
func (t entityTable) isColumn(code string) bool {
	a, ok := t.attributes[code]
	return t.columns[code] && (!ok || a.backend == "static")
}

// set stores the value of an attribute at a store view, 0 for the default scope; nil is
// NULL. It ignores an attribute that the shop does not have.
func (t entityTable) set(ctx context.Context, id, store int64, code string, v any) error {
	a, ok := t.attributes[code]
	switch {
	case t.isColumn(code):
		return t.exec(ctx, "UPDATE "+t.table()+" SET "+code+" = ? WHERE entity_id = ?", v, id)
	case !ok || a.backend == "static":
		return nil
	case v == nil && !t.scoped() && (a.backend == "int" || a.backend == "datetime"): // these cannot be NULL
		return t.unset(ctx, id, store, code)
	case t.scoped():
		return t.exec(ctx, "INSERT INTO "+t.table()+"_"+a.backend+" (entity_type_id, attribute_id, entity_id, value, store_id) VALUES (?, ?, ?, ?, ?)"+
			" ON DUPLICATE KEY UPDATE value = VALUES(value)", t.typeID, a.id, id, v, store)
	default:
		return t.exec(ctx, "INSERT INTO "+t.table()+"_"+a.backend+" (entity_type_id, attribute_id, entity_id, value) VALUES (?, ?, ?, ?)"+
			" ON DUPLICATE KEY UPDATE value = VALUES(value)", t.typeID, a.id, id, v)
	}
}

// setAll stores values in the default scope.
func (t entityTable) setAll(ctx context.Context, id int64, values map[string]any) error {
	for code, v := range values {
		if err := t.set(ctx, id, 0, code, v); err != nil {
			return err
		}
	}
	return nil
}

// unset deletes the value of an attribute at a store view.
func (t entityTable) unset(ctx context.Context, id, store int64, code string) error {
	a, ok := t.attributes[code]
	if !ok || a.backend == "static" {
		return nil
	}
	statement, arguments := "DELETE FROM "+t.table()+"_"+a.backend+" WHERE entity_id = ? AND attribute_id = ?", []any{id, a.id}
	if t.scoped() {
		statement, arguments = statement+" AND store_id = ?", append(arguments, store)
	}
	return t.exec(ctx, statement, arguments...)
}

// add adds a record with its columns, and returns its id.
func (t entityTable) add(ctx context.Context, columns map[string]any) (id int64, err error) {
	names, arguments := []string{"entity_type_id"}, []any{t.typeID}
	for name, v := range columns {
		names, arguments = append(names, name), append(arguments, v)
	}
	return t.insert(ctx, "INSERT INTO "+t.table()+" ("+strings.Join(names, ", ")+") VALUES (?"+strings.Repeat(", ?", len(names)-1)+")", arguments...)
}
