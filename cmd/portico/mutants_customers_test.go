package main

import (
	"net/http"
	"strings"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/codec"
)

func customerMutants() []mutant {
	const list, single = "GET /customers", "GET /customers/:id"
	const create, update, remove = "POST /customers", "PUT /customers/:id", "DELETE /customers/:id"
	mutants := in("customers", "documented", []mutant{
		{name: "one customer is in an element of another name", at: single, fault: rooted("customer")},
		{name: "customers are in an element of another name", at: list, fault: rooted("customers")},
		{name: "customers in XML have elements of their own name", at: list, fault: bytewise("<data_item>", "<customer>", "</data_item>", "</customer>")},
		{name: "customers are an array", at: list, fault: asArray()},
		{name: "a customer is wrapped in an object", at: single, fault: onlyIn("json", bytewise(`{"entity_id"`, `{"customer":{"entity_id"`, "}", "}}"))},
		{name: "a customer has no created_in", at: single, fault: drop("created_in")},
		{name: "customers have no gender", at: list, fault: drop("gender")},
		{name: "customers have no dob", at: list, fault: drop("dob")},
		{name: "customers have no reward flags", at: list, fault: drop("reward_update_notification", "reward_warning_notification")},
		{name: "customers in XML have a taxvat", at: list, fault: onlyIn("xml", add("created_in", "taxvat", ""))},
		{name: "customers in JSON have a middlename", at: list, fault: onlyIn("json", add("lastname", "middlename", "K"))},
		{name: "a customer in JSON has a gender", at: single, fault: onlyIn("json", add("lastname", "gender", "1"))},
		{name: "a customer in JSON has last_logged_in", at: single, fault: onlyIn("json", add("taxvat", "last_logged_in", "2012-01-02 03:04:05"))},
		{name: "a customer in XML has no last_logged_in", at: single, fault: drop("last_logged_in")},
		{name: "a customer shows the store", at: single, fault: add("website_id", "store_id", "1")},
		{name: "a customer shows the hash of the password", at: single, fault: add("email", "password_hash", "5f4dcc3b5aa765d61d8327deb882cf99:x")},
		{name: "the id of a customer is a number", at: single, fault: asNumber("entity_id")},
		{name: "the groups of customers are numbers", at: list, fault: asNumber("group_id")},
		{name: "disable_auto_group_change is true or false", at: single, fault: asLiteral("disable_auto_group_change")},
		{name: "a customer is created at a time of the other form", at: single, fault: texts("created_at", isoDate)},
		{name: "customers are created on days", at: list, fault: texts("created_at", dayAlone)},
		{name: "a customer without a prefix has an empty text", at: single, fault: blankForNull("prefix")},
		{name: "a customer without a suffix has no such field", at: single, fault: absentForNull("suffix")},
		{name: "customers without a taxvat have no such field", at: list, fault: absentForNull("taxvat")},
		{name: "customers without a dob have an empty text", at: list, fault: blankForNull("dob")},
		{name: "a customer has the first and last name the other way round", at: single,
			fault: bytewise(`"firstname"`, `"lastname"`, `"lastname"`, `"firstname"`, "firstname>", "lastname>", "lastname>", "firstname>")},
		{name: "e-mail addresses are in lower case", at: single + ", " + list, fault: texts("email", strings.ToUpper)},

		{name: "a customer who is created gets 201", at: create, fault: turns(http.StatusOK, http.StatusCreated)},
		{name: "a customer who is created has no Location", at: create, fault: location(nowhere)},
		{name: "the Location of a customer is absolute", at: create, fault: location(absolute)},
		{name: "the Location of a customer is of another one", at: create, fault: location(besides)},
		{name: "the Location of a customer lacks the prefix", at: create, fault: location(unprefixed)},
		{name: "a customer who is created is in the body", at: create, fault: answersWith(`{"entity_id":"1"}`)},
		{name: "an update of a customer gets 204", at: update, fault: turns(http.StatusOK, http.StatusNoContent)},
		{name: "an update of a customer has a body", at: update, fault: answersWith(`[]`)},
		{name: "an update of a customer has a Location", at: update, fault: header("Location", func(string) string { return "/api/rest/customers/1" })},
		{name: "a customer who is deleted gets 204", at: remove, fault: turns(http.StatusOK, http.StatusNoContent)},
		{name: "updates of customers change nothing", at: update, fault: restore},
		{name: "customers are never deleted", at: remove, fault: swallow},
		{name: "customers who are deleted can still be read", at: single, fault: stale()},
		{name: "the list of customers is that of before", at: list, fault: stale()},
		{name: "the website of a customer can be changed", at: "PUT,GET /customers/:id", fault: writable("website_id")},
		{name: "created_in of a customer can be changed", at: "PUT,GET /customers/:id", fault: writable("created_in")},
		{name: "updates without a suffix empty it", at: update, fault: reset("suffix", "null")},
		{name: "updates without a taxvat empty it", at: update, fault: reset("taxvat", `""`)},
		{name: "updates without a middlename empty it", at: update, fault: reset("middlename", "null")},
		{name: "updates without disable_auto_group_change unset it", at: update, fault: reset("disable_auto_group_change", "0")},

		{name: "a password may be short", at: create, fault: lenient("The password must have", "password", always(`"long-enough"`))},
		{name: "a password may be missing", at: create, fault: lenient(`"Password" is a required value.`, "password", always(`"long-enough"`))},
		{name: "a password may be changed to a short one", at: update, fault: lenient("The password must have", "password", always(`"long-enough"`))},
		{name: "a customer needs no first name", at: create, fault: lenient(`"First Name" is a required value.`, "firstname", always(`"x"`))},
		{name: "a customer needs no last name", at: create, fault: lenient(`"Last Name" is a required value.`, "lastname", always(`"x"`))},
		{name: "a customer needs no group", at: create, fault: lenient(`"Group" is a required value.`, "group_id", always("1"))},
		{name: "a customer needs no website", at: create, fault: lenient(`"Associate to Website" is a required value.`, "website_id", always("1"))},
		{name: "two customers may share an e-mail address", at: create, fault: lenient("This customer email already exists", "email", unheardOf("@example.com"))},
		{name: "a customer may take another one's e-mail address", at: update, fault: accepts("This customer email already exists")},
		{name: "e-mail addresses are not looked at", at: create + ", " + update, fault: lenient(`"Email" is not a valid email address.`, "email", unheardOf("@example.com"))},
		{name: "hosts of e-mail addresses are not looked at", at: create + ", " + update, fault: accepts(`"Email" is not a valid hostname.`)},
		{name: "any website will do for a customer", at: create, fault: lenient("for website_id", "website_id", always("1"))},
		{name: "any group will do for a customer", at: create, fault: lenient("for group_id", "group_id", always("1"))},
		{name: "a name may be emptied by an update", at: update, fault: accepts(`"First Name" is a required value.`)},
		{name: "a refused customer gets the last entry alone", at: create, fault: alone(func(m []codec.Member) []codec.Member { return m[len(m)-1:] })},
		{name: "a refused customer lacks the last entry", at: create, fault: alone(lastLost)},
		{name: "a refused customer gets its entries the other way round", at: create, fault: alone(reversed)},
		{name: "required values of customers are not quoted", at: create, fault: says(`"First Name"`, "First Name", `"Last Name"`, "Last Name", `"Email"`, "Email", `"Password"`, "Password")},
		{name: "a taken e-mail address is refused in other words", at: create, fault: says("This customer email already exists", "Customer with the same email already exists in associated website.")},
		{name: "a taken e-mail address is 500", at: create, fault: refuses(entry{400, "This customer email already exists"}, entry{500, "This customer email already exists"})},
		{name: "a taken e-mail address is 409", at: create, fault: refuses(entry{400, "This customer email already exists"}, entry{409, "This customer email already exists"})},
		{name: "an unknown customer is refused without full stop", at: single, fault: says("Resource not found.", "Resource not found")},
		{name: "an unknown customer is 200 and nothing", at: single, fault: accepts("Resource not found.")},
		{name: "an update of an unknown customer is 200", at: update, fault: accepts("Resource not found.")},
		{name: "deleting an unknown customer is 200", at: remove, fault: accepts("Resource not found.")},
		{name: "a customer who is not one's own is 403", at: "customer " + single, fault: refuses(entry{404, "Resource not found."}, entry{403, "Access denied"})},

		{name: "a Customer reads the own record as the Admin does", at: "customer " + single, fault: as(contracttests.Admin)},
		{name: "a Customer reads other records", at: "customer " + single, fault: leaks(http.StatusNotFound, contracttests.Customer1)},
		{name: "a Customer reads any record", at: "customer " + single, fault: leaks(http.StatusNotFound, contracttests.Admin)},
		{name: "a Customer changes other records", at: "customer " + update, fault: leaks(http.StatusNotFound, contracttests.Admin)},
		{name: "a Customer reads the list of customers", at: "customer " + list, fault: as(contracttests.Admin)},
		{name: "a Customer creates customers", at: "customer " + create, fault: as(contracttests.Admin)},
		{name: "a Customer deletes customers", at: "customer " + remove, fault: as(contracttests.Admin)},
		{name: "a Customer changes the own group", at: "customer " + update, fault: as(contracttests.Admin)},
		{name: "a Guest reads the list of customers", at: "guest " + list, fault: as(contracttests.Admin)},
		{name: "a Guest reads customers", at: "guest " + single, fault: as(contracttests.Admin)},
		{name: "a Guest creates customers", at: "guest " + create, fault: as(contracttests.Admin)},
		{name: "a Guest changes customers", at: "guest " + update, fault: as(contracttests.Admin)},
		{name: "a Guest has to sign in to be told that customers are not for Guests", at: "guest * /customers, guest * /customers/:id", fault: turns(http.StatusForbidden, http.StatusUnauthorized)},

		{name: "filters of customers are not applied", at: list, fault: unheard("filter")},
		{name: "limits of customers are not applied", at: list, fault: unheard("limit")},
		{name: "pages of customers are not applied", at: list, fault: unheard("page")},
		{name: "the order of customers is not applied", at: list, fault: unheard("order")},
		{name: "the direction of customers is not applied", at: list, fault: unheard("dir")},
		{name: "attrs of customers are not applied", at: list, fault: unheard("attrs")},
		{name: "attrs of one customer are not applied", at: single, fault: unheard("attrs")},
		{name: "customers come last first", at: list, fault: entries(reversed)},
		{name: "the last of the customers is lost", at: list, fault: entries(lastLost)},
		{name: "the last of the customers comes twice", at: list, fault: entries(lastDoubled)},
		{name: "customers are not keyed by id", at: list, fault: onlyIn("json", keyedBy("website_id"))},
		{name: "customers are JSON by default", at: "* /customers", fault: asked("Accept", "", "application/json")},
		{name: "any format is JSON for one customer", at: "* /customers/:id", fault: asked("Accept", "*/*", "application/json")},
		{name: "customers cannot be changed or deleted at once, in other words", at: "PUT,DELETE /customers", fault: says("Resource does not support method.", "Resource method not implemented yet.")},
		{name: "a POST to one customer is refused in other words", at: "POST /customers/:id", fault: says("Resource does not support method.", "Resource method not implemented yet.")},
		{name: "a POST to one customer is 404", at: "POST /customers/:id", fault: refuses(entry{405, "Resource does not support method."}, entry{404, "Resource not found."})},
	})
	for _, field := range []string{"prefix", "firstname", "middlename", "lastname", "suffix", "taxvat", "email", "group_id", "disable_auto_group_change", "dob", "gender"} {
		mutants = append(mutants, in("customers", "documented", []mutant{{name: "updates of customers leave out " + field, at: update, fault: unsaved(field)}})...)
	}
	for _, field := range []string{"prefix", "middlename", "suffix", "taxvat", "disable_auto_group_change"} {
		mutants = append(mutants, in("customers", "documented", []mutant{{name: "new customers are stored without " + field, at: create, fault: uncreated(field)}})...)
	}
	return append(mutants, in("customers", "magento", []mutant{
		{name: "one customer is in the element of the document", at: single, fault: rooted("service_api")},
		{name: "a customer is created at a time of the form of lists", at: single, fault: texts("created_at", func(s string) string { return strings.NewReplacer("T", " ", "+00:00", "").Replace(s) })},
		{name: "a customer without a prefix has a null", at: single, fault: inResponse(func(root *codec.Node) {
			if _, there := root.Get("prefix"); !there {
				root.Members = append(root.Members, codec.Member{Key: "prefix"})
			}
		})},
		{name: "a customer has no updated_at", at: single, fault: drop("updated_at")},
		{name: "customers have no updated_at", at: list, fault: drop("updated_at")},
		{name: "a Customer may not read the list", at: "customer " + list, fault: denies},
		{name: "a taken e-mail address gets one entry", at: create, fault: alone(lastLost)},
		{name: "a taken e-mail address is 400", at: create, fault: turns(500, 400)},
		{name: "a new customer has no key of confirmation", at: single, fault: drop("confirmation")},
		{name: "a short password is refused", at: create, fault: refusesShort},
		{name: "customers cannot be changed or deleted at once, as the document says it", at: "PUT,DELETE /customers", fault: says("Resource method not implemented yet.", "Resource does not support method.")},
		{name: "without Accept customers are XML", at: "* /customers", fault: asked("Accept", "", "text/xml")},
	})...)
}

