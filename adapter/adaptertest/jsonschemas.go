package adaptertest

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// CompileSchema compiles a JSON Schema, and validates it by its own schema.
func CompileSchema(tb testing.TB, text string) *jsonschema.Schema {
	tb.Helper()
	const name = "schema.json"
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	compiler := jsonschema.NewCompiler()
	if err == nil {
		err = compiler.AddResource(name, document)
	}
	if err != nil {
		tb.Fatal(err)
	}
	schema, err := compiler.Compile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return schema
}
