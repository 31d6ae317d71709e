package main

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/codec"
)

func stockMutants() []mutant {
	const list, single = "GET /stockitems", "GET /stockitems/:id"
	const update, batch = "PUT /stockitems/:id", "PUT /stockitems"
	mutants := in("stock items", "documented", []mutant{
		{name: "one stock item is in an element of another name", at: single, fault: rooted("stock_item")},
		{name: "stock items are keyed by id", at: list, fault: keyedBy("item_id")},
		{name: "stock items show their products", at: list, fault: add("item_id", "product_id", "1")},
		{name: "stock items show is_in_stock", at: list, fault: add("qty", "is_in_stock", "1")},
		{name: "stock items have no backorders", at: list, fault: drop("backorders")},
		{name: "stock items have no low_stock_date", at: list, fault: drop("low_stock_date")},
		{name: "a stock item has no notify_stock_qty", at: single, fault: drop("notify_stock_qty")},
		{name: "a stock item has no is_decimal_divided", at: single, fault: drop("is_decimal_divided")},
		{name: "a stock item has the flag of products", at: single, fault: add("use_config_enable_qty_inc", "use_config_enable_qty_increments", "1")},
		{name: "quantities are numbers", at: single, fault: asNumber("qty")},
		{name: "quantities are numbers in lists", at: list, fault: asNumber("min_sale_qty")},
		{name: "quantities have two places", at: single, fault: texts("qty", twoPlaces)},
		{name: "quantities have two places in lists", at: list, fault: texts("max_sale_qty", twoPlaces)},
		{name: "min_qty has two places", at: single, fault: texts("min_qty", twoPlaces)},
		{name: "flags of stock are numbers", at: single, fault: asNumber("is_in_stock")},
		{name: "flags of stock are literals", at: single, fault: asLiteral("use_config_backorders")},
		{name: "the id of a stock item is a number", at: single, fault: asNumber("item_id")},
		{name: "a stock item without notify_stock_qty has an empty text", at: single, fault: blankForNull("notify_stock_qty")},
		{name: "a stock item without low_stock_date has no such field", at: single, fault: absentForNull("low_stock_date")},
		{name: "low stock is dated in the other form", at: single, fault: texts("low_stock_date", isoDate)},
		{name: "low stock has no date", at: single, fault: becomes("low_stock_date", codec.Node{})},
		{name: "stock items come last first", at: list, fault: entries(reversed)},
		{name: "the last of the stock items is lost", at: list, fault: entries(lastLost)},
		{name: "stock items are those of before", at: list + ", " + single, fault: stale()},

		{name: "an update of stock gets 204", at: update, fault: turns(http.StatusOK, http.StatusNoContent)},
		{name: "an update of stock is answered as a batch is", at: update, fault: answersWith(`{"success":[{"message":"Resource updated successful.","code":200}]}`)},
		{name: "updates of stock change nothing", at: update, fault: restore},
		{name: "updates of stock without qty empty it", at: update, fault: reset("qty", "0")},
		{name: "updates of stock without min_sale_qty reset it", at: update, fault: reset("min_sale_qty", "1")},
		{name: "updates of stock without backorders reset them", at: update, fault: reset("backorders", "0")},
		{name: "updates of stock without notify_stock_qty reset it", at: update, fault: reset("notify_stock_qty", "0")},
		{name: "stock that comes back is in stock", at: update, fault: raisesStock},
		{name: "stock that is gone is in stock", at: single, fault: becomes("is_in_stock", codec.TextNode("1"))},
		{name: "updates of stock need a qty", at: update, fault: needsQty},
		{name: "empty values of stock are taken", at: update, fault: accepts("Empty value for")},
		{name: "empty values of stock are refused in quotes", at: update, fault: says("Empty value for qty", `Empty value for "qty"`, "Empty value for min_qty", `Empty value for "min_qty"`, "Empty value for manage_stock", `Empty value for "manage_stock"`)},
		{name: "flags of stock may be anything", at: update, fault: accepts("field must be set to 0 or 1.")},
		{name: "quantities may be anything", at: update, fault: accepts("is not between")},
		{name: "min_qty may be anything", at: update, fault: accepts(`in "min_qty" field`)},
		{name: "backorders may be anything", at: update, fault: accepts("0, 1, or 2")},
		{name: "refused stock lacks the last entry", at: update, fault: alone(lastLost)},
		{name: "refused stock lacks the names of fields", at: update, fault: says("qty: ", "", "is_in_stock: ", "", "manage_stock: ", "", "backorders: ", "", "min_qty: ", "")},
		{name: "an unknown stock item is refused in the words of the original", at: single + ", " + update, fault: says("Resource not found.", "StockItem not found.")},
		{name: "an unknown stock item is 200 and nothing", at: single, fault: accepts("Resource not found.")},
		{name: "an update of an unknown stock item is 200", at: update, fault: accepts("Resource not found.")},

		{name: "a batch gets 200", at: batch, fault: turns(http.StatusMultiStatus, http.StatusOK)},
		{name: "a batch has no body", at: batch, fault: func(c *call, honest implementation) *response {
			r := honest(c)
			if r.status == http.StatusMultiStatus {
				r.body = ""
			}
			return r
		}},
		{name: "results of a batch have a code that is a text", at: batch, fault: asText("success.*.code")},
		{name: "results of a batch have ids that are numbers", at: batch, fault: asNumber("success.*.item_id")},
		{name: "results of a batch have no id", at: batch, fault: drop("success.*.item_id")},
		{name: "results of a batch have another message", at: batch, fault: texts("success.*.message", func(string) string { return "Resource updated successfully." })},
		{name: "results of a batch come the other way round", at: batch, fault: within("success", reversed)},
		{name: "the last result of a batch is lost", at: batch, fault: within("success", lastLost)},
		{name: "faults of a batch are told as successes", at: batch, fault: rename("error", "success")},
		{name: "faults of a batch are told first", at: batch, fault: inResponse(func(root *codec.Node) {
			if len(root.Members) == 2 {
				reversed(root.Members)
			}
		})},
		{name: "faults of a batch are not told", at: batch, fault: drop("error")},
		{name: "faults of a batch come the other way round", at: batch, fault: within("error", reversed)},
		{name: "an unknown item of a batch is 400", at: batch, fault: values("error.*.code", func(n codec.Node) codec.Node {
			if n.Text == "404" {
				n.Text = "400"
			}
			return n
		})},
		{name: "an unknown item of a batch is told in the words of the original", at: batch, fault: texts("error.*.message", func(s string) string { return strings.Replace(s, "Resource not found.", "StockItem #1 not found.", 1) })},
		{name: "a missing item_id is told as a wrong one", at: batch, fault: texts("error.*.message", func(s string) string { return strings.Replace(s, "Missing item_id", `Invalid value for "item_id"`, 1) })},
		{name: "an empty product_id of a batch is taken", at: batch, fault: ignore("product_id")},
		{name: "empty values of a batch are told without full stop", at: batch, fault: texts("error.*.message", func(s string) string { return strings.TrimSuffix(s, ".") })},
		{name: "a batch with a fault changes nothing", at: batch, fault: allOrNoStock},
		{name: "a batch ends at the first fault", at: batch, fault: endsAtFault},
		{name: "the last item of a batch is not saved", at: batch, fault: lastSkipped("item_id", `{"item_id":%[1]q,"message":"Resource updated successful.","code":200}`)},
		{name: "a batch is not saved", at: batch, fault: func(c *call, honest implementation) *response {
			r := honest(c)
			restoreStock(c, honest)
			return r
		}},
		{name: "a batch without item_ids is refused as a whole", at: batch, fault: func(c *call, honest implementation) *response {
			r := honest(c)
			if strings.Contains(r.body, "item_id in request.") {
				return refusal(c, entry{400, "The request data is invalid."})
			}
			return r
		}},

		{name: "a Customer reads stock", at: "customer " + list + ", customer " + single, fault: as(contracttests.Admin)},
		{name: "a Guest reads stock", at: "guest " + single, fault: as(contracttests.Admin)},
		{name: "a Customer changes stock", at: "customer " + update, fault: as(contracttests.Admin)},
		{name: "a Guest changes stock at once", at: "guest " + batch, fault: as(contracttests.Admin)},
		{name: "limits of stock items are not applied", at: list, fault: unheard("limit")},
		{name: "pages of stock items are not applied", at: list, fault: unheard("page")},
		{name: "filters of stock items are not applied", at: list, fault: unheard("filter")},
		{name: "the order of stock items is not applied", at: list, fault: unheard("order")},
		{name: "attrs of stock items are not applied", at: list + ", " + single, fault: unheard("attrs")},
		{name: "stock items are XML by default", at: "* /stockitems", fault: asked("Accept", "", "text/xml")},
		{name: "one stock item is XML by default", at: "* /stockitems/:id", fault: asked("Accept", "*/*", "text/xml")},
		{name: "bodies of stock need no Content-Type", at: update + ", " + batch, fault: contentType("", "application/json")},
		{name: "JSON is not read as text/xml", at: update, fault: func(c *call, honest implementation) *response {
			if strings.HasPrefix(c.header.Get("Content-Type"), "text/xml") && strings.HasPrefix(c.body, "{") {
				return refusal(c, entry{400, "Decoding error."})
			}
			return honest(c)
		}},
		{name: "a stock item cannot be deleted, in other words", at: "DELETE /stockitems/:id", fault: says("Resource does not support method.", "Resource method not implemented yet.")},
		{name: "a stock item can be deleted", at: "DELETE /stockitems/:id", fault: accepts("Resource does not support method.")},
		{name: "stock items cannot be created, in other words", at: "POST /stockitems", fault: says("Resource method not implemented yet.", "Resource does not support method.")},
	})
	for _, field := range []string{
		"qty", "min_qty", "use_config_min_qty", "is_qty_decimal", "backorders", "use_config_backorders", "min_sale_qty", "use_config_min_sale_qty",
		"max_sale_qty", "use_config_max_sale_qty", "is_in_stock", "notify_stock_qty", "use_config_notify_stock_qty", "manage_stock",
		"use_config_manage_stock", "use_config_qty_increments", "qty_increments", "use_config_enable_qty_inc", "enable_qty_increments", "is_decimal_divided",
	} {
		mutants = append(mutants, in("stock items", "documented", []mutant{{name: "updates of stock leave out " + field, at: update, fault: unsaved(field)}})...)
	}
	for _, field := range []string{"qty", "min_sale_qty", "is_in_stock"} {
		mutants = append(mutants, in("stock items", "documented", []mutant{{name: "batches leave out " + field, at: batch, fault: unsavedInBatch(field)}})...)
	}
	return append(mutants, in("stock items", "magento", []mutant{
		{name: "stock items have the nine fields of the document", at: list, fault: drop("product_id", "stock_id", "min_qty", "is_in_stock")},
		{name: "an unknown item of a batch is 404", at: batch, fault: values("error.*.code", func(n codec.Node) codec.Node {
			if n.Text == "400" {
				n.Text = "404"
			}
			return n
		})},
		{name: "an unknown item of a batch is told in the words of the document", at: batch, fault: texts("error.*.message", func(s string) string {
			if strings.HasPrefix(s, "StockItem") {
				return "Resource not found."
			}
			return s
		})},
		{name: "updates of stock need no qty", at: update, fault: accepts("qty: Value is required")},
		{name: "a stock item cannot be deleted, as the document says it", at: "DELETE /stockitems/:id", fault: says("Resource method not implemented yet.", "Resource does not support method.")},
	})...)
}

