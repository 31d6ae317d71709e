package migration_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// forbidden holds what the contract refuses of a record that is sent back as it was read, by caller and
// call: the status and a message of the reply.
func forbidden() map[string]string {
	const denied, unimplemented = "403 Access denied", "405 Resource method not implemented yet."
	return map[string]string{
		"admin PUT /orders/:id": unimplemented, "admin PUT /orders/comments/:id": unimplemented,
		"admin PUT /orders/:id/addresses/:id": "405 Resource does not support method.",
		"admin POST /products/:id/websites":   "400 is already assigned to website", "admin POST /products/:id/categories": "400 is already assigned to category",
		"customer_1 PUT /orders/:id": denied, "customer_1 PUT /orders/:id/addresses/:id": denied, "customer_1 POST /products/:id/categories": denied,
		"customer_1 PUT /products/:id": denied, "customer_1 PUT /products/:id/images/:id": denied,
	}
}

// A sender reads the records of a shop in one format as one caller, and sends them back.
type sender struct {
	*testing.T
	client  *contracttests.Client
	as      string
	format  contract.Format
	refused map[string]string
	sent    int
}

// do sends a request.
func (s *sender) do(method, path, body string) (status int, reply string) {
	s.Helper()
	mediaType, _, _ := strings.Cut(s.format.ContentType(), ";")
	r, err := s.client.Do(s.Context(), &contracttests.Step{As: s.as, Method: method, Path: path, Accept: &mediaType, ContentType: &mediaType, Body: &body})
	if err != nil {
		s.Fatal(err)
	}
	return r.Status, string(r.Body)
}

// list returns the records of a list, by ids and as they are read.
func (s *sender) list(path string) (ids, records []string) {
	s.Helper()
	status, body := s.do(http.MethodGet, path, "")
	if status == http.StatusForbidden || status == http.StatusNotFound {
		return nil, nil
	}
	list, err := codec.Decode(s.format, []byte(body))
	if err != nil || status != http.StatusOK {
		s.Fatalf("%s: %d %s, %v", path, status, body, err)
	}
	for _, m := range list.Members {
		for _, key := range []string{"entity_id", "item_id", "id", "website_id", "category_id", "address_type"} {
			if id, ok := m.Value.Get(key); ok {
				ids = append(ids, id.String())
				break
			}
		}
		records = append(records, string(codec.Append(nil, s.format, "service_api", &m.Value, false)))
	}
	return ids, records
}

var (
	anyID = regexp.MustCompile(`/(?:[0-9]+|billing|shipping)(/|$)`)
	// changing matches what a write changes, and what each read shows anew.
	changing = regexp.MustCompile(`(?s)("updated_at":|<updated_at>|form_key)[^,<}]*`)
)

// sendBack sends a record to a path, once as a single read shows it and once as a list does.
func (s *sender) sendBack(method, path, view, listed string) {
	s.Helper()
	call := anyID.ReplaceAllString(strings.TrimSuffix(path, view), "/:id$1")
	status, shown := s.do(http.MethodGet, path, "")
	var records []string
	if view == "" {
		records = []string{listed}
	}
	if method == http.MethodPut && status == http.StatusOK {
		records = append(records, shown)
	}
	for _, record := range records {
		s.sent++
		status, reply := s.do(method, path, record)
		if want, ok := s.refused[s.as+" "+method+" "+call]; ok {
			if code, message, _ := strings.Cut(want, " "); fmt.Sprint(status) != code || !strings.Contains(reply, message) {
				s.Errorf("%s %s: %d %s, want %s", method, path, status, reply, want)
			}
			continue
		}
		if _, now := s.do(http.MethodGet, path, ""); status != http.StatusOK || changing.ReplaceAllString(now, "$1") != changing.ReplaceAllString(shown, "$1") {
			s.Errorf("%s %s %s: %d %s\n%s\n%s", s.as, method, path, status, reply, record, now)
		}
	}
}

