package magento1

import (
	"context"
	"database/sql"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// Customers yields the customers by ascending id, without parts: their addresses come
// by themselves. password_hash is as the shop keeps it.
func (d *Database) Customers(ctx context.Context) iter.Seq2[adapter.Aggregate, error] {
	return stream[adapter.Aggregate](ctx, d, &customers{d: d})
}

// Addresses yields the addresses of customers by ascending id.
func (d *Database) Addresses(ctx context.Context) iter.Seq2[adapter.Aggregate, error] {
	return stream[adapter.Aggregate](ctx, d, &addresses{d: d})
}

// alone returns records as aggregates without parts.
func alone(records []adapter.Record) []adapter.Aggregate {
	var all []adapter.Aggregate
	for _, r := range records {
		all = append(all, adapter.Aggregate{Record: r})
	}
	return all
}

// backendTypes are the endings of the tables that hold EAV values.
func backendTypes() []string { return []string{"varchar", "int", "text", "decimal", "datetime"} }

// eav is where the values of an entity lie that no column of its own table holds.
type eav struct {
	d      *Database
	table  string
	schema *adapter.Schema
	of     map[string]map[int64]int // attribute of the schema by attribute_id, by backend type
}

// eav finds the attributes of an entity type that are called as those of a schema.
func (d *Database) eav(ctx context.Context, tx *sql.Tx, entityType, table string, schema *adapter.Schema) (*eav, error) {
	e := &eav{d: d, table: table, schema: schema, of: map[string]map[int64]int{}}
	err := d.attributes(ctx, tx, entityType, func(id int64, code, backend string) {
		at, ok := schema.Index(code)
		if !ok || !slices.Contains(backendTypes(), backend) {
			return
		}
		if e.of[backend] == nil {
			e.of[backend] = map[int64]int{}
		}
		e.of[backend][id] = at
	})
	return e, err
}

// attributes calls f on every attribute of an entity type.
func (d *Database) attributes(ctx context.Context, tx *sql.Tx, entityType string, f func(id int64, code, backend string)) error {
	return each(ctx, tx, func(rows *sql.Rows) error {
		var id int64
		var code, backend string
		err := rows.Scan(&id, &code, &backend)
		f(id, code, backend)
		return err
	}, "SELECT a.attribute_id, a.attribute_code, a.backend_type FROM "+d.table("eav_attribute")+" a JOIN "+d.table("eav_entity_type")+
		" t ON t.entity_type_id = a.entity_type_id WHERE t.entity_type_code = ? ORDER BY a.attribute_id", entityType)
}

// fill sets the values of records, which are of a batch by ascending key. A value that
// was never stored is absent.
func (e *eav) fill(ctx context.Context, tx *sql.Tx, records []adapter.Record) error {
	at := places(records)
	first, last := records[0].Get(e.schema.Key).Int(), records[len(records)-1].Get(e.schema.Key).Int()
	for _, backend := range backendTypes() {
		of := e.of[backend]
		if len(of) == 0 {
			continue
		}
		text := "SELECT entity_id, attribute_id, value FROM " + e.d.table(e.table+"_"+backend) + " WHERE entity_id BETWEEN ? AND ? AND attribute_id" + in(len(of))
		err := each(ctx, tx, func(rows *sql.Rows) error {
			var entity, attribute int64
			var column sql.NullString
			if err := rows.Scan(&entity, &attribute, &column); err != nil {
				return err
			}
			if i, ok := at[entity]; ok {
				place := of[attribute]
				records[i].Values[place] = value(e.schema.Attributes[place].Kind, column)
			}
			return nil
		}, text, append([]any{first, last}, anyOf(slices.Sorted(maps.Keys(of)))...)...)
		if err != nil {
			return err
		}
	}
	return nil
}

// places returns the places of records by their keys.
func places(records []adapter.Record) map[int64]int {
	at := make(map[int64]int, len(records))
	for i, r := range records {
		at[r.Get(r.Schema.Key).Int()] = i
	}
	return at
}

// in is a condition that a column has one of n values.
func in(n int) string { return " IN (?" + strings.Repeat(", ?", n-1) + ")" }

func anyOf(ids []int64) []any {
	all := make([]any, len(ids))
	for i, id := range ids {
		all[i] = id
	}
	return all
}

// customers reads customers.
type customers struct {
	d       *Database
	rows    *selection
	values  *eav
	genders map[int64]int64  // by the id of the option
	logins  map[int64]string // the last one, by customer
}

func (c *customers) prepare(ctx context.Context, tx *sql.Tx) (err error) {
	if c.rows, err = c.d.selection(ctx, tx, customerTable()); err != nil {
		return err
	}
	if c.values, err = c.d.eav(ctx, tx, "customer", c.rows.table, c.rows.schema); err != nil {
		return err
	}
	c.genders = map[int64]int64{}
	err = eachIfAny(ctx, tx, func(rows *sql.Rows) error {
		var option int64
		err := rows.Scan(&option)
		c.genders[option] = int64(len(c.genders) + 1)
		return err
	}, "SELECT o.option_id FROM "+c.d.table("eav_attribute_option")+" o JOIN "+c.d.table("eav_attribute")+" a ON a.attribute_id = o.attribute_id JOIN "+
		c.d.table("eav_entity_type")+" t ON t.entity_type_id = a.entity_type_id WHERE t.entity_type_code = 'customer' AND a.attribute_code = 'gender'"+
		" ORDER BY o.sort_order, o.option_id LIMIT 100")
	if err != nil {
		return err
	}
	c.logins = map[int64]string{}
	return eachIfAny(ctx, tx, func(rows *sql.Rows) error {
		var customer int64
		var login sql.NullString
		err := rows.Scan(&customer, &login)
		if at, ok := moment(login.String); ok {
			c.logins[customer] = at
		}
		return err
	}, "SELECT customer_id, MAX(login_at) FROM "+c.d.table("log_customer")+" GROUP BY customer_id")
}

func (c *customers) next(ctx context.Context, tx *sql.Tx, after int64) ([]adapter.Aggregate, int64, error) {
	records, last, err := c.rows.roots(ctx, tx, after)
	if err != nil || len(records) == 0 {
		return nil, last, err
	}
	if err := c.values.fill(ctx, tx, records); err != nil {
		return nil, after, err
	}
	for _, r := range records {
		if number, ok := c.genders[r.Get("gender").Int()]; ok && !r.Get("gender").Empty() {
			r.Set("gender", adapter.IntegerValue(number))
		}
		if login, ok := c.logins[r.Get("entity_id").Int()]; ok {
			r.Set("last_logged_in", adapter.TextValue(login))
		}
	}
	return alone(records), last, nil
}

// addresses reads the addresses of customers.
type addresses struct {
	d        *Database
	rows     *selection
	values   *eav
	defaults map[int64]string // is_default_ attribute, by the id of the customer's attribute
}

func (a *addresses) prepare(ctx context.Context, tx *sql.Tx) (err error) {
	if a.rows, err = a.d.selection(ctx, tx, addressTable()); err != nil {
		return err
	}
	if a.values, err = a.d.eav(ctx, tx, "customer_address", a.rows.table, a.rows.schema); err != nil {
		return err
	}
	a.defaults = map[int64]string{}
	return a.d.attributes(ctx, tx, "customer", func(id int64, code, _ string) {
		if code == "default_billing" || code == "default_shipping" {
			a.defaults[id] = "is_" + code
		}
	})
}

func (a *addresses) next(ctx context.Context, tx *sql.Tx, after int64) ([]adapter.Aggregate, int64, error) {
	records, last, err := a.rows.roots(ctx, tx, after)
	if err != nil || len(records) == 0 {
		return nil, last, err
	}
	if err := a.values.fill(ctx, tx, records); err != nil {
		return nil, after, err
	}
	for _, r := range records {
		r.Set("is_default_billing", zero())
		r.Set("is_default_shipping", zero())
		if r.Get("street").Kind() != adapter.Texts {
			r.Set("street", adapter.TextsValue(nil))
		}
	}
	if err := a.setDefaults(ctx, tx, records, last); err != nil {
		return nil, after, err
	}
	return alone(records), last, nil
}

// setDefaults marks the addresses that their customers have made default ones.
func (a *addresses) setDefaults(ctx context.Context, tx *sql.Tx, records []adapter.Record, last int64) error {
	if len(a.defaults) == 0 {
		return nil
	}
	at := places(records)
	text := "SELECT a.entity_id, v.attribute_id FROM " + a.d.table(a.rows.table) + " a JOIN " + a.d.table("customer_entity_int") +
		" v ON v.entity_id = a.parent_id AND v.value = a.entity_id WHERE a.entity_id BETWEEN ? AND ? AND v.attribute_id" + in(len(a.defaults))
	return each(ctx, tx, func(rows *sql.Rows) error {
		var address, attribute int64
		err := rows.Scan(&address, &attribute)
		if i, ok := at[address]; ok && err == nil {
			records[i].Set(a.defaults[attribute], adapter.IntegerValue(1))
		}
		return err
	}, text, append([]any{records[0].Get("entity_id").Int(), last}, anyOf(slices.Sorted(maps.Keys(a.defaults)))...)...)
}
