package main

import (
	"net/http"
	"strings"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/codec"
)

func productMutants() []mutant {
	const list, single = "admin GET /products", "admin GET /products/:product"
	const create, update, remove = "POST /products", "PUT /products/:product", "DELETE /products/:product"
	const view, updateView = "admin GET /products/:product/store/:store", "PUT /products/:product/store/:store"
	mutants := in("products", "documented", []mutant{
		{name: "one product is in an element of another name", at: single, fault: rooted("product")},
		{name: "products are in an element of another name", at: list, fault: rooted("products")},
		{name: "products are an array", at: list, fault: asArray()},
		{name: "products have no url_key", at: list, fault: drop("url_key")},
		{name: "products have no special_to_date", at: list, fault: drop("special_to_date")},
		{name: "products have the set of attributes", at: list, fault: add("entity_id", "attribute_set_id", "4")},
		{name: "products have the short description", at: list, fault: add("description", "short_description", "x")},
		{name: "a product has no stock_data", at: single, fault: drop("stock_data")},
		{name: "a product has no group_price", at: single, fault: drop("group_price")},
		{name: "a product has the titles of its page", at: single, fault: add("name", "meta_title", "x")},
		{name: "a product shows when it was created", at: single, fault: add("sku", "created_at", "2012-01-01 00:00:00")},
		{name: "a product has a special price", at: single, fault: add("price", "special_price", "1.0000")},
		{name: "stock_data lacks its last field", at: single, fault: drop("stock_data.use_config_enable_qty_increments")},
		{name: "stock_data has no low_stock_date", at: single, fault: drop("stock_data.low_stock_date")},
		{name: "stock_data has a number", at: single, fault: asNumber("stock_data.qty")},
		{name: "quantities in stock_data have two places", at: single, fault: texts("stock_data.min_sale_qty", twoPlaces)},
		{name: "flags in stock_data are literals", at: single, fault: asLiteral("stock_data.is_in_stock")},
		{name: "stock_data without notify_stock_qty has an empty text", at: single, fault: blankForNull("stock_data.notify_stock_qty")},
		{name: "the price of a product is a number", at: single, fault: asNumber("price")},
		{name: "prices have two places", at: list, fault: texts("price", twoPlaces)},
		{name: "the weight of a product has two places", at: single, fault: texts("weight", twoPlaces)},
		{name: "the status of products is a number", at: list, fault: asNumber("status")},
		{name: "the status of a product is a literal", at: single, fault: asLiteral("status")},
		{name: "the id of a product is a number", at: single, fault: asNumber("entity_id")},
		{name: "products without a special price have no such field", at: list, fault: absentForNull("special_price")},
		{name: "products without a country have an empty text", at: list, fault: blankForNull("country_of_manufacture")},
		{name: "a product without a country has no such field", at: single, fault: absentForNull("country_of_manufacture")},
		{name: "dates of products have the other form", at: list, fault: texts("special_from_date", isoDate)},
		{name: "dates of products are days", at: list, fault: texts("news_from_date", dayAlone)},
		{name: "a product without tier prices has a null", at: single, fault: values("tier_price", nullIfEmpty)},
		{name: "a product without group prices has a null", at: single, fault: values("group_price", nullIfEmpty)},
		{name: "tier prices are numbers", at: single, fault: asNumber("tier_price.*.price")},
		{name: "tier quantities have two places", at: single, fault: texts("tier_price.*.price_qty", twoPlaces)},
		{name: "tier prices have the mark of the original", at: single, fault: add("tier_price.*.price", "is_percent", "0")},
		{name: "group prices have no website", at: single, fault: drop("group_price.*.website_id")},
		{name: "group prices have two places", at: single, fault: texts("group_price.*.price", twoPlaces)},
		{name: "tier prices come dearest last", at: single, fault: within("tier_price", reversed)},
		{name: "the last of the tier prices is lost", at: single, fault: within("tier_price", lastLost)},
		{name: "texts of products are escaped twice", at: single, fault: texts("description", func(s string) string { return strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(s) })},

		{name: "a product that is created gets 201", at: create, fault: turns(http.StatusOK, http.StatusCreated)},
		{name: "a product that is created has no Location", at: create, fault: location(nowhere)},
		{name: "the Location of a product is absolute", at: create, fault: location(absolute)},
		{name: "the Location of a product ends with a slash", at: create, fault: location(withSlash)},
		{name: "a product that is created is in the body", at: create, fault: answersWith(`{"entity_id":"1"}`)},
		{name: "an update of a product gets 204", at: update, fault: turns(http.StatusOK, http.StatusNoContent)},
		{name: "an update of a product has a body", at: update, fault: answersWith(`{}`)},
		{name: "a product that is deleted gets 204", at: remove, fault: turns(http.StatusOK, http.StatusNoContent)},
		{name: "updates of products change nothing", at: update, fault: restore},
		{name: "updates of a store view change nothing", at: updateView, fault: restore},
		{name: "updates of a store view change all", at: updateView, fault: pathed(storeless)},
		{name: "updates of a product are those of the first store view", at: update, fault: pathed(func(path string) string { return path + "/store/1" })},
		{name: "updates of a product are those of its store views too", at: update, fault: alsoInStores},
		{name: "store views of a product are not told apart", at: view, fault: pathed(storeless)},
		{name: "an unknown store view is the default one", at: view, fault: leavesStore("Requested store is invalid")},
		{name: "products are never deleted", at: remove, fault: swallow},
		{name: "a product is that of before", at: single, fault: stale()},
		{name: "the list of products is that of before", at: list, fault: stale()},
		{name: "the type of a product can be changed", at: "PUT,GET /products/:product", fault: writable("type_id")},
		{name: "the set of attributes of a product can be changed", at: "PUT,GET /products/:product", fault: writable("attribute_set_id")},
		{name: "updates without tier prices empty them", at: update, fault: reset("tier_price", "[]")},
		{name: "updates without group prices empty them", at: update, fault: reset("group_price", "[]")},
		{name: "updates without a special price empty it", at: update, fault: reset("special_price", "null")},
		{name: "updates without a url_key make one of the name", at: update, fault: reset("url_key", `""`)},
		{name: "updates without meta_title empty it", at: update, fault: reset("meta_title", `""`)},
		{name: "updates without a country empty it", at: update, fault: reset("country_of_manufacture", `""`)},
		{name: "updates without news_from_date empty it", at: update, fault: reset("news_from_date", "null")},
		{name: "updates without a status enable a product", at: update, fault: reset("status", "1")},
		{name: "updates without stock_data reset the stock", at: update, fault: reset("stock_data", `{"qty":"0","use_config_manage_stock":1}`)},
		{name: "updates with stock_data reset the rest of it", at: update, fault: resetMember("stock_data", "min_sale_qty", `"1"`)},
		{name: "updates of the name change the url_key", at: update, fault: renames},

		{name: "two products may share an SKU", at: create, fault: lenient(`The value of attribute "SKU" must be unique`, "sku", unheardOf(""))},
		{name: "a product may take another one's SKU", at: update, fault: accepts(`The value of attribute "SKU" must be unique`)},
		{name: "an SKU may be long", at: create, fault: lenient("SKU length", "sku", unheardOf(""))},
		{name: "a product needs no SKU", at: create, fault: lenient(`Missing "sku"`, "sku", unheardOf(""))},
		{name: "a product needs no name", at: create, fault: lenient(`Missing "name"`, "name", always(`"x"`))},
		{name: "a product needs no price", at: create, fault: lenient(`Missing "price"`, "price", always(`"1"`))},
		{name: "a product needs no weight", at: create, fault: lenient(`Missing "weight"`, "weight", always(`"1"`))},
		{name: "a product needs no description", at: create, fault: lenient(`Missing "description"`, "description", always(`"x"`))},
		{name: "a product needs no tax class", at: create, fault: lenient(`Missing "tax_class_id"`, "tax_class_id", always("0"))},
		{name: "a product needs no type", at: create, fault: lenient(`Missing "type_id"`, "type_id", always(`"simple"`))},
		{name: "a product needs no set of attributes", at: create, fault: lenient(`Missing "attribute_set_id"`, "attribute_set_id", always("4"))},
		{name: "any type of product will do", at: create, fault: lenient("Invalid product type.", "type_id", always(`"simple"`))},
		{name: "any set of attributes will do", at: create, fault: lenient("Invalid attribute set.", "attribute_set_id", always("4"))},
		{name: "any status will do", at: create + ", " + update, fault: lenient(`for attribute "status"`, "status", always("1"))},
		{name: "any visibility will do", at: create + ", " + update, fault: lenient(`for attribute "visibility"`, "visibility", always("4"))},
		{name: "any tax class will do", at: create + ", " + update, fault: lenient(`for attribute "tax_class_id"`, "tax_class_id", always("0"))},
		{name: "any country of manufacture will do", at: create + ", " + update, fault: accepts(`for attribute "country_of_manufacture"`)},
		{name: "prices may be negative", at: create, fault: lenient(`Please enter a number 0 or greater in the "price" field.`, "price", always(`"1"`))},
		{name: "prices may be set below zero", at: update, fault: accepts(`Please enter a number 0 or greater in the "price" field.`)},
		{name: "special prices may be negative", at: create + ", " + update, fault: lenient(`in the "special_price" field.`, "special_price", always(`"1"`))},
		{name: "names may be emptied", at: update, fault: accepts(`Empty value for "name"`)},
		{name: "dates may be anything", at: create + ", " + update, fault: lenient("Invalid date in the", "special_from_date", always("null"))},
		{name: "two tier prices may be for one quantity", at: create + ", " + update, fault: lenient("Duplicate website tier price", "tier_price", always("[]"))},
		{name: "two group prices may be for one group", at: create + ", " + update, fault: lenient("Duplicate website group price", "group_price", always("[]"))},
		{name: "tier quantities may be anything", at: create + ", " + update, fault: lenient(`"price_qty" field`, "tier_price.*.price_qty", always(`"2"`))},
		{name: "group prices may be of any group", at: create + ", " + update, fault: lenient(`Invalid "cust_group"`, "group_price", always("[]"))},
		{name: "layout updates may be anything", at: create + ", " + update, fault: lenient("XML data is invalid.", "custom_layout_update", always("null"))},
		{name: "quantities in stock_data may be anything", at: create + ", " + update, fault: lenient(`"qty" field in the "stock_data" set.`, "stock_data.qty", always(`"1"`))},
		{name: "products of other types can be created", at: create, fault: lenient("Creation of products with type", "type_id", always(`"simple"`))},
		{name: "products of other types are 400", at: create, fault: turns(405, 400)},
		{name: "refused products lack the last entry", at: create, fault: alone(lastLost)},
		{name: "missing values of products are refused without a full stop", at: create, fault: says(" in request.", " in request")},
		{name: "missing values of products are refused as empty", at: create, fault: says("Missing ", "Empty value for ")},
		{name: "a taken SKU is refused in other words", at: create, fault: says(`Invalid attribute "sku": `, "")},
		{name: "refusals of products have another code", at: create, fault: inRefusal(func(root *codec.Node) {
			each(root, "messages.error.*.code", func(parent *codec.Node, at int) { parent.Members[at].Value.Text = "422" })
		})},
		{name: "an unknown product is refused in other words", at: single, fault: says("Resource not found.", "Product not found")},
		{name: "an unknown product is 200 and nothing", at: single, fault: accepts("Resource not found.")},
		{name: "an update of an unknown product is 200", at: update, fault: accepts("Resource not found.")},
		{name: "deleting an unknown product is 200", at: remove, fault: accepts("Resource not found.")},
		{name: "an unknown store is 404", at: view + ", " + updateView, fault: refuses(entry{400, "Requested store is invalid"}, entry{404, "Requested store is invalid"})},
		{name: "an unknown store is refused with a full stop", at: view + ", " + updateView, fault: says("Requested store is invalid", "Requested store is invalid.")},

		{name: "a Guest creates products", at: "guest " + create, fault: as(contracttests.Admin)},
		{name: "a Customer creates products", at: "customer " + create, fault: as(contracttests.Admin)},
		{name: "a Customer changes products", at: "customer " + update, fault: as(contracttests.Admin)},
		{name: "a Customer changes store views", at: "customer " + updateView, fault: as(contracttests.Admin)},
		{name: "a Guest deletes products", at: "guest " + remove, fault: as(contracttests.Admin)},
		{name: "the Admin reads a product as a Guest does", at: single, fault: as(contracttests.Guest)},
		{name: "the Admin reads products as a Guest does", at: list, fault: as(contracttests.Guest)},

		{name: "filters of products are not applied", at: list, fault: unheard("filter")},
		{name: "limits of products are not applied", at: list, fault: unheard("limit")},
		{name: "pages of products are not applied", at: list, fault: unheard("page")},
		{name: "the order of products is not applied", at: list, fault: unheard("order")},
		{name: "the direction of products is not applied", at: list, fault: unheard("dir")},
		{name: "attrs of products are not applied", at: list, fault: unheard("attrs")},
		{name: "attrs of one product are not applied", at: single, fault: unheard("attrs")},
		{name: "the store of the query is not applied", at: list + ", " + single, fault: unheard("store")},
		{name: "products come last first", at: list, fault: entries(reversed)},
		{name: "the first of the products is lost", at: list, fault: entries(firstLost)},
		{name: "products in JSON are numbered from one", at: list, fault: onlyIn("json", inResponse(func(root *codec.Node) {
			number(root)
			for i := range root.Members {
				root.Members[i].Key += "1"
			}
		}))},
		{name: "a new product is JSON by default", at: single, fault: asked("Accept", "", "application/json")},
		{name: "what is refused of products is XML by default", at: "POST /products, PUT,DELETE /products/:product", fault: asked("Accept", "", "text/xml")},
		{name: "bodies of products are XML by default", at: create + ", " + update, fault: contentType("", "text/xml")},
		{name: "a POST to one product is refused in other words", at: "POST /products/:product", fault: says("Resource method not implemented yet.", "Resource does not support method.")},
		{name: "products cannot be changed at once, in other words", at: "PUT,DELETE /products", fault: says("Resource method not implemented yet.", "Resource does not support method.")},
		{name: "a product cannot be read by its SKU", at: single, fault: bySKU},
	})
	for _, field := range []string{
		"sku", "name", "description", "short_description", "price", "weight", "status", "visibility", "tax_class_id", "special_price",
		"special_from_date", "special_to_date", "news_from_date", "news_to_date", "custom_design_from", "custom_design_to",
		"meta_title", "meta_description", "meta_keyword", "url_key", "custom_design", "page_layout", "options_container",
		"country_of_manufacture", "msrp_enabled", "msrp_display_actual_price_type", "gift_message_available", "msrp", "custom_layout_update",
		"group_price", "tier_price", "stock_data",
	} {
		mutants = append(mutants, in("products", "documented", []mutant{{name: "updates of products leave out " + field, at: update, fault: unsaved(field)}})...)
	}
	for _, field := range []string{
		"special_price", "special_from_date", "special_to_date", "news_from_date", "news_to_date", "custom_design_from", "custom_design_to",
		"meta_title", "meta_description", "meta_keyword", "url_key", "custom_design", "page_layout", "options_container",
		"country_of_manufacture", "msrp_enabled", "msrp_display_actual_price_type", "gift_message_available", "msrp", "custom_layout_update",
		"group_price", "tier_price", "stock_data",
	} {
		mutants = append(mutants, in("products", "documented", []mutant{{name: "new products are stored without " + field, at: create, fault: uncreated(field)}})...)
	}
	for _, field := range []string{"qty", "min_qty", "min_sale_qty", "max_sale_qty", "is_in_stock", "backorders", "notify_stock_qty", "manage_stock", "qty_increments", "is_qty_decimal"} {
		unmade := unsaved
		if field == "notify_stock_qty" {
			unmade = ignore // what it held before is null, which is as good as not sent
		}
		mutants = append(mutants, in("products", "documented", []mutant{{name: "updates of products leave out " + field + " of stock_data", at: update, fault: unmade("stock_data." + field)}})...)
		mutants = append(mutants, in("products", "documented", []mutant{{name: "new products are stored without " + field + " of stock_data", at: create, fault: uncreated("stock_data." + field)}})...)
	}
	for _, field := range []string{"name", "description", "meta_title", "status", "visibility", "url_key", "short_description"} {
		mutants = append(mutants, in("products", "documented", []mutant{{name: "updates of store views leave out " + field, at: updateView, fault: unsaved(field)}})...)
	}
	return append(mutants, in("products", "magento", []mutant{
		{name: "one product is in the element of the document", at: single, fault: rooted("service_api")},
		{name: "a product has no meta_title", at: single, fault: drop("meta_title")},
		{name: "products have no attribute_set_id", at: list, fault: drop("attribute_set_id")},
		{name: "tier prices have no is_percent", at: single, fault: drop("tier_price.*.is_percent")},
		{name: "stock_data has the fields of the document", at: single, fault: add("stock_data.qty", "item_id", "1")},
		{name: "a product is created at a time of the form of lists", at: single, fault: texts("created_at", func(s string) string { return strings.NewReplacer("T", " ", "+00:00", "").Replace(s) })},
		{name: "products without Accept are XML", at: "* /products", fault: asked("Accept", "", "text/xml")},
	})...)
}