// raisesStock sets the flag of an item that gets stock.
func raisesStock(c *call, honest implementation) *response {
	c.edit(func(root *codec.Node) {
		qty, sent := root.Get("qty")
		if _, flagged := root.Get("is_in_stock"); sent && !flagged && qty.String() != "0" {
			root.Members = append(root.Members, codec.Member{Key: "is_in_stock", Value: codec.NumberNode("1")})
		}
	})
	return honest(c)
}

// needsQty refuses updates of stock without a quantity, as the original does.
func needsQty(c *call, honest implementation) *response {
	sent := true
	c.edit(func(root *codec.Node) { _, sent = root.Get("qty") })
	if r := honest(c); sent || r.status != http.StatusOK {
		return r
	}
	return refusal(c, entry{400, "qty: Value is required and can't be empty"})
}

// itemsOf returns the ids of the items that a batch sends.
func itemsOf(c *call) (ids []string) {
	c.clone().edit(func(root *codec.Node) {
		for _, item := range recordsIn(root) {
			if id, ok := item.Get("item_id"); ok && strings.Trim(id.String(), "0123456789") == "" && id.String() != "" {
				ids = append(ids, id.String())
			}
		}
	})
	return ids
}

// unsavedInBatch makes batches but for a field.
func unsavedInBatch(field string) fault {
	return func(c *call, honest implementation) *response {
		if !strings.Contains(c.body, field) {
			return honest(c)
		}
		var back []*call
		for _, id := range itemsOf(c) {
			item := asAdmin(c)
			item.path += "/" + id
			if before := heldBefore(item, honest, []string{field}); before != nil {
				back = append(back, before)
			}
		}
		r := honest(c)
		for _, item := range back {
			honest(item)
		}
		return r
	}
}