// refusesShort refuses a password that is short or missing, as the document would.
func refusesShort(c *call, honest implementation) *response {
	short := true
	c.edit(func(root *codec.Node) {
		if password, sent := root.Get("password"); sent && len(password.String()) >= 7 {
			short = false
		}
	})
	if short {
		return refusal(c, entry{400, "The password must have at least 7 characters. Leading or trailing spaces will be ignored."})
	}
	return honest(c)
}

func addressMutants() []mutant {
	const list, single = "GET /customers/:id/addresses", "GET /customers/addresses/:id"
	const create, update, remove = "POST /customers/:id/addresses", "PUT /customers/addresses/:id", "DELETE /customers/addresses/:id"
	mutants := in("addresses", "documented", []mutant{
		{name: "one address is in an element of another name", at: single, fault: rooted("address")},
		{name: "addresses are in an element of another name", at: list, fault: rooted("addresses")},
		{name: "addresses are keyed by id", at: list, fault: keyedBy("entity_id")},
		{name: "streets are one text", at: single, fault: values("street", func(n codec.Node) codec.Node {
			var lines []string
			for i := range n.Members {
				lines = append(lines, n.Members[i].Value.String())
			}
			return codec.TextNode(strings.Join(lines, "\n"))
		})},
		{name: "streets in XML are repeated elements", at: single, fault: bytewise("  <street>\n    <data_item>", "  <street>", "</data_item>\n  </street>", "</street>")},
		{name: "the second line of streets is lost", at: single, fault: within("street", func(m []codec.Member) []codec.Member { return m[:min(1, len(m))] })},
		{name: "the second line of streets is lost in lists", at: list, fault: within("street", func(m []codec.Member) []codec.Member { return m[:min(1, len(m))] })},
		{name: "street lines are joined by commas", at: single, fault: texts("street.*", func(s string) string { return strings.ReplaceAll(s, ";", ",") })},
		{name: "an address has no vat_id", at: single, fault: drop("vat_id")},
		{name: "addresses have no is_default_shipping", at: list, fault: drop("is_default_shipping")},
		{name: "an address shows the id of the region", at: single, fault: add("region", "region_id", "12")},
		{name: "addresses show when they were created", at: list, fault: add("entity_id", "created_at", "2012-01-02 03:04:05")},
		{name: "an address shows its customer", at: single, fault: add("entity_id", "customer_id", "1")},
		{name: "default flags are texts", at: single, fault: asText("is_default_billing")},
		{name: "default flags are literals in lists", at: list, fault: asLiteral("is_default_shipping")},
		{name: "the id of an address is a number", at: single, fault: asNumber("entity_id")},
		{name: "regions are codes", at: single, fault: texts("region", func(s string) string { return strings.ReplaceAll(s, "California", "CA") })},
		{name: "an address without a company has no such field", at: single, fault: absentForNull("company")},
		{name: "an address without a fax has an empty text", at: single, fault: blankForNull("fax")},
		{name: "addresses without a prefix have no such field", at: list, fault: absentForNull("prefix")},
		{name: "addresses come oldest first", at: list, fault: entries(reversed)},
		{name: "the first of the addresses is lost", at: list, fault: entries(firstLost)},
		{name: "the last of the addresses comes twice", at: list, fault: entries(lastDoubled)},
		{name: "limits apply to addresses", at: list, fault: entriesUpToLimit},

		{name: "an address that is created gets 201", at: create, fault: turns(http.StatusOK, http.StatusCreated)},
		{name: "the Location of an address is below the customer", at: create, fault: location(func(path string) string { return strings.Replace(path, "/customers/", "/customers/1/", 1) })},
		{name: "the Location of an address is absolute", at: create, fault: location(absolute)},
		{name: "an address that is created is in the body", at: create, fault: answersWith(`{"entity_id":"1"}`)},
		{name: "updates of addresses change nothing", at: update, fault: restore},
		{name: "an update of an address has a body", at: update, fault: answersWith(`[]`)},
		{name: "addresses are never deleted", at: remove, fault: swallow},
		{name: "addresses are those of before", at: single + ", " + list, fault: stale()},
		{name: "default addresses can be deleted", at: remove, fault: accepts("Address is default for customer")},
		{name: "a default address is kept in other words", at: remove, fault: says("Address is default for customer so is not allowed to be deleted", "Address is default for customer so is not allowed to be deleted.")},
		{name: "an address is default for ever", at: single, fault: sticky("is_default_billing")},
		{name: "updates without is_default_billing make it one", at: update, fault: reset("is_default_billing", "1")},
		{name: "updates without a company empty it", at: update, fault: reset("company", "null")},
		{name: "updates without a vat_id empty it", at: update, fault: reset("vat_id", `""`)},
		{name: "updates without a fax empty it", at: update, fault: reset("fax", `""`)},

		{name: "an address needs no country", at: create, fault: lenient("Country is required", "country_id", always(`"GB"`))},
		{name: "an address needs no city", at: create, fault: lenient("City is a required value.", "city", always(`"x"`))},
		{name: "an address needs no street", at: create, fault: lenient("Street Address is a required value.", "street", always(`["x"]`))},
		{name: "an address needs no postcode", at: create, fault: lenient("Zip/Postal Code is a required value.", "postcode", always(`"x"`))},
		{name: "an address needs no telephone", at: create, fault: lenient("Telephone is a required value.", "telephone", always(`"x"`))},
		{name: "an address needs no first name", at: create, fault: lenient("First Name is a required value.", "firstname", always(`"x"`))},
		{name: "any country will do", at: create, fault: lenient("Country does not exist", "country_id", always(`"GB"`))},
		{name: "an address may be moved to any country", at: update, fault: accepts("Country does not exist")},
		{name: "country codes may have any length", at: create, fault: lenient("Country is not between", "country_id", always(`"GB"`))},
		{name: "countries may be numbers", at: create, fault: lenient("Invalid country identifier type", "country_id", always(`"GB"`))},
		{name: "no region is needed where there are some", at: create, fault: lenient("State/Province is required", "country_id", always(`"GB"`))},
		{name: "any region will do", at: create, fault: lenient("State/Province does not exist", "country_id", always(`"GB"`))},
		{name: "regions may be lists", at: create, fault: lenient("Invalid State/Province type", "region", always(`"California"`))},
		{name: "the country is required in the words of the original", at: create, fault: says("Country is required", `"Country" is a required value.`)},
		{name: "an unknown country is refused with a full stop", at: create + ", " + update, fault: says("Country does not exist", "Country does not exist.")},
		{name: "an unknown region is refused with a full stop", at: create + ", " + update, fault: says("State/Province does not exist", "State/Province does not exist.")},
		{name: "a missing region is refused in the words of the original", at: create + ", " + update, fault: says("State/Province is required", `"State/Province" is required.`)},
		{name: "required values of addresses are quoted", at: create, fault: says("City is a", `"City" is a`, "Telephone is a", `"Telephone" is a`, "First Name is a", `"First Name" is a`)},
		{name: "refused addresses lack the last entry", at: create, fault: alone(lastLost)},
		{name: "a refused address tells the first fault alone", at: create, fault: alone(func(m []codec.Member) []codec.Member { return append(m[:1:1], m[len(m)-1]) })},
		{name: "an unknown address is 200 and nothing", at: single, fault: accepts("Resource not found.")},
		{name: "the addresses of an unknown customer are an empty list", at: list, fault: emptyInstead("Resource not found.")},

		{name: "a Customer reads other addresses", at: "customer " + single, fault: leaks(http.StatusNotFound, contracttests.Admin)},
		{name: "a Customer reads the addresses of others", at: "customer " + list, fault: leaks(http.StatusNotFound, contracttests.Admin)},
		{name: "a Customer changes other addresses", at: "customer " + update, fault: leaks(http.StatusNotFound, contracttests.Admin)},
		{name: "a Customer deletes other addresses", at: "customer " + remove, fault: leaks(http.StatusNotFound, contracttests.Admin)},
		{name: "a Customer makes addresses for others", at: "customer " + create, fault: leaks(http.StatusNotFound, contracttests.Admin)},
		{name: "an address that is not one's own is 403", at: "customer " + single, fault: refuses(entry{404, "Resource not found."}, entry{403, "Access denied"})},
		{name: "a Guest reads addresses", at: "guest " + single, fault: as(contracttests.Admin)},
		{name: "a Guest makes addresses", at: "guest " + create, fault: as(contracttests.Admin)},
		{name: "a Guest deletes addresses", at: "guest " + remove, fault: as(contracttests.Admin)},
		{name: "a Customer may not make addresses", at: "customer " + create, fault: denies},
		{name: "a Customer may not delete addresses", at: "customer " + remove, fault: denies},
		{name: "attrs of addresses are not applied", at: list, fault: unheard("attrs")},
		{name: "attrs of one address are not applied", at: single, fault: unheard("attrs")},
		{name: "addresses are JSON by default", at: "* /customers/:id/addresses", fault: asked("Accept", "", "application/json")},
		{name: "any format is JSON for one address", at: "* /customers/addresses/:id", fault: asked("Accept", "*/*", "application/json")},
		{name: "addresses cannot be changed or deleted at once, in other words", at: "PUT,DELETE /customers/:id/addresses", fault: says("Resource does not support method.", "Resource method not implemented yet.")},
		{name: "a POST to one address is refused in other words", at: "POST /customers/addresses/:id", fault: says("Resource does not support method.", "Resource method not implemented yet.")},
	})
	for _, field := range []string{
		"prefix", "firstname", "middlename", "lastname", "suffix", "company", "street", "city", "country_id", "region", "postcode",
		"telephone", "fax", "vat_id",
	} {
		mutants = append(mutants, in("addresses", "documented", []mutant{{name: "updates of addresses leave out " + field, at: update, fault: unsaved(field)}})...)
	}
	// A default cannot be taken back, only moved.
	for _, field := range []string{"is_default_billing", "is_default_shipping"} {
		mutants = append(mutants, in("addresses", "documented", []mutant{{name: "updates of addresses leave out " + field, at: update, fault: ignore(field)}})...)
	}
	for _, field := range []string{"prefix", "middlename", "suffix", "company", "fax", "vat_id", "is_default_billing", "is_default_shipping"} {
		mutants = append(mutants, in("addresses", "documented", []mutant{{name: "new addresses are stored without " + field, at: create, fault: uncreated(field)}})...)
	}
	return append(mutants, in("addresses", "magento", []mutant{
		{name: "addresses are in the element of the document", at: list, fault: rooted("service_api")},
		{name: "an address is created at a time of the form of lists", at: single, fault: texts("created_at", func(s string) string { return strings.NewReplacer("T", " ", "+00:00", "").Replace(s) })},
		{name: "a Customer sees the prefix of addresses", at: "customer " + single, fault: add("firstname", "prefix", "Ms.")},
		{name: "a missing country is refused as the document says it", at: create, fault: says(`"Country" is a required value.`, "Country is required")},
		{name: "an unknown region is refused as the document says it", at: create, fault: says("State/Province does not exist.", "State/Province does not exist")},
		{name: "an address has no updated_at", at: single, fault: drop("updated_at")},
	})...)
}

// entriesUpToLimit keeps as many entries as the query's limit says.
func entriesUpToLimit(c *call, honest implementation) *response {
	return entries(func(m []codec.Member) []codec.Member {
		if strings.Contains(c.query, "limit=1") {
			return m[:min(1, len(m))]
		}
		return m
	})(c, honest)
}
