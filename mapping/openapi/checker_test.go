package openapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/openapi"
)

// A checker checks recorded calls against a document: routes and parameters with kin-openapi,
// bodies with a JSON Schema 2020-12 validator, because kin-openapi's falls back to the rules
// of OpenAPI 3.0 for some schemas.
type checker struct {
	router  routers.Router
	source  any // the document
	dialect *contract.Dialect
	schemas map[string]*jsonschema.Schema
	// patterns has the expressions of the messages of errors.
	patterns map[string]*regexp.Regexp
}

func newChecker(t testing.TB, d *contract.Dialect, document *openapi.Document) *checker {
	t.Helper()
	encoded, err := document.JSON()
	if err != nil {
		t.Fatal(err)
	}
	doc := load(t, document)
	doc.Servers = nil // recorded paths begin below the URL of the server
	c := &checker{dialect: d, schemas: map[string]*jsonschema.Schema{}, patterns: map[string]*regexp.Regexp{}}
	if c.router, err = gorillamux.NewRouter(doc); err != nil {
		t.Fatal(err)
	}
	if c.source, err = jsonschema.UnmarshalJSON(bytes.NewReader(encoded)); err != nil {
		t.Fatal(err)
	}
	return c
}

// A call is a recorded step on a route of the document.
type call struct {
	contracttests.Step
	request *http.Request
	params  map[string]string
	route   *routers.Route
}

// errNoOperation: the document has no such call.
var errNoOperation = errors.New("no such call")

// find returns the call of a step.
func (c *checker) find(s contracttests.Step) (*call, error) {
	r, err := http.NewRequest(s.Method, fill(s.Path), nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoOperation, err)
	}
	if s.ContentType != nil {
		r.Header.Set("Content-Type", *s.ContentType)
	}
	route, params, err := c.router.FindRoute(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoOperation, err)
	}
	return &call{s, r, params, route}, nil
}

// fill replaces the parts that recordings leave open.
func fill(text string) string {
	return strings.NewReplacer("{{base_url}}", "https://shop.example", "{{datetime}}", "2012-01-02 03:04:05", "{{any}}", "https://shop.example/any").Replace(text)
}

// checkRequest checks the parameters and the body of a request.
func (c *checker) checkRequest(t testing.TB, call *call) error {
	in := &openapi3filter.RequestValidationInput{Request: call.request, PathParams: call.params, Route: call.route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, ExcludeRequestBody: true}}
	if err := openapi3filter.ValidateRequest(t.Context(), in); err != nil {
		return err
	}
	body := call.route.Operation.RequestBody
	if body == nil {
		return nil
	}
	if call.ContentType == nil {
		return errors.New("no Content-Type")
	}
	if call.Body == nil {
		return errors.New("no body")
	}
	return c.checkBody(body.Value.Content, []string{"requestBody"}, call, *call.ContentType, fill(*call.Body))
}

// checkAnswer checks the status, the headers and the body of an answer, and the rules of the
// extensions for it.
func (c *checker) checkAnswer(call *call) error {
	status := strconv.Itoa(call.Response.Status)
	response := call.route.Operation.Responses.Value(status)
	if response == nil {
		return fmt.Errorf("the call has no answer with status %s", status)
	}
	if location := response.Value.Headers["Location"]; location != nil && location.Value.Required && call.Response.Location == nil {
		return errors.New("no Location")
	}
	if len(response.Value.Content) == 0 {
		if call.Response.Body != "" {
			return errors.New("a body that the document does not have")
		}
		return nil
	}
	pointer := []string{"responses", status}
	if response.Ref != "" {
		pointer = strings.Split(strings.TrimPrefix(response.Ref, "#/"), "/")
	}
	if call.Response.ContentType == nil {
		return errors.New("no Content-Type")
	}
	return c.checkBody(response.Value.Content, pointer, call, *call.Response.ContentType, fill(call.Response.Body))
}

// checkBody checks a body against the schema of its media type.
func (c *checker) checkBody(content openapi3.Content, pointer []string, call *call, contentType, body string) error {
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return err
	}
	m := content.Get(mediaType)
	if m == nil {
		return fmt.Errorf("media type %s is not in the document", mediaType)
	}
	value, err := decode(mediaType, body, m.Schema.Value)
	if err != nil {
		return err
	}
	if pointer[0] != "components" {
		pointer = append([]string{"paths", call.route.Path, strings.ToLower(call.Method)}, pointer...)
	}
	schema, err := c.compile(append(pointer, "content", mediaType, "schema"))
	if err != nil {
		return err
	}
	if err := schema.Validate(value); err != nil {
		return err
	}
	switch {
	case pointer[0] == "components":
		return c.checkMessages(call, value)
	case call.Method == http.MethodGet && mediaType != "text/plain":
		return c.checkFields(call, m.Schema.Value, value, mediaType == "application/xml")
	case call.Response.Status == http.StatusMultiStatus && slices.Contains(pointer, "responses") && mediaType != "text/plain":
		return c.checkMessages(call, value)
	}
	return nil
}

