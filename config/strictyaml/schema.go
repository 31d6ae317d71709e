package strictyaml

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Schema returns the JSON Schema, draft 2020-12, of files that a [Decoder] decodes to a struct
// of this type, for editors. It follows from the types and tags of the fields. A decoder
// refuses more: the values that types with their own decoder refuse, and the faults that Check
// reports.
func Schema(t reflect.Type) map[string]any {
	return schemaOf(Place{}, t)
}

// scalar is the schema of texts, which need no quotes where they look like numbers or flags.
func scalar() map[string]any { return map[string]any{"type": []string{"string", "number", "boolean"}} }

// schemaOf returns the schema of the values at p, which have this type.
func schemaOf(p Place, t reflect.Type) (schema map[string]any) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Duration](), t == reflect.TypeFor[Size]():
		schema = scalar()
		schema["description"] = form(p, t)
	case decodesItself(reflect.New(t).Elem()):
		schema = scalar()
	case t.Kind() == reflect.Slice:
		schema = map[string]any{"type": "array", "items": schemaOf(Place{Path: p.Path}, t.Elem())}
	case t.Kind() == reflect.Map:
		schema = map[string]any{"type": "object", "additionalProperties": schemaOf(Place{Path: p.Path}, t.Elem())}
	case t.Kind() == reflect.Struct:
		members := map[string]any{}
		required := addMembers(p, t, members)
		schema = map[string]any{"type": "object", "properties": members, "additionalProperties": false}
		if required != nil {
			schema["required"] = required
		}
	case t.Kind() == reflect.Bool:
		schema = map[string]any{"type": "boolean"}
	case t.Kind() == reflect.Int, t.Kind() == reflect.Float64:
		kind := map[reflect.Kind]string{reflect.Int: "integer", reflect.Float64: "number"}[t.Kind()]
		schema = map[string]any{"type": kind, "description": form(p, t)}
	default:
		schema = scalar()
	}
	if value := p.Tag("default"); value != "" {
		var v any
		_ = yaml.Unmarshal([]byte(value), &v)
		schema["default"] = v
	}
	return schema
}

// addMembers adds the members of a struct, and returns the required ones.
func addMembers(p Place, t reflect.Type, members map[string]any) (required []string) {
	for f := range t.Fields() {
		name := cmp.Or(f.Tag.Get("yaml"), strings.ToLower(f.Name))
		only := f.Tag.Get("only")
		switch {
		case f.Anonymous:
			required = append(required, addMembers(p, f.Type, members)...)
		case !f.IsExported(), name == "-", only != "" && !slices.Contains(strings.Fields(only), p.Name()):
		default:
			members[name] = schemaOf(Place{Path: p.join(name), tag: f.Tag}, f.Type)
			if f.Tag.Get("need") != "" {
				required = append(required, name)
			}
		}
	}
	return required
}
