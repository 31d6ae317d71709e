package mapping_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// TestIntegerFields checks that the field tables and the schemas agree about which stored attributes are
// integers (configurations 10).
func TestIntegerFields(t *testing.T) {
	schemas, fields := adapter.NewSchemas(), contract.StandardFields()
	for _, c := range []struct {
		resource adapter.Resource
		tables   []*contract.FieldTable
	}{
		{adapter.Customers, []*contract.FieldTable{fields.Customers}},
		{adapter.CustomerAddresses, []*contract.FieldTable{fields.CustomerAddresses}},
		{adapter.Products, []*contract.FieldTable{
			fields.AdminProducts, fields.PublicProducts, fields.AssignedProducts, fields.PublicAssignedProducts,
		}},
		{adapter.ProductImages, []*contract.FieldTable{fields.ProductImages}},
		{adapter.ProductWebsites, []*contract.FieldTable{fields.ProductWebsites}},
		{adapter.ProductCategories, []*contract.FieldTable{fields.ProductCategories}},
		{adapter.StockItems, []*contract.FieldTable{fields.StockItems, fields.ProductStock}},
		{adapter.Orders, []*contract.FieldTable{fields.Orders}},
		{adapter.OrderItems, []*contract.FieldTable{fields.OrderItems}},
		{adapter.OrderAddresses, []*contract.FieldTable{fields.OrderAddresses}},
		{adapter.OrderComments, []*contract.FieldTable{fields.OrderComments, fields.OrderCommentList}},
	} {
		schema := schemas.Of(c.resource)
		for _, table := range c.tables {
			for i := range table.Fields {
				field := &table.Fields[i]
				at, stored := schema.Index(field.Attribute)
				if stored && (schema.Attributes[at].Kind == adapter.KindInteger) != (field.Integer || field.Native) {
					t.Errorf("%s, field %s: Integer is %t, unlike its attribute", c.resource, field.Name, field.Integer)
				}
			}
		}
	}
}

// integerColumns names the integer columns of which recorded replies have values. status is one of
// products only.
func integerColumns() []string {
	return []string{
		"entity_id", "attribute_set_id", "website_id", "group_id", "status", "visibility", "tax_class_id",
		"gender", "disable_auto_group_change", "customer_id", "item_id", "product_id", "stock_id",
		"use_config_min_qty", "is_qty_decimal", "backorders", "use_config_backorders", "use_config_min_sale_qty",
		"use_config_max_sale_qty", "is_in_stock", "use_config_notify_stock_qty", "manage_stock",
		"use_config_manage_stock", "stock_status_changed_auto", "use_config_qty_increments",
		"use_config_enable_qty_inc", "enable_qty_increments", "is_decimal_divided", "is_saleable",
		"total_reviews_count", "category_id", "id", "position", "exclude", "cust_group", "is_visible_on_front",
		"is_customer_notified",
	}
}

// textIntegers turns the numbers of integer columns into texts. It counts the numbers and the texts of
// each column. Entries of errors repeat the id that was sent.
func textIntegers(n *codec.Node, numbers, texts map[string]int) {
	for i := range n.Members {
		m := &n.Members[i]
		allGroups := m.Key == "cust_group" && m.Value.Text == "32000" // a number in every shop
		last := &n.Members[len(n.Members)-1]
		sent := last.Key == "code" && last.Value.Text != "200" && m.Key != "product_id"
		switch column := slices.Contains(integerColumns(), m.Key) && !allGroups && !sent; {
		case column && m.Value.Kind == codec.Number:
			numbers[m.Key]++
			m.Value.Kind = codec.Text
		case column && m.Value.Kind == codec.Text && codec.IsCanonicalNumber(m.Value.Text):
			texts[m.Key]++
		default:
			textIntegers(&m.Value, numbers, texts)
		}
	}
}

// TestNumericIntegers makes all recorded calls in a shop with integers as numbers and in one with
// texts: the replies differ in the integer columns of JSON alone (configurations 10).
func TestNumericIntegers(t *testing.T) {
	t.Parallel()
	exchanges, err := contracttests.Exchanges()
	if err != nil {
		t.Fatal(err)
	}
	with := settings()
	with.Customers.NoConfirmation = true // the keys are random
	for _, d := range contract.Dialects() {
		numeric := d.WithNumericIntegers()
		if !numeric.NumericIntegers { // a dialect without the choice
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			numbers, texts := map[string]int{}, map[string]int{}
			var inTexts, inNumbers *shop
			for i := range exchanges {
				if i == 0 || exchanges[i].File != exchanges[i-1].File {
					inTexts = serveDemo(t, d, with, openDemo(t), nil)
					inNumbers = serveDemo(t, numeric, with, openDemo(t), nil)
				}
				for j := range exchanges[i].Steps {
					compareIntegers(t, inTexts, inNumbers, &exchanges[i].Steps[j], numbers, texts)
				}
			}
			for _, column := range integerColumns() {
				if numbers[column] == 0 || texts[column] > 0 {
					t.Errorf("%s was a number %d times and a text %d times", column, numbers[column], texts[column])
				}
			}
		})
	}
}

// presentTimes matches times from 2026 on. The times of the data set are earlier, or in 2038.
var presentTimes = regexp.MustCompile(`20(2[6-9]|3[0-7])-[0-9]{2}-[0-9]{2} [0-9:]{8}`)

// compareIntegers makes the call of a recorded step in both shops.
func compareIntegers(t *testing.T, inTexts, inNumbers *shop, step *contracttests.Step, numbers, texts map[string]int) {
	t.Helper()
	if strings.HasPrefix(step.Path, "!") {
		return
	}
	role, body := contract.Guest, ""
	switch step.As {
	case contracttests.Admin:
		role = contract.Admin
	case contracttests.Customer1, contracttests.Customer2:
		role = contract.Customer
	}
	var headers []string
	if step.Accept != nil {
		headers = append(headers, "Accept", *step.Accept)
	}
	if step.ContentType != nil {
		headers = append(headers, "Content-Type", *step.ContentType)
	}
	if step.Body != nil {
		body = *step.Body
	}
	want := withFullBody(t, inTexts.serve(role, step.Method, step.Path, body, headers...))
	got := withFullBody(t, inNumbers.serve(role, step.Method, step.Path, body, headers...))
	shown := string(got.Body)
	if got.ContentType == typeJSON {
		tree, err := codec.Decode(contract.JSON, got.Body)
		if err != nil {
			t.Fatalf("%s %s: %v", step.Method, step.Path, err)
		}
		textIntegers(&tree, numbers, texts)
		shown = string(codec.Append(nil, contract.JSON, "", &tree, false))
	}
	same := got.Status == want.Status && got.Location == want.Location && got.ContentType == want.ContentType
	// The shops store present times, which may differ by a second.
	if !same || presentTimes.ReplaceAllString(shown, "now") != presentTimes.ReplaceAllString(string(want.Body), "now") {
		t.Errorf("%s %s as %s:\n%d %s\nwith texts:\n%d %s", step.Method, step.Path, role,
			got.Status, shown, want.Status, want.Body)
	}
}
