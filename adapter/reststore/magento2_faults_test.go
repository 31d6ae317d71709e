//go:build linux

package reststore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// A faultyMagento2 is a server that answers requests to one path with given responses in turn, the last of
// them again and again, and everything else with an empty list. It is safe for concurrent use.
type faultyMagento2 struct {
	path      string
	responses []faultyResponse

	mu     sync.Mutex
	logins int
	writes []string // methods and paths
}

type faultyResponse struct {
	status            int
	contentType, body string
}

func (f *faultyMagento2) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	answer := faultyResponse{200, typeOfJSON, `{"items": [], "total_count": 0}`}
	switch path := strings.TrimPrefix(r.URL.Path, "/rest/all/V1"); {
	case path == "/integration/admin/token":
		f.logins++
		answer.body = fmt.Sprintf(`"token-%d"`, f.logins)
	case strings.HasPrefix(path, "/store/"):
		answer.body = `[]`
	case path == f.path:
		answer = f.responses[0]
		if len(f.responses) > 1 {
			f.responses = f.responses[1:]
		}
	}
	if r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/token") {
		f.writes = append(f.writes, r.Method+" "+r.URL.EscapedPath())
	}
	w.Header().Set("Content-Type", answer.contentType)
	w.WriteHeader(answer.status)
	_, _ = io.WriteString(w, answer.body)
}

const typeOfJSON = "application/json; charset=utf-8"

// Responses of Magento 2 as they are recorded, with bodies that are cut.
var (
	notAuthorized = faultyResponse{401, typeOfJSON, `{"message": "The consumer isn't authorized to access %resources.", "parameters": {"resources": "Magento_Catalog::products"}}`}
	internalError = faultyResponse{500, typeOfJSON, `{"message": "Internal Error. Details are available in Magento log file. Report ID: webapi-63"}`}
	plainText     = faultyResponse{500, "text/plain", "Fatal error"}
	page          = faultyResponse{200, "text/html; charset=UTF-8", "<!doctype html><html></html>"}
	nothing       = faultyResponse{200, typeOfJSON, `{"items": null, "total_count": 0}`}
	placeholders  = faultyResponse{400, typeOfJSON, `{"message": "Error occurred during \"%fieldName\" processing. %details", "parameters": {"fieldName": "price", "details": "no"}}`}
)

// products returns a page of a list of three products.
func products(total int, ids ...int) faultyResponse {
	var documents []string
	for _, id := range ids {
		documents = append(documents, fmt.Sprintf(`{"id": %d, "sku": "s%[1]d", "name": "n", "price": 1, "status": 1, "visibility": 4, "type_id": "simple", "attribute_set_id": 4}`, id))
	}
	return faultyResponse{200, typeOfJSON, fmt.Sprintf(`{"items": [%s], "total_count": %d}`, strings.Join(documents, ","), total)}
}

