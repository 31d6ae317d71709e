package program

import (
	"net/http"
	"strings"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/codec"
)

// imageMutants returns the mutants whose faults are in product images.
func imageMutants() []mutant {
	const list, single = "GET /products/:product/images", "GET /products/:product/images/:id"
	const create, update, remove = "POST /products/:product/images", "PUT /products/:product/images/:id", "DELETE /products/:product/images/:id"
	const createView, updateView, removeView = "POST /products/:product/images/store/:store", "PUT /products/:product/images/:id/store/:store", "DELETE /products/:product/images/:id/store/:store"
	const listView, view = "GET /products/:product/images/store/:store", "GET /products/:product/images/:id/store/:store"
	mutants := assignTo("images", "documented", []mutant{
		{name: "one image is in an element of another name", calls: single, fault: replaceXMLRoot("image")},
		{name: "images are keyed by id", calls: list, fault: keyByField("id")},
		{name: "the id of an image is a number", calls: single, fault: textToNumber("id")},
		{name: "positions of images are numbers", calls: list, fault: textToNumber("position")},
		{name: "exclude is a literal", calls: single, fault: flagToBool("exclude")},
		{name: "images have no exclude", calls: list, fault: dropFields("exclude")},
		{name: "an image has no url", calls: single, fault: dropFields("url")},
		{name: "an image shows its file", calls: single, fault: addField("url", "file", "/i/m/image.png")},
		{name: "the url of an image is relative", calls: single, fault: mapTexts("url", func(s string) string { return s[strings.Index(s+"/media", "/media"):] })},
		{name: "an image without a label has a null", calls: single, fault: mapValues("label", nullIfBlank)},
		{name: "images without a label have no such field", calls: list, fault: omitNull("label")},
		{name: "types of an image are one text", calls: single, fault: mapValues("types", func(n codec.Node) codec.Node {
			if len(n.Members) == 0 {
				return n
			}
			return codec.TextNode(n.Members[0].Value.Text)
		})},
		{name: "an image without types has a null", calls: single, fault: mapValues("types", nullIfEmpty)},
		{name: "types of images come the other way round", calls: list + ", " + single, fault: mapFieldEntries("types", reverse)},
		{name: "the last type of images is lost", calls: list, fault: mapFieldEntries("types", dropLast)},
		{name: "images come the other way round", calls: list, fault: mapEntries(reverse)},
		{name: "the last image is lost", calls: list, fault: mapEntries(dropLast)},
		{name: "images are those of before", calls: list + ", " + single, fault: repeatFirstReply()},

		{name: "an image that is created gets 201", calls: create, fault: replaceStatus(http.StatusOK, http.StatusCreated)},
		{name: "an image that is created has no Location", calls: create, fault: mapLocation(removeLocation)},
		{name: "the Location of an image is absolute", calls: create, fault: mapLocation(absoluteURL)},
		{name: "the Location of an image of a store view names it", calls: createView, fault: mapLocation(func(path string) string { return path + "/store/1" })},
		{name: "an image that is created is in the body", calls: create, fault: addBody(`{"id":"1"}`)},
		{name: "an update of an image has a body", calls: update, fault: addBody(`[]`)},
		{name: "updates of images change nothing", calls: update, fault: revertUpdate},
		{name: "images are never deleted", calls: remove, fault: skipWrite},
		{name: "images of store views are never deleted", calls: removeView, fault: skipWrite},
		{name: "an image that is deleted of a store view is deleted everywhere", calls: removeView, fault: rewritePath(withoutStoreView)},
		{name: "updates without a label empty it", calls: update, fault: resetUnsentField("label", `""`)},
		{name: "updates without a position set it", calls: update, fault: resetUnsentField("position", "0")},
		{name: "updates without types clear them", calls: update, fault: resetUnsentField("types", "[]")},
		{name: "updates without exclude unset it", calls: update, fault: resetUnsentField("exclude", "0")},
		{name: "updates of a store view of an image change all", calls: updateView, fault: rewritePath(withoutStoreView)},
		{name: "updates of a store view of an image change nothing", calls: updateView, fault: revertUpdate},
		{name: "store views of an image are not distinguished", calls: view, fault: rewritePath(withoutStoreView)},
		{name: "store views of images are not distinguished", calls: listView, fault: rewritePath(withoutStoreView)},
		{name: "images of a store view are made for all", calls: createView, fault: rewritePath(withoutStoreView)},

		{name: "images need not be base64", calls: create, fault: acceptInvalid("must be valid base64", "file_content", constantNode(onePixel))},
		{name: "any media type of images will do", calls: create, fault: acceptInvalid("Unsupported image MIME type", "file_mime_type", constantNode(`"image/png"`))},
		{name: "images need no content", calls: create, fault: acceptInvalid("The image is not specified", "file_content", constantNode(onePixel))},
		{name: "images may be anything", calls: create, fault: acceptInvalid("Resource unknown error", "file_content", constantNode(onePixel))},
		{name: "unknown media types are refused as the original spells it", calls: create, fault: replaceMessageText("Unsupported", "Unsuppoted")},
		{name: "refused images end as other resources do", calls: create, fault: replaceMessageText("pre-validator error", "pre-validation error.")},
		{name: "refused images lack the last entry", calls: create, fault: filterRefusalEntries(dropLast)},
		{name: "an unknown image is refused as any resource", calls: "admin " + single, fault: replaceMessageText("Product image not found", "Resource not found.")},
		{name: "an unknown product of images is refused with a full stop", calls: list, fault: replaceMessageText("Resource not found", "Resource not found.")},
		{name: "images of an unknown product are an empty list", calls: list, fault: emptyListInsteadOf("Resource not found")},
		{name: "an unknown image is 400", calls: "GET,PUT,DELETE /products/:product/images/:id", fault: replaceRefusal(entry{404, "Product image not found"}, entry{400, "Product image not found"})},
		{name: "deleting an unknown image is 200", calls: remove, fault: pretendSuccess("Product image not found")},
		{name: "an unknown store view of images is 404", calls: listView + ", " + view, fault: replaceRefusal(entry{400, "Requested store is invalid"}, entry{404, "Requested store is invalid"})},
		{name: "any store view of images will do", calls: listView + ", " + view + ", " + updateView, fault: dropStoreViewIfRefused("Requested store is invalid")},

		{name: "a Guest sees images that are excluded", calls: "guest " + list, fault: answerAs(contracttests.Admin)},
		{name: "a Guest sees an image that is excluded", calls: "guest " + single, fault: retryRefusedAs(http.StatusNotFound, contracttests.Admin)},
		{name: "a Guest creates images", calls: "guest " + create, fault: answerAs(contracttests.Admin)},
		{name: "a Customer changes images", calls: "customer " + update, fault: answerAs(contracttests.Admin)},
		{name: "a Customer deletes images", calls: "customer " + remove, fault: answerAs(contracttests.Admin)},
		{name: "images are not for Guests", calls: "guest " + list + ", guest " + single, fault: denyAccess},
		{name: "images are JSON by default", calls: list, fault: replaceRequestHeader("Accept", "", "application/json")},
		{name: "attrs of images are not applied", calls: list, fault: ignoreParams("attrs")},
		{name: "images cannot be changed at once, in other words", calls: "PUT,DELETE /products/:product/images", fault: replaceMessageText("Resource method not implemented yet.", "Resource does not support method.")},
	})
	for _, field := range []string{"label", "position", "types", "exclude"} {
		mutants = append(mutants, assignTo("images", "documented", []mutant{
			{name: "updates of images leave out " + field, calls: update, fault: revertFields(field)},
			{name: "updates of store views of images leave out " + field, calls: updateView, fault: revertFields(field)},
			{name: "new images are stored without " + field, calls: create, fault: dropSentFields(field)},
		})...)
	}
	return append(mutants, append(assignTo("images", "documented", []mutant{
		{name: "new images are stored without file_name", calls: create, fault: dropSentFields("file_name")},
	}), assignTo("images", "magento", []mutant{
		{name: "a Guest sees exclude", calls: "guest " + list, fault: addField("position", "exclude", "0")},
		{name: "unknown media types are refused as the document spells it", calls: create, fault: replaceMessageText("Unsuppoted", "Unsupported")},
		{name: "refused images end as the document has it", calls: create, fault: replaceMessageText("pre-validation error.", "pre-validator error")},
		{name: "images are in the element of the document", calls: list, fault: replaceXMLRoot("service_api")},
	})...)...)
}

