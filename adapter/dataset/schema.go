package dataset

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// Schema returns the JSON Schema, draft 2020-12, of data sets whose records have the given
// schemas. Decode refuses more: repeated ids, references to records that do not exist, and
// files that cannot be read.
func Schema(schemas *adapter.Schemas) ([]byte, error) {
	properties := ordered{
		{schemaMember, ordered{{"type", "string"}, {"description", "where editors find this schema"}}},
		{verbatimMember, ordered{{"type", "boolean"}, {"description", "true in exports: records are stored as they are, without what people leave out"}}},
	}
	for _, l := range newFormat(schemas) {
		properties = append(properties, field{l.name, l.jsonSchema()})
	}
	properties = append(properties, field{credentials, credentialsSchema()})
	root := append(ordered{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "Data set of Portico"},
		{"description", "All records of a store. An object without lists stores nothing."},
	}, objectSchema(properties, nil)...)
	text, err := json.Marshal(root, jsontext.WithIndent(" "))
	return append(text, '\n'), err
}

// objectSchema returns the keywords for an object that has the properties and no others
// besides comments.
func objectSchema(properties ordered, required []string) ordered {
	properties = append(ordered{{comment, ordered{{"description", "a remark, which is not stored"}}}}, properties...)
	o := ordered{{"type", "object"}, {"properties", properties}, {"additionalProperties", false}}
	if len(required) > 0 {
		o = append(o, field{"required", required})
	}
	return o
}

// jsonSchema returns the schema of a record.
func (s *shape) jsonSchema() ordered {
	var properties ordered
	var required []string
	for i := range s.members {
		m := &s.members[i]
		properties = append(properties, field{m.name, m.jsonSchema()})
		if m.required && m.form != one { // exports may lack the record
			required = append(required, m.name)
		}
	}
	return objectSchema(properties, required)
}

// jsonSchema returns the schema of a member.
func (m *member) jsonSchema() ordered {
	doc := field{"description", m.doc}
	switch m.form {
	case text:
		return ordered{doc, {"type", "string"}, {"minLength", 1}}
	case keys:
		return ordered{doc, {"type", "array"}, {"items", ordered{{"type", "integer"}}}}
	case one:
		return ordered{doc, {"anyOf", []any{m.of.jsonSchema(), ordered{{"type", "null"}}}}}
	case list:
		return ordered{doc, {"type", []string{"array", "null"}}, {"items", m.of.jsonSchema()}}
	case byStore:
		stores := ordered{{"^[1-9][0-9]*$", m.of.jsonSchema()}}
		return ordered{doc, {"type", "object"}, {"patternProperties", stores}, {"properties", ordered{{comment, true}}}, {"additionalProperties", false}}
	default:
		return append(ordered{doc}, m.valueSchema()...)
	}
}

// valueSchema returns the keywords for the value of an attribute.
func (m *member) valueSchema() ordered {
	f := formOf(m.attribute.Kind)
	var o ordered
	if m.attribute.Kind == adapter.KindTexts {
		items := ordered{{"type", "string"}, {"pattern", f.pattern}}
		if m.name == "types" {
			items = append(items, field{"enum", rules.ImageTypes()})
		}
		o, f.pattern = ordered{{"items", items}}, ""
	}
	if f.pattern != "" {
		o = append(o, field{"pattern", f.pattern})
	}
	if !m.required {
		f.types = append(f.types, "null")
	}
	if v := m.fallback; v.Kind() == adapter.Integer {
		o = append(o, field{"default", v.Int()})
	} else if v.Kind() == adapter.Text {
		o = append(o, field{"default", v.Text()})
	}
	return append(ordered{{"type", f.types}}, o...)
}

// credentialsSchema returns the schema of the credentials.
func credentialsSchema() ordered {
	id := ordered{{"type", "integer"}}
	secret := func(doc string) ordered { return ordered{{"description", doc}, {"type", "string"}, {"minLength", 1}} }
	consumer := objectSchema(ordered{{"key", secret("key of the client program")}, {"secret", secret("its secret")}}, []string{"key", "secret"})
	token := objectSchema(ordered{
		{"token", secret("the access token")}, {"secret", secret("its secret")}, {"admin_id", id}, {"customer_id", id},
	}, []string{"token", "secret"})
	token = append(token, field{"oneOf", []any{ordered{{"required", []string{"admin_id"}}}, ordered{{"required", []string{"customer_id"}}}}})
	return ordered{
		{"description", "a client program, and under names of any kind the access tokens of administrators and customers"},
		{"type", []string{"object", "null"}}, {"properties", ordered{{comment, true}, {"consumer", consumer}}}, {"additionalProperties", token},
	}
}
