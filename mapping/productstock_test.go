package mapping_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
)

func inStockSet(text, field string) string {
	return fmt.Sprintf("400 "+text, field, "stock_data")
}

// TestStockDataRefused checks the rules of products 7.1, in their order.
func TestStockDataRefused(t *testing.T) {
	const (
		invalidIn   = `Invalid "%s" value in the "%s" set.`
		numberIn    = `Please enter a valid number in the "%s" field in the "%s" set.`
		fromZeroIn  = `Please enter a number 0 or greater in the "%s" field in the "%s" set.`
		onlyNumbers = `Please use numbers only in the "%s" field in the "%s" set. Please avoid spaces or other non numeric characters.`
	)
	manage := `"manage_stock":1,`
	inBothDialects(t, func(t *testing.T, s *shop) {
		for _, c := range []struct {
			name, data string
			want       []string
		}{
			{"manage_stock", `"manage_stock":"x","qty":"x"`, []string{inStockSet(invalidIn, "manage_stock"), inStockSet(numberIn, "qty")}},
			{"all fields, in order", manage + `"max_sale_qty":"i","min_sale_qty":"h","is_in_stock":"g","backorders":3,"enable_qty_increments":"e","is_qty_decimal":"d","notify_stock_qty":"c","min_qty":-1,"qty":""`,
				[]string{inStockSet(numberIn, "qty"), inStockSet(fromZeroIn, "min_qty"), inStockSet(numberIn, "notify_stock_qty"), inStockSet(invalidIn, "is_qty_decimal"),
					inStockSet(invalidIn, "enable_qty_increments"), inStockSet(invalidIn, "backorders"), inStockSet(invalidIn, "is_in_stock"),
					inStockSet(onlyNumbers, "min_sale_qty"), inStockSet(onlyNumbers, "max_sale_qty")}},
			{"managed by the shop's setting", `"use_config_manage_stock":"1","manage_stock":"x","qty":true`, []string{inStockSet(numberIn, "qty")}},
			{"fields that depend on others", manage + `"is_qty_decimal":1,"is_decimal_divided":2,"enable_qty_increments":1,"qty_increments":-1`,
				[]string{inStockSet(invalidIn, "is_decimal_divided"), inStockSet(onlyNumbers, "qty_increments")}},
			{"not managed", `"manage_stock":0,"qty":"x","is_in_stock":7,"min_sale_qty":false,"max_sale_qty":[]`, []string{inStockSet(onlyNumbers, "min_sale_qty"), inStockSet(onlyNumbers, "max_sale_qty")}},
			{"unset flags", manage + `"use_config_min_qty":"0","min_qty":"x","use_config_backorders":"","backorders":"x"`, []string{inStockSet(fromZeroIn, "min_qty"), inStockSet(invalidIn, "backorders")}},
			{"the flag under its other name", manage + `"use_config_enable_qty_inc":1,"enable_qty_increments":5`, []string{inStockSet(invalidIn, "enable_qty_increments")}},
		} {
			t.Run(c.name, func(t *testing.T) {
				want := append(c.want, saveClosing)
				checkRefused(t, s.send("POST", "/products", newProduct("new", `"stock_data":{`+c.data+`}`)), want...)
				checkRefused(t, s.send("PUT", "/products/1", `{"stock_data":{`+c.data+`}}`), want...)
			})
		}
	})
}

// A stockStep is a save of a product and what its stock item holds afterwards.
type stockStep struct {
	data string // "" means no stock_data
	want []string
}

