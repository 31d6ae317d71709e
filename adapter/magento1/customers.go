package magento1

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// aggregates returns records as aggregates without parts.
func aggregates(records []adapter.Record) []adapter.Aggregate {
	var all []adapter.Aggregate
	for _, r := range records {
		all = append(all, adapter.Aggregate{Record: r})
	}
	return all
}

// backendTypes returns the suffixes of the tables that hold EAV values.
func backendTypes() []string { return []string{"varchar", "int", "text", "decimal", "datetime"} }

// An eavReader reads the EAV values of an entity, which are outside the entity's own table.
type eavReader struct {
	d          *Database
	table      string
	schema     *adapter.Schema
	attributes map[string]map[int64]int // by backend type: index in the schema by attribute_id
}

// newEAVReader finds the attributes of an entity type that the schema has, too.
func (d *Database) newEAVReader(ctx context.Context, tx *sql.Tx, entityType, table string, schema *adapter.Schema) (*eavReader, error) {
	e := &eavReader{d: d, table: table, schema: schema, attributes: map[string]map[int64]int{}}
	err := d.eachAttribute(ctx, tx, entityType, func(id int64, code, backend string) {
		at, ok := schema.Index(code)
		if !ok || !slices.Contains(backendTypes(), backend) {
			return
		}
		if e.attributes[backend] == nil {
			e.attributes[backend] = map[int64]int{}
		}
		e.attributes[backend][id] = at
	})
	return e, err
}

// eachAttribute calls f for every attribute of an entity type.
func (d *Database) eachAttribute(ctx context.Context, tx *sql.Tx, entityType string, f func(id int64, code, backend string)) error {
	return eachRow(ctx, tx, func(rows *sql.Rows) error {
		var id int64
		var code, backend string
		err := rows.Scan(&id, &code, &backend)
		f(id, code, backend)
		return err
	}, "SELECT a.attribute_id, a.attribute_code, a.backend_type FROM "+d.table("eav_attribute")+" a JOIN "+d.table("eav_entity_type")+
		" t ON t.entity_type_id = a.entity_type_id WHERE t.entity_type_code = ? ORDER BY a.attribute_id", entityType)
}

// setValues sets the EAV values of a batch of records, which is sorted by key. A value that
// was never stored stays absent.
func (e *eavReader) setValues(ctx context.Context, tx *sql.Tx, records []adapter.Record) error {
	at := indexByKey(records)
	first, last := records[0].Get(e.schema.Key).Int(), records[len(records)-1].Get(e.schema.Key).Int()
	for _, backend := range backendTypes() {
		of := e.attributes[backend]
		if len(of) == 0 {
			continue
		}
		text := "SELECT entity_id, attribute_id, value FROM " + e.d.table(e.table+"_"+backend) + " WHERE entity_id BETWEEN ? AND ? AND attribute_id" + inCondition(len(of))
		err := eachRow(ctx, tx, func(rows *sql.Rows) error {
			var entity, attribute int64
			var column sql.NullString
			if err := rows.Scan(&entity, &attribute, &column); err != nil {
				return err
			}
			if i, ok := at[entity]; ok {
				place := of[attribute]
				records[i].Values[place] = valueOf(e.schema.Attributes[place].Kind, column)
			}
			return nil
		}, text, append([]any{first, last}, toAny(slices.Sorted(maps.Keys(of)))...)...)
		if err != nil {
			return err
		}
	}
	return nil
}

// indexByKey returns the index of each record by its key.
func indexByKey(records []adapter.Record) map[int64]int {
	at := make(map[int64]int, len(records))
	for i, r := range records {
		at[r.Get(r.Schema.Key).Int()] = i
	}
	return at
}

// inCondition returns an SQL condition that a column equals one of n values.
func inCondition(n int) string { return " IN (?" + strings.Repeat(", ?", n-1) + ")" }

func toAny(ids []int64) []any {
	all := make([]any, len(ids))
	for i, id := range ids {
		all[i] = id
	}
	return all
}

