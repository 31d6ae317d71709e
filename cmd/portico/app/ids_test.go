package app

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/transfer"
)

// peopleMapping is the mapping file of peopleBackend.
const peopleMapping = `
name: people
connection:
  ping: {path: /people}
resources:
  customers:
    attributes: [email, firstname]
    fetch: {path: /people, query: {ids: '$ids | join(",")'}, items: people, batch: 50}
    scan: {path: /people, items: people, pages: {offset: offset, limit: limit, size: 2}}
    find: {path: /people, query: {number: $key}, items: people}
    id: id
    key: .number
    read: '{email, firstname: .name}'
    rest: '{website_id: 1, group_id: 1, store_id: 0, disable_auto_group_change: 0}'
    create:
      - {method: POST, path: /people, body: '{email: .new.email, name: .new.firstname, number: .key}', id: .id}
    update:
      - {method: PUT, path: '/people/{.id}', body: '{email: .new.email, name: .new.firstname}'}
    delete:
      - {method: DELETE, path: '/people/{.id}'}
`

// A person is a customer at the backend.
type person struct {
	ID     string `json:"id"`
	Number *int64 `json:"number"`
	Email  string `json:"email"`
	Name   string `json:"name"`
}

// A peopleBackend is a backend over HTTP that holds customers.
type peopleBackend struct {
	mu   sync.Mutex
	all  []person
	made int // persons that were created
	// status, unless nil or 0, is that of the answer to a creation or a change, which is not
	// made.
	status func(person) int
}

// ServeHTTP lists, finds, creates, changes and deletes persons.
func (p *peopleBackend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	query := r.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	switch r.Method {
	case http.MethodDelete:
		p.all = slices.DeleteFunc(p.all, func(one person) bool { return "/people/"+one.ID == r.URL.Path })
	case http.MethodPost, http.MethodPut:
		var one person
		if err := json.NewDecoder(r.Body).Decode(&one); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if p.status != nil {
			if status := p.status(one); status != 0 {
				http.Error(w, "not now", status)
				return
			}
		}
		if at := slices.IndexFunc(p.all, func(one person) bool { return "/people/"+one.ID == r.URL.Path }); at >= 0 {
			p.all[at].Email, p.all[at].Name = one.Email, one.Name
			return
		}
		p.made++
		one.ID = fmt.Sprint("p", p.made)
		p.all = append(p.all, one)
		_ = json.NewEncoder(w).Encode(one)
	case http.MethodGet:
		found := slices.DeleteFunc(slices.Clone(p.all), func(one person) bool {
			return query.Has("ids") && !slices.Contains(strings.Split(query.Get("ids"), ","), one.ID) ||
				query.Has("number") && (one.Number == nil || strconv.FormatInt(*one.Number, 10) != query.Get("number"))
		})
		if offset, err := strconv.Atoi(query.Get("offset")); err == nil {
			found = found[min(offset, len(found)):]
			limit, _ := strconv.Atoi(query.Get("limit"))
			found = found[:min(limit, len(found))]
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"people": found})
	default:
		http.Error(w, "not here", http.StatusMethodNotAllowed)
	}
}

// remove removes a person.
func (p *peopleBackend) remove(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = slices.DeleteFunc(p.all, func(one person) bool { return one.ID == id })
}

