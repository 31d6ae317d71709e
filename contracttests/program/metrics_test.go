package program

import (
	"fmt"
	"io"
	"net"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/mapping/contract"
)

// TestBuildInfo checks the metric portico_build_info.
func TestBuildInfo(t *testing.T) {
	version := strings.Fields(apptest.MustRun(t, "version"))[1]
	for _, dialect := range []string{"documented", "magento"} {
		l := apptest.Start(t, []string{"PORTICO_DIALECT=" + dialect}, "--demo")
		want := fmt.Sprintf(`portico_build_info{adapter="sql",dialect=%q,go=%q,version=%q} 1`, dialect, runtime.Version(), version)
		if metrics := apptest.Send(t, "GET", l.Ops+"/metrics", "").Body; !slices.Contains(strings.Split(metrics, "\n"), want) {
			t.Errorf("no line %s", want)
		}
	}
}

// TestOpenMetrics checks that exemplars are sent to clients that ask for OpenMetrics, and only
// to them: the older format has no place for them.
func TestOpenMetrics(t *testing.T) {
	l := apptest.Start(t, nil, "--demo")
	if got := apptest.Send(t, "GET", l.Contract+"/api/rest/products/1", "", "Accept", "application/json", "traceparent", sampledTrace); got.Status != 200 {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	const exemplar = `# {trace_id="` + sampledTraceID + `"}`
	for accept, want := range map[string]struct {
		contentType string
		exemplars   bool
	}{
		"application/openmetrics-text;version=1.0.0": {"application/openmetrics-text; version=1.0.0", true},
		"text/plain": {"text/plain; version=0.0.4", false},
	} {
		got := apptest.Send(t, "GET", l.Ops+"/metrics", "", "Accept", accept)
		if contentType := got.Header.Get("Content-Type"); !strings.HasPrefix(contentType, want.contentType) || strings.Contains(got.Body, exemplar) != want.exemplars {
			t.Errorf("%s: %s, with the exemplar %t", accept, contentType, strings.Contains(got.Body, exemplar))
		}
	}
}

// labelValues returns all values that each label of Portico's metrics may have, whatever
// clients send. nil stands for values from the configuration or the build. Add new labels
// here.
func labelValues() map[string][]string {
	calls := []string{"other", "none", "media", "landing", "oauthInitiate", "oauthToken"}
	for _, page := range []string{"authorize", "adminAuthorize"} {
		calls = append(calls, page, page+"Login", page+"Confirm", page+"Reject", page+"Logout", page+"Script")
	}
	for _, route := range contract.Routes(contract.StandardFields()) {
		for _, call := range route.Calls {
			calls = append(calls, call)
		}
	}
	var roles, formats, resources, parts []string
	for _, part := range magento1.Parts() {
		parts = append(parts, string(part))
	}
	for _, resource := range []adapter.Resource{
		adapter.Websites, adapter.Stores, adapter.CustomerGroups, adapter.Categories, adapter.TaxRates, adapter.Countries, adapter.Regions,
		adapter.Customers, adapter.CustomerAddresses, adapter.Products, adapter.ProductImages, adapter.ProductWebsites, adapter.ProductCategories,
		adapter.StockItems, adapter.Orders, adapter.OrderItems, adapter.OrderAddresses, adapter.OrderComments, adapter.Admins, adapter.AttributeOptions,
	} {
		resources = append(resources, string(resource))
	}
	for _, role := range contract.Roles() {
		roles = append(roles, role.String())
	}
	for _, format := range []contract.Format{contract.JSON, contract.XML, contract.Text} {
		formats = append(formats, format.String())
	}
	return map[string][]string{
		"call":   calls,
		"role":   append(roles, ""),
		"format": append(formats, ""),
		"status": {"200", "206", "207", "302", "304", "400", "401", "403", "404", "405", "406", "416", "429", "500", "503"},
		"cause":  {"", "client", "server"},
		"problem": {
			"version_rejected", "parameter_absent", "parameter_rejected", "timestamp_refused", "nonce_used", "signature_method_rejected",
			"signature_invalid", "consumer_key_rejected", "token_rejected", "token_revoked", "token_used", "verifier_invalid", "internal_error",
		},
		"resource": append(resources, "upstream", "media", "consumers", "tokens", "nonces", "grants", "keys", "roles"),
		"operation": {"list", "count", "get", "create", "update", "update_batch", "delete", "ping", "open", "use", "used", "begin", "authorise", "reject", "exchange",
			"lookup", "prepare", "store", "change", "done", "mend", "purge", "subscribe", "probe", "nonce", "limit", "await", "release"},
		"kind":     {"ok", "not_found", "conflict", "invalid", "unsupported", "unavailable", "internal", "canceled", "refused_open", "refused_full"},
		"upstream": {"sql"},
		"breaker":  {"sql", "sql_writes", "redis"},
		"to":       {"closed", "half_open", "open"},
		"tier":     {"memory", "redis"},
		"outcome": {"hit", "miss", "stale", "coalesced", "bypass", "error",
			"created", "changed", "equal", "kept", "removed", "applied", "late", "failed", "unnamed", "refused",
			"ok", "client_error", "server_error"},
		"consumer": {"guest", "api_key", "other", "aaaaaaaa"}, // the last is the demo store's
		"part":     parts,
		"mode":     {"log", "polling"},
		"budget":   {"requests", "requests_of_guests", "forms", "lists", "lists_of_guests", "filters", "filters_of_guests", "replies", "spool", "headers", "unread"},
		"le":       nil,
		"version":  nil, "go": nil, "dialect": nil, "adapter": nil,
	}
}

// TestLabelsHoldNoClientInput sends requests with a chosen word in every possible place,
// and checks that no label contains it.
func TestLabelsHoldNoClientInput(t *testing.T) {
	const word = "chosenword"
	for _, dialect := range []string{"documented", "magento"} {
		t.Run(dialect, func(t *testing.T) {
			l := apptest.Start(t, []string{"PORTICO_DIALECT=" + dialect}, "--demo")
			const authorized, json = "Authorization: @admin", "Accept: application/json"
			oauth := func(parameters string) string {
				return "Authorization: OAuth " + strings.ReplaceAll(parameters, "@", strings.Repeat("a", 32))
			}
			requests := [][]string{
				{"GET /" + word},
				{"GET /media/" + word + ".jpg"},
				{"GET /media/catalog/product/" + word + ".jpg"},
				{"GET /media/catalog/product/cache/" + word + "/" + word + ".jpg"},
				{"GET /api/" + word},
				{"GET /api/rest" + word + "/products", json},
				{"GET /api/rest/" + word, json, authorized},
				{"GET /api/rest/products/" + word, json, authorized},
				{"GET /api/rest/products/1/" + word, json, authorized},
				{"GET /api/rest/products/1/images/store/" + word, json, authorized},
				{"GET /api/rest/products?" + word + "=" + word + "&order=" + word + "&filter[1][attribute]=" + word, json, authorized},
				{"GET /api/rest/products?store=" + word, json, authorized},
				{word + " /api/rest/products", json, authorized},
				{strings.ToUpper(word) + " /api/rest/products", json, authorized},
				{"GET /api/rest/products", "Accept: " + word, authorized},
				{"GET /api/rest/products", "Accept: " + word + "/" + word, authorized},
				{"GET /api/rest/products", json, authorized, "Version: " + word},
				{"GET /api/rest/products", json, "User-Agent: " + word, "X-Request-Id: " + word, "X-Forwarded-For: " + word, "X-Forwarded-Proto: " + word, "Referer: " + word, "Cookie: " + word, "Traceparent: " + word},
				{"GET http://" + word + "/api/rest/products", json},
				{"PUT /api/rest/stockitems/1", json, authorized, "Content-Type: " + word, "Content-Length: 2"},
				{"PUT /api/rest/stockitems/1", json, authorized, "Content-Type: application/json; charset=" + word, "Content-Length: 2"},
				{"GET /api/rest/stockitems", json, "Authorization: " + word},
				{"GET /api/rest/stockitems", json, "Authorization: OAuth " + word},
				{"GET /api/rest/stockitems", json, oauth(`oauth_consumer_key="` + word + `", oauth_signature_method="` + word + `", oauth_signature="` + word + `"`)},
				{"GET /api/rest/stockitems", json, oauth(`oauth_consumer_key="@", oauth_signature_method="` + word + `", oauth_signature="x"`)},
				{"GET /api/rest/stockitems", json, oauth(`oauth_version="` + word + `"`)},
				{"GET /api/rest/stockitems", json, oauth(`oauth_consumer_key="@", oauth_signature_method="PLAINTEXT", oauth_signature="` + word + `", oauth_token="` + word + `"`)},
				{"GET /api/rest/stockitems", json, oauth(`oauth_consumer_key="@", oauth_signature_method="PLAINTEXT", oauth_signature="` + word + `", oauth_token="` + strings.Repeat("c", 32) + `"`)},
				{"GET /api/rest/stockitems", json, oauth(`oauth_consumer_key="@", oauth_signature_method="HMAC-SHA1", oauth_signature="x", oauth_nonce="` + word + `", oauth_timestamp="` + word + `"`)},
				{"GET /api/rest/stockitems?oauth_consumer_key=x&oauth_signature_method=x&oauth_signature=x&oauth_" + word + "[]=1", json, "Authorization: OAuth"},
				{"GET /api/rest/stockitems?oauth_consumer_key=x&oauth_signature_method=x&oauth_signature=x&oauth_%26" + word + "[]=1", json, "Authorization: OAuth"},
				{"GET /api/rest/stockitems?" + word + "=%zz", json, "Authorization: OAuth"},
				{"GET /oauth/" + word},
				{"GET /oauth/initiate?oauth_callback=" + word},
				{"GET /oauth/token?oauth_verifier=" + word, oauth(`oauth_consumer_key="@", oauth_token="` + word + `"`)},
				{"GET /oauth/authorize?oauth_token=" + word, "Cookie: portico_customer=" + word},
				{"GET /oauth/authorize/" + word + "?oauth_token=" + word},
				{"GET /admin/oauth_authorize/confirm/?oauth_token=" + word},
				{"GET /admin/oauth_authorize/reject?oauth_token=" + word},
			}
			for _, lines := range requests {
				sendLines(t, l.Contract, lines)
			}
			metrics := apptest.Send(t, "GET", l.Ops+"/metrics", "").Body
			if strings.Contains(strings.ToLower(metrics), word) {
				t.Error("a word that a client chose is in the metrics")
			}
			allowed := labelValues()
			label := regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)
			seen := 0
			for line := range strings.Lines(metrics) {
				if !strings.HasPrefix(line, "portico_") {
					continue
				}
				for _, found := range label.FindAllStringSubmatch(line, -1) {
					seen++
					if values, known := allowed[found[1]]; !known || values != nil && !slices.Contains(values, found[2]) {
						t.Errorf("label %s is %q in %s", found[1], found[2], line)
					}
				}
			}
			if seen < len(requests) {
				t.Errorf("only %d labels", seen)
			}
			for _, problem := range []string{"parameter_rejected", "signature_method_rejected", "internal_error", "version_rejected", "timestamp_refused", "token_rejected", "signature_invalid"} {
				if !strings.Contains(metrics, `{problem="`+problem+`"}`) {
					t.Errorf("no request was refused for %s, so nothing is known of its label", problem)
				}
			}
		})
	}
}

// sendLines sends a request with the given lines, the first without its protocol, over its
// own connection, and reads any reply.
func sendLines(t *testing.T, base string, lines []string) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(base, "http://"), apptest.WaitTimeout)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(apptest.WaitTimeout)); err != nil {
		t.Fatal(err)
	}
	request := lines[0] + " HTTP/1.1\r\nHost: chosenword\r\nConnection: close\r\n" + strings.Join(append(slices.Clone(lines[1:]), "\r\n{}"), "\r\n")
	request = strings.ReplaceAll(request, "@admin", apptest.DemoAdmin())
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 ") || strings.HasPrefix(string(answer), "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400") {
		t.Errorf("%s: %.200q (%v)", lines[0], answer, err)
	}
}

// A trace as a client names it.
const (
	sampledTraceID = "0af7651916cd43dd8448eb211c80319c"
	sampledTrace   = "00-" + sampledTraceID + "-b7ad6b7169203331-01"
)
