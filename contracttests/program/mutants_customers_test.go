package program

import (
	"net/http"
	"strings"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/codec"
)

// customerMutants returns the mutants whose faults are in customers.
func customerMutants() []mutant {
	const list, single = "GET /customers", "GET /customers/:id"
	const create, update, remove = "POST /customers", "PUT /customers/:id", "DELETE /customers/:id"
	mutants := assignTo("customers", "documented", []mutant{
		{name: "one customer is in an element of another name", calls: single, fault: replaceXMLRoot("customer")},
		{name: "customers are in an element of another name", calls: list, fault: replaceXMLRoot("customers")},
		{name: "customers in XML have elements of their own name", calls: list, fault: replaceBytes("<data_item>", "<customer>", "</data_item>", "</customer>")},
		{name: "customers are an array", calls: list, fault: toArray()},
		{name: "a customer is wrapped in an object", calls: single, fault: onlyInFormat("json", replaceBytes(`{"entity_id"`, `{"customer":{"entity_id"`, "}", "}}"))},
		{name: "a customer has no created_in", calls: single, fault: dropFields("created_in")},
		{name: "customers have no gender", calls: list, fault: dropFields("gender")},
		{name: "customers have no dob", calls: list, fault: dropFields("dob")},
		{name: "customers have no reward flags", calls: list, fault: dropFields("reward_update_notification", "reward_warning_notification")},
		{name: "customers in XML have a taxvat", calls: list, fault: onlyInFormat("xml", addField("created_in", "taxvat", ""))},
		{name: "customers in JSON have a middlename", calls: list, fault: onlyInFormat("json", addField("lastname", "middlename", "K"))},
		{name: "a customer in JSON has a gender", calls: single, fault: onlyInFormat("json", addField("lastname", "gender", "1"))},
		{name: "a customer in JSON has last_logged_in", calls: single, fault: onlyInFormat("json", addField("taxvat", "last_logged_in", "2012-01-02 03:04:05"))},
		{name: "a customer in XML has no last_logged_in", calls: single, fault: dropFields("last_logged_in")},
		{name: "a customer shows the store", calls: single, fault: addField("website_id", "store_id", "1")},
		{name: "a customer shows the hash of the password", calls: single, fault: addField("email", "password_hash", "5f4dcc3b5aa765d61d8327deb882cf99:x")},
		{name: "the id of a customer is a number", calls: single, fault: textToNumber("entity_id")},
		{name: "the groups of customers are numbers", calls: list, fault: textToNumber("group_id")},
		{name: "disable_auto_group_change is true or false", calls: single, fault: flagToBool("disable_auto_group_change")},
		{name: "a customer is created at a time of the other form", calls: single, fault: mapTexts("created_at", isoDate)},
		{name: "customers are created on days", calls: list, fault: mapTexts("created_at", dateOnly)},
		{name: "a customer without a prefix has an empty text", calls: single, fault: nullToText("prefix")},
		{name: "a customer without a suffix has no such field", calls: single, fault: omitNull("suffix")},
		{name: "customers without a taxvat have no such field", calls: list, fault: omitNull("taxvat")},
		{name: "customers without a dob have an empty text", calls: list, fault: nullToText("dob")},
		{name: "a customer has the first and last name the other way round", calls: single,
			fault: replaceBytes(`"firstname"`, `"lastname"`, `"lastname"`, `"firstname"`, "firstname>", "lastname>", "lastname>", "firstname>")},
		{name: "e-mail addresses are in lower case", calls: single + ", " + list, fault: mapTexts("email", strings.ToUpper)},

		{name: "a customer who is created gets 201", calls: create, fault: replaceStatus(http.StatusOK, http.StatusCreated)},
		{name: "a customer who is created has no Location", calls: create, fault: mapLocation(removeLocation)},
		{name: "the Location of a customer is absolute", calls: create, fault: mapLocation(absoluteURL)},
		{name: "the Location of a customer is of another one", calls: create, fault: mapLocation(wrongPath)},
		{name: "the Location of a customer lacks the prefix", calls: create, fault: mapLocation(withoutPrefix)},
		{name: "a customer who is created is in the body", calls: create, fault: addBody(`{"entity_id":"1"}`)},
		{name: "an update of a customer gets 204", calls: update, fault: replaceStatus(http.StatusOK, http.StatusNoContent)},
		{name: "an update of a customer has a body", calls: update, fault: addBody(`[]`)},
		{name: "an update of a customer has a Location", calls: update, fault: mapHeader("Location", func(string) string { return "/api/rest/customers/1" })},
		{name: "a customer who is deleted gets 204", calls: remove, fault: replaceStatus(http.StatusOK, http.StatusNoContent)},
		{name: "updates of customers change nothing", calls: update, fault: revertUpdate},
		{name: "customers are never deleted", calls: remove, fault: skipWrite},
		{name: "customers who are deleted can still be read", calls: single, fault: repeatFirstReply()},
		{name: "the list of customers is that of before", calls: list, fault: repeatFirstReply()},
		{name: "the website of a customer can be changed", calls: "PUT,GET /customers/:id", fault: echoReadOnlyField("website_id")},
		{name: "created_in of a customer can be changed", calls: "PUT,GET /customers/:id", fault: echoReadOnlyField("created_in")},
		{name: "updates without a suffix empty it", calls: update, fault: resetUnsentField("suffix", "null")},
		{name: "updates without a taxvat empty it", calls: update, fault: resetUnsentField("taxvat", `""`)},
		{name: "updates without a middlename empty it", calls: update, fault: resetUnsentField("middlename", "null")},
		{name: "updates without disable_auto_group_change unset it", calls: update, fault: resetUnsentField("disable_auto_group_change", "0")},

		{name: "a password may be short", calls: create, fault: acceptInvalid("The password must have", "password", constantNode(`"long-enough"`))},
		{name: "a password may be missing", calls: create, fault: acceptInvalid(`"Password" is a required value.`, "password", constantNode(`"long-enough"`))},
		{name: "a password may be changed to a short one", calls: update, fault: acceptInvalid("The password must have", "password", constantNode(`"long-enough"`))},
		{name: "a customer needs no first name", calls: create, fault: acceptInvalid(`"First Name" is a required value.`, "firstname", constantNode(`"x"`))},
		{name: "a customer needs no last name", calls: create, fault: acceptInvalid(`"Last Name" is a required value.`, "lastname", constantNode(`"x"`))},
		{name: "a customer needs no group", calls: create, fault: acceptInvalid(`"Group" is a required value.`, "group_id", constantNode("1"))},
		{name: "a customer needs no website", calls: create, fault: acceptInvalid(`"Associate to Website" is a required value.`, "website_id", constantNode("1"))},
		{name: "two customers may share an e-mail address", calls: create, fault: acceptInvalid("This customer email already exists", "email", uniqueText("@example.com"))},
		{name: "a customer may take another one's e-mail address", calls: update, fault: pretendSuccess("This customer email already exists")},
		{name: "e-mail addresses are not looked at", calls: create + ", " + update, fault: acceptInvalid(`"Email" is not a valid email address.`, "email", uniqueText("@example.com"))},
		{name: "hosts of e-mail addresses are not looked at", calls: create + ", " + update, fault: pretendSuccess(`"Email" is not a valid hostname.`)},
		{name: "any website will do for a customer", calls: create, fault: acceptInvalid("for website_id", "website_id", constantNode("1"))},
		{name: "any group will do for a customer", calls: create, fault: acceptInvalid("for group_id", "group_id", constantNode("1"))},
		{name: "a name may be emptied by an update", calls: update, fault: pretendSuccess(`"First Name" is a required value.`)},
		{name: "a refused customer gets the last entry alone", calls: create, fault: filterRefusalEntries(func(m []codec.Member) []codec.Member { return m[len(m)-1:] })},
		{name: "a refused customer lacks the last entry", calls: create, fault: filterRefusalEntries(dropLast)},
		{name: "a refused customer gets its entries the other way round", calls: create, fault: filterRefusalEntries(reverse)},
		{name: "required values of customers are not quoted", calls: create, fault: replaceMessageText(`"First Name"`, "First Name", `"Last Name"`, "Last Name", `"Email"`, "Email", `"Password"`, "Password")},
		{name: "a taken e-mail address is refused in other words", calls: create, fault: replaceMessageText("This customer email already exists", "Customer with the same email already exists in associated website.")},
		{name: "a taken e-mail address is 500", calls: create, fault: replaceRefusal(entry{400, "This customer email already exists"}, entry{500, "This customer email already exists"})},
		{name: "a taken e-mail address is 409", calls: create, fault: replaceRefusal(entry{400, "This customer email already exists"}, entry{409, "This customer email already exists"})},
		{name: "an unknown customer is refused without full stop", calls: single, fault: replaceMessageText("Resource not found.", "Resource not found")},
		{name: "an unknown customer is 200 and nothing", calls: single, fault: pretendSuccess("Resource not found.")},
		{name: "an update of an unknown customer is 200", calls: update, fault: pretendSuccess("Resource not found.")},
		{name: "deleting an unknown customer is 200", calls: remove, fault: pretendSuccess("Resource not found.")},
		{name: "a customer who is not one's own is 403", calls: "customer " + single, fault: replaceRefusal(entry{404, "Resource not found."}, entry{403, "Access denied"})},

		{name: "a Customer reads the own record as the Admin does", calls: "customer " + single, fault: answerAs(contracttests.Admin)},
		{name: "a Customer reads other records", calls: "customer " + single, fault: retryRefusedAs(http.StatusNotFound, contracttests.Customer1)},
		{name: "a Customer reads any record", calls: "customer " + single, fault: retryRefusedAs(http.StatusNotFound, contracttests.Admin)},
		{name: "a Customer changes other records", calls: "customer " + update, fault: retryRefusedAs(http.StatusNotFound, contracttests.Admin)},
		{name: "a Customer reads the list of customers", calls: "customer " + list, fault: answerAs(contracttests.Admin)},
		{name: "a Customer creates customers", calls: "customer " + create, fault: answerAs(contracttests.Admin)},
		{name: "a Customer deletes customers", calls: "customer " + remove, fault: answerAs(contracttests.Admin)},
		{name: "a Customer changes the own group", calls: "customer " + update, fault: answerAs(contracttests.Admin)},
		{name: "a Guest reads the list of customers", calls: "guest " + list, fault: answerAs(contracttests.Admin)},
		{name: "a Guest reads customers", calls: "guest " + single, fault: answerAs(contracttests.Admin)},
		{name: "a Guest creates customers", calls: "guest " + create, fault: answerAs(contracttests.Admin)},
		{name: "a Guest changes customers", calls: "guest " + update, fault: answerAs(contracttests.Admin)},
		{name: "a Guest has to sign in to learn that customers are not for Guests", calls: "guest * /customers, guest * /customers/:id", fault: replaceStatus(http.StatusForbidden, http.StatusUnauthorized)},

		{name: "filters of customers are not applied", calls: list, fault: ignoreParams("filter")},
		{name: "limits of customers are not applied", calls: list, fault: ignoreParams("limit")},
		{name: "pages of customers are not applied", calls: list, fault: ignoreParams("page")},
		{name: "the order of customers is not applied", calls: list, fault: ignoreParams("order")},
		{name: "the direction of customers is not applied", calls: list, fault: ignoreParams("dir")},
		{name: "attrs of customers are not applied", calls: list, fault: ignoreParams("attrs")},
		{name: "attrs of one customer are not applied", calls: single, fault: ignoreParams("attrs")},
		{name: "customers come last first", calls: list, fault: mapEntries(reverse)},
		{name: "the last of the customers is lost", calls: list, fault: mapEntries(dropLast)},
		{name: "the last of the customers comes twice", calls: list, fault: mapEntries(repeatLast)},
		{name: "customers are not keyed by id", calls: list, fault: onlyInFormat("json", keyByField("website_id"))},
		{name: "customers are JSON by default", calls: "* /customers", fault: replaceRequestHeader("Accept", "", "application/json")},
		{name: "any format is JSON for one customer", calls: "* /customers/:id", fault: replaceRequestHeader("Accept", "*/*", "application/json")},
		{name: "customers cannot be changed or deleted at once, in other words", calls: "PUT,DELETE /customers", fault: replaceMessageText("Resource does not support method.", "Resource method not implemented yet.")},
		{name: "a POST to one customer is refused in other words", calls: "POST /customers/:id", fault: replaceMessageText("Resource does not support method.", "Resource method not implemented yet.")},
		{name: "a POST to one customer is 404", calls: "POST /customers/:id", fault: replaceRefusal(entry{405, "Resource does not support method."}, entry{404, "Resource not found."})},
	})
	for _, field := range []string{"prefix", "firstname", "middlename", "lastname", "suffix", "taxvat", "email", "group_id", "disable_auto_group_change", "dob", "gender"} {
		mutants = append(mutants, assignTo("customers", "documented", []mutant{{name: "updates of customers leave out " + field, calls: update, fault: revertFields(field)}})...)
	}
	for _, field := range []string{"prefix", "middlename", "suffix", "taxvat", "disable_auto_group_change"} {
		mutants = append(mutants, assignTo("customers", "documented", []mutant{{name: "new customers are stored without " + field, calls: create, fault: createWithout(field)}})...)
	}
	return append(mutants, assignTo("customers", "magento", []mutant{
		{name: "one customer is in the element of the document", calls: single, fault: replaceXMLRoot("service_api")},
		{name: "a customer is created at a time of the form of lists", calls: single, fault: mapTexts("created_at", func(s string) string { return strings.NewReplacer("T", " ", "+00:00", "").Replace(s) })},
		{name: "a customer without a prefix has a null", calls: single, fault: editReply(func(root *codec.Node) {
			if _, there := root.Get("prefix"); !there {
				root.Members = append(root.Members, codec.Member{Key: "prefix"})
			}
		})},
		{name: "a customer has no updated_at", calls: single, fault: dropFields("updated_at")},
		{name: "customers have no updated_at", calls: list, fault: dropFields("updated_at")},
		{name: "a Customer may not read the list", calls: "customer " + list, fault: denyAccess},
		{name: "a taken e-mail address gets one entry", calls: create, fault: filterRefusalEntries(dropLast)},
		{name: "a taken e-mail address is 400", calls: create, fault: replaceStatus(500, 400)},
		{name: "a new customer has no key of confirmation", calls: single, fault: dropFields("confirmation")},
		{name: "a short password is refused", calls: create, fault: refuseShortPassword},
		{name: "customers cannot be changed or deleted at once, as the document says it", calls: "PUT,DELETE /customers", fault: replaceMessageText("Resource method not implemented yet.", "Resource does not support method.")},
		{name: "without Accept customers are XML", calls: "* /customers", fault: replaceRequestHeader("Accept", "", "text/xml")},
	})...)
}