// TestIDs maps the customers of a store to those of a backend that has some of them, with
// all commands of "portico ids".
func TestIDs(t *testing.T) {
	_, commands := newStore(t, secretKey)
	commands.mustRun(t, "seed", "--dataset", writeDataset(t, nil))
	backend := &peopleBackend{all: []person{
		{ID: "old-ada", Email: "ada@example.com", Name: "Ada Augusta"}, {ID: "old-ben", Email: "ben@example.com", Name: "Ben"}, {ID: "eve", Email: "eve@example.com", Name: "Eve"},
	}}
	server := httptest.NewServer(backend)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	commands = commands.with("PORTICO_REST_URL="+server.URL, "PORTICO_REST_MAPPING="+file("people.yaml", peopleMapping))

	if _, _, err := commands.run(t, "ids", "check"); err == nil || !strings.Contains(err.Error(), "adapter is sql") {
		t.Errorf("without a backend: %v", err)
	}
	commands = commands.with("PORTICO_ADAPTER=rest")
	check := func(want ...string) {
		t.Helper()
		out, _, err := commands.run(t, "ids", "check", "--json")
		var got []string
		for line := range strings.Lines(out) {
			var f replica.Finding
			parse(t, line, &f)
			got = append(got, fmt.Sprintf("%s %d %s", f.Kind, f.Key, f.ID))
		}
		if !slices.Equal(got, want) || (err == nil) != (len(want) == 0) {
			t.Errorf("check: %q, %v\nwant %q", got, err, want)
		}
	}
	check("not_mapped 1 ", "not_mapped 2 ", "not_mapped 3 ", "not_mapped 4 ", "no_legacy_id 0 old-ada", "no_legacy_id 0 old-ben", "no_legacy_id 0 eve")

	const header = "resource,legacy_id,backend_id\n"
	broken := file("broken.csv", header+"customers,1,old-ada\ncustomers,99,old-ben\norders,1,x\n")
	if _, _, err := commands.run(t, "ids", "import", broken); err == nil || !strings.Contains(err.Error(), "nothing is stored:\nline 3: the database has no record customers 99\nline 4:") {
		t.Errorf("a broken file: %v", err)
	}
	if _, _, err := commands.run(t, "ids", "import", filepath.Join(dir, "missing.csv")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a missing file: %v", err)
	}
	pairs := file("pairs.csv", header+"customers,1,old-ada\ncustomers,2,old-ben\n")
	for _, c := range []struct{ arguments, want string }{
		{"--dry-run", "2 pairs would be stored, 0 are known\n"}, {"--dry-run=false", "2 pairs stored, 0 were known\n"}, {"--dry-run=false", "0 pairs stored, 2 were known\n"},
	} {
		if got := commands.mustRun(t, "ids", "import", pairs, c.arguments); got != c.want {
			t.Errorf("import %s prints %q, want %q", c.arguments, got, c.want)
		}
	}
	check("not_mapped 3 ", "not_mapped 4 ", "no_legacy_id 0 eve")

	if got := commands.mustRun(t, "ids", "push"); !strings.HasPrefix(got, "4 records are at the backend") {
		t.Errorf("push prints %q", got)
	}
	check("no_legacy_id 0 eve")
	if len(backend.all) != 5 || backend.all[4].Email != "dot@example.com" || *backend.all[4].Number != 4 {
		t.Errorf("the backend has %+v", backend.all)
	}

	backend.remove("eve")
	if got := commands.mustRun(t, "ids", "check"); got != "nothing found\n" {
		t.Errorf("check prints %q", got)
	}
	backend.remove("old-ben")
	out, advice, err := commands.run(t, "ids", "check")
	if want := "gone_at_backend customers 2 backend id \"old-ben\"\n"; out != want || err == nil || err.Error() != "1 found" || !strings.Contains(advice, "ids forget") {
		t.Errorf("check prints %q, %q, %v; want %q", out, advice, err, want)
	}
	out, _, err = commands.run(t, "ids", "forget", "customers", "1", "2", "77")
	if out != "customers 2 is forgotten\n" || err == nil || err.Error() != "customers 1 is not removed: the backend still has it\ncustomers 77 is not removed: it has no ID mapping" {
		t.Errorf("forget prints %q, %v", out, err)
	}
	if _, _, err := commands.run(t, "ids", "forget", "orders", "1"); err == nil || !strings.Contains(err.Error(), "the backend does not hold such records") {
		t.Errorf("forget a resource that the backend does not hold: %v", err)
	}
	if _, _, err := commands.run(t, "ids", "forget", "customers", "x"); err == nil || !strings.Contains(err.Error(), "want digits") {
		t.Errorf("forget an invalid id: %v", err)
	}
	check()

	server.Close()
	if _, _, err := commands.run(t, "ids", "check"); err == nil || !errors.As(err, new(cannotRun)) {
		t.Errorf("with the backend down: %v", err)
	}
}

