package magento1

import (
	"context"
	"database/sql"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

func customerTable() flatTable {
	return flatTable{
		part: Customers, resource: adapter.Customers, table: "customer_entity", keyColumn: "entity_id",
		fallbacks: map[string]adapter.Value{
			"website_id": zero(), "store_id": zero(), "group_id": zero(), "disable_auto_group_change": zero(),
			// Absent times are set when the record is stored.
			"created_at": {}, "updated_at": {},
		},
	}
}

func addressTable() flatTable {
	return flatTable{
		part: Addresses, resource: adapter.CustomerAddresses, table: "customer_address_entity", keyColumn: "entity_id",
		columnNames: map[string]string{"customer_id": "parent_id"},
		fallbacks:   map[string]adapter.Value{"created_at": {}, "updated_at": {}},
	}
}

// A customerReader reads customers, without parts. Their password_hash has the form in which the
// original stores it.
type customerReader struct {
	entityReader
	genders map[int64]int64  // 1 or 2 by the id of the option
	logins  map[int64]string // time of the last login, by customer
	only    []int64          // if not nil, nothing but the customers with these ids is read
}

func (c *customerReader) prepare(ctx context.Context, tx *sql.Tx) error {
	if err := c.entityReader.prepare(ctx, tx, customerEntity(), customerTable()); err != nil {
		return err
	}
	c.genders = map[int64]int64{}
	err := c.d.conn.eachIfTable(ctx, tx, "eav_attribute_option", "SELECT o.option_id FROM "+c.d.conn.Table("eav_attribute_option")+" o JOIN "+c.d.conn.Table("eav_attribute")+
		" a ON a.attribute_id = o.attribute_id JOIN "+c.d.conn.Table("eav_entity_type")+" t ON t.entity_type_id = a.entity_type_id"+
		" WHERE t.entity_type_code = 'customer' AND a.attribute_code = 'gender' ORDER BY o.sort_order, o.option_id LIMIT 100", func(r row) error {
		c.genders[r.ID(0)] = int64(len(c.genders) + 1)
		return nil
	})
	if err != nil {
		return err
	}
	c.logins = map[int64]string{}
	condition := ""
	if c.only != nil {
		condition = " WHERE " + window{ids: c.only}.has("customer_id")
	}
	return c.d.conn.eachIfTable(ctx, tx, "log_customer", "SELECT customer_id, MAX(login_at) FROM "+c.d.conn.Table("log_customer")+condition+" GROUP BY customer_id", func(r row) error {
		if at, ok := normalizeTime(string(r[1])); ok {
			c.logins[r.ID(0)] = at
		}
		return nil
	})
}

func (c *customerReader) next(ctx context.Context, tx *sql.Tx, w window) ([]adapter.Aggregate, int64, error) {
	b, last, err := c.entityReader.next(ctx, tx, w)
	if err != nil || b == nil {
		return nil, w.after, err
	}
	for _, a := range b.aggregates {
		r := a.Record
		if number, ok := c.genders[r.Get("gender").Int()]; ok && !r.Get("gender").Empty() {
			r.Set("gender", adapter.IntegerValue(number))
		}
		if login, ok := c.logins[keyOf(r)]; ok {
			r.Set("last_logged_in", adapter.TextValue(login))
		}
	}
	return b.aggregates, last, nil
}

// An addressReader reads customers' addresses.
type addressReader struct {
	entityReader
	defaults map[int64]string // name of the is_default_ attribute, by the attribute_id of the customer's attribute
}

func (a *addressReader) prepare(ctx context.Context, tx *sql.Tx) error {
	if err := a.entityReader.prepare(ctx, tx, addressEntity(), addressTable()); err != nil {
		return err
	}
	attributes, err := attributesOf(ctx, a.d.conn, tx, customerEntity().code)
	a.defaults = map[int64]string{}
	for _, attribute := range attributes {
		if slices.Contains([]string{"default_billing", "default_shipping"}, attribute.code) {
			a.defaults[attribute.id] = "is_" + attribute.code
		}
	}
	return err
}

func (a *addressReader) next(ctx context.Context, tx *sql.Tx, w window) ([]adapter.Aggregate, int64, error) {
	b, last, err := a.entityReader.next(ctx, tx, w)
	if err != nil || b == nil {
		return nil, w.after, err
	}
	for _, one := range b.aggregates {
		one.Record.Set("is_default_billing", zero())
		one.Record.Set("is_default_shipping", zero())
		if one.Record.Get("street").Kind() != adapter.Texts {
			one.Record.Set("street", adapter.TextsValue(nil))
		}
	}
	return b.aggregates, last, a.setDefaults(ctx, tx, b, w.until(last))
}

// setDefaults marks the addresses that are default addresses of their customers.
func (a *addressReader) setDefaults(ctx context.Context, tx *sql.Tx, b *eavBatch, w window) error {
	if len(a.defaults) == 0 {
		return nil
	}
	var ids []int64
	for id := range a.defaults {
		ids = append(ids, id)
	}
	return a.d.conn.Each(ctx, tx, "SELECT a.entity_id, v.attribute_id FROM "+a.d.conn.Table("customer_address_entity")+" a JOIN "+a.d.conn.Table("customer_entity_int")+
		" v ON v.entity_id = a.parent_id AND v.value = a.entity_id WHERE "+w.has("a.entity_id")+" AND v.attribute_id IN ("+joinIDs(ids)+")", func(r row) error {
		if i, ok := b.index[r.ID(0)]; ok {
			b.aggregates[i].Record.Set(a.defaults[r.ID(1)], adapter.IntegerValue(1))
		}
		return nil
	})
}
