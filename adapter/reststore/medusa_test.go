package reststore

import "testing"

// TestMedusaMapping: the mapping that is built in is right.
func TestMedusaMapping(t *testing.T) {
	content, ok := Mapping("medusa")
	if !ok {
		t.Fatal("no built-in mapping medusa")
	}
	if _, err := Open(Options{Mapping: content, File: "medusa.yaml", URL: "http://127.0.0.1:1", User: "a@example.com", Secret: "s"}); err != nil {
		t.Error(err)
	}
}