// openFaulty opens the mapping of Magento 2 with a faulty shop.
func openFaulty(t *testing.T, shop *faultyMagento2) *reststore.Backend {
	t.Helper()
	server := httptest.NewServer(shop)
	t.Cleanup(server.Close)
	content, _ := reststore.Mapping("magento2")
	b, err := reststore.Open(reststore.Options{Mapping: content, URL: server.URL, User: "u", Secret: "s", IDs: idmap.NewCache(demotest.Open(t, sqlstore.Options{DSN: demotest.SQLite(t)}).Replica())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	if err := b.Ping(t.Context()); err != nil { // so that the token is not new
		t.Fatal(err)
	}
	return b
}

// kindOf returns the kind of an error as a text, "" for none.
func kindOf(err error) string {
	if err == nil {
		return ""
	}
	return adapter.KindOf(err).String()
}

// TestMagento2ScanFaults ends tokens and answers faults in the middle of a list.
func TestMagento2ScanFaults(t *testing.T) {
	for _, c := range []struct {
		name      string
		responses []faultyResponse
		found     []string
		kind      string // of the error; "" for none
		logins    int
	}{
		{"the token ends", []faultyResponse{products(3, 1, 2), notAuthorized, products(3, 3)}, []string{"1", "2", "3"}, "", 2},
		{"an error that passes", []faultyResponse{products(3, 1, 2), internalError, plainText, products(3, 3)}, []string{"1", "2", "3"}, "", 1},
		{"an error that stays", []faultyResponse{products(3, 1, 2), plainText}, []string{"1", "2"}, "unavailable", 1},
		{"a page of HTML", []faultyResponse{page}, nil, "unavailable", 1},
		{"a list that is null", []faultyResponse{nothing}, nil, "", 1},
		{"a right that is missing", []faultyResponse{notAuthorized}, nil, "internal", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			shop := &faultyMagento2{path: "/products", responses: c.responses}
			// The first pass of a watch reads the same list.
			shop.responses = slices.Insert(slices.Clone(c.responses), 0, nothing)
			var found []string
			err := openFaulty(t, shop).Scan(t.Context(), adapter.Products, time.Time{}, func(documents []replica.Document) error {
				for _, d := range documents {
					found = append(found, d.ID)
				}
				return nil
			})
			if got := kindOf(err); got != c.kind {
				t.Errorf("error %v, want kind %q", err, c.kind)
			}
			if !slices.Equal(found, c.found) || shop.logins != c.logins {
				t.Errorf("found %q with %d logins, want %q with %d", found, shop.logins, c.found, c.logins)
			}
		})
	}
}

// TestMagento2WriteFaults answers a write with faults. No write is sent twice, except with a new token.
func TestMagento2WriteFaults(t *testing.T) {
	schema := adapter.NewSchemas().Of(adapter.Products)
	record := func(sku, price string) adapter.Record {
		return attrs{"sku": sku, "name": "n", "price": price}.Record(schema)
	}
	const sku, path = "a/b +c", "/products/a%2Fb%20%2Bc"
	for _, c := range []struct {
		name      string
		responses []faultyResponse
		kind      string // of the error; "" for none
		field     string
		sent      int
	}{
		{"placeholders", []faultyResponse{placeholders}, "invalid", "price", 1},
		{"the token ends", []faultyResponse{notAuthorized, {200, typeOfJSON, `{"id": 7, "sku": "a/b +c"}`}}, "", "", 2},
		{"plain text", []faultyResponse{plainText}, "unavailable", "", 1},
		{"a page of HTML", []faultyResponse{page}, "unavailable", "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			shop := &faultyMagento2{path: "/products/" + sku, responses: c.responses}
			err := openFaulty(t, shop).Update(t.Context(), &replica.Write{
				Resource: adapter.Products, Key: 7, ID: "7", Old: record(sku, "1.0000"), New: record(sku, "2.0000"), Changed: []string{"price"},
			})
			if got := kindOf(err); got != c.kind || fieldOf(err) != c.field {
				t.Errorf("error %v, want kind %q of %q", err, c.kind, c.field)
			}
			if want := slices.Repeat([]string{"PUT /rest/all/V1" + path}, c.sent); !slices.Equal(shop.writes, want) {
				t.Errorf("sent %q, want %q", shop.writes, want)
			}
		})
	}
}

// TestMagento2Passwords creates customers with password hashes of the legacy store. A hash that Magento 2
// does not know is left out, with a warning that names the customer by the id alone.
func TestMagento2Passwords(t *testing.T) {
	md5, sha256 := strings.Repeat("a1", 16), strings.Repeat("b2", 32)
	for hash, want := range map[string]string{
		md5: md5 + "::0", md5 + ":xy": md5 + ":xy:0", sha256 + ":salt": sha256 + ":salt:1", "$2y$10$" + strings.Repeat("c", 53): "",
	} {
		var sent string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", typeOfJSON)
			answer := `{"id": 31, "website_id": 1}`
			if strings.HasSuffix(r.URL.Path, "/token") {
				answer = `"token"`
			} else if r.Method == http.MethodPut {
				var body struct{ PasswordHash string }
				_ = json.NewDecoder(r.Body).Decode(&body)
				sent = body.PasswordHash
			}
			_, _ = io.WriteString(w, answer)
		}))
		var log bytes.Buffer
		content, _ := reststore.Mapping("magento2")
		local := demotest.Open(t, sqlstore.Options{DSN: demotest.SQLite(t)}).Replica()
		b, err := reststore.Open(reststore.Options{
			Mapping: content, URL: server.URL, User: "u", Secret: "s", IDs: idmap.NewCache(local), Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		customer := attrs{"email": "someone@example.com", "firstname": "F", "lastname": "L", "website_id": 1, "group_id": 1, "password_hash": hash}
		id, err := b.Create(t.Context(), &replica.Write{Resource: adapter.Customers, Key: 7, New: customer.Record(adapter.NewSchemas().Of(adapter.Customers))})
		if err != nil || id != "31" || sent != want {
			t.Errorf("%s: id %s, %v, sent the hash %q, want %q", hash, id, err, sent, want)
		}
		if warned := strings.Contains(log.String(), "needs a new password"); warned != (want == "") || warned && !strings.Contains(log.String(), "resource=customers id=7") {
			t.Errorf("%s: logged %s", hash, &log)
		}
		if strings.Contains(log.String(), "someone") {
			t.Errorf("the log has personal data: %s", &log)
		}
		_ = b.Close()
		server.Close()
	}
}
