package openapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/portico-commerce/portico/mapping/contract"
)

// An Example is a recorded call.
type Example struct {
	Method, Path string // Path is below /api/rest, with the query
	Request      string // JSON, or empty
	Status       int
	MediaType    string // of the body, without parameters
	Body         string
}

// maxExample is the length in bytes above which a body is no example.
const maxExample = 2000

// addExamples gives each body of the document the longest example that is short enough.
func (b *builder) addExamples() {
	best := map[*MediaType]int{}
	isBest := func(m *MediaType, body string) bool {
		if m == nil || len(body) <= best[m] || len(body) > maxExample {
			return false
		}
		best[m] = len(body)
		return true
	}
	for _, e := range b.Examples {
		op := b.operationOf(e)
		if op == nil || e.Status >= http.StatusMultipleChoices {
			continue
		}
		if op.RequestBody != nil {
			if !b.fits(op, e.Request) { // nor is the answer an example
				continue
			}
			if m, _ := op.RequestBody.Content.Get("application/json"); isBest(m, e.Request) {
				m.Example = plainJSON(e.Request)
			}
		}
		response, _ := op.Responses.Get(strconv.Itoa(e.Status))
		if response == nil {
			continue
		}
		m, _ := response.Content.Get(e.MediaType)
		switch {
		case b.Dialect.NumericIntegers && e.MediaType == "application/json": // recorded as texts
		case e.MediaType == "application/json" && plainJSON(e.Body) != nil && isBest(m, e.Body):
			m.Example = plainJSON(e.Body)
		case e.MediaType == "application/xml" && isBest(m, e.Body):
			m.Text = e.Body
		}
	}
}

// plainJSON returns a value with its members in their order and no needless escapes, or nil
// if it is not valid.
func plainJSON(body string) any {
	value := jsontext.Value(body)
	if value.Format(jsontext.PreserveRawStrings(false)) != nil {
		return nil
	}
	return json.RawMessage(value)
}

// operationOf returns the document's call for an example, or nil.
func (b *builder) operationOf(e Example) *Operation {
	path, _, _ := strings.Cut(e.Path, "?")
	r, _ := b.table.Match(path)
	if r == nil {
		return nil
	}
	item, ok := b.doc.Paths.Get(templatePath(r))
	if !ok {
		return nil
	}
	m, ok := contract.ParseMethod(e.Method)
	if !ok {
		return nil
	}
	return *item.slot(m)
}

// fits reports whether a recorded request is a good example: an object with the required
// members, none of which the document lacks, or a list of such objects, and each of a type
// that the document has.
func (b *builder) fits(op *Operation, request string) bool {
	m, _ := op.RequestBody.Content.Get("application/json")
	value := json.RawMessage(request)
	return m != nil && json.Valid(value) && b.conforms(m.Schema, value)
}

// conforms reports whether a value fits a schema, as far as the schemas of requests go.
func (b *builder) conforms(s *Schema, value json.RawMessage) bool {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		s, _ = b.doc.Components.Schemas.Get(name)
	}
	for _, one := range s.OneOf {
		if b.conforms(one, value) {
			return true
		}
	}
	var members map[string]json.RawMessage
	var entries []json.RawMessage
	switch kind := kindOf(value); {
	case len(s.OneOf) > 0 || !slices.Contains(s.Type, kind):
		return false
	case kind == "object" && json.Unmarshal(value, &members) == nil:
		for name, member := range members {
			if field, ok := s.Properties.Get(name); !ok || !b.conforms(field, member) {
				return false
			}
		}
		return !slices.ContainsFunc(s.Required, func(name string) bool { return members[name] == nil })
	case kind == "array" && json.Unmarshal(value, &entries) == nil:
		return !slices.ContainsFunc(entries, func(entry json.RawMessage) bool { return !b.conforms(s.Items, entry) })
	}
	return len(s.Enum) == 0 || slices.Contains(s.Enum, strings.Trim(string(value), `"`))
}

// kindOf returns the type of a value in JSON.
func kindOf(value json.RawMessage) string {
	switch value[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
