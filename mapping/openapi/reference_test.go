package openapi_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/openapi"
)

func render(t *testing.T, d *contract.Dialect) (*openapi.Document, *openapi.ReferenceParts) {
	t.Helper()
	doc := openapi.Build(openapi.Options{
		Dialect: d, Fields: contract.StandardFields(), Schemas: adapter.NewSchemas(), Version: "test",
		Examples: []openapi.Example{{Method: "GET", Path: "/customers/1", Status: 200, MediaType: "application/json", Body: `{"email":"<script>&"}`}},
	})
	parts, err := openapi.RenderReference(doc, []openapi.Difference{{7, "a <b>", "customers 3.1", "one", "two", ""}})
	if err != nil {
		t.Fatal(err)
	}
	return doc, parts
}

// TestComplete checks that all calls, paths and fields are on the page, and every link has its
// target.
func TestComplete(t *testing.T) {
	for _, d := range contract.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			doc, parts := render(t, d)
			page := string(parts.Calls)
			for path, item := range doc.Paths.All() {
				for method, op := range item.Operations() {
					if !strings.Contains(page, "<code>"+method+" "+path+"</code>") || !strings.Contains(page, `id="`+op.Call+`"`) {
						t.Errorf("the page has no %s %s", method, path)
					}
				}
			}
			for name, s := range doc.Components.Schemas.All() {
				for field := range s.Properties.All() {
					if !strings.Contains(page, "<code>"+field+"</code>") {
						t.Errorf("the page has no field %s of %s", field, name)
					}
				}
			}
			for _, link := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
				if strings.Count(page, ` id="`+link[1]+`"`) != 1 {
					t.Errorf("the link to %s has not one target", link[1])
				}
			}
		})
	}
}

// TestEscaped checks that texts from elsewhere are no markup.
func TestEscaped(t *testing.T) {
	_, parts := render(t, contract.Magento())
	if page := string(parts.Calls); strings.Contains(page, "<script") || !strings.Contains(page, "&lt;script&gt;") {
		t.Error("the example is not escaped")
	}
	if page := string(parts.Differences); !strings.Contains(page, "7. a &lt;b&gt;") || !strings.Contains(page, "<td class=\"wide\">two</td>") {
		t.Errorf("the difference is not there:\n%s", page)
	}
}
