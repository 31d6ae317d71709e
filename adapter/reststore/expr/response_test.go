package expr

import (
	"encoding/json"
	"testing"
)

func TestHasErrors(t *testing.T) {
	for _, c := range []struct {
		name, body string
		has, fails bool
	}{
		{"data", `{"data": {"a": null}}`, false, false},
		{"null errors", `{"errors": null, "data": {}, "extensions": [{"x": 1}]}`, false, false},
		{"empty errors", `{"errors": [ ], "data": {}}`, false, false},
		{"errors and data", `{"data": {"a": 1}, "errors": [{"message": "m"}]}`, true, false},
		{"errors and null", `{"errors": [{"message": "m"}], "data": null}`, true, true},
		{"errors of another type", `{"data": {}, "errors": "m"}`, true, false},
		{"errors that are cut", `{"data": {}, "errors": [{"mess`, true, true},
		{"null data", `{"data": null}`, false, true},
		{"no data", `{"message": "m"}`, false, true},
		{"data of another type", `{"data": []}`, false, true},
		{"a list", `[{"data": {}}]`, false, true},
		{"a string", `"data"`, false, true},
		{"nothing", ``, false, true},
		{"cut", `{"data": {}`, false, true},
		{"HTML", `<html>`, false, true},
		{"errors twice", `{"errors": [1], "errors": null, "data": {}}`, true, false},
		{"data twice", `{"data": null, "data": {"a": 1}}`, false, true},
		{"data behind the body", `{"data": {}} {"errors": [1]}`, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if has, err := HasErrors([]byte(c.body)); has != c.has || (err != nil) != c.fails {
				t.Errorf("%t, %v", has, err)
			}
		})
	}
}

func FuzzHasErrors(f *testing.F) {
	for _, seed := range []string{`{"data": {}}`, `{"errors": [1], "data": {}}`, `{"errors": [], "data": null}`, `{"data"`, ` { "data" : { } , "errors" : { } } `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		has, err := HasErrors(body)
		if err != nil || has {
			return
		}
		var members map[string]json.RawMessage // with the last of repeated names
		if err := json.Unmarshal(body, &members); err != nil {
			t.Fatalf("accepted %q: %v", body, err)
		}
		var data map[string]json.RawMessage
		var errors []json.RawMessage
		if json.Unmarshal(members["data"], &data) != nil || data == nil {
			t.Errorf("accepted %q without data", body)
		}
		if raw := members["errors"]; raw != nil && (json.Unmarshal(raw, &errors) != nil || len(errors) > 0) {
			t.Errorf("accepted %q with errors", body)
		}
	})
}
