package main

import (
	"net/http"
	"strings"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/codec"
)

func imageMutants() []mutant {
	const list, single = "GET /products/:product/images", "GET /products/:product/images/:id"
	const create, update, remove = "POST /products/:product/images", "PUT /products/:product/images/:id", "DELETE /products/:product/images/:id"
	const createView, updateView, removeView = "POST /products/:product/images/store/:store", "PUT /products/:product/images/:id/store/:store", "DELETE /products/:product/images/:id/store/:store"
	const listView, view = "GET /products/:product/images/store/:store", "GET /products/:product/images/:id/store/:store"
	mutants := in("images", "documented", []mutant{
		{name: "one image is in an element of another name", at: single, fault: rooted("image")},
		{name: "images are keyed by id", at: list, fault: keyedBy("id")},
		{name: "the id of an image is a number", at: single, fault: asNumber("id")},
		{name: "positions of images are numbers", at: list, fault: asNumber("position")},
		{name: "exclude is a literal", at: single, fault: asLiteral("exclude")},
		{name: "images have no exclude", at: list, fault: drop("exclude")},
		{name: "an image has no url", at: single, fault: drop("url")},
		{name: "an image shows its file", at: single, fault: add("url", "file", "/i/m/image.png")},
		{name: "the url of an image is relative", at: single, fault: texts("url", func(s string) string { return s[strings.Index(s+"/media", "/media"):] })},
		{name: "an image without a label has a null", at: single, fault: values("label", nullIfBlank)},
		{name: "images without a label have no such field", at: list, fault: absentForNull("label")},
		{name: "types of an image are one text", at: single, fault: values("types", func(n codec.Node) codec.Node {
			if len(n.Members) == 0 {
				return n
			}
			return codec.TextNode(n.Members[0].Value.Text)
		})},
		{name: "an image without types has a null", at: single, fault: values("types", nullIfEmpty)},
		{name: "types of images come the other way round", at: list + ", " + single, fault: within("types", reversed)},
		{name: "the last type of images is lost", at: list, fault: within("types", lastLost)},
		{name: "images come the other way round", at: list, fault: entries(reversed)},
		{name: "the last image is lost", at: list, fault: entries(lastLost)},
		{name: "images are those of before", at: list + ", " + single, fault: stale()},

		{name: "an image that is created gets 201", at: create, fault: turns(http.StatusOK, http.StatusCreated)},
		{name: "an image that is created has no Location", at: create, fault: location(nowhere)},
		{name: "the Location of an image is absolute", at: create, fault: location(absolute)},
		{name: "the Location of an image of a store view names it", at: createView, fault: location(func(path string) string { return path + "/store/1" })},
		{name: "an image that is created is in the body", at: create, fault: answersWith(`{"id":"1"}`)},
		{name: "an update of an image has a body", at: update, fault: answersWith(`[]`)},
		{name: "updates of images change nothing", at: update, fault: restore},
		{name: "images are never deleted", at: remove, fault: swallow},
		{name: "images of store views are never deleted", at: removeView, fault: swallow},
		{name: "an image that is deleted of a store view is deleted everywhere", at: removeView, fault: pathed(storeless)},
		{name: "updates without a label empty it", at: update, fault: reset("label", `""`)},
		{name: "updates without a position set it", at: update, fault: reset("position", "0")},
		{name: "updates without types clear them", at: update, fault: reset("types", "[]")},
		{name: "updates without exclude unset it", at: update, fault: reset("exclude", "0")},
		{name: "updates of a store view of an image change all", at: updateView, fault: pathed(storeless)},
		{name: "updates of a store view of an image change nothing", at: updateView, fault: restore},
		{name: "store views of an image are not told apart", at: view, fault: pathed(storeless)},
		{name: "store views of images are not told apart", at: listView, fault: pathed(storeless)},
		{name: "images of a store view are made for all", at: createView, fault: pathed(storeless)},

		{name: "images need not be base64", at: create, fault: lenient("must be valid base64", "file_content", always(onePixel))},
		{name: "any media type of images will do", at: create, fault: lenient("Unsupported image MIME type", "file_mime_type", always(`"image/png"`))},
		{name: "images need no content", at: create, fault: lenient("The image is not specified", "file_content", always(onePixel))},
		{name: "images may be anything", at: create, fault: lenient("Resource unknown error", "file_content", always(onePixel))},
		{name: "unknown media types are refused as the original spells it", at: create, fault: says("Unsupported", "Unsuppoted")},
		{name: "refused images end as other resources do", at: create, fault: says("pre-validator error", "pre-validation error.")},
		{name: "refused images lack the last entry", at: create, fault: alone(lastLost)},
		{name: "an unknown image is refused as any resource", at: "admin " + single, fault: says("Product image not found", "Resource not found.")},
		{name: "an unknown product of images is refused with a full stop", at: list, fault: says("Resource not found", "Resource not found.")},
		{name: "images of an unknown product are an empty list", at: list, fault: emptyInstead("Resource not found")},
		{name: "an unknown image is 400", at: "GET,PUT,DELETE /products/:product/images/:id", fault: refuses(entry{404, "Product image not found"}, entry{400, "Product image not found"})},
		{name: "deleting an unknown image is 200", at: remove, fault: accepts("Product image not found")},
		{name: "an unknown store view of images is 404", at: listView + ", " + view, fault: refuses(entry{400, "Requested store is invalid"}, entry{404, "Requested store is invalid"})},
		{name: "any store view of images will do", at: listView + ", " + view + ", " + updateView, fault: leavesStore("Requested store is invalid")},

		{name: "a Guest sees images that are excluded", at: "guest " + list, fault: as(contracttests.Admin)},
		{name: "a Guest sees an image that is excluded", at: "guest " + single, fault: leaks(http.StatusNotFound, contracttests.Admin)},
		{name: "a Guest creates images", at: "guest " + create, fault: as(contracttests.Admin)},
		{name: "a Customer changes images", at: "customer " + update, fault: as(contracttests.Admin)},
		{name: "a Customer deletes images", at: "customer " + remove, fault: as(contracttests.Admin)},
		{name: "images are not for Guests", at: "guest " + list + ", guest " + single, fault: denies},
		{name: "images are JSON by default", at: list, fault: asked("Accept", "", "application/json")},
		{name: "attrs of images are not applied", at: list, fault: unheard("attrs")},
		{name: "images cannot be changed at once, in other words", at: "PUT,DELETE /products/:product/images", fault: says("Resource method not implemented yet.", "Resource does not support method.")},
	})
	for _, field := range []string{"label", "position", "types", "exclude"} {
		mutants = append(mutants, in("images", "documented", []mutant{
			{name: "updates of images leave out " + field, at: update, fault: unsaved(field)},
			{name: "updates of store views of images leave out " + field, at: updateView, fault: unsaved(field)},
			{name: "new images are stored without " + field, at: create, fault: ignore(field)},
		})...)
	}
	return append(mutants, append(in("images", "documented", []mutant{
		{name: "new images are stored without file_name", at: create, fault: ignore("file_name")},
	}), in("images", "magento", []mutant{
		{name: "a Guest sees exclude", at: "guest " + list, fault: add("position", "exclude", "0")},
		{name: "unknown media types are refused as the document spells it", at: create, fault: says("Unsuppoted", "Unsupported")},
		{name: "refused images end as the document has it", at: create, fault: says("pre-validation error.", "pre-validator error")},
		{name: "images are in the element of the document", at: list, fault: rooted("service_api")},
	})...)...)
}

