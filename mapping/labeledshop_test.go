package mapping_test

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// An ownerLabel names the callers who may see a record or an attribute. Labels 1 to 3 are
// the customers with those ids.
type ownerLabel int

const (
	unlabeled   ownerLabel = -1 // visible to all callers
	guestLabel  ownerLabel = 0  // of no customer: visible to Admins only
	germanLabel ownerLabel = 6  // visible to all callers, at store views of the other website
	adminLabel  ownerLabel = 8
	nobodyLabel ownerLabel = 9
	germanView             = "3"
)

// textValue, timeValue and decimalValue are the values that a label writes into
// attributes of these kinds. No value of the demo store looks like them.
func (m ownerLabel) textValue() string    { return fmt.Sprintf("marked%dx", m) }
func (m ownerLabel) timeValue() string    { return fmt.Sprintf("190%d-01-01", m) }
func (m ownerLabel) decimalValue() string { return fmt.Sprintf("90909%d", m) }

// isIn reports whether a body shows a value that carries m.
func (m ownerLabel) isIn(body string) bool {
	return strings.Contains(body, m.textValue()) || strings.Contains(body, m.timeValue()) || strings.Contains(body, m.decimalValue())
}

// applyTo labels all texts, times and decimals of rec, or only the named attributes.
// Values that other records or rules refer to stay.
func (m ownerLabel) applyTo(rec adapter.Record, names ...string) {
	excluded := []string{"type_id", "country_id", "address_type", "password_hash"}
	for i, a := range rec.Schema.Attributes {
		all := len(names) == 0 && !slices.Contains(excluded, a.Name)
		if !all && !slices.Contains(names, a.Name) || a.ReadOnly && a.OnDemand || a.WriteOnly {
			continue
		}
		switch a.Kind {
		case adapter.KindText:
			// Some of them must be unique.
			rec.Values[i] = adapter.TextValue(m.textValue() + rec.Get(rec.Schema.Key).Text())
		case adapter.KindTexts:
			rec.Values[i] = adapter.TextsValue([]string{m.textValue(), m.textValue()})
		case adapter.KindTime:
			rec.Values[i] = adapter.TextValue(m.timeValue() + " 00:00:00")
		case adapter.KindDecimal:
			rec.Values[i] = adapter.TextValue(m.decimalValue() + ".0001")
		}
	}
}

// A caller is a client of a labeledShop.
type caller struct {
	name          string
	role          contract.Role
	customer      int64
	authorization string
}

// maySee reports whether the caller may see values with label m, at a store view given by
// its name in the path.
func (c caller) maySee(m ownerLabel, view string) bool {
	switch {
	case m == nobodyLabel:
		return false
	case m == unlabeled, c.role == contract.Admin:
		return true
	case m == germanLabel:
		return view == germanView || view == "admin"
	default:
		return c.role == contract.Customer && int64(m) == c.customer
	}
}

// A labeledShop is the demo store with a label on all data that is not visible to all
// callers, so that a reply reveals whose data it contains.
type labeledShop struct {
	*shop
	data    *adapter.Dataset
	callers []caller
	// images holds the labels of images by "product image". Product 1 has two, of which
	// the second is excluded; product 5 is disabled.
	images map[string]ownerLabel
}

// openLabeledShop opens the shop. The orders of every customer have comments, some of
// them for Admins only.
func openLabeledShop(t *testing.T, d *contract.Dialect) *labeledShop {
	t.Helper()
	return openLabeledShopOn(t, d, func(data *adapter.Dataset) *store { return openStore(t, data) })
}

// openSQLiteLabeledShop is like openLabeledShop, with a store in a SQLite file.
func openSQLiteLabeledShop(t *testing.T, d *contract.Dialect) *labeledShop {
	t.Helper()
	return openLabeledShopOn(t, d, func(data *adapter.Dataset) *store { return openSQLiteStore(t, data, nil) })
}

// openLabeledShopOn opens the shop with a store that open returns.
func openLabeledShopOn(t *testing.T, d *contract.Dialect, open func(*adapter.Dataset) *store) *labeledShop {
	t.Helper()
	m := &labeledShop{data: loadDemo(t)}
	m.addComments()
	for _, resource := range []adapter.Resource{adapter.Customers, adapter.CustomerAddresses, adapter.Orders, adapter.OrderItems, adapter.OrderAddresses, adapter.OrderComments} {
		for _, rec := range m.data.Records[resource] {
			m.labelOf(rec).applyTo(rec)
		}
	}
	for _, customer := range m.data.Records[adapter.Customers] {
		nobodyLabel.applyTo(customer, "password_hash")
	}
	clear(m.data.Passwords)
	for _, rec := range m.data.Records[adapter.StockItems] {
		adminLabel.applyTo(rec, "qty", "max_sale_qty")
	}
	for _, rec := range m.data.Records[adapter.Products] {
		// All attributes that Customers and Guests do not see. They see price and special
		// price through computed fields.
		adminLabel.applyTo(rec, "cost", "msrp", "custom_design", "page_layout", "options_container", "custom_layout_update", "country_of_manufacture",
			"news_from_date", "news_to_date", "special_from_date", "special_to_date", "custom_design_from", "custom_design_to")
		if of := m.labelOf(rec); of != unlabeled {
			of.applyTo(rec)
		}
	}
	store := open(m.data)
	m.addImages(t, store)
	m.shop = serveShop(t, d, settings(), m.data, store, store)

	m.callers = []caller{{name: "guest", role: contract.Guest}}
	for _, token := range m.data.Tokens {
		c := caller{name: "admin", role: contract.Admin, authorization: authorization(m.data, token)}
		if token.CustomerID != 0 {
			c.name, c.role, c.customer = "customer "+strconv.FormatInt(token.CustomerID, 10), contract.Customer, token.CustomerID
		}
		m.callers = append(m.callers, c)
	}
	return m
}