// restoreStock puts items back to what is known of them where nobody looks: no stock.
func restoreStock(c *call, honest implementation) {
	for _, id := range itemsOf(c) {
		back := asAdmin(c)
		back.method, back.path, back.body = http.MethodPut, "/stockitems/"+id, `{"qty":"0","min_sale_qty":"1"}`
		honest(back)
	}
}

// allOrNoStock takes a batch back when a part of it was refused.
func allOrNoStock(c *call, honest implementation) *response {
	r := honest(c)
	if strings.Contains(r.body, "error") {
		restoreStock(c, honest)
	}
	return r
}

// endsAtFault leaves out of a batch what follows an item that is refused.
func endsAtFault(c *call, honest implementation) *response {
	sent := c.clone()
	var items []codec.Member
	c.edit(func(root *codec.Node) {
		if isList(root) {
			items = root.Members
		}
	})
	for n := 1; n <= len(items); n++ {
		c = sent.clone()
		c.edit(func(root *codec.Node) { root.Members = root.Members[:n] })
		if r := honest(c); strings.Contains(r.body, "error") || r.status != http.StatusMultiStatus {
			return r
		}
	}
	return honest(sent)
}

// lastSkipped leaves the last item out of a list, and tells that it is done. report
// is made of its id and that of the product in the path.
func lastSkipped(field, report string) fault {
	return func(c *call, honest implementation) *response {
		id, shorter := "", c.clone()
		shorter.edit(func(root *codec.Node) {
			if n := len(root.Members); n > 1 && isList(root) {
				if value, ok := root.Members[n-1].Value.Get(field); ok {
					id, root.Members = value.String(), root.Members[:n-1]
				}
			}
		})
		if id == "" {
			return honest(c)
		}
		r := honest(shorter)
		product, _, _ := strings.Cut(strings.TrimPrefix(c.path, "/products/"), "/")
		r.edit(func(root *codec.Node) {
			each(root, "success", func(parent *codec.Node, at int) {
				list := &parent.Members[at].Value
				list.Members = append(list.Members, codec.Member{Value: parsed(fmt.Sprintf(report, id, product))})
				number(list)
			})
		})
		return r
	}
}

