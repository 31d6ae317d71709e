package app

import (
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestOpenAPI: another library finds no fault in what the command prints, examples included.
func TestOpenAPI(t *testing.T) {
	for dialect, format := range map[string]string{"documented": "yaml", "magento": "json"} {
		t.Run(dialect+" "+format, func(t *testing.T) {
			t.Parallel()
			doc, err := openapi3.NewLoader().LoadFromData([]byte(mustRun(t, "openapi", "--dialect", dialect, "--format", format)))
			if err != nil {
				t.Fatal(err)
			}
			if err := doc.Validate(t.Context()); err != nil {
				t.Error(err)
			}
			if got := doc.Info.Extensions["x-dialect"].(map[string]any)["name"]; got != dialect {
				t.Errorf("it is the document of the dialect %v", got)
			}
			requests, answers := exampleCount(doc)
			if requests < 10 || answers < 25 {
				t.Errorf("it has only %d examples of requests and %d of answers", requests, answers)
			}
		})
	}
	if _, _, err := run(t, "openapi", "--format", "xml"); err == nil || !strings.Contains(err.Error(), "--format: must be yaml or json") {
		t.Errorf("another format: %v", err)
	}
}

// exampleCount returns the number of requests and of answers with an example.
func exampleCount(doc *openapi3.T) (requests, answers int) {
	for _, item := range doc.Paths.Map() {
		for _, operation := range item.Operations() {
			if body := operation.RequestBody; body != nil && body.Value.Content.Get("application/json").Example != nil {
				requests++
			}
			for _, response := range operation.Responses.Map() {
				if m := response.Value.Content.Get("application/json"); m != nil && m.Example != nil {
					answers++
				}
			}
		}
	}
	return requests, answers
}
