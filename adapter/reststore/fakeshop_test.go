package reststore_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
)

// jsonObject is a decoded JSON object.
type jsonObject = map[string]any

// A fakeShop is the backend that testdata/fakeshop.yaml maps. Only the token of the latest
// login is valid.
type fakeShop struct {
	*shopServer
	next     int
	articles map[string]jsonObject // by number
	people   map[string]jsonObject // by uuid
	tickets  map[string]jsonObject // by number
	changes  map[string]time.Time
}

var fakeShopKind = newKind(shopKind{
	name:  "fakeshop",
	start: startFakeShop,
	ids: map[adapter.Resource]string{
		adapter.Websites:       "c0ffee00-0000-4000-8000-%012d",
		adapter.CustomerGroups: "1abe1000-0000-4000-8000-%012d",
		adapter.Categories:     "77%03d",
	},
	fill:       createOrders,
	isWrite:    func(r *http.Request) bool { return r.Method != http.MethodGet },
	noProducts: `{"result": {"articles": []}, "meta": {}}`,
	writeFailures: []writeFailure{
		{"rejected", false, func(w http.ResponseWriter) { reply(w, 400, errorBody("WRONG", "code")) }, adapter.Invalid},
	},
})

// startFakeShop starts an empty fake shop. The caller must close its server.
func startFakeShop() shop {
	s := &fakeShop{articles: map[string]jsonObject{}, people: map[string]jsonObject{}, tickets: map[string]jsonObject{}, changes: map[string]time.Time{}}
	s.shopServer = startServer(s.routes())
	return s
}

// routes returns the handler of all endpoints.
func (s *fakeShop) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]func(*http.Request, jsonObject) (int, any){
		"GET /alive":                              func(*http.Request, jsonObject) (int, any) { return http.StatusNoContent, nil },
		"GET /articles":                           s.listArticles,
		"POST /articles":                          s.addArticle,
		"PATCH /articles/{id}":                    s.patchArticle,
		"DELETE /articles/{id}":                   s.removeArticle,
		"PUT /articles/{id}/sold_in/{channel}":    s.sell,
		"DELETE /articles/{id}/sold_in/{channel}": s.sell,
		"POST /articles/{id}/pictures":            s.addPicture,
		"PATCH /pictures/{id}":                    s.picture,
		"DELETE /pictures/{id}":                   s.picture,
		"PUT /pictures/{id}/bytes":                s.picture,
		"GET /tickets":                            s.listTickets,
		"POST /tickets/query":                     s.queryTickets,
		"GET /people":                             s.listPeople,
		"POST /people":                            s.addPerson,
		"GET /people/{id}":                        s.person,
		"PATCH /people/{id}":                      s.person,
		"DELETE /people/{id}":                     s.person,
		"POST /people/{id}/places":                s.place,
		"PUT /people/{id}/places/{place}":         s.place,
		"DELETE /people/{id}/places/{place}":      s.place,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, handle) })
	}
	mux.HandleFunc("POST /session", s.session)
	return mux
}

func (s *fakeShop) session(w http.ResponseWriter, r *http.Request) {
	s.logins.Add(1)
	var in struct{ Name, Pass string }
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Name != shopUser || in.Pass != shopSecret {
		reply(w, http.StatusUnauthorized, errorBody("NO_ENTRY", ""))
		return
	}
	s.mu.Lock()
	s.token = fmt.Sprintf("token-%d", s.logins.Load())
	token := s.token
	s.mu.Unlock()
	reply(w, http.StatusOK, jsonObject{"session": jsonObject{"token": token}})
}

func errorBody(code, on string) jsonObject {
	return jsonObject{"fault": jsonObject{"code": code, "on": on}}
}

