package program

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/codec"
)

// stockMutants returns the mutants whose faults are in stock items.
func stockMutants() []mutant {
	const list, single = "GET /stockitems", "GET /stockitems/:id"
	const update, batch = "PUT /stockitems/:id", "PUT /stockitems"
	mutants := assignTo("stock items", "documented", []mutant{
		{name: "one stock item is in an element of another name", calls: single, fault: replaceXMLRoot("stock_item")},
		{name: "stock items are keyed by id", calls: list, fault: keyByField("item_id")},
		{name: "stock items show their products", calls: list, fault: addField("item_id", "product_id", "1")},
		{name: "stock items show is_in_stock", calls: list, fault: addField("qty", "is_in_stock", "1")},
		{name: "stock items have no backorders", calls: list, fault: dropFields("backorders")},
		{name: "stock items have no low_stock_date", calls: list, fault: dropFields("low_stock_date")},
		{name: "a stock item has no notify_stock_qty", calls: single, fault: dropFields("notify_stock_qty")},
		{name: "a stock item has no is_decimal_divided", calls: single, fault: dropFields("is_decimal_divided")},
		{name: "a stock item has the flag of products", calls: single, fault: addField("use_config_enable_qty_inc", "use_config_enable_qty_increments", "1")},
		{name: "quantities are numbers", calls: single, fault: textToNumber("qty")},
		{name: "quantities are numbers in lists", calls: list, fault: textToNumber("min_sale_qty")},
		{name: "quantities have two places", calls: single, fault: mapTexts("qty", twoPlaces)},
		{name: "quantities have two places in lists", calls: list, fault: mapTexts("max_sale_qty", twoPlaces)},
		{name: "min_qty has two places", calls: single, fault: mapTexts("min_qty", twoPlaces)},
		{name: "flags of stock are numbers", calls: single, fault: textToNumber("is_in_stock")},
		{name: "flags of stock are literals", calls: single, fault: flagToBool("use_config_backorders")},
		{name: "the id of a stock item is a number", calls: single, fault: textToNumber("item_id")},
		{name: "a stock item without notify_stock_qty has an empty text", calls: single, fault: nullToText("notify_stock_qty")},
		{name: "a stock item without low_stock_date has no such field", calls: single, fault: omitNull("low_stock_date")},
		{name: "low stock is dated in the other form", calls: single, fault: mapTexts("low_stock_date", isoDate)},
		{name: "low stock has no date", calls: single, fault: replaceValue("low_stock_date", codec.Node{})},
		{name: "stock items come last first", calls: list, fault: mapEntries(reverse)},
		{name: "the last of the stock items is lost", calls: list, fault: mapEntries(dropLast)},
		{name: "stock items are those of before", calls: list + ", " + single, fault: repeatFirstReply()},

		{name: "an update of stock gets 204", calls: update, fault: replaceStatus(http.StatusOK, http.StatusNoContent)},
		{name: "an update of stock is answered as a batch is", calls: update, fault: addBody(`{"success":[{"message":"Resource updated successful.","code":200}]}`)},
		{name: "updates of stock change nothing", calls: update, fault: revertUpdate},
		{name: "updates of stock without qty empty it", calls: update, fault: resetUnsentField("qty", "0")},
		{name: "updates of stock without min_sale_qty reset it", calls: update, fault: resetUnsentField("min_sale_qty", "1")},
		{name: "updates of stock without backorders reset them", calls: update, fault: resetUnsentField("backorders", "0")},
		{name: "updates of stock without notify_stock_qty reset it", calls: update, fault: resetUnsentField("notify_stock_qty", "0")},
		{name: "stock that comes back is in stock", calls: update, fault: setInStock},
		{name: "stock that is gone is in stock", calls: single, fault: replaceValue("is_in_stock", codec.TextNode("1"))},
		{name: "updates of stock need a qty", calls: update, fault: requireQty},
		{name: "empty values of stock are taken", calls: update, fault: pretendSuccess("Empty value for")},
		{name: "empty values of stock are refused in quotes", calls: update, fault: replaceMessageText("Empty value for qty", `Empty value for "qty"`, "Empty value for min_qty", `Empty value for "min_qty"`, "Empty value for manage_stock", `Empty value for "manage_stock"`)},
		{name: "flags of stock may be anything", calls: update, fault: pretendSuccess("field must be set to 0 or 1.")},
		{name: "quantities may be anything", calls: update, fault: pretendSuccess("is not between")},
		{name: "min_qty may be anything", calls: update, fault: pretendSuccess(`in "min_qty" field`)},
		{name: "backorders may be anything", calls: update, fault: pretendSuccess("0, 1, or 2")},
		{name: "refused stock lacks the last entry", calls: update, fault: filterRefusalEntries(dropLast)},
		{name: "refused stock lacks the names of fields", calls: update, fault: replaceMessageText("qty: ", "", "is_in_stock: ", "", "manage_stock: ", "", "backorders: ", "", "min_qty: ", "")},
		{name: "an unknown stock item is refused in the words of the original", calls: single + ", " + update, fault: replaceMessageText("Resource not found.", "StockItem not found.")},
		{name: "an unknown stock item is 200 and nothing", calls: single, fault: pretendSuccess("Resource not found.")},
		{name: "an update of an unknown stock item is 200", calls: update, fault: pretendSuccess("Resource not found.")},

		{name: "a batch gets 200", calls: batch, fault: replaceStatus(http.StatusMultiStatus, http.StatusOK)},
		{name: "a batch has no body", calls: batch, fault: func(c *call, honest implementation) *response {
			r := honest(c)
			if r.status == http.StatusMultiStatus {
				r.body = ""
			}
			return r
		}},
		{name: "results of a batch have a code that is a text", calls: batch, fault: literalToText("success.*.code")},
		{name: "results of a batch have ids that are numbers", calls: batch, fault: textToNumber("success.*.item_id")},
		{name: "results of a batch have no id", calls: batch, fault: dropFields("success.*.item_id")},
		{name: "results of a batch have another message", calls: batch, fault: mapTexts("success.*.message", func(string) string { return "Resource updated successfully." })},
		{name: "results of a batch come the other way round", calls: batch, fault: mapFieldEntries("success", reverse)},
		{name: "the last result of a batch is lost", calls: batch, fault: mapFieldEntries("success", dropLast)},
		{name: "faults of a batch are reported as successes", calls: batch, fault: renameField("error", "success")},
		{name: "faults of a batch are reported first", calls: batch, fault: editReply(func(root *codec.Node) {
			if len(root.Members) == 2 {
				reverse(root.Members)
			}
		})},
		{name: "faults of a batch are not reported", calls: batch, fault: dropFields("error")},
		{name: "faults of a batch come the other way round", calls: batch, fault: mapFieldEntries("error", reverse)},
		{name: "an unknown item of a batch is 400", calls: batch, fault: mapValues("error.*.code", func(n codec.Node) codec.Node {
			if n.Text == "404" {
				n.Text = "400"
			}
			return n
		})},
		{name: "an unknown item of a batch is reported in the words of the original", calls: batch, fault: mapTexts("error.*.message", func(s string) string { return strings.Replace(s, "Resource not found.", "StockItem #1 not found.", 1) })},
		{name: "a missing item_id is reported as a wrong one", calls: batch, fault: mapTexts("error.*.message", func(s string) string { return strings.Replace(s, "Missing item_id", `Invalid value for "item_id"`, 1) })},
		{name: "an empty product_id of a batch is taken", calls: batch, fault: dropSentFields("product_id")},
		{name: "empty values of a batch are reported without full stop", calls: batch, fault: mapTexts("error.*.message", func(s string) string { return strings.TrimSuffix(s, ".") })},
		{name: "a batch with a fault changes nothing", calls: batch, fault: rollBackBatch},
		{name: "a batch ends at the first fault", calls: batch, fault: stopAtRefusedItem},
		{name: "the last item of a batch is not saved", calls: batch, fault: skipLastItem("item_id", `{"item_id":%[1]q,"message":"Resource updated successful.","code":200}`)},
		{name: "a batch is not saved", calls: batch, fault: func(c *call, honest implementation) *response {
			r := honest(c)
			restoreStock(c, honest)
			return r
		}},
		{name: "a batch without item_ids is refused as a whole", calls: batch, fault: func(c *call, honest implementation) *response {
			r := honest(c)
			if strings.Contains(r.body, "item_id in request.") {
				return refusal(c, entry{400, "The request data is invalid."})
			}
			return r
		}},

		{name: "a Customer reads stock", calls: "customer " + list + ", customer " + single, fault: answerAs(contracttests.Admin)},
		{name: "a Guest reads stock", calls: "guest " + single, fault: answerAs(contracttests.Admin)},
		{name: "a Customer changes stock", calls: "customer " + update, fault: answerAs(contracttests.Admin)},
		{name: "a Guest changes stock at once", calls: "guest " + batch, fault: answerAs(contracttests.Admin)},
		{name: "limits of stock items are not applied", calls: list, fault: ignoreParams("limit")},
		{name: "pages of stock items are not applied", calls: list, fault: ignoreParams("page")},
		{name: "filters of stock items are not applied", calls: list, fault: ignoreParams("filter")},
		{name: "the order of stock items is not applied", calls: list, fault: ignoreParams("order")},
		{name: "attrs of stock items are not applied", calls: list + ", " + single, fault: ignoreParams("attrs")},
		{name: "stock items are XML by default", calls: "* /stockitems", fault: replaceRequestHeader("Accept", "", "text/xml")},
		{name: "one stock item is XML by default", calls: "* /stockitems/:id", fault: replaceRequestHeader("Accept", "*/*", "text/xml")},
		{name: "bodies of stock need no Content-Type", calls: update + ", " + batch, fault: contentType("", "application/json")},
		{name: "JSON is not read as text/xml", calls: update, fault: func(c *call, honest implementation) *response {
			if strings.HasPrefix(c.header.Get("Content-Type"), "text/xml") && strings.HasPrefix(c.body, "{") {
				return refusal(c, entry{400, "Decoding error."})
			}
			return honest(c)
		}},
		{name: "a stock item cannot be deleted, in other words", calls: "DELETE /stockitems/:id", fault: replaceMessageText("Resource does not support method.", "Resource method not implemented yet.")},
		{name: "a stock item can be deleted", calls: "DELETE /stockitems/:id", fault: pretendSuccess("Resource does not support method.")},
		{name: "stock items cannot be created, in other words", calls: "POST /stockitems", fault: replaceMessageText("Resource method not implemented yet.", "Resource does not support method.")},
	})
	for _, field := range []string{
		"qty", "min_qty", "use_config_min_qty", "is_qty_decimal", "backorders", "use_config_backorders", "min_sale_qty", "use_config_min_sale_qty",
		"max_sale_qty", "use_config_max_sale_qty", "is_in_stock", "notify_stock_qty", "use_config_notify_stock_qty", "manage_stock",
		"use_config_manage_stock", "use_config_qty_increments", "qty_increments", "use_config_enable_qty_inc", "enable_qty_increments", "is_decimal_divided",
	} {
		mutants = append(mutants, assignTo("stock items", "documented", []mutant{{name: "updates of stock leave out " + field, calls: update, fault: revertFields(field)}})...)
	}
	for _, field := range []string{"qty", "min_sale_qty", "is_in_stock"} {
		mutants = append(mutants, assignTo("stock items", "documented", []mutant{{name: "batches leave out " + field, calls: batch, fault: revertFieldInBatch(field)}})...)
	}
	return append(mutants, assignTo("stock items", "magento", []mutant{
		{name: "stock items have the nine fields of the document", calls: list, fault: dropFields("product_id", "stock_id", "min_qty", "is_in_stock")},
		{name: "an unknown item of a batch is 404", calls: batch, fault: mapValues("error.*.code", func(n codec.Node) codec.Node {
			if n.Text == "400" {
				n.Text = "404"
			}
			return n
		})},
		{name: "an unknown item of a batch is reported in the words of the document", calls: batch, fault: mapTexts("error.*.message", func(s string) string {
			if strings.HasPrefix(s, "StockItem") {
				return "Resource not found."
			}
			return s
		})},
		{name: "updates of stock need no qty", calls: update, fault: pretendSuccess("qty: Value is required")},
		{name: "a stock item cannot be deleted, as the document says it", calls: "DELETE /stockitems/:id", fault: replaceMessageText("Resource method not implemented yet.", "Resource does not support method.")},
	})...)
}