// onePixel is the content of the smallest PNG, as JSON.
const onePixel = `"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAACXBIWXMAAA7EAAAOxAGVKw4bAAAADElEQVQImWP4z8AAAAMBAQCc479ZAAAAAElFTkSuQmCC"`

func nullIfBlank(n codec.Node) codec.Node {
	if n.Kind == codec.Text && n.Text == "" {
		return codec.Node{}
	}
	return n
}

func websiteMutants() []mutant {
	const list, create, remove = "GET /products/:product/websites", "POST /products/:product/websites", "DELETE /products/:product/websites/:id"
	return append(in("websites", "documented", []mutant{
		{name: "websites are numbers", at: list, fault: asNumber("website_id")},
		{name: "websites are keyed by id", at: list, fault: keyedBy("website_id")},
		{name: "websites have a code", at: list, fault: add("website_id", "code", "base")},
		{name: "websites are ids alone", at: list, fault: flat("website_id")},
		{name: "websites are in an element of another name", at: list, fault: rooted("websites")},
		{name: "websites come the other way round", at: list, fault: entries(reversed)},
		{name: "the last website is lost", at: list, fault: entries(lastLost)},
		{name: "websites are those of before", at: list, fault: stale()},
		{name: "assigning one website is answered with nothing", at: create, fault: withoutBody},
		{name: "assigning a website gets 201", at: create, fault: turns(http.StatusOK, http.StatusCreated)},
		{name: "assigning a website has no Location", at: create, fault: location(nowhere)},
		{name: "the Location of a website is absolute", at: create, fault: location(absolute)},
		{name: "the Location of a website is that of the list", at: create, fault: location(func(path string) string { return path[:strings.LastIndex(path, "/")] })},
		{name: "assigning websites gets 200", at: create, fault: turns(http.StatusMultiStatus, http.StatusOK)},
		{name: "results of websites have no code", at: create, fault: drop("success.*.code")},
		{name: "results of websites have a code that is a text", at: create, fault: asText("success.*.code")},
		{name: "results of websites have no product", at: create, fault: drop("success.*.product_id")},
		{name: "results of websites have numbers", at: create, fault: asNumber("success.*.website_id")},
		{name: "results of websites have another message", at: create, fault: texts("success.*.message", func(string) string { return "Resource updated successfully." })},
		{name: "results of websites come the other way round", at: create, fault: within("success", reversed)},
		{name: "the last result of websites is lost", at: create, fault: within("success", lastLost)},
		{name: "faults of websites are told as successes", at: create, fault: rename("error", "success")},
		{name: "faults of websites have the code of a success", at: create, fault: becomes("error.*.code", codec.NumberNode("200"))},
		{name: "faults of websites lack the id that was sent", at: create, fault: becomes("error.*.website_id", codec.Node{})},
		{name: "faults of websites are not told", at: create, fault: drop("error")},
		{name: "websites are assigned all or none", at: create, fault: allOrNoWebsite},
		{name: "the last of several websites is not assigned", at: create, fault: lastSkipped("website_id", `{"website_id":%q,"product_id":%q,"message":"Resource updated successful.","code":200}`)},
		{name: "websites are never assigned", at: create, fault: undo(unassigned)},
		{name: "websites are never taken away", at: remove, fault: swallow},
		{name: "nothing is copied between store views", at: create, fault: ignore("copy_to_stores")},
		{name: "a website can be assigned twice", at: create, fault: accepts("is already assigned to website")},
		{name: "any website can be assigned", at: create, fault: accepts("Website not found")},
		{name: "any store view can be copied from", at: create, fault: lenient("from which we will copy", "copy_to_stores", always("[]"))},
		{name: "any store view can be copied to", at: create, fault: lenient("to which we will copy", "copy_to_stores", always("[]"))},
		{name: "store views to copy from may be anything", at: create, fault: lenient(`"store_from"`, "copy_to_stores", always("[]"))},
		{name: "store views to copy from may be unknown", at: create, fault: lenient("Store not found", "copy_to_stores", always("[]"))},
		{name: "faults of websites have number signs", at: create, fault: says("Store ", "Store #", "product ", "product #", "website ", "website #", "with ID ", "with ID #")},
		{name: "an unknown website is 400", at: create + ", " + remove, fault: refuses(entry{404, "Website not found"}, entry{400, "Website not found"})},
		{name: "an unknown website is refused with a full stop", at: create + ", " + remove, fault: says("Website not found", "Website not found.")},
		{name: "an unknown product of websites is refused as any resource", at: "* /products/:product/websites", fault: says("Product not found", "Resource not found.")},
		{name: "websites of an unknown product are an empty list", at: list, fault: emptyInstead("Product not found")},
		{name: "a website that is not assigned can be taken away", at: remove, fault: accepts("isn't assigned to website")},
		{name: "a website that is not assigned is refused in the words of the original", at: remove, fault: says("Product ", "Product #", "to website ", "to website #")},
		{name: "a wrong website_id is refused without a full stop", at: create, fault: says(`"website_id" in request.`, `"website_id" in request`)},
		{name: "a wrong website_id is refused by one entry", at: create, fault: alone(lastLost)},
		{name: "a Guest reads websites", at: "guest " + list, fault: as(contracttests.Admin)},
		{name: "a Customer reads websites", at: "customer " + list, fault: as(contracttests.Admin)},
		{name: "a Customer assigns websites", at: "customer " + create, fault: as(contracttests.Admin)},
		{name: "a Guest takes websites away", at: "guest " + remove, fault: as(contracttests.Admin)},
		{name: "websites are JSON by default", at: list, fault: asked("Accept", "", "application/json")},
		{name: "one website cannot be read, in other words", at: "GET,PUT /products/:product/websites/:id", fault: says("Resource does not support method.", "Resource method not implemented yet.")},
	}), in("websites", "magento", []mutant{
		{name: "assigning one website is answered with a list", at: create, fault: answersWith(`{"success":[]}`)},
		{name: "faults of websites have no number signs", at: create + ", " + remove, fault: says("#", "")},
		{name: "an unknown website is 404", at: create, fault: turns(400, 404)},
		{name: "values of the website are not copied", at: create, fault: ignore("copy_to_stores")},
	})...)
}

