//go:build linux

package reststore_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// magento2Traffic has the traffic of TestMagento2 with a live shop.
const magento2Traffic = "testdata/magento2-traffic.json"

// magento2Ignored are the parts of requests that differ from run to run.
func magento2Ignored() []ignoredPart {
	return []ignoredPart{
		{regexp.MustCompile(`(/integration/\w+/token).*`), "names and passwords of logins are not recorded"},
		{regexp.MustCompile(`("passwordHash":)"[^"]*"`), "the salt of a new password is the time"},
		{regexp.MustCompile(`("created_at":)"20(2[6-9]|3[0-7])-[^"]*"`), "new records are of the time of the run"},
		{regexp.MustCompile(`(\[field\]=updated_at .*\[value\]=)[0-9TZ:-]+`), "a scan asks for changes since the scan before"},
	}
}

// unreadable matches the faults of recorded documents that no mapping could read: prices over the
// contract's limit; and addresses without ids in four responses, from which the recorder had taken them.
var unreadable = regexp.MustCompile(`price of products is a number that is too great|customer_addresses: .* a part has no id`)

// TestMagento2Documents reads every document of the recorded cases, which hold all kinds of values that
// Magento 2 accepts.
func TestMagento2Documents(t *testing.T) {
	roots := map[string]adapter.Resource{
		"/products": adapter.Products, "/customers": adapter.Customers, "/customers/search": adapter.Customers, "/orders": adapter.Orders,
		"/categories/list": adapter.Categories, "/customerGroups/search": adapter.CustomerGroups,
	}
	var current json.RawMessage // the document that the shop has
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serveDocument(w, r, current) }))
	defer server.Close()
	content, _ := reststore.Mapping("magento2")
	local := demotest.Open(t, sqlstore.Options{DSN: demotest.SQLite(t)}).Replica()
	b, err := reststore.Open(reststore.Options{Mapping: content, URL: server.URL, User: "u", Secret: "s", IDs: idmap.NewCache(local)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	read := map[adapter.Resource]int{}
	for _, cases := range loadRecorded(t, "testdata/magento2/*.json") {
		for _, c := range cases {
			for i, step := range c.Steps {
				root, documents := recordedDocuments(roots, &step)
				for id, document := range documents {
					read[root]++
					current = document
					found, err := b.Fetch(t.Context(), root, []string{id})
					if err != nil || len(found) != 1 {
						t.Fatalf("%s, step %d: %d %s: %v", c.Name, i+1, len(found), root, err)
					}
					item, _, err := found[0].Read(t.Context())
					if problem := fmt.Sprint(err, item.LeftOut); problem != "<nil> []" && !unreadable.MatchString(problem) {
						t.Errorf("%s, step %d: %s %s: %s", c.Name, i+1, root, id, problem)
					}
				}
			}
		}
	}
	t.Logf("documents: %v", read)
	for _, root := range roots {
		if read[root] < 3 {
			t.Errorf("%d documents of %s are recorded", read[root], root)
		}
	}
}

// recordedDocuments returns the whole documents in the response of a step, by their ids.
func recordedDocuments(roots map[string]adapter.Resource, step *recordedStep) (adapter.Resource, map[string]json.RawMessage) {
	path, query, _ := strings.Cut(step.Path, "?")
	_, path, _ = strings.Cut(path, "/V1")
	root, isList := roots[path]
	if !isList {
		parent := path[:strings.LastIndex(path, "/")+1]
		root = roots[strings.TrimSuffix(parent, "/")]
	}
	if step.Method != http.MethodGet || step.Response.Status != http.StatusOK || root == "" || strings.Contains(query, "fields") {
		return root, nil
	}
	list := struct{ Items []json.RawMessage }{[]json.RawMessage{step.Response.Body}}
	if isList && json.Unmarshal(step.Response.Body, &list) != nil {
		return root, nil
	}
	documents := map[string]json.RawMessage{}
	for _, document := range list.Items {
		var of struct {
			ID       int
			EntityID int `json:"entity_id"`
		}
		if json.Unmarshal(document, &of) == nil && of.ID+of.EntityID != 0 {
			documents[fmt.Sprint(of.ID+of.EntityID)] = document
		}
	}
	return root, documents
}

// serveDocument answers as a shop that has one document and no store views.
func serveDocument(w http.ResponseWriter, r *http.Request, document json.RawMessage) {
	w.Header().Set("Content-Type", typeOfJSON)
	switch {
	case strings.HasSuffix(r.URL.Path, "/token"):
		_, _ = w.Write([]byte(`"token"`))
	case strings.Contains(r.URL.Path, "/store/"):
		_, _ = w.Write([]byte(`[]`))
	case strings.Contains(r.URL.Path, "/inventory/"):
		_, _ = w.Write([]byte(`{"items": []}`))
	default:
		_, _ = fmt.Fprintf(w, `{"items": [%s], "total_count": 1}`, document)
	}
}

// TestMagento2Requests checks that each request of the mapping was answered by a live shop.
func TestMagento2Requests(t *testing.T) {
	var steps []recordedStep
	for _, pattern := range []string{"testdata/magento2/*.json", magento2Traffic} {
		for _, cases := range loadRecorded(t, pattern) {
			for _, c := range cases {
				steps = append(steps, c.Steps...)
			}
		}
	}
	content, _ := reststore.Mapping("magento2")
	var file any
	if err := yaml.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	requests := mappingRequests(file)
	for _, request := range slices.Sorted(maps.Keys(requests)) {
		answered := slices.ContainsFunc(steps, func(step recordedStep) bool {
			path, _, _ := strings.Cut(step.Path, "?")
			return step.Response.Status < 300 && requests[request].MatchString(step.Method+" "+path)
		})
		if !answered {
			t.Errorf("%s: no recording has it with a success", request)
		}
	}
	if len(requests) < 30 {
		t.Errorf("the mapping has %d requests", len(requests))
	}
}

// mappingRequests returns the requests in a part of a mapping file, each with a pattern of the methods and paths
// that it may have in a recording, which may have another scope.
func mappingRequests(part any) map[string]*regexp.Regexp {
	all := map[string]*regexp.Regexp{}
	switch part := part.(type) {
	case map[string]any:
		if path, ok := part["path"].(string); ok {
			method, _ := part["method"].(string)
			if method == "" && strings.HasSuffix(path, "/token") {
				method = http.MethodPost
			}
			request := cmp.Or(method, http.MethodGet) + " " + path
			pattern := regexp.MustCompile(`\\\{[^}]*\\\}`).ReplaceAllString(regexp.QuoteMeta(request), "[^/]+")
			pattern = strings.Replace(pattern, "/rest/all/", "/rest/([a-z_]+/)?", 1)
			all[request] = regexp.MustCompile("^" + pattern + "/?$")
		}
		for _, member := range part {
			maps.Copy(all, mappingRequests(member))
		}
	case []any:
		for _, element := range part {
			maps.Copy(all, mappingRequests(element))
		}
	}
	return all
}
