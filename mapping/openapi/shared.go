package openapi

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
)

// Names of components.
const (
	oauthScheme  = "oauth"
	keyScheme    = "apiKey"
	faultSchema  = "Faults"
	emptyList    = "EmptyList"
	numberSchema = "NumberOrText"
	// filterSchema is not Filter: generators make types of parameters, too, of which one is
	// called filter.
	filterSchema = "Condition"
	dirSchema    = "Direction"
	formSchema   = "FormText"
)

// ref returns a reference to a schema.
func ref(name string) *Schema { return &Schema{Ref: "#/components/schemas/" + name} }

// text returns the schema of a text with a pattern, which may be empty.
func text(pattern string) *Schema { return &Schema{Type: Types{"string"}, Pattern: pattern} }

// object returns the schema of an object with these properties and no others.
func object(properties Map[*Schema], required ...string) *Schema {
	return &Schema{Type: Types{"object"}, Properties: properties, Required: required, Closed: true}
}

// list returns the schema of a list, whose entries are elements called data_item in XML.
func list(items *Schema) *Schema {
	if items.Ref != "" {
		items = &Schema{Ref: items.Ref}
	}
	items.XML = &XML{Name: "data_item"}
	return &Schema{Type: Types{"array"}, Items: items, XML: &XML{Wrapped: true}}
}

// properties returns a map with the given entries: names and schemas in turn.
func properties(entries ...any) (m Map[*Schema]) {
	for i := 0; i < len(entries); i += 2 {
		m.Set(entries[i].(string), entries[i+1].(*Schema))
	}
	return m
}

// addShared adds the components that calls of all resources refer to.
func (b *builder) addShared() {
	c := &b.doc.Components
	c.SecuritySchemes.Set(oauthScheme, &SecurityScheme{
		Type: "apiKey", In: "header", Name: "Authorization",
		Description: `OAuth 1.0a (RFC 5849), for which OpenAPI has no type: Authorization: OAuth oauth_consumer_key="…", oauth_token="…", oauth_signature_method="HMAC-SHA1", oauth_timestamp="…", oauth_nonce="…", oauth_version="1.0", oauth_signature="…". The token makes the caller an Admin or a Customer. A request without credentials is a Guest's.`,
	})
	if b.APIKeys {
		c.SecuritySchemes.Set(keyScheme, &SecurityScheme{
			Type: "http", Scheme: "bearer",
			Description: "An API key, which makes the caller an Admin or a Customer.",
		})
	}
	c.Schemas.Set(faultSchema, b.faultEnvelope())
	c.Schemas.Set(emptyList, &Schema{Type: Types{"array"}, MaxItems: new(0), Items: &Schema{Type: Types{"null"}},
		Description: "A list without records: an array, also where other lists are objects."})
	// The types have names, because generators invent names for types without one.
	c.Schemas.Set("Text", text(""))
	c.Schemas.Set("Number", &Schema{Type: Types{"number"}, Format: "double"})
	c.Schemas.Set(numberSchema, &Schema{OneOf: []*Schema{ref("Text"), ref("Number"), {Type: Types{"null"}}},
		Description: "A number, as a number or as a text. An empty text or null removes the value."})
	c.Schemas.Set(formSchema, &Schema{Type: Types{"string"},
		Description: "The members of the body in JSON as form-encoded pairs: entity_id=1&sku=… A nested member has its path in brackets; null is left out."})
	c.Schemas.Set(filterSchema, filterCondition())
	c.Schemas.Set(dirSchema, &Schema{Type: Types{"string"}, Enum: []string{"asc", "desc"}})
	b.addParameters()
	for _, status := range []int{400, 401, 403, 404, 405, 429, 500, 503} {
		c.Responses.Set(faultResponse(strconv.Itoa(status)), b.faultResponse(status))
	}
}

// faultEnvelope returns the schema of the body of an error.
func (b *builder) faultEnvelope() *Schema {
	fault := object(properties(
		"code", &Schema{Type: Types{"integer"}, Description: "The status; that of the last entry is the status of the answer."},
		"message", text(""),
	), "code", "message")
	b.doc.Components.Schemas.Set("Fault", fault)
	entries := list(ref("Fault"))
	entries.MinItems = 1
	b.doc.Components.Schemas.Set("FaultList", object(properties("error", entries), "error"))
	return object(properties("messages", ref("FaultList")), "messages")
}

// faultResponse returns the answer with an error status.
func (b *builder) faultResponse(status int) *Response {
	r := &Response{Description: http.StatusText(status) + ": the last entry says why."}
	r.Content = b.bodies(ref(faultSchema), ref(faultSchema))
	switch status {
	case http.StatusInternalServerError:
		r.Description = "The call has failed, or the request has no acceptable format: then the body is a text."
		r.Content.Set("text/html", &MediaType{Schema: text("")})
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		r.Headers.Set("Retry-After", &Header{Description: "Seconds after which a retry may succeed.", Schema: text("^[0-9]+$")})
	}
	return r
}

// bodies returns the content of a reply in all formats.
func (b *builder) bodies(inJSON, inXML *Schema) (content Map[*MediaType]) {
	content.Set("application/json", &MediaType{Schema: inJSON})
	content.Set("application/xml", &MediaType{Schema: b.rooted(inXML)})
	content.Set("text/plain", &MediaType{Schema: ref(formSchema)})
	return content
}

// rooted returns the schema of a whole document in XML.
func (b *builder) rooted(s *Schema) *Schema {
	root := *s
	root.XML = &XML{Name: b.Dialect.Root}
	if s.XML != nil {
		root.XML.Wrapped = s.XML.Wrapped
	}
	return &root
}