func nullIfEmpty(n codec.Node) codec.Node {
	if n.Kind == codec.Struct && len(n.Members) == 0 {
		return codec.Node{}
	}
	return n
}

// alsoInStores makes an update in every store view, too.
func alsoInStores(c *call, honest implementation) *response {
	r := honest(c)
	for _, store := range []string{"1", "2"} {
		if r.status == http.StatusOK {
			again := c.clone()
			again.path += "/store/" + store
			honest(again)
		}
	}
	return r
}

// leavesStore takes the store view off a path that is refused with a message.
func leavesStore(message string) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if found := entriesOf(r); len(found) > 0 && found[0].message == message {
			c.path = storeless(c.path)
			return honest(c)
		}
		return r
	}
}

// resetMember empties a member of a record that updates send in part.
func resetMember(field, member, json string) fault {
	value := parsed(json)
	return func(c *call, honest implementation) *response {
		c.edit(func(root *codec.Node) {
			if record, sent := root.Get(field); sent && record.Shape() == codec.Named {
				if _, sent := record.Get(member); !sent {
					record.Members = append(record.Members, codec.Member{Key: member, Value: value})
				}
			}
		})
		return honest(c)
	}
}

// renames makes a new url_key of a new name.
func renames(c *call, honest implementation) *response {
	c.edit(func(root *codec.Node) {
		_, keyed := root.Get("url_key")
		if _, named := root.Get("name"); named && !keyed {
			root.Members = append(root.Members, codec.Member{Key: "url_key", Value: codec.TextNode("")})
		}
	})
	return honest(c)
}

