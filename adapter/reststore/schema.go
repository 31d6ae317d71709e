package reststore

import (
	"encoding/json"
	"reflect"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config/strictyaml"
)

// Schema returns the JSON Schema, draft 2020-12, of mapping files for records with these
// schemas. It is for editors: [Check] finds more.
func Schema(schemas *adapter.Schemas) ([]byte, error) {
	root := strictyaml.Schema(reflect.TypeFor[mapping]())
	properties, _ := root["properties"].(map[string]any)
	all, _ := properties["resources"].(map[string]any)
	resources := map[string]any{}
	for _, r := range adapter.Resources() {
		schema := schemas.Of(r)
		var names []string
		for _, a := range schema.Attributes {
			if a.Name != schema.Key && a.Name != schema.RootAttribute {
				names = append(names, a.Name)
			}
		}
		resources[string(r)] = map[string]any{
			"$ref": "#/$defs/resource", "description": schema.Doc,
			"properties": map[string]any{"attributes": map[string]any{"items": map[string]any{"enum": names}}},
		}
	}
	root["$defs"] = map[string]any{"resource": all["additionalProperties"]}
	properties["resources"] = map[string]any{"type": "object", "properties": resources, "additionalProperties": false, "minProperties": 1}
	root["$schema"], root["title"] = "https://json-schema.org/draft/2020-12/schema", "Mapping file of Portico"
	text, err := json.MarshalIndent(root, "", " ")
	return append(text, '\n'), err
}
