package program

import (
	"net/http"
	"strings"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/codec"
)

// productMutants returns the mutants whose faults are in products as the Admin sees them.
func productMutants() []mutant {
	const list, single = "admin GET /products", "admin GET /products/:product"
	const create, update, remove = "POST /products", "PUT /products/:product", "DELETE /products/:product"
	const view, updateView = "admin GET /products/:product/store/:store", "PUT /products/:product/store/:store"
	mutants := assignTo("products", "documented", []mutant{
		{name: "one product is in an element of another name", calls: single, fault: replaceXMLRoot("product")},
		{name: "products are in an element of another name", calls: list, fault: replaceXMLRoot("products")},
		{name: "products are an array", calls: list, fault: toArray()},
		{name: "products have no url_key", calls: list, fault: dropFields("url_key")},
		{name: "products have no special_to_date", calls: list, fault: dropFields("special_to_date")},
		{name: "products have the set of attributes", calls: list, fault: addField("entity_id", "attribute_set_id", "4")},
		{name: "products have the short description", calls: list, fault: addField("description", "short_description", "x")},
		{name: "a product has no stock_data", calls: single, fault: dropFields("stock_data")},
		{name: "a product has no group_price", calls: single, fault: dropFields("group_price")},
		{name: "a product has the titles of its page", calls: single, fault: addField("name", "meta_title", "x")},
		{name: "a product shows when it was created", calls: single, fault: addField("sku", "created_at", "2012-01-01 00:00:00")},
		{name: "a product has a special price", calls: single, fault: addField("price", "special_price", "1.0000")},
		{name: "stock_data lacks its last field", calls: single, fault: dropFields("stock_data.use_config_enable_qty_increments")},
		{name: "stock_data has no low_stock_date", calls: single, fault: dropFields("stock_data.low_stock_date")},
		{name: "stock_data has a number", calls: single, fault: textToNumber("stock_data.qty")},
		{name: "quantities in stock_data have two places", calls: single, fault: mapTexts("stock_data.min_sale_qty", twoPlaces)},
		{name: "flags in stock_data are literals", calls: single, fault: flagToBool("stock_data.is_in_stock")},
		{name: "stock_data without notify_stock_qty has an empty text", calls: single, fault: nullToText("stock_data.notify_stock_qty")},
		{name: "the price of a product is a number", calls: single, fault: textToNumber("price")},
		{name: "prices have two places", calls: list, fault: mapTexts("price", twoPlaces)},
		{name: "the weight of a product has two places", calls: single, fault: mapTexts("weight", twoPlaces)},
		{name: "the status of products is a number", calls: list, fault: textToNumber("status")},
		{name: "the status of a product is a literal", calls: single, fault: flagToBool("status")},
		{name: "the id of a product is a number", calls: single, fault: textToNumber("entity_id")},
		{name: "products without a special price have no such field", calls: list, fault: omitNull("special_price")},
		{name: "products without a country have an empty text", calls: list, fault: nullToText("country_of_manufacture")},
		{name: "a product without a country has no such field", calls: single, fault: omitNull("country_of_manufacture")},
		{name: "dates of products have the other form", calls: list, fault: mapTexts("special_from_date", isoDate)},
		{name: "dates of products are days", calls: list, fault: mapTexts("news_from_date", dateOnly)},
		{name: "a product without tier prices has a null", calls: single, fault: mapValues("tier_price", nullIfEmpty)},
		{name: "a product without group prices has a null", calls: single, fault: mapValues("group_price", nullIfEmpty)},
		{name: "tier prices are numbers", calls: single, fault: textToNumber("tier_price.*.price")},
		{name: "tier quantities have two places", calls: single, fault: mapTexts("tier_price.*.price_qty", twoPlaces)},
		{name: "tier prices have the mark of the original", calls: single, fault: addField("tier_price.*.price", "is_percent", "0")},
		{name: "group prices have no website", calls: single, fault: dropFields("group_price.*.website_id")},
		{name: "group prices have two places", calls: single, fault: mapTexts("group_price.*.price", twoPlaces)},
		{name: "tier prices come dearest last", calls: single, fault: mapFieldEntries("tier_price", reverse)},
		{name: "the last of the tier prices is lost", calls: single, fault: mapFieldEntries("tier_price", dropLast)},
		{name: "texts of products are escaped twice", calls: single, fault: mapTexts("description", func(s string) string { return strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(s) })},

		{name: "a product that is created gets 201", calls: create, fault: replaceStatus(http.StatusOK, http.StatusCreated)},
		{name: "a product that is created has no Location", calls: create, fault: mapLocation(removeLocation)},
		{name: "the Location of a product is absolute", calls: create, fault: mapLocation(absoluteURL)},
		{name: "the Location of a product ends with a slash", calls: create, fault: mapLocation(withSlash)},
		{name: "a product that is created is in the body", calls: create, fault: addBody(`{"entity_id":"1"}`)},
		{name: "an update of a product gets 204", calls: update, fault: replaceStatus(http.StatusOK, http.StatusNoContent)},
		{name: "an update of a product has a body", calls: update, fault: addBody(`{}`)},
		{name: "a product that is deleted gets 204", calls: remove, fault: replaceStatus(http.StatusOK, http.StatusNoContent)},
		{name: "updates of products change nothing", calls: update, fault: revertUpdate},
		{name: "updates of a store view change nothing", calls: updateView, fault: revertUpdate},
		{name: "updates of a store view change all", calls: updateView, fault: rewritePath(withoutStoreView)},
		{name: "updates of a product are those of the first store view", calls: update, fault: rewritePath(func(path string) string { return path + "/store/1" })},
		{name: "updates of a product are those of its store views too", calls: update, fault: updateAllStoreViews},
		{name: "store views of a product are not distinguished", calls: view, fault: rewritePath(withoutStoreView)},
		{name: "an unknown store view is the default one", calls: view, fault: dropStoreViewIfRefused("Requested store is invalid")},
		{name: "products are never deleted", calls: remove, fault: skipWrite},
		{name: "a product is that of before", calls: single, fault: repeatFirstReply()},
		{name: "the list of products is that of before", calls: list, fault: repeatFirstReply()},
		{name: "the type of a product can be changed", calls: "PUT,GET /products/:product", fault: echoReadOnlyField("type_id")},
		{name: "the set of attributes of a product can be changed", calls: "PUT,GET /products/:product", fault: echoReadOnlyField("attribute_set_id")},
		{name: "updates without tier prices empty them", calls: update, fault: resetUnsentField("tier_price", "[]")},
		{name: "updates without group prices empty them", calls: update, fault: resetUnsentField("group_price", "[]")},
		{name: "updates without a special price empty it", calls: update, fault: resetUnsentField("special_price", "null")},
		{name: "updates without a url_key make one of the name", calls: update, fault: resetUnsentField("url_key", `""`)},
		{name: "updates without meta_title empty it", calls: update, fault: resetUnsentField("meta_title", `""`)},
		{name: "updates without a country empty it", calls: update, fault: resetUnsentField("country_of_manufacture", `""`)},
		{name: "updates without news_from_date empty it", calls: update, fault: resetUnsentField("news_from_date", "null")},
		{name: "updates without a status enable a product", calls: update, fault: resetUnsentField("status", "1")},
		{name: "updates without stock_data reset the stock", calls: update, fault: resetUnsentField("stock_data", `{"qty":"0","use_config_manage_stock":1}`)},
		{name: "updates with stock_data reset the rest of it", calls: update, fault: resetUnsentMember("stock_data", "min_sale_qty", `"1"`)},
		{name: "updates of the name change the url_key", calls: update, fault: deriveURLKey},

		{name: "two products may share an SKU", calls: create, fault: acceptInvalid(`The value of attribute "SKU" must be unique`, "sku", uniqueText(""))},
		{name: "a product may take another one's SKU", calls: update, fault: pretendSuccess(`The value of attribute "SKU" must be unique`)},
		{name: "an SKU may be long", calls: create, fault: acceptInvalid("SKU length", "sku", uniqueText(""))},
		{name: "a product needs no SKU", calls: create, fault: acceptInvalid(`Missing "sku"`, "sku", uniqueText(""))},
		{name: "a product needs no name", calls: create, fault: acceptInvalid(`Missing "name"`, "name", constantNode(`"x"`))},
		{name: "a product needs no price", calls: create, fault: acceptInvalid(`Missing "price"`, "price", constantNode(`"1"`))},
		{name: "a product needs no weight", calls: create, fault: acceptInvalid(`Missing "weight"`, "weight", constantNode(`"1"`))},
		{name: "a product needs no description", calls: create, fault: acceptInvalid(`Missing "description"`, "description", constantNode(`"x"`))},
		{name: "a product needs no tax class", calls: create, fault: acceptInvalid(`Missing "tax_class_id"`, "tax_class_id", constantNode("0"))},
		{name: "a product needs no type", calls: create, fault: acceptInvalid(`Missing "type_id"`, "type_id", constantNode(`"simple"`))},
		{name: "a product needs no set of attributes", calls: create, fault: acceptInvalid(`Missing "attribute_set_id"`, "attribute_set_id", constantNode("4"))},
		{name: "any type of product will do", calls: create, fault: acceptInvalid("Invalid product type.", "type_id", constantNode(`"simple"`))},
		{name: "any set of attributes will do", calls: create, fault: acceptInvalid("Invalid attribute set.", "attribute_set_id", constantNode("4"))},
		{name: "any status will do", calls: create + ", " + update, fault: acceptInvalid(`for attribute "status"`, "status", constantNode("1"))},
		{name: "any visibility will do", calls: create + ", " + update, fault: acceptInvalid(`for attribute "visibility"`, "visibility", constantNode("4"))},
		{name: "any tax class will do", calls: create + ", " + update, fault: acceptInvalid(`for attribute "tax_class_id"`, "tax_class_id", constantNode("0"))},
		{name: "any country of manufacture will do", calls: create + ", " + update, fault: pretendSuccess(`for attribute "country_of_manufacture"`)},
		{name: "prices may be negative", calls: create, fault: acceptInvalid(`Please enter a number 0 or greater in the "price" field.`, "price", constantNode(`"1"`))},
		{name: "prices may be set below zero", calls: update, fault: pretendSuccess(`Please enter a number 0 or greater in the "price" field.`)},
		{name: "special prices may be negative", calls: create + ", " + update, fault: acceptInvalid(`in the "special_price" field.`, "special_price", constantNode(`"1"`))},
		{name: "names may be emptied", calls: update, fault: pretendSuccess(`Empty value for "name"`)},
		{name: "dates may be anything", calls: create + ", " + update, fault: acceptInvalid("Invalid date in the", "special_from_date", constantNode("null"))},
		{name: "two tier prices may be for one quantity", calls: create + ", " + update, fault: acceptInvalid("Duplicate website tier price", "tier_price", constantNode("[]"))},
		{name: "two group prices may be for one group", calls: create + ", " + update, fault: acceptInvalid("Duplicate website group price", "group_price", constantNode("[]"))},
		{name: "tier quantities may be anything", calls: create + ", " + update, fault: acceptInvalid(`"price_qty" field`, "tier_price.*.price_qty", constantNode(`"2"`))},
		{name: "group prices may be of any group", calls: create + ", " + update, fault: acceptInvalid(`Invalid "cust_group"`, "group_price", constantNode("[]"))},
		{name: "layout updates may be anything", calls: create + ", " + update, fault: acceptInvalid("XML data is invalid.", "custom_layout_update", constantNode("null"))},
		{name: "quantities in stock_data may be anything", calls: create + ", " + update, fault: acceptInvalid(`"qty" field in the "stock_data" set.`, "stock_data.qty", constantNode(`"1"`))},
		{name: "products of other types can be created", calls: create, fault: acceptInvalid("Creation of products with type", "type_id", constantNode(`"simple"`))},
		{name: "products of other types are 400", calls: create, fault: replaceStatus(405, 400)},
		{name: "refused products lack the last entry", calls: create, fault: filterRefusalEntries(dropLast)},
		{name: "missing values of products are refused without a full stop", calls: create, fault: replaceMessageText(" in request.", " in request")},
		{name: "missing values of products are refused as empty", calls: create, fault: replaceMessageText("Missing ", "Empty value for ")},
		{name: "a taken SKU is refused in other words", calls: create, fault: replaceMessageText(`Invalid attribute "sku": `, "")},
		{name: "refusals of products have another code", calls: create, fault: editRefusal(func(root *codec.Node) {
			forEachAt(root, "messages.error.*.code", func(parent *codec.Node, at int) { parent.Members[at].Value.Text = "422" })
		})},
		{name: "an unknown product is refused in other words", calls: single, fault: replaceMessageText("Resource not found.", "Product not found")},
		{name: "an unknown product is 200 and nothing", calls: single, fault: pretendSuccess("Resource not found.")},
		{name: "an update of an unknown product is 200", calls: update, fault: pretendSuccess("Resource not found.")},
		{name: "deleting an unknown product is 200", calls: remove, fault: pretendSuccess("Resource not found.")},
		{name: "an unknown store is 404", calls: view + ", " + updateView, fault: replaceRefusal(entry{400, "Requested store is invalid"}, entry{404, "Requested store is invalid"})},
		{name: "an unknown store is refused with a full stop", calls: view + ", " + updateView, fault: replaceMessageText("Requested store is invalid", "Requested store is invalid.")},

		{name: "a Guest creates products", calls: "guest " + create, fault: answerAs(contracttests.Admin)},
		{name: "a Customer creates products", calls: "customer " + create, fault: answerAs(contracttests.Admin)},
		{name: "a Customer changes products", calls: "customer " + update, fault: answerAs(contracttests.Admin)},
		{name: "a Customer changes store views", calls: "customer " + updateView, fault: answerAs(contracttests.Admin)},
		{name: "a Guest deletes products", calls: "guest " + remove, fault: answerAs(contracttests.Admin)},
		{name: "the Admin reads a product as a Guest does", calls: single, fault: answerAs(contracttests.Guest)},
		{name: "the Admin reads products as a Guest does", calls: list, fault: answerAs(contracttests.Guest)},

		{name: "filters of products are not applied", calls: list, fault: ignoreParams("filter")},
		{name: "limits of products are not applied", calls: list, fault: ignoreParams("limit")},
		{name: "pages of products are not applied", calls: list, fault: ignoreParams("page")},
		{name: "the order of products is not applied", calls: list, fault: ignoreParams("order")},
		{name: "the direction of products is not applied", calls: list, fault: ignoreParams("dir")},
		{name: "attrs of products are not applied", calls: list, fault: ignoreParams("attrs")},
		{name: "attrs of one product are not applied", calls: single, fault: ignoreParams("attrs")},
		{name: "the store of the query is not applied", calls: list + ", " + single, fault: ignoreParams("store")},
		{name: "products come last first", calls: list, fault: mapEntries(reverse)},
		{name: "the first of the products is lost", calls: list, fault: mapEntries(dropFirst)},
		{name: "products in JSON are numbered from one", calls: list, fault: onlyInFormat("json", editReply(func(root *codec.Node) {
			number(root)
			for i := range root.Members {
				root.Members[i].Key += "1"
			}
		}))},
		{name: "a new product is JSON by default", calls: single, fault: replaceRequestHeader("Accept", "", "application/json")},
		{name: "what is refused of products is XML by default", calls: "POST /products, PUT,DELETE /products/:product", fault: replaceRequestHeader("Accept", "", "text/xml")},
		{name: "bodies of products are XML by default", calls: create + ", " + update, fault: contentType("", "text/xml")},
		{name: "a POST to one product is refused in other words", calls: "POST /products/:product", fault: replaceMessageText("Resource method not implemented yet.", "Resource does not support method.")},
		{name: "products cannot be changed at once, in other words", calls: "PUT,DELETE /products", fault: replaceMessageText("Resource method not implemented yet.", "Resource does not support method.")},
		{name: "a product cannot be read by its SKU", calls: single, fault: ignoreSKUs},
	})
	for _, field := range []string{
		"sku", "name", "description", "short_description", "price", "weight", "status", "visibility", "tax_class_id", "special_price",
		"special_from_date", "special_to_date", "news_from_date", "news_to_date", "custom_design_from", "custom_design_to",
		"meta_title", "meta_description", "meta_keyword", "url_key", "custom_design", "page_layout", "options_container",
		"country_of_manufacture", "msrp_enabled", "msrp_display_actual_price_type", "gift_message_available", "msrp", "custom_layout_update",
		"group_price", "tier_price", "stock_data",
	} {
		mutants = append(mutants, assignTo("products", "documented", []mutant{{name: "updates of products leave out " + field, calls: update, fault: revertFields(field)}})...)
	}
	for _, field := range []string{
		"special_price", "special_from_date", "special_to_date", "news_from_date", "news_to_date", "custom_design_from", "custom_design_to",
		"meta_title", "meta_description", "meta_keyword", "url_key", "custom_design", "page_layout", "options_container",
		"country_of_manufacture", "msrp_enabled", "msrp_display_actual_price_type", "gift_message_available", "msrp", "custom_layout_update",
		"group_price", "tier_price", "stock_data",
	} {
		mutants = append(mutants, assignTo("products", "documented", []mutant{{name: "new products are stored without " + field, calls: create, fault: createWithout(field)}})...)
	}
	for _, field := range []string{"qty", "min_qty", "min_sale_qty", "max_sale_qty", "is_in_stock", "backorders", "notify_stock_qty", "manage_stock", "qty_increments", "is_qty_decimal"} {
		unmade := revertFields
		if field == "notify_stock_qty" {
			unmade = dropSentFields // its earlier value is null, which equals an omitted field
		}
		mutants = append(mutants, assignTo("products", "documented", []mutant{{name: "updates of products leave out " + field + " of stock_data", calls: update, fault: unmade("stock_data." + field)}})...)
		mutants = append(mutants, assignTo("products", "documented", []mutant{{name: "new products are stored without " + field + " of stock_data", calls: create, fault: createWithout("stock_data." + field)}})...)
	}
	for _, field := range []string{"name", "description", "meta_title", "status", "visibility", "url_key", "short_description"} {
		mutants = append(mutants, assignTo("products", "documented", []mutant{{name: "updates of store views leave out " + field, calls: updateView, fault: revertFields(field)}})...)
	}
	return append(mutants, assignTo("products", "magento", []mutant{
		{name: "one product is in the element of the document", calls: single, fault: replaceXMLRoot("service_api")},
		{name: "a product has no meta_title", calls: single, fault: dropFields("meta_title")},
		{name: "products have no attribute_set_id", calls: list, fault: dropFields("attribute_set_id")},
		{name: "tier prices have no is_percent", calls: single, fault: dropFields("tier_price.*.is_percent")},
		{name: "stock_data has the fields of the document", calls: single, fault: addField("stock_data.qty", "item_id", "1")},
		{name: "a product is created at a time of the form of lists", calls: single, fault: mapTexts("created_at", func(s string) string { return strings.NewReplacer("T", " ", "+00:00", "").Replace(s) })},
		{name: "products without Accept are XML", calls: "* /products", fault: replaceRequestHeader("Accept", "", "text/xml")},
	})...)
}