// bySKU finds no product whose id is no number.
func bySKU(c *call, honest implementation) *response {
	if strings.Trim(strings.TrimPrefix(c.path, "/products/"), "0123456789") != "" {
		c.path = "/products/0"
	}
	return honest(c)
}

// contentType has bodies of one media type, "" for none, taken for another.
func contentType(from, to string) fault { return asked("Content-Type", from, to) }

func publicMutants() []mutant {
	var mutants []mutant
	for _, role := range []string{"guest", "customer"} {
		list, single := role+" GET /products", role+" GET /products/:product"
		mutants = append(mutants, in("public", "documented", []mutant{
			{name: role + ": products are those of the Admin", at: list, fault: as(contracttests.Admin)},
			{name: role + ": a product is that of the Admin", at: single, fault: as(contracttests.Admin)},
			{name: role + ": a product that is hidden is shown", at: single, fault: leaks(http.StatusNotFound, contracttests.Admin)},
			{name: role + ": prices are texts", at: single, fault: asText("final_price_with_tax")},
			{name: role + ": products have no short_description", at: list, fault: drop("short_description")},
		})...)
	}
	const list, single, view = "guest GET /products", "guest GET /products/:product", "guest GET /products/:product/store/:store"
	return append(mutants, append(in("public", "documented", []mutant{
		{name: "public prices have four places", at: single, fault: values("regular_price_with_tax", fourPlaces)},
		{name: "public prices have four places in lists", at: list, fault: values("final_price_without_tax", fourPlaces)},
		{name: "public prices are texts in lists", at: list, fault: asText("regular_price_without_tax")},
		{name: "a product has no regular price", at: single, fault: drop("regular_price_with_tax")},
		{name: "products have no final price", at: list, fault: drop("final_price_without_tax")},
		{name: "the final price is the regular one", at: single, fault: copies("regular_price_without_tax", "final_price_without_tax")},
		{name: "the final price is the regular one in lists", at: list, fault: copies("regular_price_without_tax", "final_price_without_tax")},
		{name: "a product shows its cost", at: single, fault: add("sku", "cost", "1.0000")},
		{name: "a product shows the price of the Admin", at: single, fault: add("sku", "price", "1.0000")},
		{name: "products show when they were created", at: list, fault: add("sku", "created_at", "2012-01-01 00:00:00")},
		{name: "is_saleable is a text in lists", at: list, fault: becomes("is_saleable", codec.TextNode("1"))},
		{name: "is_saleable is a literal", at: single, fault: asLiteral("is_saleable")},
		{name: "products are saleable always", at: single, fault: becomes("is_saleable", codec.TextNode("1"))},
		{name: "products are in stock always", at: single, fault: becomes("is_in_stock", codec.TextNode("1"))},
		{name: "without tier prices there is a null", at: single, fault: values("tier_price", nullIfEmpty)},
		{name: "public tier prices are texts", at: single, fault: asText("tier_price.*.price_without_tax")},
		{name: "public tier prices are lost", at: single, fault: within("tier_price", lastLost)},
		{name: "has_custom_options is a text", at: single, fault: becomes("has_custom_options", codec.TextNode("0"))},
		{name: "total_reviews_count is a number", at: single, fault: asNumber("total_reviews_count")},
		{name: "a product has no buy_now_url", at: single, fault: drop("buy_now_url")},
		{name: "the url of a product is relative", at: single, fault: texts("url", func(s string) string { return s[strings.Index(s+"/index.php", "/index.php"):] })},
		{name: "a product without image has none", at: single, fault: becomes("image_url", codec.Node{})},
		{name: "a product without meta_title has no such field", at: single, fault: absentForNull("meta_title")},
		{name: "products without meta_keyword have an empty text", at: list, fault: blankForNull("meta_keyword")},
		{name: "public products are an array", at: list, fault: asArray()},
		{name: "public products come last first", at: list, fault: entries(reversed)},
		{name: "public products are those of before", at: list + ", " + single, fault: stale()},
		{name: "a Guest's limits are not applied", at: list, fault: unheard("limit")},
		{name: "a Guest's filters are not applied", at: list, fault: unheard("filter")},
		{name: "a Guest's attrs are not applied", at: single, fault: unheard("attrs")},
		{name: "a Guest does not see store views apart", at: view, fault: pathed(storeless)},
		{name: "public products are JSON by default", at: list, fault: asked("Accept", "", "application/json")},
		{name: "an unknown public product is 200 and nothing", at: single, fault: accepts("Resource not found.")},
		{name: "products are not for Guests", at: list + ", " + single, fault: denies},
	}), in("public", "magento", []mutant{
		{name: "a public product has no updated_at", at: single, fault: drop("updated_at")},
		{name: "public products without meta_title have a null", at: single, fault: inResponse(func(root *codec.Node) {
			if _, there := root.Get("meta_title"); !there && root.Kind == codec.Struct {
				root.Members = append(root.Members, codec.Member{Key: "meta_title"})
			}
		})},
	})...)...)
}