func orderMutants() []mutant {
	const list, single = "GET /orders", "GET /orders/:id"
	return append(in("orders", "documented", []mutant{
		{name: "one order is in an element of another name", at: single, fault: rooted("order")},
		{name: "orders in XML are not numbered", at: list, fault: unnumbered},
		{name: "orders in XML are numbered from zero", at: list, fault: bytewise("data_item_1>", "data_item_0>", "data_item_2>", "data_item_1>")},
		{name: "orders are an array", at: list, fault: asArray()},
		{name: "an order has no tax_rate", at: single, fault: drop("tax_rate")},
		{name: "orders have no base_total_due", at: list, fault: drop("base_total_due")},
		{name: "an order has no addresses", at: single, fault: drop("addresses")},
		{name: "orders have no items", at: list, fault: drop("order_items")},
		{name: "an order has no comments", at: single, fault: drop("order_comments")},
		{name: "an order has no status", at: single, fault: drop("status")},
		{name: "an order has no increment_id", at: single, fault: drop("increment_id")},
		{name: "an order shows the address of the computer", at: single, fault: add("customer_id", "remote_ip", "203.0.113.1")},
		{name: "orders show the grand total", at: list, fault: add("customer_id", "grand_total", "1.0000")},
		{name: "items of an order have a name", at: single, fault: add("order_items.*.sku", "name", "x")},
		{name: "items of an order have no tax", at: single, fault: drop("order_items.*.tax_percent")},
		{name: "items of orders have no price", at: list, fault: drop("order_items.*.base_price")},
		{name: "addresses of an order have an e-mail address", at: single, fault: add("addresses.*.telephone", "email", "x@example.com")},
		{name: "addresses of orders have no type", at: list, fault: drop("addresses.*.address_type")},
		{name: "amounts of an order have two places", at: single, fault: texts("base_subtotal", twoPlaces)},
		{name: "amounts of orders have two places", at: list, fault: texts("tax_amount", twoPlaces)},
		{name: "amounts of an order are numbers", at: single, fault: asNumber("base_shipping_amount")},
		{name: "prices of items of an order are numbers", at: single, fault: asNumber("order_items.*.price")},
		{name: "prices of items of orders have two places", at: list, fault: texts("order_items.*.base_row_total", twoPlaces)},
		{name: "the customer of an order is a number", at: single, fault: asNumber("customer_id")},
		{name: "an amount that is not there is zero", at: single, fault: values("total_refunded", zeroIfNull)},
		{name: "an amount of orders that is not there is zero", at: list, fault: values("base_total_refunded", zeroIfNull)},
		{name: "an amount that is not there is left out", at: single, fault: absentForNull("base_total_refunded")},
		{name: "a field of an order's address without a value is an empty text", at: single, fault: blankForNull("addresses.*.company")},
		{name: "orders are dated in the other form", at: list, fault: texts("created_at", isoDate)},
		{name: "an order is dated in the other form", at: single, fault: texts("updated_at", isoDate)},
		{name: "an order without comments has an empty list", at: single, fault: values("order_comments", func(n codec.Node) codec.Node {
			if n.Kind == codec.Null {
				return codec.Node{Kind: codec.Struct}
			}
			return n
		})},
		{name: "items of an order come the other way round", at: single, fault: within("order_items", reversed)},
		{name: "an item of an order is lost", at: single, fault: within("order_items", lastLost)},
		{name: "the shipping address of an order is lost", at: single, fault: within("addresses", lastLost)},
		{name: "addresses of an order come the other way round", at: single, fault: within("addresses", reversed)},
		{name: "orders come last first", at: "admin " + list, fault: entries(reversed)},
		{name: "the last order is lost", at: list, fault: entries(lastLost)},
		{name: "the first order is lost", at: "admin " + list, fault: entries(firstLost)},
		{name: "a Customer reads all orders", at: "customer " + list, fault: as(contracttests.Admin)},
		{name: "a Customer reads any order", at: "customer " + single, fault: leaks(http.StatusNotFound, contracttests.Admin)},
		{name: "a Customer reads the orders of another one", at: "customer " + list, fault: swapsCustomers},
		{name: "a Customer reads no orders", at: "customer " + list, fault: as(contracttests.Guest)},
		{name: "a Guest reads all orders", at: "guest " + list, fault: as(contracttests.Admin)},
		{name: "a Guest reads an order", at: "guest " + single, fault: as(contracttests.Admin)},
		{name: "orders are not for Guests", at: "guest " + list, fault: denies},
		{name: "an order that is not one's own is 403", at: "customer " + single, fault: refuses(entry{404, "Resource not found."}, entry{403, "Access denied"})},
		{name: "an unknown order is 200 and nothing", at: single, fault: accepts("Resource not found.")},
		{name: "an unknown order is refused without full stop", at: single, fault: says("Resource not found.", "Resource not found")},
		{name: "limits of orders are not applied", at: list, fault: unheard("limit")},
		{name: "filters of orders are not applied", at: list, fault: unheard("filter")},
		{name: "the order of orders is not applied", at: list, fault: unheard("order")},
		{name: "the direction of orders is not applied", at: list, fault: unheard("dir")},
		{name: "pages of orders are not applied", at: list, fault: unheard("page")},
		{name: "attrs of orders are not applied", at: list + ", " + single, fault: unheard("attrs")},
		{name: "orders are JSON by default", at: list, fault: asked("Accept", "", "application/json")},
		{name: "any format is JSON for one order", at: single, fault: asked("Accept", "*/*", "application/json")},
		{name: "orders are refused in other words", at: "POST,PUT,DELETE /orders, POST,PUT,DELETE /orders/:id", fault: says("Resource method not implemented yet.", "Resource does not support method.")},
		{name: "orders can be deleted", at: "DELETE /orders/:id", fault: accepts("not implemented")},
		{name: "orders can be created", at: "POST /orders", fault: accepts("not implemented")},
		{name: "a Customer is told that orders cannot be changed", at: "customer PUT /orders/:id", fault: refuses(entry{403, "Access denied"}, entry{405, "Resource method not implemented yet."})},
	}), in("orders", "magento", []mutant{
		{name: "orders in XML are numbered", at: list, fault: numberedOrders},
		{name: "a Customer reads orders as the Admin does", at: "customer " + single, fault: as(contracttests.Admin)},
		{name: "an order has the fields of the document", at: "admin " + single, fault: drop("grand_total", "payment_method", "remote_ip")},
		{name: "a Guest reads an empty list of orders", at: "guest " + list, fault: emptyInstead("Access denied")},
		{name: "items of an order have the fields of the document", at: "admin " + single, fault: drop("order_items.*.name", "order_items.*.item_id")},
		{name: "addresses of an order have no e-mail address", at: single, fault: drop("addresses.*.email")},
		{name: "an order is in the element of the document", at: single, fault: rooted("service_api")},
	})...)
}