// setInStock sets the flag is_in_stock if an update sends a quantity other than 0 without
// the flag.
func setInStock(c *call, honest implementation) *response {
	c.edit(func(root *codec.Node) {
		qty, sent := root.Get("qty")
		if _, flagged := root.Get("is_in_stock"); sent && !flagged && qty.String() != "0" {
			root.Members = append(root.Members, codec.Member{Key: "is_in_stock", Value: codec.NumberNode("1")})
		}
	})
	return honest(c)
}

// requireQty refuses updates of stock without a quantity, as the original does.
func requireQty(c *call, honest implementation) *response {
	sent := true
	c.edit(func(root *codec.Node) { _, sent = root.Get("qty") })
	if r := honest(c); sent || r.status != http.StatusOK {
		return r
	}
	return refusal(c, entry{400, "qty: Value is required and can't be empty"})
}

// sentItemIDs returns the ids of the items that a batch sends.
func sentItemIDs(c *call) (ids []string) {
	c.clone().edit(func(root *codec.Node) {
		for _, item := range recordsIn(root) {
			if id, ok := item.Get("item_id"); ok && strings.Trim(id.String(), "0123456789") == "" && id.String() != "" {
				ids = append(ids, id.String())
			}
		}
	})
	return ids
}

// revertFieldInBatch makes a batch, and then restores the previous value of field in all
// its items.
func revertFieldInBatch(field string) fault {
	return func(c *call, honest implementation) *response {
		if !strings.Contains(c.body, field) {
			return honest(c)
		}
		var back []*call
		for _, id := range sentItemIDs(c) {
			item := asAdmin(c)
			item.path += "/" + id
			if before := updateToCurrent(item, honest, []string{field}); before != nil {
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

// restoreStock sets the items of a batch back to quantity 0 and minimum sale quantity 1.
func restoreStock(c *call, honest implementation) {
	for _, id := range sentItemIDs(c) {
		back := asAdmin(c)
		back.method, back.path, back.body = http.MethodPut, "/stockitems/"+id, `{"qty":"0","min_sale_qty":"1"}`
		honest(back)
	}
}

// rollBackBatch reverts a batch in which an item was refused.
func rollBackBatch(c *call, honest implementation) *response {
	r := honest(c)
	if strings.Contains(r.body, "error") {
		restoreStock(c, honest)
	}
	return r
}

// stopAtRefusedItem does not make the part of a batch that follows a refused item.
func stopAtRefusedItem(c *call, honest implementation) *response {
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

// skipLastItem does not make the last item of a batch, and reports success for it. report
// is the format of that entry, with the value of field and the product in the path.
func skipLastItem(field, report string) fault {
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
			forEachAt(root, "success", func(parent *codec.Node, at int) {
				list := &parent.Members[at].Value
				list.Members = append(list.Members, codec.Member{Value: parsed(fmt.Sprintf(report, id, product))})
				number(list)
			})
		})
		return r
	}
}

// orderMutants returns the mutants whose faults are in orders.
func orderMutants() []mutant {
	const list, single = "GET /orders", "GET /orders/:id"
	return append(assignTo("orders", "documented", []mutant{
		{name: "one order is in an element of another name", calls: single, fault: replaceXMLRoot("order")},
		{name: "orders in XML are not numbered", calls: list, fault: unnumberEntries},
		{name: "orders in XML are numbered from zero", calls: list, fault: replaceBytes("data_item_1>", "data_item_0>", "data_item_2>", "data_item_1>")},
		{name: "orders are an array", calls: list, fault: toArray()},
		{name: "an order has no tax_rate", calls: single, fault: dropFields("tax_rate")},
		{name: "orders have no base_total_due", calls: list, fault: dropFields("base_total_due")},
		{name: "an order has no addresses", calls: single, fault: dropFields("addresses")},
		{name: "orders have no items", calls: list, fault: dropFields("order_items")},
		{name: "an order has no comments", calls: single, fault: dropFields("order_comments")},
		{name: "an order has no status", calls: single, fault: dropFields("status")},
		{name: "an order has no increment_id", calls: single, fault: dropFields("increment_id")},
		{name: "an order shows the address of the computer", calls: single, fault: addField("customer_id", "remote_ip", "203.0.113.1")},
		{name: "orders show the grand total", calls: list, fault: addField("customer_id", "grand_total", "1.0000")},
		{name: "items of an order have a name", calls: single, fault: addField("order_items.*.sku", "name", "x")},
		{name: "items of an order have no tax", calls: single, fault: dropFields("order_items.*.tax_percent")},
		{name: "items of orders have no price", calls: list, fault: dropFields("order_items.*.base_price")},
		{name: "addresses of an order have an e-mail address", calls: single, fault: addField("addresses.*.telephone", "email", "x@example.com")},
		{name: "addresses of orders have no type", calls: list, fault: dropFields("addresses.*.address_type")},
		{name: "amounts of an order have two places", calls: single, fault: mapTexts("base_subtotal", twoPlaces)},
		{name: "amounts of orders have two places", calls: list, fault: mapTexts("tax_amount", twoPlaces)},
		{name: "amounts of an order are numbers", calls: single, fault: textToNumber("base_shipping_amount")},
		{name: "prices of items of an order are numbers", calls: single, fault: textToNumber("order_items.*.price")},
		{name: "prices of items of orders have two places", calls: list, fault: mapTexts("order_items.*.base_row_total", twoPlaces)},
		{name: "the customer of an order is a number", calls: single, fault: textToNumber("customer_id")},
		{name: "an amount that is not there is zero", calls: single, fault: mapValues("total_refunded", zeroIfNull)},
		{name: "an amount of orders that is not there is zero", calls: list, fault: mapValues("base_total_refunded", zeroIfNull)},
		{name: "an amount that is not there is left out", calls: single, fault: omitNull("base_total_refunded")},
		{name: "a field of an order's address without a value is an empty text", calls: single, fault: nullToText("addresses.*.company")},
		{name: "orders are dated in the other form", calls: list, fault: mapTexts("created_at", isoDate)},
		{name: "an order is dated in the other form", calls: single, fault: mapTexts("updated_at", isoDate)},
		{name: "an order without comments has an empty list", calls: single, fault: mapValues("order_comments", func(n codec.Node) codec.Node {
			if n.Kind == codec.Null {
				return codec.Node{Kind: codec.Struct}
			}
			return n
		})},
		{name: "items of an order come the other way round", calls: single, fault: mapFieldEntries("order_items", reverse)},
		{name: "an item of an order is lost", calls: single, fault: mapFieldEntries("order_items", dropLast)},
		{name: "the shipping address of an order is lost", calls: single, fault: mapFieldEntries("addresses", dropLast)},
		{name: "addresses of an order come the other way round", calls: single, fault: mapFieldEntries("addresses", reverse)},
		{name: "orders come last first", calls: "admin " + list, fault: mapEntries(reverse)},
		{name: "the last order is lost", calls: list, fault: mapEntries(dropLast)},
		{name: "the first order is lost", calls: "admin " + list, fault: mapEntries(dropFirst)},
		{name: "a Customer reads all orders", calls: "customer " + list, fault: answerAs(contracttests.Admin)},
		{name: "a Customer reads any order", calls: "customer " + single, fault: retryRefusedAs(http.StatusNotFound, contracttests.Admin)},
		{name: "a Customer reads the orders of another one", calls: "customer " + list, fault: swapCustomers},
		{name: "a Customer reads no orders", calls: "customer " + list, fault: answerAs(contracttests.Guest)},
		{name: "a Guest reads all orders", calls: "guest " + list, fault: answerAs(contracttests.Admin)},
		{name: "a Guest reads an order", calls: "guest " + single, fault: answerAs(contracttests.Admin)},
		{name: "orders are not for Guests", calls: "guest " + list, fault: denyAccess},
		{name: "an order that is not one's own is 403", calls: "customer " + single, fault: replaceRefusal(entry{404, "Resource not found."}, entry{403, "Access denied"})},
		{name: "an unknown order is 200 and nothing", calls: single, fault: pretendSuccess("Resource not found.")},
		{name: "an unknown order is refused without full stop", calls: single, fault: replaceMessageText("Resource not found.", "Resource not found")},
		{name: "limits of orders are not applied", calls: list, fault: ignoreParams("limit")},
		{name: "filters of orders are not applied", calls: list, fault: ignoreParams("filter")},
		{name: "the order of orders is not applied", calls: list, fault: ignoreParams("order")},
		{name: "the direction of orders is not applied", calls: list, fault: ignoreParams("dir")},
		{name: "pages of orders are not applied", calls: list, fault: ignoreParams("page")},
		{name: "attrs of orders are not applied", calls: list + ", " + single, fault: ignoreParams("attrs")},
		{name: "orders are JSON by default", calls: list, fault: replaceRequestHeader("Accept", "", "application/json")},
		{name: "any format is JSON for one order", calls: single, fault: replaceRequestHeader("Accept", "*/*", "application/json")},
		{name: "orders are refused in other words", calls: "POST,PUT,DELETE /orders, POST,PUT,DELETE /orders/:id", fault: replaceMessageText("Resource method not implemented yet.", "Resource does not support method.")},
		{name: "orders can be deleted", calls: "DELETE /orders/:id", fault: pretendSuccess("not implemented")},
		{name: "orders can be created", calls: "POST /orders", fault: pretendSuccess("not implemented")},
		{name: "a Customer learns that orders cannot be changed", calls: "customer PUT /orders/:id", fault: replaceRefusal(entry{403, "Access denied"}, entry{405, "Resource method not implemented yet."})},
	}), assignTo("orders", "magento", []mutant{
		{name: "orders in XML are numbered", calls: list, fault: numberOrders},
		{name: "a Customer reads orders as the Admin does", calls: "customer " + single, fault: answerAs(contracttests.Admin)},
		{name: "an order has the fields of the document", calls: "admin " + single, fault: dropFields("grand_total", "payment_method", "remote_ip")},
		{name: "a Guest reads an empty list of orders", calls: "guest " + list, fault: emptyListInsteadOf("Access denied")},
		{name: "items of an order have the fields of the document", calls: "admin " + single, fault: dropFields("order_items.*.name", "order_items.*.item_id")},
		{name: "addresses of an order have no e-mail address", calls: single, fault: dropFields("addresses.*.email")},
		{name: "an order is in the element of the document", calls: single, fault: replaceXMLRoot("service_api")},
	})...)
}

// zeroIfNull replaces null and an empty text by 0.0000.
func zeroIfNull(n codec.Node) codec.Node {
	if n.Kind == codec.Null || n.Kind == codec.Text && n.Text == "" {
		return codec.TextNode("0.0000")
	}
	return n
}

// unnumberEntries gives all entries of a list in XML the same name.
func unnumberEntries(c *call, honest implementation) *response {
	r := honest(c)
	for n := 1; n <= 100; n++ {
		r.body = strings.ReplaceAll(r.body, fmt.Sprintf("data_item_%d>", n), "data_item>")
	}
	return r
}

// numberOrders numbers the entries of the list in XML as the document does.
func numberOrders(c *call, honest implementation) *response {
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

// swapCustomers answers each of the two customers with the records of the other.
func swapCustomers(c *call, honest implementation) *response {
	if c.as == contracttests.Customer1 {
		c.as = contracttests.Customer2
	} else {
		c.as = contracttests.Customer1
	}
	return honest(c)
}

// orderAddressMutants returns the mutants whose faults are in order addresses.
func orderAddressMutants() []mutant {
	const list, single = "GET /orders/:id/addresses", "GET /orders/:id/addresses/:type"
	return append(assignTo("order addresses", "documented", []mutant{
		{name: "an order's address is in an element of another name", calls: single, fault: replaceXMLRoot("address")},
		{name: "an order's addresses are keyed by type", calls: list, fault: keyByField("address_type")},
		{name: "an order's address has an e-mail address", calls: single, fault: addField("city", "email", "x@example.com")},
		{name: "an order's addresses have ids", calls: list, fault: addField("region", "entity_id", "1")},
		{name: "an order's address has no address_type", calls: single, fault: dropFields("address_type")},
		{name: "an order's addresses have no middlename", calls: list, fault: dropFields("middlename")},
		{name: "an order's address has a street of lines", calls: single, fault: mapValues("street", func(n codec.Node) codec.Node {
			return codec.Node{Kind: codec.Struct, Members: []codec.Member{{Key: "0", Value: n}}}
		})},
		{name: "the type of an order's address is in capitals", calls: single, fault: mapTexts("address_type", strings.ToUpper)},
		{name: "an order's address without a company has an empty text", calls: single, fault: nullToText("company")},
		{name: "an order's addresses without a prefix have no such field", calls: list, fault: omitNull("prefix")},
		{name: "the billing address is the shipping address", calls: single, fault: rewritePath(func(path string) string { return strings.Replace(path, "/billing", "/shipping", 1) })},
		{name: "the shipping address is the billing address", calls: single, fault: rewritePath(func(path string) string { return strings.Replace(path, "/shipping", "/billing", 1) })},
		{name: "an order's addresses come the other way round", calls: list, fault: mapEntries(reverse)},
		{name: "an order's shipping address is lost", calls: list, fault: mapEntries(dropLast)},
		{name: "a Customer reads the addresses of any order", calls: "customer " + list, fault: retryRefusedAs(http.StatusNotFound, contracttests.Admin)},
		{name: "a Customer reads an address of any order", calls: "customer " + single, fault: retryRefusedAs(http.StatusNotFound, contracttests.Admin)},
		{name: "a Guest reads an order's addresses", calls: "guest " + list + ", guest " + single, fault: answerAs(contracttests.Admin)},
		{name: "a Customer may not read an order's addresses", calls: "customer " + list, fault: denyAccess},
		{name: "a Customer may not read an order's address", calls: "customer " + single, fault: denyAccess},
		{name: "addresses of an unknown order are an empty list", calls: list, fault: emptyListInsteadOf("Resource not found.")},
		{name: "an order's address that is unknown is 200 and nothing", calls: single, fault: pretendSuccess("Resource not found.")},
		{name: "an order's addresses cannot be written, in other words", calls: "POST,PUT,DELETE /orders/:id/addresses", fault: replaceMessageText("Resource does not support method.", "Resource method not implemented yet.")},
		{name: "an order's address cannot be written, in other words", calls: "POST,PUT,DELETE /orders/:id/addresses/:type", fault: replaceMessageText("Resource does not support method.", "Resource method not implemented yet.")},
		{name: "an order's address can be written", calls: "PUT /orders/:id/addresses/:type", fault: pretendSuccess("does not support")},
		{name: "an order's addresses are JSON by default", calls: list, fault: replaceRequestHeader("Accept", "", "application/json")},
		{name: "attrs of an order's addresses are not applied", calls: list + ", " + single, fault: ignoreParams("attrs")},
		{name: "lines of an order have a name", calls: "GET /orders/:id/items", fault: addField("sku", "name", "x")},
		{name: "lines of an order come the other way round", calls: "GET /orders/:id/items", fault: mapEntries(reverse)},
		{name: "comments on an order are not for its Customer", calls: "customer GET /orders/:id/comments", fault: denyAccess},
		{name: "a Customer sees the comments of the Admin", calls: "customer GET /orders/:id/comments", fault: answerAs(contracttests.Admin)},
	}), assignTo("order addresses", "magento", []mutant{
		{name: "an order's address has no e-mail address", calls: single, fault: dropFields("email")},
		{name: "an order's addresses cannot be written, as the document says it", calls: "POST,PUT,DELETE /orders/:id/addresses", fault: replaceMessageText("Resource method not implemented yet.", "Resource does not support method.")},
	})...)
}