// A customerReader reads customers.
type customerReader struct {
	d       *Database
	rows    *tableReader
	values  *eavReader
	genders map[int64]int64  // 1 or 2 by the id of the option
	logins  map[int64]string // time of the last login, by customer
}

func (c *customerReader) prepare(ctx context.Context, tx *sql.Tx) (err error) {
	if c.rows, err = c.d.newTableReader(ctx, tx, customerTable()); err != nil {
		return err
	}
	if c.values, err = c.d.newEAVReader(ctx, tx, "customer", c.rows.table, c.rows.schema); err != nil {
		return err
	}
	c.genders = map[int64]int64{}
	err = eachRowIfTable(ctx, tx, func(rows *sql.Rows) error {
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
	return eachRowIfTable(ctx, tx, func(rows *sql.Rows) error {
		var customer int64
		var login sql.NullString
		err := rows.Scan(&customer, &login)
		if at, ok := normalizeTime(login.String); ok {
			c.logins[customer] = at
		}
		return err
	}, "SELECT customer_id, MAX(login_at) FROM "+c.d.table("log_customer")+" GROUP BY customer_id")
}

func (c *customerReader) next(ctx context.Context, tx *sql.Tx, after int64) ([]adapter.Aggregate, int64, error) {
	records, last, err := c.rows.nextBatch(ctx, tx, after)
	if err != nil || len(records) == 0 {
		return nil, last, err
	}
	if err := c.values.setValues(ctx, tx, records); err != nil {
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
	return aggregates(records), last, nil
}

// An addressReader reads customers' addresses.
type addressReader struct {
	d        *Database
	rows     *tableReader
	values   *eavReader
	defaults map[int64]string // name of the is_default_ attribute, by the attribute_id of the customer's attribute
}

func (a *addressReader) prepare(ctx context.Context, tx *sql.Tx) (err error) {
	if a.rows, err = a.d.newTableReader(ctx, tx, addressTable()); err != nil {
		return err
	}
	if a.values, err = a.d.newEAVReader(ctx, tx, "customer_address", a.rows.table, a.rows.schema); err != nil {
		return err
	}
	a.defaults = map[int64]string{}
	return a.d.eachAttribute(ctx, tx, "customer", func(id int64, code, _ string) {
		if code == "default_billing" || code == "default_shipping" {
			a.defaults[id] = "is_" + code
		}
	})
}

func (a *addressReader) next(ctx context.Context, tx *sql.Tx, after int64) ([]adapter.Aggregate, int64, error) {
	records, last, err := a.rows.nextBatch(ctx, tx, after)
	if err != nil || len(records) == 0 {
		return nil, last, err
	}
	if err := a.values.setValues(ctx, tx, records); err != nil {
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
	return aggregates(records), last, nil
}

// setDefaults marks the addresses that are default addresses of their customers.
func (a *addressReader) setDefaults(ctx context.Context, tx *sql.Tx, records []adapter.Record, last int64) error {
	if len(a.defaults) == 0 {
		return nil
	}
	at := indexByKey(records)
	text := "SELECT a.entity_id, v.attribute_id FROM " + a.d.table(a.rows.table) + " a JOIN " + a.d.table("customer_entity_int") +
		" v ON v.entity_id = a.parent_id AND v.value = a.entity_id WHERE a.entity_id BETWEEN ? AND ? AND v.attribute_id" + inCondition(len(a.defaults))
	return eachRow(ctx, tx, func(rows *sql.Rows) error {
		var address, attribute int64
		err := rows.Scan(&address, &attribute)
		if i, ok := at[address]; ok && err == nil {
			records[i].Set(a.defaults[attribute], adapter.IntegerValue(1))
		}
		return err
	}, text, append([]any{records[0].Get("entity_id").Int(), last}, toAny(slices.Sorted(maps.Keys(a.defaults)))...)...)
}