func reply(w http.ResponseWriter, status int, v any) {
	if v == nil {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/vnd.shelf+json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// serve checks the session and calls handle with the decoded JSON body, or with nil.
func (s *fakeShop) serve(w http.ResponseWriter, r *http.Request, handle func(*http.Request, jsonObject) (int, any)) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		reply(w, http.StatusBadRequest, errorBody("CUT", ""))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := r.Header.Get("X-Session"); got == "" || got != s.token || r.Header.Get("X-Client") != "portico" || r.Header.Get("X-Request-Id") == "" {
		reply(w, http.StatusUnauthorized, errorBody("NO_ENTRY", ""))
		return
	}
	var in jsonObject
	if r.Header.Get("Content-Type") == "application/json" {
		d := json.NewDecoder(strings.NewReader(string(body)))
		d.UseNumber()
		if d.Decode(&in) != nil {
			reply(w, http.StatusBadRequest, errorBody("NO_JSON", ""))
			return
		}
	}
	status, out := handle(r, in)
	reply(w, status, out)
}

// nextNumber returns an unused number.
func (s *fakeShop) nextNumber() int { s.next++; return s.next }

func (s *fakeShop) uuid() string { return fmt.Sprintf("8e9f2c1a-0000-4000-8000-%012d", s.nextNumber()) }

// markChanged records the time of a document's change. People have a revision, too.
func (s *fakeShop) markChanged(id string) {
	s.changes[id] = time.Now()
	if person, is := s.people[id]; is {
		person["revision"] = s.nextNumber()
	}
}

// mergePatch applies a JSON merge patch, except that it stores null.
func mergePatch(into, from jsonObject) {
	for name, v := range from {
		inner, is := v.(jsonObject)
		old, was := into[name].(jsonObject)
		if is && was {
			mergePatch(old, inner)
			continue
		}
		into[name] = v
	}
}

// selectDocuments returns the documents that match the query parameters, sorted by id.
func (s *fakeShop) selectDocuments(r *http.Request, all map[string]jsonObject, legacy func(jsonObject) any) []jsonObject {
	q := r.URL.Query()
	since, _ := time.Parse(time.RFC3339, q.Get("changed_after"))
	var list []jsonObject
	for id, d := range all {
		switch {
		case q.Has("only") && !slices.Contains(strings.Split(q.Get("only"), ","), id):
		case q.Has("legacy") && fmt.Sprint(legacy(d)) != q.Get("legacy"):
		case s.changes[id].Before(since):
		default:
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b jsonObject) int {
		return cmp.Or(cmp.Compare(fmt.Sprint(a["uuid"]), fmt.Sprint(b["uuid"])), cmp.Compare(toInt(a["number"]), toInt(b["number"])))
	})
	return list
}

func toInt(v any) int { i, _ := strconv.Atoi(fmt.Sprint(v)); return i }

func (s *fakeShop) listArticles(r *http.Request, _ jsonObject) (int, any) {
	list := s.selectDocuments(r, s.articles, func(d jsonObject) any { return d["legacy"] })
	q := r.URL.Query()
	after, _ := strconv.Atoi(strings.TrimPrefix(q.Get("after"), "c"))
	list = slices.DeleteFunc(list, func(d jsonObject) bool { return toInt(d["number"]) <= after })
	var next any
	if take := toInt(q.Get("take")); take > 0 && take < len(list) {
		list = list[:take]
		next = fmt.Sprintf("c%v", list[take-1]["number"])
	}
	if list == nil {
		list = []jsonObject{}
	}
	return http.StatusOK, jsonObject{"result": jsonObject{"articles": list}, "meta": jsonObject{"next": next}}
}

// valueInUse reports whether another document has the value.
func valueInUse(all map[string]jsonObject, id, name string, v any) bool {
	for other, d := range all {
		if other != id && d[name] == v {
			return true
		}
	}
	return false
}

func (s *fakeShop) addArticle(_ *http.Request, in jsonObject) (int, any) {
	if code, _ := in["code"].(string); code == "" {
		return http.StatusUnprocessableEntity, errorBody("WRONG", "code")
	} else if valueInUse(s.articles, "", "code", code) {
		return http.StatusBadRequest, errorBody("TAKEN", "code")
	}
	n := 1000 + s.nextNumber()
	id := strconv.Itoa(n)
	article := jsonObject{"number": n, "sold_in": []any{}, "boards": []any{}, "pictures": []any{}}
	mergePatch(article, in)
	s.articles[id] = article
	s.markChanged(id)
	return http.StatusCreated, jsonObject{"result": jsonObject{"article": article}}
}

func (s *fakeShop) patchArticle(r *http.Request, in jsonObject) (int, any) {
	id := r.PathValue("id")
	article, ok := s.articles[id]
	if !ok {
		return http.StatusOK, errorBody("GONE", "")
	}
	if code, has := in["code"]; has && valueInUse(s.articles, id, "code", code) {
		return http.StatusBadRequest, errorBody("TAKEN", "code")
	}
	mergePatch(article, in)
	s.markChanged(id)
	return http.StatusOK, jsonObject{"result": jsonObject{"article": article}}
}

func (s *fakeShop) removeArticle(r *http.Request, _ jsonObject) (int, any) {
	id := r.PathValue("id")
	if _, ok := s.articles[id]; !ok {
		return http.StatusOK, errorBody("GONE", "")
	}
	delete(s.articles, id)
	return http.StatusNoContent, nil
}

func (s *fakeShop) sell(r *http.Request, _ jsonObject) (int, any) {
	id, channel := r.PathValue("id"), r.PathValue("channel")
	article, ok := s.articles[id]
	if !ok {
		return http.StatusOK, errorBody("GONE", "")
	}
	channels := slices.DeleteFunc(slices.Clone(article["sold_in"].([]any)), func(v any) bool { return v == channel })
	if r.Method == http.MethodPut {
		channels = append(channels, channel)
	}
	article["sold_in"] = channels
	s.markChanged(id)
	return http.StatusNoContent, nil
}

func (s *fakeShop) addPicture(r *http.Request, in jsonObject) (int, any) {
	id := r.PathValue("id")
	article, ok := s.articles[id]
	if !ok {
		return http.StatusOK, errorBody("GONE", "")
	}
	picture := maps.Clone(in)
	picture["id"] = s.uuid()
	article["pictures"] = append(article["pictures"].([]any), picture)
	s.markChanged(id)
	return http.StatusCreated, jsonObject{"picture": picture}
}

func (s *fakeShop) picture(r *http.Request, in jsonObject) (int, any) {
	for id, article := range s.articles {
		pictures := article["pictures"].([]any)
		for i, p := range pictures {
			picture := p.(jsonObject)
			if picture["id"] != r.PathValue("id") {
				continue
			}
			switch r.Method {
			case http.MethodPatch:
				mergePatch(picture, in)
			case http.MethodPut:
				picture["bytes"] = true
			default:
				article["pictures"] = slices.Delete(slices.Clone(pictures), i, i+1)
			}
			s.markChanged(id)
			return http.StatusNoContent, nil
		}
	}
	return http.StatusNotFound, errorBody("GONE", "")
}

func (s *fakeShop) listPeople(r *http.Request, _ jsonObject) (int, any) {
	list := s.selectDocuments(r, s.people, func(d jsonObject) any { return d["tags"].(jsonObject)["legacy"] })
	if q := r.URL.Query(); q.Has("page") {
		page, per := toInt(q.Get("page")), toInt(q.Get("per"))
		from := min((page-1)*per, len(list))
		list = list[from:min(from+per, len(list))]
	}
	if list == nil {
		list = []jsonObject{}
	}
	return http.StatusOK, list
}

func (s *fakeShop) addPerson(_ *http.Request, in jsonObject) (int, any) {
	id := s.uuid()
	person := jsonObject{"uuid": id, "places": []any{}}
	mergePatch(person, in)
	s.people[id] = person
	s.markChanged(id)
	return http.StatusCreated, person
}

func (s *fakeShop) person(r *http.Request, in jsonObject) (int, any) {
	id := r.PathValue("id")
	person, ok := s.people[id]
	switch {
	case !ok:
		return http.StatusNotFound, nil
	case r.Method == http.MethodDelete:
		delete(s.people, id)
		return http.StatusNoContent, nil
	case r.Method == http.MethodPatch:
		mergePatch(person, in)
		s.markChanged(id)
	}
	return http.StatusOK, person
}

func (s *fakeShop) place(r *http.Request, in jsonObject) (int, any) {
	person, ok := s.people[r.PathValue("id")]
	if !ok {
		return http.StatusNotFound, nil
	}
	s.markChanged(r.PathValue("id"))
	places := person["places"].([]any)
	if r.Method == http.MethodPost {
		in["uuid"] = s.uuid()
		person["places"] = append(slices.Clone(places), in)
		return http.StatusCreated, in
	}
	at := slices.IndexFunc(places, func(p any) bool { return p.(jsonObject)["uuid"] == r.PathValue("place") })
	switch {
	case at < 0:
		return http.StatusNotFound, nil
	case r.Method == http.MethodDelete:
		person["places"] = slices.Delete(slices.Clone(places), at, at+1)
		return http.StatusNoContent, nil
	}
	in["uuid"] = r.PathValue("place")
	person["places"] = slices.Replace(slices.Clone(places), at, at+1, any(in))
	return http.StatusOK, in
}

func (s *fakeShop) listTickets(r *http.Request, _ jsonObject) (int, any) {
	list := s.selectDocuments(r, s.tickets, func(d jsonObject) any { return d["legacy"] })
	from, size := toInt(r.URL.Query().Get("from")), toInt(r.URL.Query().Get("size"))
	page := list[min(from, len(list)):min(from+size, len(list))]
	return http.StatusOK, jsonObject{"all": len(list), "tickets": append([]jsonObject{}, page...)}
}

func (s *fakeShop) queryTickets(_ *http.Request, in jsonObject) (int, any) {
	found := []any{}
	for _, n := range in["numbers"].([]any) {
		if d, ok := s.tickets[fmt.Sprint(n)]; ok {
			found = append(found, d)
		}
	}
	return http.StatusOK, jsonObject{"tickets": found}
}

// placeTicket stores a ticket, as a customer's order outside Portico would.
func (s *fakeShop) placeTicket(ticket jsonObject) {
	s.mu.Lock()
	defer s.mu.Unlock()
	no := 90_000_000_000 + s.nextNumber()
	ticket["ticket"].(jsonObject)["no"] = no
	ticket["number"] = no
	s.tickets[strconv.Itoa(no)] = ticket
	s.markChanged(strconv.Itoa(no))
}

// fakeShopState is the data of a fake shop.
type fakeShopState struct {
	Next                      int
	Articles, People, Tickets map[string]jsonObject
}

// save returns the shop's data, for restore.
func (s *fakeShop) save() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return json.Marshal(fakeShopState{s.next, s.articles, s.people, s.tickets})
}