// refuseShortPassword refuses a body whose password is short or missing, as the document
// demands.
func refuseShortPassword(c *call, honest implementation) *response {
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

// addressMutants returns the mutants whose faults are in customer addresses.
func addressMutants() []mutant {
	const list, single = "GET /customers/:id/addresses", "GET /customers/addresses/:id"
	const create, update, remove = "POST /customers/:id/addresses", "PUT /customers/addresses/:id", "DELETE /customers/addresses/:id"
	mutants := assignTo("addresses", "documented", []mutant{
		{name: "one address is in an element of another name", calls: single, fault: replaceXMLRoot("address")},
		{name: "addresses are in an element of another name", calls: list, fault: replaceXMLRoot("addresses")},
		{name: "addresses are keyed by id", calls: list, fault: keyByField("entity_id")},
		{name: "streets are one text", calls: single, fault: mapValues("street", func(n codec.Node) codec.Node {
			var lines []string
			for i := range n.Members {
				lines = append(lines, n.Members[i].Value.String())
			}
			return codec.TextNode(strings.Join(lines, "\n"))
		})},
		{name: "streets in XML are repeated elements", calls: single, fault: replaceBytes("  <street>\n    <data_item>", "  <street>", "</data_item>\n  </street>", "</street>")},
		{name: "the second line of streets is lost", calls: single, fault: mapFieldEntries("street", func(m []codec.Member) []codec.Member { return m[:min(1, len(m))] })},
		{name: "the second line of streets is lost in lists", calls: list, fault: mapFieldEntries("street", func(m []codec.Member) []codec.Member { return m[:min(1, len(m))] })},
		{name: "street lines are joined by commas", calls: single, fault: mapTexts("street.*", func(s string) string { return strings.ReplaceAll(s, ";", ",") })},
		{name: "an address has no vat_id", calls: single, fault: dropFields("vat_id")},
		{name: "addresses have no is_default_shipping", calls: list, fault: dropFields("is_default_shipping")},
		{name: "an address shows the id of the region", calls: single, fault: addField("region", "region_id", "12")},
		{name: "addresses show when they were created", calls: list, fault: addField("entity_id", "created_at", "2012-01-02 03:04:05")},
		{name: "an address shows its customer", calls: single, fault: addField("entity_id", "customer_id", "1")},
		{name: "default flags are texts", calls: single, fault: literalToText("is_default_billing")},
		{name: "default flags are literals in lists", calls: list, fault: flagToBool("is_default_shipping")},
		{name: "the id of an address is a number", calls: single, fault: textToNumber("entity_id")},
		{name: "regions are codes", calls: single, fault: mapTexts("region", func(s string) string { return strings.ReplaceAll(s, "California", "CA") })},
		{name: "an address without a company has no such field", calls: single, fault: omitNull("company")},
		{name: "an address without a fax has an empty text", calls: single, fault: nullToText("fax")},
		{name: "addresses without a prefix have no such field", calls: list, fault: omitNull("prefix")},
		{name: "addresses come oldest first", calls: list, fault: mapEntries(reverse)},
		{name: "the first of the addresses is lost", calls: list, fault: mapEntries(dropFirst)},
		{name: "the last of the addresses comes twice", calls: list, fault: mapEntries(repeatLast)},
		{name: "limits apply to addresses", calls: list, fault: truncateToLimit},

		{name: "an address that is created gets 201", calls: create, fault: replaceStatus(http.StatusOK, http.StatusCreated)},
		{name: "the Location of an address is below the customer", calls: create, fault: mapLocation(func(path string) string { return strings.Replace(path, "/customers/", "/customers/1/", 1) })},
		{name: "the Location of an address is absolute", calls: create, fault: mapLocation(absoluteURL)},
		{name: "an address that is created is in the body", calls: create, fault: addBody(`{"entity_id":"1"}`)},
		{name: "updates of addresses change nothing", calls: update, fault: revertUpdate},
		{name: "an update of an address has a body", calls: update, fault: addBody(`[]`)},
		{name: "addresses are never deleted", calls: remove, fault: skipWrite},
		{name: "addresses are those of before", calls: single + ", " + list, fault: repeatFirstReply()},
		{name: "default addresses can be deleted", calls: remove, fault: pretendSuccess("Address is default for customer")},
		{name: "deleting a default address is refused in other words", calls: remove, fault: replaceMessageText("Address is default for customer so is not allowed to be deleted", "Address is default for customer so is not allowed to be deleted.")},
		{name: "an address is default for ever", calls: single, fault: stickyFlag("is_default_billing")},
		{name: "updates without is_default_billing make it one", calls: update, fault: resetUnsentField("is_default_billing", "1")},
		{name: "updates without a company empty it", calls: update, fault: resetUnsentField("company", "null")},
		{name: "updates without a vat_id empty it", calls: update, fault: resetUnsentField("vat_id", `""`)},
		{name: "updates without a fax empty it", calls: update, fault: resetUnsentField("fax", `""`)},

		{name: "an address needs no country", calls: create, fault: acceptInvalid("Country is required", "country_id", constantNode(`"GB"`))},
		{name: "an address needs no city", calls: create, fault: acceptInvalid("City is a required value.", "city", constantNode(`"x"`))},
		{name: "an address needs no street", calls: create, fault: acceptInvalid("Street Address is a required value.", "street", constantNode(`["x"]`))},
		{name: "an address needs no postcode", calls: create, fault: acceptInvalid("Zip/Postal Code is a required value.", "postcode", constantNode(`"x"`))},
		{name: "an address needs no telephone", calls: create, fault: acceptInvalid("Telephone is a required value.", "telephone", constantNode(`"x"`))},
		{name: "an address needs no first name", calls: create, fault: acceptInvalid("First Name is a required value.", "firstname", constantNode(`"x"`))},
		{name: "any country will do", calls: create, fault: acceptInvalid("Country does not exist", "country_id", constantNode(`"GB"`))},
		{name: "an address may be moved to any country", calls: update, fault: pretendSuccess("Country does not exist")},
		{name: "country codes may have any length", calls: create, fault: acceptInvalid("Country is not between", "country_id", constantNode(`"GB"`))},
		{name: "countries may be numbers", calls: create, fault: acceptInvalid("Invalid country identifier type", "country_id", constantNode(`"GB"`))},
		{name: "no region is needed where there are some", calls: create, fault: acceptInvalid("State/Province is required", "country_id", constantNode(`"GB"`))},
		{name: "any region will do", calls: create, fault: acceptInvalid("State/Province does not exist", "country_id", constantNode(`"GB"`))},
		{name: "regions may be lists", calls: create, fault: acceptInvalid("Invalid State/Province type", "region", constantNode(`"California"`))},
		{name: "the country is required in the words of the original", calls: create, fault: replaceMessageText("Country is required", `"Country" is a required value.`)},
		{name: "an unknown country is refused with a full stop", calls: create + ", " + update, fault: replaceMessageText("Country does not exist", "Country does not exist.")},
		{name: "an unknown region is refused with a full stop", calls: create + ", " + update, fault: replaceMessageText("State/Province does not exist", "State/Province does not exist.")},
		{name: "a missing region is refused in the words of the original", calls: create + ", " + update, fault: replaceMessageText("State/Province is required", `"State/Province" is required.`)},
		{name: "required values of addresses are quoted", calls: create, fault: replaceMessageText("City is a", `"City" is a`, "Telephone is a", `"Telephone" is a`, "First Name is a", `"First Name" is a`)},
		{name: "refused addresses lack the last entry", calls: create, fault: filterRefusalEntries(dropLast)},
		{name: "a refused address reports the first fault alone", calls: create, fault: filterRefusalEntries(func(m []codec.Member) []codec.Member { return append(m[:1:1], m[len(m)-1]) })},
		{name: "an unknown address is 200 and nothing", calls: single, fault: pretendSuccess("Resource not found.")},
		{name: "the addresses of an unknown customer are an empty list", calls: list, fault: emptyListInsteadOf("Resource not found.")},

		{name: "a Customer reads other addresses", calls: "customer " + single, fault: retryRefusedAs(http.StatusNotFound, contracttests.Admin)},
		{name: "a Customer reads the addresses of others", calls: "customer " + list, fault: retryRefusedAs(http.StatusNotFound, contracttests.Admin)},
		{name: "a Customer changes other addresses", calls: "customer " + update, fault: retryRefusedAs(http.StatusNotFound, contracttests.Admin)},
		{name: "a Customer deletes other addresses", calls: "customer " + remove, fault: retryRefusedAs(http.StatusNotFound, contracttests.Admin)},
		{name: "a Customer makes addresses for others", calls: "customer " + create, fault: retryRefusedAs(http.StatusNotFound, contracttests.Admin)},
		{name: "an address that is not one's own is 403", calls: "customer " + single, fault: replaceRefusal(entry{404, "Resource not found."}, entry{403, "Access denied"})},
		{name: "a Guest reads addresses", calls: "guest " + single, fault: answerAs(contracttests.Admin)},
		{name: "a Guest makes addresses", calls: "guest " + create, fault: answerAs(contracttests.Admin)},
		{name: "a Guest deletes addresses", calls: "guest " + remove, fault: answerAs(contracttests.Admin)},
		{name: "a Customer may not make addresses", calls: "customer " + create, fault: denyAccess},
		{name: "a Customer may not delete addresses", calls: "customer " + remove, fault: denyAccess},
		{name: "attrs of addresses are not applied", calls: list, fault: ignoreParams("attrs")},
		{name: "attrs of one address are not applied", calls: single, fault: ignoreParams("attrs")},
		{name: "addresses are JSON by default", calls: "* /customers/:id/addresses", fault: replaceRequestHeader("Accept", "", "application/json")},
		{name: "any format is JSON for one address", calls: "* /customers/addresses/:id", fault: replaceRequestHeader("Accept", "*/*", "application/json")},
		{name: "addresses cannot be changed or deleted at once, in other words", calls: "PUT,DELETE /customers/:id/addresses", fault: replaceMessageText("Resource does not support method.", "Resource method not implemented yet.")},
		{name: "a POST to one address is refused in other words", calls: "POST /customers/addresses/:id", fault: replaceMessageText("Resource does not support method.", "Resource method not implemented yet.")},
	})
	for _, field := range []string{
		"prefix", "firstname", "middlename", "lastname", "suffix", "company", "street", "city", "country_id", "region", "postcode",
		"telephone", "fax", "vat_id",
	} {
		mutants = append(mutants, assignTo("addresses", "documented", []mutant{{name: "updates of addresses leave out " + field, calls: update, fault: revertFields(field)}})...)
	}
	// A default cannot be taken back, only moved.
	for _, field := range []string{"is_default_billing", "is_default_shipping"} {
		mutants = append(mutants, assignTo("addresses", "documented", []mutant{{name: "updates of addresses leave out " + field, calls: update, fault: dropSentFields(field)}})...)
	}
	for _, field := range []string{"prefix", "middlename", "suffix", "company", "fax", "vat_id", "is_default_billing", "is_default_shipping"} {
		mutants = append(mutants, assignTo("addresses", "documented", []mutant{{name: "new addresses are stored without " + field, calls: create, fault: createWithout(field)}})...)
	}
	return append(mutants, assignTo("addresses", "magento", []mutant{
		{name: "addresses are in the element of the document", calls: list, fault: replaceXMLRoot("service_api")},
		{name: "an address is created at a time of the form of lists", calls: single, fault: mapTexts("created_at", func(s string) string { return strings.NewReplacer("T", " ", "+00:00", "").Replace(s) })},
		{name: "a Customer sees the prefix of addresses", calls: "customer " + single, fault: addField("firstname", "prefix", "Ms.")},
		{name: "a missing country is refused as the document says it", calls: create, fault: replaceMessageText(`"Country" is a required value.`, "Country is required")},
		{name: "an unknown region is refused as the document says it", calls: create, fault: replaceMessageText("State/Province does not exist.", "State/Province does not exist")},
		{name: "an address has no updated_at", calls: single, fault: dropFields("updated_at")},
	})...)
}

// truncateToLimit returns only the first entry of a list with limit=1.
func truncateToLimit(c *call, honest implementation) *response {
	return mapEntries(func(m []codec.Member) []codec.Member {
		if strings.Contains(c.query, "limit=1") {
			return m[:min(1, len(m))]
		}
		return m
	})(c, honest)
}