// nullIfEmpty replaces an empty list by null.
func nullIfEmpty(n codec.Node) codec.Node {
	if n.Kind == codec.Struct && len(n.Members) == 0 {
		return codec.Node{}
	}
	return n
}

// updateAllStoreViews makes an update in every store view, too.
func updateAllStoreViews(c *call, honest implementation) *response {
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

// dropStoreViewIfRefused repeats a call without the store view if it is refused with
// message.
func dropStoreViewIfRefused(message string) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if found := entriesOf(r); len(found) > 0 && found[0].message == message {
			c.path = withoutStoreView(c.path)
			return honest(c)
		}
		return r
	}
}

// resetUnsentMember sets a member of the record in field to the given value if an update
// sends the record without this member.
func resetUnsentMember(field, member, json string) fault {
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

// deriveURLKey makes an update of the name derive a new url_key, too.
func deriveURLKey(c *call, honest implementation) *response {
	c.edit(func(root *codec.Node) {
		_, keyed := root.Get("url_key")
		if _, named := root.Get("name"); named && !keyed {
			root.Members = append(root.Members, codec.Member{Key: "url_key", Value: codec.TextNode("")})
		}
	})
	return honest(c)
}

// ignoreSKUs finds products by id only, not by SKU.
func ignoreSKUs(c *call, honest implementation) *response {
	if strings.Trim(strings.TrimPrefix(c.path, "/products/"), "0123456789") != "" {
		c.path = "/products/0"
	}
	return honest(c)
}

// contentType makes bodies of one media type be read as another; an empty from stands for
// a missing header.
func contentType(from, to string) fault { return replaceRequestHeader("Content-Type", from, to) }

// publicMutants returns the mutants whose faults are in products as Customers and Guests
// see them.
func publicMutants() []mutant {
	var mutants []mutant
	for _, role := range []string{"guest", "customer"} {
		list, single := role+" GET /products", role+" GET /products/:product"
		mutants = append(mutants, assignTo("public", "documented", []mutant{
			{name: role + ": products are those of the Admin", calls: list, fault: answerAs(contracttests.Admin)},
			{name: role + ": a product is that of the Admin", calls: single, fault: answerAs(contracttests.Admin)},
			{name: role + ": a product that is hidden is shown", calls: single, fault: retryRefusedAs(http.StatusNotFound, contracttests.Admin)},
			{name: role + ": prices are texts", calls: single, fault: literalToText("final_price_with_tax")},
			{name: role + ": products have no short_description", calls: list, fault: dropFields("short_description")},
		})...)
	}
	const list, single, view = "guest GET /products", "guest GET /products/:product", "guest GET /products/:product/store/:store"
	return append(mutants, append(assignTo("public", "documented", []mutant{
		{name: "public prices have four places", calls: single, fault: mapValues("regular_price_with_tax", fourPlaces)},
		{name: "public prices have four places in lists", calls: list, fault: mapValues("final_price_without_tax", fourPlaces)},
		{name: "public prices are texts in lists", calls: list, fault: literalToText("regular_price_without_tax")},
		{name: "a product has no regular price", calls: single, fault: dropFields("regular_price_with_tax")},
		{name: "products have no final price", calls: list, fault: dropFields("final_price_without_tax")},
		{name: "the final price is the regular one", calls: single, fault: copyField("regular_price_without_tax", "final_price_without_tax")},
		{name: "the final price is the regular one in lists", calls: list, fault: copyField("regular_price_without_tax", "final_price_without_tax")},
		{name: "a product shows its cost", calls: single, fault: addField("sku", "cost", "1.0000")},
		{name: "a product shows the price of the Admin", calls: single, fault: addField("sku", "price", "1.0000")},
		{name: "products show when they were created", calls: list, fault: addField("sku", "created_at", "2012-01-01 00:00:00")},
		{name: "is_saleable is a text in lists", calls: list, fault: replaceValue("is_saleable", codec.TextNode("1"))},
		{name: "is_saleable is a literal", calls: single, fault: flagToBool("is_saleable")},
		{name: "products are saleable always", calls: single, fault: replaceValue("is_saleable", codec.TextNode("1"))},
		{name: "products are in stock always", calls: single, fault: replaceValue("is_in_stock", codec.TextNode("1"))},
		{name: "without tier prices there is a null", calls: single, fault: mapValues("tier_price", nullIfEmpty)},
		{name: "public tier prices are texts", calls: single, fault: literalToText("tier_price.*.price_without_tax")},
		{name: "public tier prices are lost", calls: single, fault: mapFieldEntries("tier_price", dropLast)},
		{name: "has_custom_options is a text", calls: single, fault: replaceValue("has_custom_options", codec.TextNode("0"))},
		{name: "total_reviews_count is a number", calls: single, fault: textToNumber("total_reviews_count")},
		{name: "a product has no buy_now_url", calls: single, fault: dropFields("buy_now_url")},
		{name: "the url of a product is relative", calls: single, fault: mapTexts("url", func(s string) string { return s[strings.Index(s+"/index.php", "/index.php"):] })},
		{name: "a product without image has none", calls: single, fault: replaceValue("image_url", codec.Node{})},
		{name: "a product without meta_title has no such field", calls: single, fault: omitNull("meta_title")},
		{name: "products without meta_keyword have an empty text", calls: list, fault: nullToText("meta_keyword")},
		{name: "public products are an array", calls: list, fault: toArray()},
		{name: "public products come last first", calls: list, fault: mapEntries(reverse)},
		{name: "public products are those of before", calls: list + ", " + single, fault: repeatFirstReply()},
		{name: "a Guest's limits are not applied", calls: list, fault: ignoreParams("limit")},
		{name: "a Guest's filters are not applied", calls: list, fault: ignoreParams("filter")},
		{name: "a Guest's attrs are not applied", calls: single, fault: ignoreParams("attrs")},
		{name: "a Guest does not see store views apart", calls: view, fault: rewritePath(withoutStoreView)},
		{name: "public products are JSON by default", calls: list, fault: replaceRequestHeader("Accept", "", "application/json")},
		{name: "an unknown public product is 200 and nothing", calls: single, fault: pretendSuccess("Resource not found.")},
		{name: "products are not for Guests", calls: list + ", " + single, fault: denyAccess},
	}), assignTo("public", "magento", []mutant{
		{name: "a public product has no updated_at", calls: single, fault: dropFields("updated_at")},
		{name: "public products without meta_title have a null", calls: single, fault: editReply(func(root *codec.Node) {
			if _, there := root.Get("meta_title"); !there && root.Kind == codec.Struct {
				root.Members = append(root.Members, codec.Member{Key: "meta_title"})
			}
		})},
	})...)...)
}

// fourPlaces writes a number as a text with four decimal places.
func fourPlaces(n codec.Node) codec.Node {
	if n.Kind == codec.Number || n.Kind == codec.Text && n.Text != "" {
		whole, places, _ := strings.Cut(n.Text, ".")
		return codec.TextNode(whole + "." + (places + "0000")[:4])
	}
	return n
}

// copyField shows the value of one field in another.
func copyField(from, to string) fault {
	return editReply(func(root *codec.Node) {
		forEachAt(root, to, func(parent *codec.Node, at int) {
			if value, ok := parent.Get(from); ok {
				parent.Members[at].Value = *value
			}
		})
	})
}

// categoryListMutants returns the mutants whose faults are in the products of a category.
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
	return append(assignTo("category list", "documented", []mutant{
		{name: "products of a category come the other way round", calls: both, fault: ofCategory(mapEntries(reverse))},
		{name: "products of a category have a name", calls: both, fault: ofCategory(addField("type_id", "name", "x"))},
		{name: "products of a category have no weight", calls: both, fault: ofCategory(dropFields("weight"))},
		{name: "products of a category have no set", calls: both, fault: ofCategory(dropFields("attribute_set_id"))},
		{name: "prices in a category have two places", calls: both, fault: ofCategory(mapTexts("price", twoPlaces))},
		{name: "prices in a category are numbers", calls: both, fault: ofCategory(textToNumber("price"))},
		{name: "the last product of a category is lost", calls: both, fault: ofCategory(mapEntries(dropLast))},
		{name: "category_id is not applied", calls: query, fault: ignoreParams("category_id")},
		{name: "the category of a path is not applied", calls: path, fault: rewritePath(func(string) string { return "/products" })},
		{name: "products of an unknown category are an empty list", calls: both, fault: emptyListInsteadOf("Category not found")},
		{name: "an unknown category is refused without full stop", calls: both, fault: replaceMessageText("Category not found.", "Category not found")},
		{name: "an unknown category is 404", calls: both, fault: replaceRefusal(entry{400, "Category not found."}, entry{404, "Category not found."})},
		{name: "products of a category are those of before", calls: both, fault: ofCategory(repeatFirstReply())},
		{name: "products of a category are those of a Guest", calls: both, fault: ofCategory(answerAs(contracttests.Guest))},
		{name: "a Guest sees all products of a category", calls: "guest GET /products/category/:category, guest GET /products", fault: ofCategory(answerAs(contracttests.Admin))},
	}), assignTo("category list", "magento", []mutant{
		{name: "products of a category have six fields", calls: both, fault: ofCategory(dropFields("name", "sku", "created_at", "updated_at", "description"))},
	})...)
}