// onePixel is the content of the smallest PNG, as JSON.
const onePixel = `"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAACXBIWXMAAA7EAAAOxAGVKw4bAAAADElEQVQImWP4z8AAAAMBAQCc479ZAAAAAElFTkSuQmCC"`

// nullIfBlank replaces an empty text by null.
func nullIfBlank(n codec.Node) codec.Node {
	if n.Kind == codec.Text && n.Text == "" {
		return codec.Node{}
	}
	return n
}

// websiteMutants returns the mutants whose faults are in the websites of products.
func websiteMutants() []mutant {
	const list, create, remove = "GET /products/:product/websites", "POST /products/:product/websites", "DELETE /products/:product/websites/:id"
	return append(assignTo("websites", "documented", []mutant{
		{name: "websites are numbers", calls: list, fault: textToNumber("website_id")},
		{name: "websites are keyed by id", calls: list, fault: keyByField("website_id")},
		{name: "websites have a code", calls: list, fault: addField("website_id", "code", "base")},
		{name: "websites are ids alone", calls: list, fault: flattenRecords("website_id")},
		{name: "websites are in an element of another name", calls: list, fault: replaceXMLRoot("websites")},
		{name: "websites come the other way round", calls: list, fault: mapEntries(reverse)},
		{name: "the last website is lost", calls: list, fault: mapEntries(dropLast)},
		{name: "websites are those of before", calls: list, fault: repeatFirstReply()},
		{name: "assigning one website is answered with nothing", calls: create, fault: dropReplyBody},
		{name: "assigning a website gets 201", calls: create, fault: replaceStatus(http.StatusOK, http.StatusCreated)},
		{name: "assigning a website has no Location", calls: create, fault: mapLocation(removeLocation)},
		{name: "the Location of a website is absolute", calls: create, fault: mapLocation(absoluteURL)},
		{name: "the Location of a website is that of the list", calls: create, fault: mapLocation(func(path string) string { return path[:strings.LastIndex(path, "/")] })},
		{name: "assigning websites gets 200", calls: create, fault: replaceStatus(http.StatusMultiStatus, http.StatusOK)},
		{name: "results of websites have no code", calls: create, fault: dropFields("success.*.code")},
		{name: "results of websites have a code that is a text", calls: create, fault: literalToText("success.*.code")},
		{name: "results of websites have no product", calls: create, fault: dropFields("success.*.product_id")},
		{name: "results of websites have numbers", calls: create, fault: textToNumber("success.*.website_id")},
		{name: "results of websites have another message", calls: create, fault: mapTexts("success.*.message", func(string) string { return "Resource updated successfully." })},
		{name: "results of websites come the other way round", calls: create, fault: mapFieldEntries("success", reverse)},
		{name: "the last result of websites is lost", calls: create, fault: mapFieldEntries("success", dropLast)},
		{name: "faults of websites are reported as successes", calls: create, fault: renameField("error", "success")},
		{name: "faults of websites have the code of a success", calls: create, fault: replaceValue("error.*.code", codec.NumberNode("200"))},
		{name: "faults of websites lack the id that was sent", calls: create, fault: replaceValue("error.*.website_id", codec.Node{})},
		{name: "faults of websites are not reported", calls: create, fault: dropFields("error")},
		{name: "websites are assigned all or none", calls: create, fault: rollBackWebsites},
		{name: "the last of several websites is not assigned", calls: create, fault: skipLastItem("website_id", `{"website_id":%q,"product_id":%q,"message":"Resource updated successful.","code":200}`)},
		{name: "websites are never assigned", calls: create, fault: undoWrite(undoAssignment)},
		{name: "websites are never taken away", calls: remove, fault: skipWrite},
		{name: "nothing is copied between store views", calls: create, fault: dropSentFields("copy_to_stores")},
		{name: "a website can be assigned twice", calls: create, fault: pretendSuccess("is already assigned to website")},
		{name: "any website can be assigned", calls: create, fault: pretendSuccess("Website not found")},
		{name: "any store view can be copied from", calls: create, fault: acceptInvalid("from which we will copy", "copy_to_stores", constantNode("[]"))},
		{name: "any store view can be copied to", calls: create, fault: acceptInvalid("to which we will copy", "copy_to_stores", constantNode("[]"))},
		{name: "store views to copy from may be anything", calls: create, fault: acceptInvalid(`"store_from"`, "copy_to_stores", constantNode("[]"))},
		{name: "store views to copy from may be unknown", calls: create, fault: acceptInvalid("Store not found", "copy_to_stores", constantNode("[]"))},
		{name: "faults of websites have number signs", calls: create, fault: replaceMessageText("Store ", "Store #", "product ", "product #", "website ", "website #", "with ID ", "with ID #")},
		{name: "an unknown website is 400", calls: create + ", " + remove, fault: replaceRefusal(entry{404, "Website not found"}, entry{400, "Website not found"})},
		{name: "an unknown website is refused with a full stop", calls: create + ", " + remove, fault: replaceMessageText("Website not found", "Website not found.")},
		{name: "an unknown product of websites is refused as any resource", calls: "* /products/:product/websites", fault: replaceMessageText("Product not found", "Resource not found.")},
		{name: "websites of an unknown product are an empty list", calls: list, fault: emptyListInsteadOf("Product not found")},
		{name: "a website that is not assigned can be taken away", calls: remove, fault: pretendSuccess("isn't assigned to website")},
		{name: "a website that is not assigned is refused in the words of the original", calls: remove, fault: replaceMessageText("Product ", "Product #", "to website ", "to website #")},
		{name: "a wrong website_id is refused without a full stop", calls: create, fault: replaceMessageText(`"website_id" in request.`, `"website_id" in request`)},
		{name: "a wrong website_id is refused by one entry", calls: create, fault: filterRefusalEntries(dropLast)},
		{name: "a Guest reads websites", calls: "guest " + list, fault: answerAs(contracttests.Admin)},
		{name: "a Customer reads websites", calls: "customer " + list, fault: answerAs(contracttests.Admin)},
		{name: "a Customer assigns websites", calls: "customer " + create, fault: answerAs(contracttests.Admin)},
		{name: "a Guest takes websites away", calls: "guest " + remove, fault: answerAs(contracttests.Admin)},
		{name: "websites are JSON by default", calls: list, fault: replaceRequestHeader("Accept", "", "application/json")},
		{name: "one website cannot be read, in other words", calls: "GET,PUT /products/:product/websites/:id", fault: replaceMessageText("Resource does not support method.", "Resource method not implemented yet.")},
	}), assignTo("websites", "magento", []mutant{
		{name: "assigning one website is answered with a list", calls: create, fault: addBody(`{"success":[]}`)},
		{name: "faults of websites have no number signs", calls: create + ", " + remove, fault: replaceMessageText("#", "")},
		{name: "an unknown website is 404", calls: create, fault: replaceStatus(400, 404)},
		{name: "values of the website are not copied", calls: create, fault: dropSentFields("copy_to_stores")},
	})...)
}

