package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/mapping/openapi"
)

// TestOpenAPI: another library finds no fault in the output of the command, including the examples.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	for dialect, format := range map[string]string{"documented": "yaml", "magento": "json"} {
		t.Run(dialect+" "+format, func(t *testing.T) {
			t.Parallel()
			doc, err := openapi3.NewLoader().LoadFromData([]byte(apptest.MustRun(t, "openapi", "--dialect", dialect, "--format", format)))
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
	if _, _, err := apptest.Run(t, "openapi", "--format", "xml"); err == nil || !strings.Contains(err.Error(), "--format: must be yaml or json") {
		t.Errorf("another format: %v", err)
	}
}

// TestOpenAPIOfStore: the operators' port serves the document that the command prints. It has the
// fields that the store adds, lacks the fields that it withholds, and has no secret of the
// configuration.
func TestOpenAPIOfStore(t *testing.T) {
	t.Parallel()
	const secret = "s3cret-key-of-the-store"
	file := apptest.NewFile(t, "portico.yaml", storeFieldsFile)
	shop := serveLocal(t, true, "PORTICO_CONFIG="+file, "PORTICO_AUTH_BEARER=true", "PORTICO_LEGACY_CONSUMER_SECRET="+secret)
	served := apptest.Send(t, http.MethodGet, shop.ops+"/openapi.json", "")
	printed := apptest.Environment{"PORTICO_AUTH_BEARER=true"}.MustRun(t, "openapi", "--config", file, "--format", "json")
	if served.Status != http.StatusOK || served.Body != printed {
		t.Fatalf("%d: %d bytes are served, and %d are printed", served.Status, len(served.Body), len(printed))
	}
	if strings.Contains(served.Body, secret) {
		t.Error("the document has a secret")
	}
	doc, err := openapi3.NewLoader().LoadFromData([]byte(served.Body))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{"Customer": {"loyalty_number"}, "CustomerAddressUpdate": {"floor"}, "Order": {"increment_id"}} {
		for _, field := range want {
			if doc.Components.Schemas[name].Value.Properties[field] == nil {
				t.Errorf("%s has no %s", name, field)
			}
		}
	}
	if doc.Components.Schemas["Order"].Value.Properties["remote_ip"] != nil {
		t.Error("an order has a field that the store hides from its only reader")
	}
	if doc.Components.SecuritySchemes["apiKey"] == nil {
		t.Error("API keys are missing")
	}
}

// TestOpenAPIOptions: the document has the options of an attribute, from the operators' port and from the
// command.
func TestOpenAPIOptions(t *testing.T) {
	t.Parallel()
	file := apptest.NewFile(t, "portico.yaml", "attributes: [{resource: products, name: finish, kind: select, roles: [admin], writers: [admin], views: [single]}]")
	shop := serveLocal(t, true, "PORTICO_CONFIG="+file)
	served := apptest.Send(t, http.MethodGet, shop.ops+"/openapi.json", "")
	store := apptest.Environment{"PORTICO_SQL_DSN=" + demotest.SQLite(t)}
	if printed := store.MustRun(t, "openapi", "--config", file, "--format", "json", "--options"); printed != served.Body {
		t.Errorf("%d: %d bytes are served, and %d are printed", served.Status, len(served.Body), len(printed))
	}
	doc, err := openapi3.NewLoader().LoadFromData([]byte(served.Body))
	if err != nil {
		t.Fatal(err)
	}
	var values []any
	for _, one := range doc.Components.Schemas["ProductFinishOption"].Value.OneOf {
		values = append(values, one.Value.Enum...)
	}
	if got := fmt.Sprint(values); got != "[2 1  2 1]" {
		t.Errorf("the values are %s", got)
	}
	if printed := store.MustRun(t, "openapi", "--config", file); strings.Contains(printed, "ProductFinishOption") {
		t.Error("without --options the command has read the store")
	}
}

// TestReferencePages: a demo serves the pages for browsers on the public port; other stores do not.
func TestReferencePages(t *testing.T) {
	t.Parallel()
	demo, store := serveLocal(t, true), serveLocal(t, false)
	demo.app.landing.SetDemo(func(string) openapi.LandingDemo { return openapi.LandingDemo{} }, demo.app.ops.topics()...)
	for path, part := range map[string]string{"/reference": `id="listProducts"`, "/differences": `id="difference-1"`} {
		if got := apptest.Send(t, http.MethodGet, demo.contract+path, "", "Accept", acceptOfBrowser); got.Status != http.StatusOK || !strings.Contains(got.Body, part) {
			t.Errorf("%s: %d\n%.500s", path, got.Status, got.Body)
		}
		if got := apptest.Send(t, http.MethodGet, store.contract+path, "", "Accept", acceptOfBrowser); got.Status != http.StatusNotFound {
			t.Errorf("%s of a store that is no demo: %d", path, got.Status)
		}
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
