package magento1

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

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
		if one.Record.Get("region_id").Empty() {
			one.Record.Set("region_id", zero())
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

// customers returns the settings of customers' accounts and of the forms of customers and addresses.
// The legacy store reads all of them in the default scope only.
func (d settingsReader) customers(ctx context.Context, tx *sql.Tx) ([]Setting, error) {
	config, err := readConfiguration(ctx, d.conn, tx)
	if err != nil {
		return nil, err
	}
	confirmation, err := d.confirmation(ctx, tx, config)
	if err != nil {
		return nil, err
	}
	share, from := config.get(pathAccountShare)
	all := []Setting{confirmation, {Name: "customers.shared_accounts", Value: strconv.FormatBool(leadingInt(share) != 1), From: from}}
	for _, form := range []struct {
		name     string
		entity   entity
		resource adapter.Resource
	}{
		{"customers.required_fields", customerEntity(), adapter.Customers},
		{"customers.required_address_fields", addressEntity(), adapter.CustomerAddresses},
	} {
		required, err := d.requiredFields(ctx, tx, form.entity, form.resource)
		if err != nil {
			return nil, err
		}
		all = append(all, Setting{Name: form.name, Value: strings.Join(required, ","), From: "eav_attribute.is_required, which the settings customer/address/ change"})
	}
	return append(all, allowedCountries(config), countriesWithoutPostcode(config)), nil
}

// confirmation returns whether new customers have to confirm their e-mail address. The value of a
// store without a row depends on its software.
func (d settingsReader) confirmation(ctx context.Context, tx *sql.Tx, config *configuration) (Setting, error) {
	value, from := config.get(pathConfirm)
	if !config.has(pathConfirm) {
		isMagento, evidence, err := d.isMagento(ctx, tx)
		if err != nil {
			return Setting{}, err
		}
		if value = "1"; isMagento {
			value = "0"
		}
		from += ", which is 1 in OpenMage and 0 in Magento; " + evidence
	}
	return Setting{Name: "customers.confirmation", Value: strconv.FormatBool(value != "" && value != "0"), From: from}, nil
}

// isMagento reports whether the store runs Magento rather than OpenMage, as far as core_resource says,
// and on what evidence. Both have the core module of 1.6.0.7 or earlier; OpenMage alone has later ones.
func (d settingsReader) isMagento(ctx context.Context, tx *sql.Tx) (isMagento bool, evidence string, err error) {
	version, err := d.moduleVersion(ctx, tx, "core_setup")
	if version == "" {
		return false, "no core_setup in core_resource names the software, and OpenMage is assumed", err
	}
	if isLater(version, "1.6.0.7") {
		return false, "core_setup " + version + " in core_resource is OpenMage's", err
	}
	return true, "core_setup " + version + " in core_resource is Magento's, or that of an early OpenMage", err
}

// moduleVersion returns the version in which a module of the legacy store has made its tables, or ""
// if there is none.
func (d settingsReader) moduleVersion(ctx context.Context, tx *sql.Tx, module string) (version string, err error) {
	err = d.conn.eachIfTable(ctx, tx, "core_resource", "SELECT version FROM "+d.conn.Table("core_resource")+" WHERE code = '"+module+"'", func(r row) error {
		version = d.conn.TextOf(r[0])
		return nil
	})
	return version, err
}

// isLater reports whether a version, numbers with dots between them, comes after another one.
func isLater(version, than string) bool {
	numbers := func(text string) (all []int64) {
		for part := range strings.SplitSeq(text, ".") {
			all = append(all, leadingInt(part))
		}
		return all
	}
	return slices.Compare(numbers(version), numbers(than)) > 0
}

// Dialect returns the dialect in which the legacy store answers, "magento" or "openmage", and the
// evidence in its database (openmage 12). OpenMage 20.17 or later has a core module after 1.6.0.10,
// whether the database is new or has been upgraded. OpenMage 20.11 to 20.16, which answers some calls as
// magento and some as openmage, has a later tax module than Magento.
func (d *Database) Dialect(ctx context.Context) (dialect, evidence string, err error) {
	const (
		coreOf1940 = "1.6.0.10"
		taxOf1940  = "1.6.0.4"
	)
	r := settingsReader{d.conn}
	err = d.conn.retry(ctx, func(tx *sql.Tx) error {
		core, err := r.moduleVersion(ctx, tx, "core_setup")
		if err != nil {
			return err
		}
		tax, err := r.moduleVersion(ctx, tx, "tax_setup")
		dialect = "magento"
		switch {
		case core == "":
			evidence = "no core_setup in core_resource names the version: openmage is right for OpenMage 20.17 or later"
		case isLater(core, coreOf1940):
			dialect, evidence = "openmage", "core_setup "+core+" in core_resource shows OpenMage 20.17 or later"
		case isLater(tax, taxOf1940):
			evidence = "core_setup " + core + " and tax_setup " + tax + " in core_resource show OpenMage 20.11 to 20.16, which answers some calls as the dialect openmage: run portico compare with both dialects"
		default:
			evidence = "core_setup " + core + " in core_resource shows Magento, or OpenMage before 20.17"
		}
		return err
	})
	return dialect, evidence, err
}

// leadingInt returns the whole number at the beginning of a text, or 0.
func leadingInt(text string) int64 {
	text = strings.TrimSpace(text)
	digits := text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
	n, _ := strconv.ParseInt(digits, 10, 64)
	return n
}

// formFields returns the attributes of a new shop that the forms of customers or addresses can
// require, in the order of the forms. Others are always required, or never.
func formFields(r adapter.Resource) []string {
	if r == adapter.Customers {
		return []string{"prefix", "firstname", "middlename", "lastname", "suffix", "dob", "taxvat", "gender"}
	}
	return []string{"prefix", "firstname", "middlename", "lastname", "suffix", "company", "street", "city", "country_id", "postcode", "telephone", "fax", "vat_id"}
}

// requiredFields returns the names of the fields that a form requires: fields of the contract, and
// attributes of the shop's own that are in the form. Rows for single websites have no effect.
func (d settingsReader) requiredFields(ctx context.Context, tx *sql.Tx, e entity, r adapter.Resource) ([]string, error) {
	own, err := ownAttributesOf(ctx, d.conn, tx, e, r)
	if err != nil {
		return nil, err
	}
	const forms = "customer_form_attribute"
	inForm := ""
	if there, err := d.conn.ColumnsOf(ctx, tx, forms); err != nil {
		return nil, err
	} else if there != nil {
		inForm = " AND (a.is_user_defined = 0 OR EXISTS (SELECT 1 FROM " + d.conn.Table(forms) + " f WHERE f.attribute_id = a.attribute_id AND f.form_code = 'adminhtml_" + e.code + "'))"
	}
	var required []string
	err = d.conn.Each(ctx, tx, "SELECT a.attribute_code FROM "+d.conn.Table("eav_attribute")+" a JOIN "+d.conn.Table("eav_entity_type")+
		" t ON t.entity_type_id = a.entity_type_id WHERE t.entity_type_code = '"+e.code+"' AND a.is_required = 1"+inForm+" ORDER BY a.attribute_id", func(row row) error {
		required = append(required, d.conn.TextOf(row[0]))
		return nil
	})
	fields := formFields(r)
	for _, a := range own {
		if a.valid {
			fields = append(fields, a.Name)
		}
	}
	return slices.DeleteFunc(fields, func(name string) bool { return !slices.Contains(required, name) }), err
}

// countryCode matches the codes that settings can have.
var countryCode = regexp.MustCompile(`^[A-Z]{2}$`)

// allowedCountries returns the countries of addresses. The legacy store looks the codes up in its
// database, which ignores letter case and blanks behind them.
func allowedCountries(config *configuration) Setting {
	value, from := config.get(pathCountries)
	s := Setting{Name: "customers.countries", From: from}
	if !config.has(pathCountries) {
		return s
	}
	codes, others := splitCodes(strings.ToUpper(value), func(code string) string { return strings.TrimRight(code, " ") })
	s.Value = strings.Join(codes, ",")
	switch {
	case len(codes) == 0:
		s.Warning = fmt.Sprintf("the row %q names no country, so the legacy store accepts no address: Portico accepts addresses in all countries", value)
	case len(others) > 0:
		s.Warning = fmt.Sprintf("%q are no codes of countries, and are left out", others)
	}
	return s
}

// countriesWithoutPostcode returns the countries whose addresses need no postcode. The legacy store
// compares the codes exactly, so that a misspelled one has no effect.
func countriesWithoutPostcode(config *configuration) Setting {
	value, from := config.get(pathOptionalZip)
	codes, others := splitCodes(value, func(code string) string { return code })
	s := Setting{Name: "customers.countries_without_postcode", Value: strings.Join(codes, ","), From: from}
	if len(others) > 0 {
		s.Warning = fmt.Sprintf("%q are no codes of countries, have no effect in the legacy store, and are left out", others)
	}
	return s
}

// splitCodes returns the codes of countries in a list, each once, and the entries that are none.
func splitCodes(list string, trim func(string) string) (codes, others []string) {
	for entry := range strings.SplitSeq(list, ",") {
		code := trim(entry)
		switch {
		case countryCode.MatchString(code):
			if !slices.Contains(codes, code) {
				codes = append(codes, code)
			}
		case strings.TrimSpace(entry) != "":
			others = append(others, entry)
		}
	}
	return codes, others
}