// flattenRecords replaces each record of a list by the value of one of its fields.
func flattenRecords(field string) fault {
	return editReply(func(root *codec.Node) {
		for i := range root.Members {
			if value, ok := root.Members[i].Value.Get(field); ok {
				root.Members[i].Value = *value
			}
		}
	})
}

// dropReplyBody removes the body of a reply with status 200.
func dropReplyBody(c *call, honest implementation) *response {
	r := honest(c)
	if r.status == http.StatusOK {
		r.body = ""
	}
	return r
}

// undoAssignment returns the call that reverts the assignment that c made with the reply
// r; see undoWrite.
func undoAssignment(c *call, r *response) *call {
	back := asAdmin(c)
	back.method, back.body, back.path = http.MethodDelete, "", strings.TrimPrefix(r.header.Get("Location"), "/api/rest")
	if back.path == "" {
		back.method, back.path = http.MethodGet, c.path
	}
	return back
}

// rollBackWebsites reverts all assignments of a batch in which one was refused.
func rollBackWebsites(c *call, honest implementation) *response {
	r := honest(c)
	var assigned []string
	refused := false
	r.clone().edit(func(root *codec.Node) {
		forEachAt(root, "success.*.website_id", func(parent *codec.Node, at int) { assigned = append(assigned, parent.Members[at].Value.String()) })
		_, refused = root.Get("error")
	})
	if refused {
		for _, id := range assigned {
			back := asAdmin(c)
			back.method, back.body, back.path = http.MethodDelete, "", c.path+"/"+id
			honest(back)
		}
	}
	return r
}