// restore replaces the shop's data.
func (s *fakeShop) restore(t testing.TB, saved []byte) {
	t.Helper()
	var state fakeShopState
	d := json.NewDecoder(bytes.NewReader(saved))
	d.UseNumber()
	if err := d.Decode(&state); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.articles, s.people, s.tickets = state.Next, state.Articles, state.People, state.Tickets
}

// createOrders creates the replica's orders as tickets in the fake shop.
func createOrders(ctx context.Context, local replica.Replica, s shop) error {
	list := func(r adapter.Resource) ([]adapter.Record, error) { return adaptertest.AllOf(ctx, local, r) }
	orders, err := list(adapter.Orders)
	if err != nil {
		return err
	}
	lines, err := list(adapter.OrderItems)
	if err != nil {
		return err
	}
	addresses, err := list(adapter.OrderAddresses)
	if err != nil {
		return err
	}
	ids := idmap.NewCache(local)
	for _, o := range orders {
		key := o.Get("entity_id").Int()
		inner := jsonObject{"code": o.Get("increment_id").Text(), "phase": o.Get("state").Text() + "/" + o.Get("status").Text(),
			"sum": hundredthsOfCents(o.Get("grand_total")), "at": strings.Replace(o.Get("created_at").Text(), " ", "T", 1) + "Z"}
		if buyer := adapter.Key(o.Get("customer_id").Int()); buyer != 0 {
			found, err := ids.BackendIDs(ctx, adapter.Customers, []adapter.Key{buyer})
			if err != nil {
				return err
			}
			inner["buyer"] = found[buyer]
		}
		ticket := jsonObject{"legacy": fmt.Sprint(key), "ticket": inner, "lines": []any{}, "to": jsonObject{}}
		for _, l := range lines {
			if l.Get("order_id").Int() == key {
				ticket["lines"] = append(ticket["lines"].([]any), jsonObject{"id": fmt.Sprintf("line-%d", l.Get("item_id").Int()), "legacy": l.Get("item_id").Int(),
					"code": l.Get("sku").Text(), "title": l.Get("name").Text(), "count": l.Get("qty_ordered").Text(), "each": hundredthsOfCents(l.Get("price"))})
			}
		}
		for _, a := range addresses {
			if a.Get("parent_id").Int() == key {
				ticket["to"].(jsonObject)[a.Get("address_type").Text()] = jsonObject{"uuid": fmt.Sprintf("to-%d", a.Get("entity_id").Int()), "legacy": a.Get("entity_id").Int(),
					"name": a.Get("lastname").Text(), "town": a.Get("city").Text()}
			}
		}
		s.(*fakeShop).placeTicket(ticket)
	}
	return nil
}

// hundredthsOfCents returns a decimal in hundredths of a cent.
func hundredthsOfCents(v adapter.Value) any {
	if v.Empty() {
		return nil
	}
	return toInt(strings.Replace(v.Text(), ".", "", 1))
}