// compile returns the schema at a place of the document.
func (c *checker) compile(pointer []string) (*jsonschema.Schema, error) {
	for i, part := range pointer {
		pointer[i] = strings.NewReplacer("~", "~0", "/", "~1").Replace(part)
	}
	location := "document#/" + (&url.URL{Path: strings.Join(pointer, "/")}).EscapedPath()
	if known := c.schemas[location]; known != nil {
		return known, nil
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("document", c.source); err != nil {
		return nil, err
	}
	schema, err := compiler.Compile(location)
	c.schemas[location] = schema
	return schema, err
}

// decode returns the value of a body.
func decode(mediaType, body string, schema *openapi3.Schema) (any, error) {
	switch mediaType {
	case "application/json":
		return jsonschema.UnmarshalJSON(strings.NewReader(body))
	case "application/xml", "text/xml":
		n, err := codec.Decode(contract.XML, []byte(body))
		if err != nil {
			return nil, err
		}
		return xmlValue(&n, schema), nil
	}
	return body, nil
}

// xmlValue returns the value that a decoded element has in JSON by its schema: XML has no
// types, and does not distinguish a list of one entry from a record.
func xmlValue(n *codec.Node, s *openapi3.Schema) any {
	if one := slices.Concat(s.OneOf, s.AnyOf); len(one) > 0 {
		for _, alternative := range one {
			if v := xmlValue(n, alternative.Value); alternative.Value.VisitJSON(v) == nil {
				return v
			}
		}
		return xmlValue(n, one[0].Value)
	}
	empty := n.Text == "" && len(n.Members) == 0
	switch {
	case empty && s.Type.Includes("null"):
		return nil
	case s.Type.Includes("array"):
		return xmlList(n, s.Items.Value)
	case s.Type.Includes("object"), n.Kind == codec.Struct && len(n.Members) > 0:
		object := map[string]any{}
		for i := range n.Members {
			m := &n.Members[i]
			field := &openapi3.Schema{}
			if known := s.Properties[m.Key]; known != nil {
				field = known.Value
			}
			object[m.Key] = xmlValue(&m.Value, field)
		}
		return object
	case s.Type.Includes("boolean"):
		return n.Text == "1"
	case s.Type.Includes("integer"), s.Type.Includes("number"):
		return json.Number(n.Text)
	}
	return n.Text
}

// xmlList returns the entries of an element: of repeated ones the decoder makes a list.
func xmlList(n *codec.Node, items *openapi3.Schema) []any {
	values := []any{}
	for i := range n.Members {
		v := &n.Members[i].Value
		if v.Kind == codec.Struct && len(v.Members) > 0 && v.Shape() == codec.Array {
			for j := range v.Members {
				values = append(values, xmlValue(&v.Members[j].Value, items))
			}
			continue
		}
		values = append(values, xmlValue(v, items))
	}
	return values
}

// checkFields checks the fields of records against x-readers and x-may-be-missing.
func (c *checker) checkFields(call *call, s *openapi3.Schema, value any, inXML bool) error {
	role, _, _ := strings.Cut(call.As, "_")
	if call.Headers["Authorization"] != "" {
		return nil // credentials of the recording's own
	}
	query, format := call.request.URL.Query(), "json"
	if inXML {
		format = "xml"
	}
	list := call.route.Operation.Extensions["x-list"] != nil
	view := "single"
	switch {
	case list && c.dialect.CategoryView && strings.Trim(call.params["category_id"]+query.Get("category_id"), "0") != "":
		view = "category"
	case list:
		view = "list"
	}
	selected := query.Has("attrs") || query.Has("attrs[]")
	return checkRecord(s, value, func(name string, field *openapi3.Schema, present bool) error {
		readers, _ := field.Extensions["x-readers"].(map[string]any)
		views, reads := readers[role].([]any)
		shown := slices.Contains(views, any(view)) || slices.Contains(views, any(view+"-"+format))
		switch {
		case present && !reads:
			return fmt.Errorf("%s reads the field %s", role, name)
		case !present && !selected && shown && field.Extensions["x-may-be-missing"] == nil:
			return fmt.Errorf("%s gets no field %s", role, name)
		}
		return nil
	})
}

// checkRecord calls check for the fields of all records in a value.
func checkRecord(s *openapi3.Schema, value any, check func(string, *openapi3.Schema, bool) error) error {
	for _, alternative := range s.OneOf {
		if err := checkRecord(alternative.Value, value, check); err != nil {
			return err
		}
	}
	switch value := value.(type) {
	case []any:
		for _, entry := range value {
			if s.Items != nil {
				if err := checkRecord(s.Items.Value, entry, check); err != nil {
					return err
				}
			}
		}
	case map[string]any:
		for _, entry := range value {
			if entries := s.AdditionalProperties.Schema; entries != nil {
				if err := checkRecord(entries.Value, entry, check); err != nil {
					return err
				}
			}
		}
		for name, field := range s.Properties {
			if field.Value.Extensions["x-readers"] == nil {
				continue
			}
			part, present := value[name]
			if err := check(name, field.Value, present); err != nil {
				return err
			}
			if err := checkRecord(field.Value, part, check); present && err != nil {
				return err
			}
		}
	}
	return nil
}

// checkMessages checks that the messages of errors are among the messages of the call.
func (c *checker) checkMessages(call *call, value any) error {
	body, ok := value.(map[string]any)
	if !ok {
		return nil // a text
	}
	extension, entries := "x-batch-faults", body["error"]
	if messages, ok := body["messages"].(map[string]any); ok {
		extension, entries = "x-faults", messages["error"]
	}
	known, _ := call.route.Operation.Extensions[extension].(map[string]any)
	list, _ := entries.([]any)
	for _, entry := range list {
		message := entry.(map[string]any)["message"].(string)
		found := false
		for _, messages := range known {
			found = found || slices.ContainsFunc(messages.([]any), func(m any) bool { return c.matches(m.(string), message) })
		}
		if !found {
			return fmt.Errorf("the message %q is not in %s", message, extension)
		}
	}
	return nil
}

// matches reports whether a message with an ellipsis for each value fits.
func (c *checker) matches(pattern, message string) bool {
	expression := c.patterns[pattern]
	if expression == nil {
		expression = regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), "…", "(?s:.*)") + "$")
		c.patterns[pattern] = expression
	}
	return expression.MatchString(message)
}
