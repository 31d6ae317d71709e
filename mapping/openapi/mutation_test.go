package openapi_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
)

// unrecorded lists the fields in answers that no recording shows, by their schema: fields
// that only attrs can select, and fields that the demo store's products do not have.
func unrecorded(d *contract.Dialect) map[string]string {
	if d.Name == contract.Documented().Name {
		return map[string]string{
			"Order": "base_grand_total discount_amount discount_description gift_message_body gift_message_from " +
				"gift_message_to shipping_amount shipping_description shipping_discount_amount shipping_incl_tax " +
				"shipping_tax_amount subtotal subtotal_incl_tax",
			"OrderItem": "discount_amount original_price parent_item_id price_incl_tax qty_canceled qty_invoiced qty_ordered " +
				"qty_refunded qty_shipped row_total row_total_incl_tax updated_at",
			"Product": "color manufacturer",
		}
	}
	return map[string]string{
		"AssignedProduct": "care country_of_manufacture created_at custom_design custom_design_from custom_design_to " +
			"custom_layout_update description eco gift_message_available group_price material media_gallery " +
			"meta_description meta_keyword meta_title msrp msrp_display_actual_price_type msrp_enabled " +
			"news_from_date news_to_date options_container page_layout price price_view short_description size " +
			"special_from_date special_price special_to_date status tax_class_id tier_price updated_at url_key " +
			"visibility weight",
		"Customer":     "last_logged_in",
		"MediaGallery": "images values",
		"Product":      "cost manufacturer",
	}
}

// TestRecordingsNoticeRenames renames every field in answers, one at a time: some recorded
// answer must then no longer conform. Otherwise [TestRecordings] would prove nothing about
// the field. The run for every commit renames one field of each schema, in one dialect.
func TestRecordingsNoticeRenames(t *testing.T) {
	for _, d := range contract.Dialects() {
		renames := map[string]bool{} // whether a recording notices
		for _, source := range sources() {
			if source.dialect.Name == d.Name && (testenv.Nightly() || source.name == "recordings") {
				renameFields(t, &source, renames)
			}
		}
		for field, noticed := range renames {
			schema, name, _ := strings.Cut(field, ".")
			known := slices.Contains(strings.Fields(unrecorded(d)[schema]), name)
			switch {
			case !noticed && !known:
				t.Errorf("no recording in the dialect %s notices another name of %s", d.Name, field)
			case noticed && known:
				t.Errorf("%s is recorded in the dialect %s: it need not be in unrecorded", field, d.Name)
			}
		}
	}
}

// renameFields renames fields one at a time, and notes which of the renames an answer of the
// source no longer fits.
func renameFields(t *testing.T, source *source, renames map[string]bool) {
	document := source.document(t)
	c := newChecker(t, source.dialect, document)
	answers := c.answersByName(t, source)
	components := c.source.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)
	for _, name := range answerSchemas(load(t, document)) {
		fields, _ := components[name].(map[string]any)["properties"].(map[string]any)
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			if renames[name+"."+field] || strings.HasSuffix(field, renamed) {
				continue
			}
			schema := fields[field]
			delete(fields, field)
			fields[field+renamed] = schema
			c.schemas = map[string]*jsonschema.Schema{}
			renames[name+"."+field] = slices.ContainsFunc(answers[field], func(call *call) bool { return c.checkAnswer(call) != nil })
			delete(fields, field+renamed)
			fields[field] = schema
			if renames[name+"."+field] && !testenv.Nightly() {
				break
			}
		}
	}
}

const renamed = "_renamed"

// answersByName returns the calls of a source with an answer that conforms, by the names in
// it.
func (c *checker) answersByName(t *testing.T, source *source) map[string][]*call {
	exchanges, err := source.exchanges()
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string][]*call{}
	for i := range exchanges {
		for _, s := range exchanges[i].Steps {
			call, err := c.find(s)
			if err != nil || c.checkAnswer(call) != nil {
				continue
			}
			for name := range strings.FieldsFuncSeq(s.Response.Body, func(r rune) bool { return strings.ContainsRune(`"<>/`, r) }) {
				if of := answers[name]; len(of) == 0 || of[len(of)-1] != call {
					answers[name] = append(of, call)
				}
			}
		}
	}
	return answers
}

// answerSchemas returns the names of the schemas that answers refer to, in all depth.
func answerSchemas(doc *openapi3.T) []string {
	found := map[string]bool{}
	var visit func(s *openapi3.SchemaRef)
	visit = func(s *openapi3.SchemaRef) {
		if s == nil || s.Ref != "" && found[s.Ref] {
			return
		}
		if s.Ref != "" {
			found[s.Ref] = true
		}
		for _, part := range slices.Concat(s.Value.OneOf, s.Value.AnyOf, openapi3.SchemaRefs{s.Value.Items, s.Value.AdditionalProperties.Schema}, slices.Collect(maps.Values(s.Value.Properties))) {
			visit(part)
		}
	}
	for _, item := range doc.Paths.Map() {
		for _, operation := range item.Operations() {
			for _, response := range operation.Responses.Map() {
				for _, m := range response.Value.Content {
					visit(m.Schema)
				}
			}
		}
	}
	var names []string
	for ref := range found {
		names = append(names, strings.TrimPrefix(ref, "#/components/schemas/"))
	}
	slices.Sort(names)
	return names
}