// addComments replaces the demo's comments: every order gets one that its customer sees
// and one that customers do not see.
func (m *labeledShop) addComments() {
	first := m.data.Records[adapter.OrderComments][0]
	m.data.Records[adapter.OrderComments] = nil
	for _, order := range m.data.Records[adapter.Orders] {
		for visible := range int64(2) {
			rec := first.Clone()
			rec.Set("entity_id", adapter.IntegerValue(100+2*order.Get("entity_id").Int()+visible))
			rec.Set("parent_id", order.Get("entity_id"))
			rec.Set("is_visible_on_front", adapter.IntegerValue(visible))
			m.data.Records[adapter.OrderComments] = append(m.data.Records[adapter.OrderComments], rec)
		}
	}
}

// addImages adds images, which data sets cannot hold.
func (m *labeledShop) addImages(t testing.TB, s *store) {
	t.Helper()
	images, err := s.Store(adapter.ProductImages)
	if err != nil {
		t.Fatal(err)
	}
	m.images = map[string]ownerLabel{}
	for _, i := range []struct {
		product, exclude int64
		name             string
		types            []string
		label            ownerLabel
	}{
		{1, 0, "front", []string{"image"}, unlabeled},
		{1, 1, adminLabel.textValue(), nil, adminLabel},
		{5, 0, adminLabel.textValue(), []string{"image"}, adminLabel},
	} {
		rec := adapter.NewRecord(adapter.NewSchemas().Of(adapter.ProductImages))
		rec.Set("product_id", adapter.IntegerValue(i.product))
		rec.Set("file", adapter.TextValue("i/"+i.name+".png"))
		rec.Set("media_type", adapter.TextValue("image/png"))
		rec.Set("content", adapter.TextValue("bytes"))
		rec.Set("label", adapter.TextValue(i.name))
		rec.Set("exclude", adapter.IntegerValue(i.exclude))
		rec.Set("types", adapter.TextsValue(i.types))
		key, err := images.Create(t.Context(), &adapter.CreateParams{Record: rec})
		if err != nil {
			t.Fatal(err)
		}
		m.images[fmt.Sprintf("%d %d", i.product, key)] = i.label
	}
}

// record returns the record of a resource with the id in a path.
func (m *labeledShop) record(resource adapter.Resource, id string) (adapter.Record, bool) {
	for _, rec := range m.data.Records[resource] {
		if rec.Get(rec.Schema.Key).Text() == id {
			return rec, true
		}
	}
	return adapter.Record{}, false
}

// labelOf returns the label for a record.
func (m *labeledShop) labelOf(rec adapter.Record) ownerLabel {
	if rec.Schema.Owner != "" {
		return ownerLabel(rec.Get(rec.Schema.Owner).Int()) // null, in a guest's order, is 0
	}
	order := rec.Get("order_id")
	switch rec.Schema.Resource {
	case adapter.OrderComments:
		if rec.Get("is_visible_on_front").Int() == 0 {
			return adminLabel
		}
		order = rec.Get("parent_id")
	case adapter.OrderAddresses:
		order = rec.Get("parent_id")
	case adapter.Products:
		return m.productLabel(rec)
	}
	parent, _ := m.record(adapter.Orders, order.Text())
	return m.labelOf(parent)
}

// productLabel returns the label for a product. Products are visible to all callers while
// they are enabled, visible and in the website of the store view; product 10 is only in
// the other website.
func (m *labeledShop) productLabel(rec adapter.Record) ownerLabel {
	websites := map[int64]bool{}
	for _, assignment := range m.data.Records[adapter.ProductWebsites] {
		if assignment.Get("product_id").Int() == rec.Get("entity_id").Int() {
			websites[assignment.Get("website_id").Int()] = true
		}
	}
	switch {
	case rec.Get("status").Int() != 1, rec.Get("visibility").Int() == 1, len(websites) == 0:
		return adminLabel
	case websites[1]:
		return unlabeled
	default:
		return germanLabel
	}
}

// get sends a GET for a target below /api/rest.
func (m *labeledShop) get(c caller, target, accept string) resource.Response {
	return m.ask(c, "GET", target, accept, "", "")
}

// ask sends a request with any method, with or without a body.
func (m *labeledShop) ask(c caller, method, target, accept, contentType, body string) resource.Response {
	r := httptest.NewRequest(method, "/api/rest"+target, strings.NewReader(body))
	r.Header.Set("Accept", accept)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	if c.authorization != "" {
		r.Header.Set("Authorization", c.authorization)
	}
	return m.service.Serve(r.Context(), &resource.Request{HTTP: r, Scheme: "http"}, nil)
}

// leaks returns the labels in a body that the caller may not see, or "".
func (m *labeledShop) leaks(c caller, body []byte, view string) string {
	text := string(body)
	for _, of := range []ownerLabel{guestLabel, 1, 2, 3, germanLabel, adminLabel, nobodyLabel} {
		if of.isIn(text) && !c.maySee(of, view) {
			return fmt.Sprintf("%s is shown what carries mark %d: %.300s", c.name, of, text)
		}
	}
	return ""
}