// addParameters adds the list modifiers that are the same for all lists.
func (b *builder) addParameters() {
	p := &b.doc.Components.Parameters
	p.Set("page", &Parameter{Name: "page", In: "query", Schema: &Schema{Type: Types{"integer"}, Minimum: new(0), Default: 1},
		Description: "Number of the page, from 1. A page beyond the end is the last page."})
	p.Set("limit", &Parameter{Name: "limit", In: "query",
		Schema:      &Schema{Type: Types{"integer"}, Minimum: new(0), Maximum: new(input.MaxLimit), Default: input.DefaultLimit},
		Description: fmt.Sprintf("Records of a page, at most %d; 0 for all records on one page.", input.MaxLimit)})
	p.Set("dir", &Parameter{Name: "dir", In: "query", Schema: ref(dirSchema),
		Description: "Direction of order, in either letter case; desc if it is not sent."})
	p.Set("filter", &Parameter{Name: "filter", In: "query", Style: "deepObject", Explode: new(true),
		Schema: &Schema{Type: Types{"object"}, Additional: ref(filterSchema)},
		Description: "Conditions that all must hold: filter[1][attribute]=name&filter[1][eq]=value. The names 1, 2, … are of the client's choice. " +
			"OpenAPI does not define deepObject for two levels: with a client that cannot write them, build the query by hand. " +
			"The fields that a list accepts are in x-list, filterable."})
}

// emptyRecords describes the form of a record without fields.
func emptyRecords(d *contract.Dialect) string {
	if d.EmptySelections {
		return ""
	}
	return ", and so is a record of which attrs selects only fields that it lacks"
}

// filterCondition returns the schema of an entry of filter. Portico accepts more, such as
// nested alternatives; generators make simple types of this schema.
func filterCondition() *Schema {
	conditions := properties("attribute", &Schema{Type: Types{"string"}, Description: "Name of the field."})
	for _, operator := range input.Operators() {
		conditions.Set(operator, text(""))
	}
	for _, operator := range []string{"in", "nin"} {
		conditions.Set(operator, &Schema{Type: Types{"array"}, Items: text("")})
	}
	return &Schema{Type: Types{"object"}, Properties: conditions, Required: []string{"attribute"}, Additional: text(""),
		Description: "A condition: the name of a field and one operator with its value. from and to are a range. in and nin take a list: [in][]=1&[in][]=2. " +
			"Without an operator every other member is an alternative value."}
}

// parameterHelp describes a parameter of a path.
func parameterHelp(name string) string {
	switch name {
	case "store":
		return "Id or code of a store view."
	case "website_id":
		return "Id or code of a website."
	case "address_type":
		return "billing or shipping."
	case "id":
		return "Id of the record."
	}
	return "Id of the " + strings.ReplaceAll(strings.TrimSuffix(name, "_id"), "_", " ") + "."
}

// description has the rules that hold for all calls, and the facts that OpenAPI cannot express.
func description(o *Options) string {
	d := o.Dialect
	paragraphs := []string{
		"This document is made from the tables that Portico serves the interface from, in the dialect " + d.Name + ".",
		"## Formats",
		"Every call is answered in JSON, XML or form-encoded pairs (text/plain), by the header Accept. Numbers, flags and times are texts, as the original reads them from its database: \"qty\": \"99.0000\". " +
			"In XML the root is <" + d.Root + ">, an entry of a list is <data_item> whatever its schema is called, true is 1, and null and false are empty elements.",
		"## What the roles see",
		"A record holds the fields that its caller may read, so that no property of a record is required. The extension x-readers of a property names the roles that may read it, each with the views that show it unless the parameter attrs selects others: list, single, category, or one of them in one format. x-may-be-missing marks what a record may lack even there. x-roles of a call names the roles that may make it, and x-writers of a property the roles whose values count; values from others are ignored.",
		"## What OpenAPI cannot say",
		"- x-list: whether a list in JSON is an object with the ids as names or an array, whether it applies page, limit, order, dir and filter, and by which fields. A list without records is the array [], also where other lists are objects" + emptyRecords(d) + "." +
			"\n- filter has two levels in deepObject: filter[1][attribute]=name&filter[1][eq]=value." +
			"\n- A call that changes or adds several records at once is answered with 207, and with an entry of success or error for each record, in order. An entry of error may repeat a record, once for each fault." +
			"\n- x-faults: every message that a call may be answered with; x-batch-faults: those of single records in an answer with 207." +
			"\n- x-example: an example in XML, since tools take an example for a value in JSON." +
			"\n- x-call: the name of the call in logs and metrics, which several paths share. x-dialect: the dialect, and the root element of XML." +
			"\n- OAuth 1.0a is an apiKey in the header Authorization, whose description has the form.",
	}
	if slices.ContainsFunc(contract.Routes(o.Fields), func(r *contract.Route) bool { return r.NumbersItems(d) }) {
		paragraphs[len(paragraphs)-1] += "\n- In XML the elements of the list of orders are <data_item_1>, <data_item_2> and so on."
	}
	switch {
	case d.DefaultFormats:
		paragraphs = append(paragraphs, "A request without Accept, or with */*, is answered in the call's x-default-format, in which a body without Content-Type is read, too.")
	case o.JSONWithoutAccept:
		paragraphs = append(paragraphs, "A request without Accept is answered in JSON.")
	default:
		paragraphs = append(paragraphs, "A request without Accept is answered with 500.")
	}
	return strings.Join(paragraphs, "\n\n")
}
