package reststore

import "testing"

// TestBuiltInMappings checks that the mappings of real backends that are built in are valid.
func TestBuiltInMappings(t *testing.T) {
	for _, name := range []string{"magento2", "medusa", "vendure"} {
		t.Run(name, func(t *testing.T) {
			content, ok := Mapping(name)
			if !ok {
				t.Fatal("it is not built in")
			}
			if _, err := Open(Options{Mapping: content, File: name + ".yaml", URL: "http://127.0.0.1:1", User: "a@example.com", Secret: "s"}); err != nil {
				t.Error(err)
			}
		})
	}
}