// TestStockDataOfNewProducts checks what a create stores (products 7.2).
func TestStockDataOfNewProducts(t *testing.T) {
	const managed = `"use_config_manage_stock":1,`
	outOfTheBox := []string{"qty", "0.0000", "min_qty", "0.0000", "use_config_min_qty", "1", "is_qty_decimal", "0", "backorders", "0", "use_config_backorders", "1",
		"min_sale_qty", "1.0000", "use_config_min_sale_qty", "1", "max_sale_qty", "0.0000", "use_config_max_sale_qty", "1", "is_in_stock", "0", "low_stock_date", "null",
		"notify_stock_qty", "null", "use_config_notify_stock_qty", "1", "manage_stock", "0", "use_config_manage_stock", "1", "stock_status_changed_auto", "1",
		"use_config_qty_increments", "1", "qty_increments", "0.0000", "use_config_enable_qty_inc", "1", "enable_qty_increments", "0", "is_decimal_divided", "0", "stock_id", "1"}
	inBothDialects(t, func(t *testing.T, s *shop) {
		omitted := outOfTheBox
		if s.documented() { // stored as if it were managed (rulings 13)
			omitted = []string{"qty", "5.0000", "is_in_stock", "1", "stock_status_changed_auto", "0", "manage_stock", "0", "use_config_manage_stock", "1"}
		}
		for i, c := range []struct {
			name, member string
			want         []string
		}{
			{"none", ``, outOfTheBox},
			{"null", `"stock_data":null`, outOfTheBox},
			{"empty", `"stock_data":{}`, outOfTheBox},
			{"no known field", `"stock_data":{"item_id":7,"product_id":1,"stock_id":2,"low_stock_date":"2012-01-01 00:00:00","x":1}`, outOfTheBox},
			{"explicitly not managed", `"stock_data":{"use_config_manage_stock":0,"qty":5,"is_in_stock":1}`, []string{"qty", "0.0000", "is_in_stock", "0", "manage_stock", "0", "use_config_manage_stock", "0"}},
			{"manage_stock omitted", `"stock_data":{"qty":5,"is_in_stock":1}`, omitted},
			{"not managed: the fields that are stored", `"stock_data":{"manage_stock":0,"min_sale_qty":2,"use_config_max_sale_qty":0,"use_config_min_qty":0}`,
				[]string{"manage_stock", "0", "use_config_manage_stock", "1", "min_sale_qty", "2.0000", "use_config_min_sale_qty", "0", "use_config_max_sale_qty", "0", "use_config_min_qty", "1"}},
			{"managed", `"stock_data":{"manage_stock":1,"qty":5.55555,"is_in_stock":1}`,
				[]string{"manage_stock", "1", "use_config_manage_stock", "1", "qty", "5.5556", "is_in_stock", "1", "stock_status_changed_auto", "0", "low_stock_date", "null"}},
			{"values unset their use_config flags", `"stock_data":{` + managed + `"qty":9,"min_qty":1,"min_sale_qty":1,"max_sale_qty":2,"backorders":1,"notify_stock_qty":3,"qty_increments":4,"enable_qty_increments":1}`,
				[]string{"use_config_min_qty", "0", "use_config_min_sale_qty", "0", "use_config_max_sale_qty", "0", "use_config_backorders", "0", "use_config_notify_stock_qty", "0",
					"use_config_qty_increments", "0", "use_config_enable_qty_inc", "0", "enable_qty_increments", "1", "notify_stock_qty", "3.0000"}},
			{"use_config flags drop values", `"stock_data":{` + managed + `"qty":9,"min_qty":"x","use_config_min_qty":1,"enable_qty_increments":"x","use_config_enable_qty_increments":"yes","manage_stock":9}`,
				[]string{"min_qty", "0.0000", "use_config_min_qty", "1", "enable_qty_increments", "0", "use_config_enable_qty_inc", "1", "manage_stock", "0"}},
			{"the other name sets both", `"stock_data":{` + managed + `"enable_qty_increments":1,"use_config_enable_qty_inc":1}`, []string{"enable_qty_increments", "1", "use_config_enable_qty_inc", "1"}},
			{"out of stock by its quantity", `"stock_data":{` + managed + `"qty":5,"min_qty":5,"is_in_stock":1}`, []string{"is_in_stock", "0", "stock_status_changed_auto", "1", "low_stock_date", "null"}},
			{"the shop's notify quantity does not count yet", `"stock_data":{` + managed + `"qty":0.5,"is_in_stock":1}`, []string{"is_in_stock", "1", "low_stock_date", "null"}},
			{"below no threshold", `"stock_data":{` + managed + `"qty":-5,"backorders":1,"is_in_stock":1}`, []string{"is_in_stock", "1", "low_stock_date", now}},
			{"below its own threshold", `"stock_data":{` + managed + `"qty":2,"notify_stock_qty":3,"is_in_stock":1}`, []string{"low_stock_date", now}},
			{"beyond the maximum", `"stock_data":{` + managed + `"qty":1e12}`, []string{"qty", "99999999.9999"}},
			{"divided", `"stock_data":{` + managed + `"is_qty_decimal":1,"is_decimal_divided":1}`, []string{"is_decimal_divided", "1"}},
			{"divided alone", `"stock_data":{` + managed + `"is_decimal_divided":1}`, []string{"is_decimal_divided", "0"}},
		} {
			t.Run(c.name, func(t *testing.T) {
				path := s.create(t, newProduct("new-"+strconv.Itoa(i), c.member))
				id, _ := strconv.Atoi(strings.TrimPrefix(path, "/products/"))
				s.checkItem(t, id, c.want...)
			})
		}
	})
}