// flat makes a list of records one of a field's values.
func flat(field string) fault {
	return inResponse(func(root *codec.Node) {
		for i := range root.Members {
			if value, ok := root.Members[i].Value.Get(field); ok {
				root.Members[i].Value = *value
			}
		}
	})
}

func withoutBody(c *call, honest implementation) *response {
	r := honest(c)
	if r.status == http.StatusOK {
		r.body = ""
	}
	return r
}

// unassigned takes away what a call assigned.
func unassigned(c *call, r *response) *call {
	back := asAdmin(c)
	back.method, back.body, back.path = http.MethodDelete, "", strings.TrimPrefix(r.header.Get("Location"), "/api/rest")
	if back.path == "" {
		back.method, back.path = http.MethodGet, c.path
	}
	return back
}

// allOrNoWebsite takes back what a list assigned when a part of it was refused.
func allOrNoWebsite(c *call, honest implementation) *response {
	r := honest(c)
	var assigned []string
	refused := false
	r.clone().edit(func(root *codec.Node) {
		each(root, "success.*.website_id", func(parent *codec.Node, at int) { assigned = append(assigned, parent.Members[at].Value.String()) })
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

func categoryMutants() []mutant {
	const list, create, remove = "GET /products/:product/categories", "POST /products/:product/categories", "DELETE /products/:product/categories/:id"
	return append(in("categories", "documented", []mutant{
		{name: "categories are numbers", at: list, fault: asNumber("category_id")},
		{name: "categories are ids alone", at: list, fault: flat("category_id")},
		{name: "categories are keyed by id", at: list, fault: keyedBy("category_id")},
		{name: "categories have a position", at: list, fault: add("category_id", "position", "1")},
		{name: "categories are in an element of another name", at: list, fault: rooted("categories")},
		{name: "categories come the other way round", at: list, fault: entries(reversed)},
		{name: "the last category is lost", at: list, fault: entries(lastLost)},
		{name: "the last category comes twice", at: list, fault: entries(lastDoubled)},
		{name: "categories are those of before", at: list, fault: stale()},
		{name: "assigning a category gets 201", at: create, fault: turns(http.StatusOK, http.StatusCreated)},
		{name: "assigning a category has no Location", at: create, fault: location(nowhere)},
		{name: "the Location of a category is absolute", at: create, fault: location(absolute)},
		{name: "assigning a category is answered with a list", at: create, fault: answersWith(`{"success":[]}`)},
		{name: "categories are never assigned", at: create, fault: undo(unassigned)},
		{name: "categories are never taken away", at: remove, fault: swallow},
		{name: "taking a category away has a body", at: remove, fault: answersWith("[]")},
		{name: "a category can be assigned twice", at: create, fault: accepts("is already assigned to category")},
		{name: "a category is assigned twice in the words of the original", at: create, fault: says("Product ", "Product #", "category ", "category #")},
		{name: "any category can be assigned", at: create, fault: accepts("Category not found")},
		{name: "an unknown category of a product is 404", at: create + ", " + remove, fault: refuses(entry{400, "Category not found"}, entry{404, "Category not found"})},
		{name: "an unknown category of a product is refused with a full stop", at: create + ", " + remove, fault: says("Category not found", "Category not found.")},
		{name: "a category_id may be anything", at: create, fault: accepts("Please use numbers only")},
		{name: "a wrong category_id is refused by one entry", at: create, fault: alone(lastLost)},
		{name: "a category that is not assigned can be taken away", at: remove, fault: accepts("isn't assigned to category")},
		{name: "categories of an unknown product are an empty list", at: list, fault: emptyInstead("Resource not found.")},
		{name: "a Guest reads categories", at: "guest " + list, fault: as(contracttests.Customer1)},
		{name: "a Customer may not read categories", at: "customer " + list, fault: denies},
		{name: "a Customer assigns categories", at: "customer " + create, fault: as(contracttests.Admin)},
		{name: "a Guest assigns categories", at: "guest " + create, fault: as(contracttests.Admin)},
		{name: "a Customer takes categories away", at: "customer " + remove, fault: as(contracttests.Admin)},
		{name: "categories are XML by default", at: "* /products/:product/categories", fault: asked("Accept", "", "text/xml")},
		{name: "what cannot be done to categories is refused with a full stop", at: "PUT,DELETE /products/:product/categories", fault: says("implemented yet", "implemented yet.")},
		{name: "one category cannot be read, with a full stop", at: "GET,PUT /products/:product/categories/:id", fault: says("implemented yet", "implemented yet.")},
		{name: "one category can be read", at: "GET /products/:product/categories/:id", fault: accepts("not implemented")},
	}), in("categories", "magento", []mutant{
		{name: "what cannot be done to categories is refused without a full stop", at: "PUT,DELETE /products/:product/categories", fault: says("implemented yet.", "implemented yet")},
		{name: "an unknown category of a product is 400", at: create, fault: turns(404, 400)},
		{name: "categories are not for Guests", at: "guest " + list, fault: denies},
		{name: "a category is assigned twice in the words of the document", at: create, fault: says("#", "")},
	})...)
}
