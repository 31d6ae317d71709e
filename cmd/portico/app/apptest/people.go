package apptest

import (
	"encoding/json"
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
)

// PeopleMapping is the mapping file of People.
const PeopleMapping = `
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

// A Person is a customer at the backend.
type Person struct {
	ID     string `json:"id"`
	Number *int64 `json:"number"`
	Email  string `json:"email"`
	Name   string `json:"name"`
}

// A People is a backend over HTTP that holds customers.
type People struct {
	mu   sync.Mutex
	all  []Person
	made int // persons that were created
	// status, if it is not nil and does not return 0, is the status of the answer to a creation or
	// a change. The backend then refuses the write.
	status func(Person) int
}

// NewPeople returns a backend that holds the given customers.
func NewPeople(all ...Person) *People { return &People{all: all} }

// Persons returns the persons that a backend holds, in the order of creation.
func (p *People) Persons() []Person {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

// ServeHTTP lists, finds, creates, changes and deletes persons.
func (p *People) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	query := r.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	switch r.Method {
	case http.MethodDelete:
		p.all = slices.DeleteFunc(p.all, func(one Person) bool { return "/people/"+one.ID == r.URL.Path })
	case http.MethodPost, http.MethodPut:
		var one Person
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
		if at := slices.IndexFunc(p.all, func(one Person) bool { return "/people/"+one.ID == r.URL.Path }); at >= 0 {
			p.all[at].Email, p.all[at].Name = one.Email, one.Name
			return
		}
		p.made++
		one.ID = fmt.Sprint("p", p.made)
		p.all = append(p.all, one)
		_ = json.NewEncoder(w).Encode(one)
	case http.MethodGet:
		found := slices.DeleteFunc(slices.Clone(p.all), func(one Person) bool {
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

// Remove removes a Person.
func (p *People) Remove(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = slices.DeleteFunc(p.all, func(one Person) bool { return one.ID == id })
}

// StartPeople starts a backend that holds customers, and returns it with the settings that name it.
func StartPeople(t testing.TB) (backend *People, settings []string) {
	t.Helper()
	backend = &People{}
	server := httptest.NewServer(backend)
	t.Cleanup(server.Close)
	mapping := filepath.Join(t.TempDir(), "people.yaml")
	if err := os.WriteFile(mapping, []byte(PeopleMapping), 0o600); err != nil {
		t.Fatal(err)
	}
	return backend, []string{"PORTICO_ADAPTER=rest", "PORTICO_REST_URL=" + server.URL, "PORTICO_REST_MAPPING=" + mapping}
}

// Held returns the persons that a backend holds, by legacy id, and fails if it holds one twice.
func (p *People) Held(t testing.TB) map[int64]string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[int64]string{}
	for _, one := range p.all {
		if one.Number == nil || all[*one.Number] != "" {
			t.Fatalf("%+v is there twice or without a legacy id", one)
		}
		all[*one.Number] = one.Name + " " + one.Email
	}
	return all
}

// Answer makes a backend answer creations and changes with a status; nil: it carries them out.
func (p *People) Answer(status func(Person) int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

// NameCustomer returns a statement that changes the first name of a customer of a legacy store.
func NameCustomer(id int, name string) string {
	return fmt.Sprintf("UPDATE customer_entity_varchar SET value = '%s' WHERE entity_id = %d AND attribute_id = (SELECT attribute_id FROM eav_attribute WHERE attribute_code = 'firstname' AND entity_type_id = (SELECT entity_type_id FROM eav_entity_type WHERE entity_type_code = 'customer'))", name, id)
}