// categoryMutants returns the mutants whose faults are in the categories of products.
func categoryMutants() []mutant {
	const list, create, remove = "GET /products/:product/categories", "POST /products/:product/categories", "DELETE /products/:product/categories/:id"
	return append(assignTo("categories", "documented", []mutant{
		{name: "categories are numbers", calls: list, fault: textToNumber("category_id")},
		{name: "categories are ids alone", calls: list, fault: flattenRecords("category_id")},
		{name: "categories are keyed by id", calls: list, fault: keyByField("category_id")},
		{name: "categories have a position", calls: list, fault: addField("category_id", "position", "1")},
		{name: "categories are in an element of another name", calls: list, fault: replaceXMLRoot("categories")},
		{name: "categories come the other way round", calls: list, fault: mapEntries(reverse)},
		{name: "the last category is lost", calls: list, fault: mapEntries(dropLast)},
		{name: "the last category comes twice", calls: list, fault: mapEntries(repeatLast)},
		{name: "categories are those of before", calls: list, fault: repeatFirstReply()},
		{name: "assigning a category gets 201", calls: create, fault: replaceStatus(http.StatusOK, http.StatusCreated)},
		{name: "assigning a category has no Location", calls: create, fault: mapLocation(removeLocation)},
		{name: "the Location of a category is absolute", calls: create, fault: mapLocation(absoluteURL)},
		{name: "assigning a category is answered with a list", calls: create, fault: addBody(`{"success":[]}`)},
		{name: "categories are never assigned", calls: create, fault: undoWrite(undoAssignment)},
		{name: "categories are never taken away", calls: remove, fault: skipWrite},
		{name: "taking a category away has a body", calls: remove, fault: addBody("[]")},
		{name: "a category can be assigned twice", calls: create, fault: pretendSuccess("is already assigned to category")},
		{name: "a category is assigned twice in the words of the original", calls: create, fault: replaceMessageText("Product ", "Product #", "category ", "category #")},
		{name: "any category can be assigned", calls: create, fault: pretendSuccess("Category not found")},
		{name: "an unknown category of a product is 404", calls: create + ", " + remove, fault: replaceRefusal(entry{400, "Category not found"}, entry{404, "Category not found"})},
		{name: "an unknown category of a product is refused with a full stop", calls: create + ", " + remove, fault: replaceMessageText("Category not found", "Category not found.")},
		{name: "a category_id may be anything", calls: create, fault: pretendSuccess("Please use numbers only")},
		{name: "a wrong category_id is refused by one entry", calls: create, fault: filterRefusalEntries(dropLast)},
		{name: "a category that is not assigned can be taken away", calls: remove, fault: pretendSuccess("isn't assigned to category")},
		{name: "categories of an unknown product are an empty list", calls: list, fault: emptyListInsteadOf("Resource not found.")},
		{name: "a Guest reads categories", calls: "guest " + list, fault: answerAs(contracttests.Customer1)},
		{name: "a Customer may not read categories", calls: "customer " + list, fault: denyAccess},
		{name: "a Customer assigns categories", calls: "customer " + create, fault: answerAs(contracttests.Admin)},
		{name: "a Guest assigns categories", calls: "guest " + create, fault: answerAs(contracttests.Admin)},
		{name: "a Customer takes categories away", calls: "customer " + remove, fault: answerAs(contracttests.Admin)},
		{name: "categories are XML by default", calls: "* /products/:product/categories", fault: replaceRequestHeader("Accept", "", "text/xml")},
		{name: "what cannot be done to categories is refused with a full stop", calls: "PUT,DELETE /products/:product/categories", fault: replaceMessageText("implemented yet", "implemented yet.")},
		{name: "one category cannot be read, with a full stop", calls: "GET,PUT /products/:product/categories/:id", fault: replaceMessageText("implemented yet", "implemented yet.")},
		{name: "one category can be read", calls: "GET /products/:product/categories/:id", fault: pretendSuccess("not implemented")},
	}), assignTo("categories", "magento", []mutant{
		{name: "what cannot be done to categories is refused without a full stop", calls: "PUT,DELETE /products/:product/categories", fault: replaceMessageText("implemented yet.", "implemented yet")},
		{name: "an unknown category of a product is 400", calls: create, fault: replaceStatus(404, 400)},
		{name: "categories are not for Guests", calls: "guest " + list, fault: denyAccess},
		{name: "a category is assigned twice in the words of the document", calls: create, fault: replaceMessageText("#", "")},
	})...)
}