func zeroIfNull(n codec.Node) codec.Node {
	if n.Kind == codec.Null || n.Kind == codec.Text && n.Text == "" {
		return codec.TextNode("0.0000")
	}
	return n
}

// unnumbered has the entries of a list in XML of one name.
func unnumbered(c *call, honest implementation) *response {
	r := honest(c)
	for n := 1; n <= 100; n++ {
		r.body = strings.ReplaceAll(r.body, fmt.Sprintf("data_item_%d>", n), "data_item>")
	}
	return r
}

// numberedOrders numbers the entries of the list as the document does.
func numberedOrders(c *call, honest implementation) *response {
	r := honest(c)
	opened, closed := 0, 0
	var lines []string
	for line := range strings.Lines(r.body) {
		switch line {
		case "  <data_item>\n":
			opened++
			line = fmt.Sprintf("  <data_item_%d>\n", opened)
		case "  </data_item>\n":
			closed++
			line = fmt.Sprintf("  </data_item_%d>\n", closed)
		}
		lines = append(lines, line)
	}
	r.body = strings.Join(lines, "")
	return r
}

// swapsCustomers answers one customer with what is the other one's.
func swapsCustomers(c *call, honest implementation) *response {
	if c.as == contracttests.Customer1 {
		c.as = contracttests.Customer2
	} else {
		c.as = contracttests.Customer1
	}
	return honest(c)
}