// TestStockDataOfUpdates checks what successive updates of one product store (products
// 5.6 and 7.2).
func TestStockDataOfUpdates(t *testing.T) {
	t.Parallel()
	const both = ""
	for name, c := range map[string]struct {
		dialect string // "" means both
		steps   []stockStep
	}{
		"the effective setting is stored": {both, []stockStep{
			{`{"use_config_manage_stock":1,"manage_stock":0}`, []string{"manage_stock", "0"}},
			{`{"qty":3}`, []string{"manage_stock", "1", "use_config_manage_stock", "1", "qty", "3.0000"}},
			{`{"manage_stock":0,"use_config_manage_stock":0,"qty":7}`, []string{"manage_stock", "0", "use_config_manage_stock", "0", "qty", "3.0000"}},
		}},
		"unmanaged stock keeps its quantity": {"magento", []stockStep{
			{`{"manage_stock":0,"use_config_manage_stock":0}`, []string{"manage_stock", "0"}},
			{`{"qty":7,"min_sale_qty":2}`, []string{"manage_stock", "0", "qty", "100.0000", "min_sale_qty", "2.0000"}},
		}},
		"stock without manage_stock is stored as sent": {"documented", []stockStep{
			{`{"manage_stock":0,"use_config_manage_stock":0}`, []string{"manage_stock", "0"}},
			{`{"qty":7,"min_sale_qty":2}`, []string{"manage_stock", "0", "use_config_manage_stock", "0", "qty", "7.0000", "min_sale_qty", "2.0000"}},
		}},
		"unchecked values": {both, []stockStep{
			{`{"qty":"x","is_in_stock":"g","backorders":2}`, []string{"qty", "0.0000", "is_in_stock", "0", "backorders", "2", "low_stock_date", now}},
			{`{"backorders":9,"qty":5}`, []string{"backorders", "9", "use_config_backorders", "0"}},
			{`{"backorders":-1}`, []string{"backorders", "0"}},
			{`{"backorders":99999}`, []string{"backorders", "65535"}},
			{`{"min_qty":"1e3","is_qty_decimal":"1.0"}`, []string{"min_qty", "1000.0000", "is_qty_decimal", "1"}},
		}},
		"quantity and stock": {both, []stockStep{
			{`{"qty":0}`, []string{"is_in_stock", "0", "stock_status_changed_auto", "1", "low_stock_date", now}},
			{`{"qty":9}`, []string{"is_in_stock", "0", "stock_status_changed_auto", "0", "low_stock_date", "null"}},
			{`{"is_in_stock":1}`, []string{"is_in_stock", "1", "qty", "9.0000"}},
			{`{"qty":5,"min_qty":5,"is_in_stock":1}`, []string{"is_in_stock", "0"}},
			{`{"qty":5,"use_config_min_qty":1,"is_in_stock":1}`, []string{"is_in_stock", "1", "min_qty", "5.0000"}},
		}},
		"null counts as not sent, an empty value as zero": {both, []stockStep{
			{`{"qty":0,"backorders":1,"is_in_stock":1}`, []string{"is_in_stock", "1", "low_stock_date", now}},
			{`{}`, []string{"qty", "0.0000", "is_in_stock", "1", "use_config_backorders", "0"}},
			{`[]`, []string{"use_config_backorders", "0"}},
			{`{"backorders":null,"use_config_backorders":null}`, []string{"backorders", "1", "use_config_backorders", "0"}},
			{`{"use_config_backorders":1}`, []string{"backorders", "1", "use_config_backorders", "1", "is_in_stock", "0"}},
		}},
		"is_decimal_divided needs is_qty_decimal": {"magento", []stockStep{
			{`{"is_qty_decimal":1,"is_decimal_divided":1}`, []string{"is_qty_decimal", "1", "is_decimal_divided", "1"}},
			{`{"qty":3}`, []string{"is_qty_decimal", "1", "is_decimal_divided", "0"}},
			{`{"is_decimal_divided":1}`, []string{"is_decimal_divided", "0"}},
		}},
		"is_decimal_divided is reset with is_qty_decimal": {"documented", []stockStep{
			{`{"is_qty_decimal":1,"is_decimal_divided":1}`, []string{"is_qty_decimal", "1", "is_decimal_divided", "1"}},
			{`{"qty":3}`, []string{"is_qty_decimal", "1", "is_decimal_divided", "1"}},
			{`{"is_decimal_divided":0}`, []string{"is_decimal_divided", "0"}},
			{`{"is_decimal_divided":1}`, []string{"is_decimal_divided", "1"}},
			{`{"is_qty_decimal":0}`, []string{"is_decimal_divided", "0"}},
		}},
		"a save without stock_data": {"magento", []stockStep{
			{`{"use_config_manage_stock":0,"manage_stock":1,"min_sale_qty":2,"max_sale_qty":8,"min_qty":1}`,
				[]string{"use_config_manage_stock", "0", "use_config_min_sale_qty", "0", "use_config_max_sale_qty", "0", "use_config_min_qty", "0"}},
			{``, []string{"use_config_manage_stock", "1", "use_config_min_sale_qty", "1", "use_config_max_sale_qty", "1", "min_sale_qty", "2.0000", "use_config_min_qty", "0"}},
		}},
		"a save without stock_data changes nothing": {"documented", []stockStep{
			{`{"use_config_manage_stock":0,"manage_stock":1,"min_sale_qty":2,"max_sale_qty":8}`, []string{"use_config_manage_stock", "0"}},
			{``, []string{"use_config_manage_stock", "0", "use_config_min_sale_qty", "0", "use_config_max_sale_qty", "0"}},
			{`null`, []string{"use_config_manage_stock", "0", "use_config_min_sale_qty", "0", "use_config_max_sale_qty", "0"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBothDialects(t, func(t *testing.T, s *shop) {
				if c.dialect != both && c.dialect != s.dialect.Name {
					return
				}
				s.storeItem(t, 1, nil)
				for _, step := range c.steps {
					body := `{"name":"x","stock_data":` + step.data + `}`
					if step.data == "" {
						body = `{"name":"x"}`
					}
					checkSaved(t, s.send("PUT", "/products/1", body))
					s.checkItem(t, 1, step.want...)
				}
			})
		})
	}
}

// TestUnmanagedShopStock checks that stock is not managed where the shop's setting
// applies and says so.
func TestUnmanagedShopStock(t *testing.T) {
	with := settings()
	with.Stock.ManageStock, with.Stock.Backorders = false, 1
	s := openShopWith(t, contract.Documented(), with, nil)
	checkSaved(t, s.send("PUT", "/products/1", `{"stock_data":{"qty":3}}`)) // stored as sent, and still not managed
	s.checkItem(t, 1, "qty", "3.0000", "manage_stock", "0", "use_config_manage_stock", "1")
	checkSaved(t, s.send("PUT", "/products/1", `{"stock_data":{"manage_stock":1,"qty":0,"is_in_stock":1}}`))
	s.checkItem(t, 1, "qty", "0.0000", "is_in_stock", "1", "stock_status_changed_auto", "0")
}