// TestImportIntoBackend imports customers into a store with a backend, which gets them, too.
func TestImportIntoBackend(t *testing.T) {
	from, old := magento1test.NewShop(t, magento1test.Demo, "")
	path, commands := newStore(t, secretKey)
	backend := &peopleBackend{}
	server := httptest.NewServer(backend)
	t.Cleanup(server.Close)
	mapping := filepath.Join(t.TempDir(), "people.yaml")
	if err := os.WriteFile(mapping, []byte(peopleMapping), 0o600); err != nil {
		t.Fatal(err)
	}
	commands = commands.with("PORTICO_ADAPTER=rest", "PORTICO_REST_URL="+server.URL, "PORTICO_REST_MAPPING="+mapping)
	arguments := []string{"import", "--from", from, "websites", "customer-groups", "customers"}
	commands.mustRun(t, append(arguments, "--dry-run")...)
	if len(backend.all) > 0 {
		t.Errorf("a dry run creates %+v", backend.all)
	}
	backend.status = func(person) int {
		if len(backend.all) == 2 {
			return http.StatusServiceUnavailable
		}
		return 0
	}
	printed, _, err := commands.run(t, arguments...)
	if err == nil || !strings.Contains(err.Error(), "push customers 3: ") || !strings.Contains(printed, "2 records are at the backend, with their parts\n") || !strings.Contains(printed, "\ncustomers ") {
		t.Errorf("the backend goes away: %v\nit prints %s", err, printed)
	}
	backend.status = nil
	if printed := commands.mustRun(t, arguments...); !strings.Contains(printed, "4 records are at the backend, with their parts\n") || len(backend.all) != 4 {
		t.Errorf("it prints %s\nthe backend has %+v", printed, backend.all)
	}
	execute(t, old, "INSERT INTO customer_entity (entity_id, entity_type_id, website_id, email, group_id) SELECT 70, entity_type_id, 1, 'new@example.com', 1 FROM customer_entity WHERE entity_id = 1")
	if printed := commands.mustRun(t, arguments...); !strings.Contains(printed, "5 records are at the backend") || len(backend.all) != 5 || *backend.all[4].Number != 70 {
		t.Errorf("it prints %s\nthe backend has %+v", printed, backend.all)
	}

	name := func(id int, value string) string {
		return fmt.Sprintf("UPDATE customer_entity_varchar SET value = '%s' WHERE entity_id = %d AND attribute_id = (SELECT attribute_id FROM eav_attribute WHERE attribute_code = 'firstname' AND entity_type_id = (SELECT entity_type_id FROM eav_entity_type WHERE entity_type_code = 'customer'))", value, id)
	}
	execute(t, old, name(1, "Changed"), name(2, "Refused"), "DELETE FROM customer_entity WHERE entity_id = 70")
	backend.status = func(one person) int {
		if one.Name == "Refused" {
			return http.StatusUnprocessableEntity
		}
		return 0
	}
	update := append(slices.Clone(arguments), "--update", "--allow-removals", "1", "--json")
	expect := func(when, want string, reasons ...string) {
		t.Helper()
		var report printedRecords
		parse(t, commands.mustRun(t, update...), &report)
		customers := report.Resources[slices.IndexFunc(report.Resources, func(r *transfer.Counts) bool { return r.Resource == "customers" })]
		var got []string
		for _, s := range customers.Skipped {
			got = append(got, fmt.Sprint(s.Reason, ": ", s.IDs))
		}
		if report.counts()["customers"] != want || !slices.Equal(got, reasons) {
			t.Errorf("%s: %s, %q; want %s, %q", when, report.counts()["customers"], got, want, reasons)
		}
	}
	expect("an update", "0 created, 1 changed, 1 removed, 1 skipped", "the backend refuses it: [2]")
	names := map[int64]string{}
	for _, one := range backend.all {
		names[*one.Number] = one.Name
	}
	if len(names) != 4 || names[1] != "Changed" || names[2] == "Refused" || names[70] != "" {
		t.Errorf("the backend has %v", names)
	}
	store, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	noted := 0 // what ends cached replies
	if err := store.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM import_change WHERE resource = 'customers' AND record_key IN (1, 70)").Scan(&noted); err != nil || noted != 2 {
		t.Errorf("%d records that cached replies may show are noted as changed (%v), want the changed and the removed one", noted, err)
	}
	backend.status = nil
	expect("the next update", "0 created, 1 changed, 0 removed, 0 skipped")
	expect("another update", "")
	if out := commands.mustRun(t, "ids", "check"); out != "nothing found\n" {
		t.Error(out)
	}
}

// TestIDsHelp checks that the help explains every kind of finding.
func TestIDsHelp(t *testing.T) {
	help := mustRun(t, "ids", "check", "--help")
	for _, kind := range []replica.FindingKind{
		replica.NotMapped, replica.NoBackendID, replica.MissingAtBackend, replica.MissingInReplica, replica.NoLegacyID, replica.DuplicateLegacyID, replica.UnresolvedWrite, replica.UnreadableDocument,
	} {
		if !strings.Contains(help, "\n  "+string(kind)+" ") {
			t.Errorf("%s is not explained", kind)
		}
	}
}