// sendAll sends the records of a list to their own paths, and to a path of each view of a store. It
// returns their ids.
func (s *sender) sendAll(list, single string, views ...string) (ids []string) {
	s.Helper()
	ids, records := s.list(list)
	for i, id := range ids {
		for _, view := range append(views, "") {
			s.sendBack(http.MethodPut, fmt.Sprintf(single, id)+view, view, records[i])
		}
	}
	return ids
}

// sendChanged sends the list of stock items back in one request, and then each item with another quantity.
func (s *sender) sendChanged() {
	s.Helper()
	const path = "/stockitems?limit=100"
	status, list := s.do(http.MethodGet, path, "")
	if status == http.StatusForbidden {
		return
	}
	qty := regexp.MustCompile(`("qty":"|<qty>)[^"<]*`)
	for _, update := range []string{list, qty.ReplaceAllString(list, "${1}77.0000")} {
		status, reply := s.do(http.MethodPut, path, update)
		_, now := s.do(http.MethodGet, path, "")
		if without := regexp.MustCompile(`["<](low_stock_date|stock_status_changed_auto)[^,\n]*`); update != list {
			update, now = without.ReplaceAllString(update, ""), without.ReplaceAllString(now, "")
		}
		if status != http.StatusMultiStatus || strings.Contains(reply, "error") || now != update {
			s.Errorf("%d %s\n%s\n%s", status, reply, update, now)
		}
	}
}

// TestRecordsSentBack reads every record of imported shops in the dialect documented, and sends it back
// unchanged: it is accepted and changes nothing, or the contract forbids it. Outside nightly runs it is one
// shop as one caller in one format, in turn.
func TestRecordsSentBack(t *testing.T) {
	t.Parallel()
	type row struct {
		shop   magento1test.Shop
		prefix string
		as     string
		format contract.Format
	}
	var rows []row
	for _, as := range []string{contracttests.Admin, contracttests.Customer1} {
		for _, format := range []contract.Format{contract.JSON, contract.XML} {
			rows = append(rows, row{magento1test.Demo, "mage_", as, format}, row{magento1test.Rich, "", as, format})
		}
	}
	for _, r := range testenv.Rows(t, rows, 8) {
		t.Run(fmt.Sprint(r.shop, " ", r.as, " ", r.format), func(t *testing.T) {
			imported := apptest.Import(t, r.shop, r.prefix, sqltest.SQLite(t))
			imported.Commands.MustRun(t, append([]string{"import", "credentials", "--admins", "--config", imported.Config}, imported.From...)...)
			imported.Commands = imported.Commands.With("PORTICO_DIALECT=documented")
			client, err := contracttests.NewClient(imported.Target(t))
			if err != nil {
				t.Fatal(err)
			}
			s := &sender{T: t, client: client, as: r.as, format: r.format, refused: forbidden()}
			for _, id := range s.sendAll("/customers?limit=0", "/customers/%s") {
				s.sendAll("/customers/"+id+"/addresses", "/customers/addresses/%s")
			}
			s.sendAll("/stockitems?limit=0", "/stockitems/%s")
			for _, id := range s.sendAll("/products?limit=0", "/products/%s", "/store/1") {
				s.sendAll("/products/"+id+"/images", "/products/"+id+"/images/%s", "/store/1")
				for _, part := range []string{"/websites", "/categories"} {
					_, records := s.list("/products/" + id + part)
					for _, record := range records {
						s.sendBack(http.MethodPost, "/products/"+id+part, "", record)
					}
				}
			}
			for _, id := range s.sendAll("/orders?limit=0", "/orders/%s") {
				s.sendAll("/orders/"+id+"/addresses", "/orders/"+id+"/addresses/%s")
				s.sendAll("/orders/"+id+"/comments", "/orders/comments/%s")
			}
			s.sendChanged()
			t.Logf("%d records sent back", s.sent)
		})
	}
}