func orderAddressMutants() []mutant {
	const list, single = "GET /orders/:id/addresses", "GET /orders/:id/addresses/:type"
	return append(in("order addresses", "documented", []mutant{
		{name: "an order's address is in an element of another name", at: single, fault: rooted("address")},
		{name: "an order's addresses are keyed by type", at: list, fault: keyedBy("address_type")},
		{name: "an order's address has an e-mail address", at: single, fault: add("city", "email", "x@example.com")},
		{name: "an order's addresses have ids", at: list, fault: add("region", "entity_id", "1")},
		{name: "an order's address has no address_type", at: single, fault: drop("address_type")},
		{name: "an order's addresses have no middlename", at: list, fault: drop("middlename")},
		{name: "an order's address has a street of lines", at: single, fault: values("street", func(n codec.Node) codec.Node {
			return codec.Node{Kind: codec.Struct, Members: []codec.Member{{Key: "0", Value: n}}}
		})},
		{name: "the type of an order's address is in capitals", at: single, fault: texts("address_type", strings.ToUpper)},
		{name: "an order's address without a company has an empty text", at: single, fault: blankForNull("company")},
		{name: "an order's addresses without a prefix have no such field", at: list, fault: absentForNull("prefix")},
		{name: "the billing address is the shipping address", at: single, fault: pathed(func(path string) string { return strings.Replace(path, "/billing", "/shipping", 1) })},
		{name: "the shipping address is the billing address", at: single, fault: pathed(func(path string) string { return strings.Replace(path, "/shipping", "/billing", 1) })},
		{name: "an order's addresses come the other way round", at: list, fault: entries(reversed)},
		{name: "an order's shipping address is lost", at: list, fault: entries(lastLost)},
		{name: "a Customer reads the addresses of any order", at: "customer " + list, fault: leaks(http.StatusNotFound, contracttests.Admin)},
		{name: "a Customer reads an address of any order", at: "customer " + single, fault: leaks(http.StatusNotFound, contracttests.Admin)},
		{name: "a Guest reads an order's addresses", at: "guest " + list + ", guest " + single, fault: as(contracttests.Admin)},
		{name: "a Customer may not read an order's addresses", at: "customer " + list, fault: denies},
		{name: "a Customer may not read an order's address", at: "customer " + single, fault: denies},
		{name: "addresses of an unknown order are an empty list", at: list, fault: emptyInstead("Resource not found.")},
		{name: "an order's address that is unknown is 200 and nothing", at: single, fault: accepts("Resource not found.")},
		{name: "an order's addresses cannot be written, in other words", at: "POST,PUT,DELETE /orders/:id/addresses", fault: says("Resource does not support method.", "Resource method not implemented yet.")},
		{name: "an order's address cannot be written, in other words", at: "POST,PUT,DELETE /orders/:id/addresses/:type", fault: says("Resource does not support method.", "Resource method not implemented yet.")},
		{name: "an order's address can be written", at: "PUT /orders/:id/addresses/:type", fault: accepts("does not support")},
		{name: "an order's addresses are JSON by default", at: list, fault: asked("Accept", "", "application/json")},
		{name: "attrs of an order's addresses are not applied", at: list + ", " + single, fault: unheard("attrs")},
		{name: "lines of an order have a name", at: "GET /orders/:id/items", fault: add("sku", "name", "x")},
		{name: "lines of an order come the other way round", at: "GET /orders/:id/items", fault: entries(reversed)},
		{name: "comments on an order are not for its Customer", at: "customer GET /orders/:id/comments", fault: denies},
		{name: "a Customer sees the comments of the Admin", at: "customer GET /orders/:id/comments", fault: as(contracttests.Admin)},
	}), in("order addresses", "magento", []mutant{
		{name: "an order's address has no e-mail address", at: single, fault: drop("email")},
		{name: "an order's addresses cannot be written, as the document says it", at: "POST,PUT,DELETE /orders/:id/addresses", fault: says("Resource method not implemented yet.", "Resource does not support method.")},
	})...)
}