func fourPlaces(n codec.Node) codec.Node {
	if n.Kind == codec.Number || n.Kind == codec.Text && n.Text != "" {
		whole, places, _ := strings.Cut(n.Text, ".")
		return codec.TextNode(whole + "." + (places + "0000")[:4])
	}
	return n
}

// copies shows one field's value in another.
func copies(from, to string) fault {
	return inResponse(func(root *codec.Node) {
		each(root, to, func(parent *codec.Node, at int) {
			if value, ok := parent.Get(from); ok {
				parent.Members[at].Value = *value
			}
		})
	})
}

func categoryListMutants() []mutant {
	const path, query = "GET /products/category/:category, GET /products/store/:store/category/:category, GET /products/category/:category/store/:store", "GET /products"
	ofCategory := func(f fault) fault {
		return func(c *call, honest implementation) *response {
			if strings.HasPrefix(c.path, "/products/category/") || strings.Contains(c.query, "category_id=") {
				return f(c, honest)
			}
			return honest(c)
		}
	}
	const both = path + ", " + query
	return append(in("category list", "documented", []mutant{
		{name: "products of a category come the other way round", at: both, fault: ofCategory(entries(reversed))},
		{name: "products of a category have a name", at: both, fault: ofCategory(add("type_id", "name", "x"))},
		{name: "products of a category have no weight", at: both, fault: ofCategory(drop("weight"))},
		{name: "products of a category have no set", at: both, fault: ofCategory(drop("attribute_set_id"))},
		{name: "prices in a category have two places", at: both, fault: ofCategory(texts("price", twoPlaces))},
		{name: "prices in a category are numbers", at: both, fault: ofCategory(asNumber("price"))},
		{name: "the last product of a category is lost", at: both, fault: ofCategory(entries(lastLost))},
		{name: "category_id is not applied", at: query, fault: unheard("category_id")},
		{name: "the category of a path is not applied", at: path, fault: pathed(func(string) string { return "/products" })},
		{name: "products of an unknown category are an empty list", at: both, fault: emptyInstead("Category not found")},
		{name: "an unknown category is refused without full stop", at: both, fault: says("Category not found.", "Category not found")},
		{name: "an unknown category is 404", at: both, fault: refuses(entry{400, "Category not found."}, entry{404, "Category not found."})},
		{name: "products of a category are those of before", at: both, fault: ofCategory(stale())},
		{name: "products of a category are those of a Guest", at: both, fault: ofCategory(as(contracttests.Guest))},
		{name: "a Guest sees all products of a category", at: "guest GET /products/category/:category, guest GET /products", fault: ofCategory(as(contracttests.Admin))},
	}), in("category list", "magento", []mutant{
		{name: "products of a category have six fields", at: both, fault: ofCategory(drop("name", "sku", "created_at", "updated_at", "description"))},
	})...)
}
