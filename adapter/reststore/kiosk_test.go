package reststore_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graph-gophers/graphql-go"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
)

// kioskSchema is the schema of a kiosk. Amounts are of type Long: whole numbers of the least
// unit. Mutations return refusals as data.
const kioskSchema = `
	scalar Long
	scalar Time
	scalar Upload
	enum State { LIVE HIDDEN }
	enum Backorders { NO YES NOTIFY }

	type Query {
		alive: Boolean!
		items(numbers: [Int!], legacy: Int, changedSince: Time, first: Int!, after: String): Items!
		shopper(no: Int!): Shopper
		shoppers(legacy: String, changedSince: Time, skip: Int! = 0, take: Int! = 2): Shoppers!
	}
	type Items { edges: [Edge!]! pageInfo: PageInfo! }
	type Edge { node: Item! }
	type PageInfo { endCursor: String hasNextPage: Boolean! }
	type Shoppers { list: [Shopper!]! count: Int! }

	type Item {
		no: Int! legacy: Int code: String! texts: [Text!]! state: State! mass: Long price: Long steps: [Step!]!
		stock: Stock channels: [Int!]! shelves: [Int!]! pictures: [Picture!]!
	}
	type Text { key: String! value: String! }
	type Step { from: Long! group: Int amount: Long! }
	type Stock { count: Long! backorders: Backorders! managed: Boolean! }
	type Picture { no: Int! legacy: Int label: String rank: Int }
	type Shopper { no: Int! legacy: String mail: String! first: String last: String group: Int addresses: [Address!]! }
	type Address { no: Int! legacy: Int first: String last: String lines: [String!]! town: String zip: String land: String phone: String }

	input ItemInput { legacy: Int code: String! texts: [TextInput!]! state: State! mass: Long price: Long steps: [StepInput!]! stock: StockInput }
	input TextInput { key: String! value: String! }
	input StepInput { from: Long! group: Int amount: Long! }
	input StockInput { count: Long! backorders: Backorders! managed: Boolean! }
	input PictureInput { legacy: Int label: String rank: Int }
	input ShopperInput { legacy: String mail: String! first: String last: String group: Int }
	input AddressInput { legacy: Int first: String last: String lines: [String!]! town: String zip: String land: String phone: String }

	union Result = Item | Shopper | Address | Picture | Done | Refusal
	type Done { done: Boolean! }
	type Refusal { refusal: String! field: String }

	type Mutation {
		login(name: String!, password: String!): Boolean!
		addItem(item: ItemInput!): Result!
		changeItem(no: Int!, item: ItemInput!): Result!
		removeItem(no: Int!): Result!
		setItem(no: Int!, stock: StockInput, channels: [Int!], shelves: [Int!]): Result!
		addPicture(item: Int!, picture: PictureInput!): Result!
		changePicture(no: Int!, picture: PictureInput!): Result!
		removePicture(no: Int!): Result!
		upload(picture: Int!, file: Upload!): Result!
		addShopper(shopper: ShopperInput!): Result!
		changeShopper(no: Int!, shopper: ShopperInput!): Result!
		removeShopper(no: Int!): Result!
		addAddress(shopper: Int!, address: AddressInput!): Result!
		changeAddress(no: Int!, address: AddressInput!): Result!
		removeAddress(no: Int!): Result!
	}`

// A kiosk is the backend that testdata/kiosk.yaml maps: it speaks GraphQL only.
type kiosk struct {
	*shopServer
	schema *graphql.Schema
	kioskState
}

// kioskState is the data of a kiosk.
type kioskState struct {
	Next     int32
	Items    map[int32]*kioskItem
	Shoppers map[int32]*kioskShopper
}

type (
	kioskItem struct {
		No int32
		kioskItemInput
		Channels, Shelves []int32
		Pictures          []kioskPicture
		Changed           time.Time
	}
	kioskItemInput struct {
		Legacy      *int32
		Code        string
		Texts       []kioskText
		State       string
		Mass, Price *kioskLong
		Steps       []kioskStep
		Stock       *kioskStock
	}
	kioskText struct{ Key, Value string }
	kioskStep struct {
		From   kioskLong
		Group  *int32
		Amount kioskLong
	}
	kioskStock struct {
		Count      kioskLong
		Backorders string
		Managed    bool
	}
	kioskPicture struct {
		No int32
		kioskPictureInput
		Content string
	}
	kioskPictureInput struct {
		Legacy *int32
		Label  *string
		Rank   *int32
	}
	kioskShopper struct {
		No int32
		kioskShopperInput
		Addresses []kioskAddress
		Changed   time.Time
	}
	kioskShopperInput struct {
		Legacy      *string
		Mail        string
		First, Last *string
		Group       *int32
	}
	kioskAddress struct {
		No int32
		kioskAddressInput
	}
	kioskAddressInput struct {
		Legacy                 *int32
		First, Last            *string
		Lines                  []string
		Town, Zip, Land, Phone *string
	}
)

// A kioskLong is a value of type Long.
type kioskLong int64

func (kioskLong) ImplementsGraphQLType(name string) bool { return name == "Long" }

func (l *kioskLong) UnmarshalGraphQL(v any) error {
	n, ok := v.(float64)
	*l = kioskLong(n)
	if !ok {
		return errors.New("not a number")
	}
	return nil
}

// A kioskFile is a value of type Upload.
type kioskFile struct{ content string }

func (kioskFile) ImplementsGraphQLType(name string) bool { return name == "Upload" }

func (f *kioskFile) UnmarshalGraphQL(v any) (err error) {
	var ok bool
	if f.content, ok = v.(string); !ok {
		err = errors.New("not a file")
	}
	return err
}

// A kioskResult is a value of the union Result.
type kioskResult struct{ it any }

func resultAs[T any](r kioskResult) (*T, bool) { it, ok := r.it.(*T); return it, ok }

func (r kioskResult) ToItem() (*kioskItem, bool)       { return resultAs[kioskItem](r) }
func (r kioskResult) ToShopper() (*kioskShopper, bool) { return resultAs[kioskShopper](r) }
func (r kioskResult) ToAddress() (*kioskAddress, bool) { return resultAs[kioskAddress](r) }
func (r kioskResult) ToPicture() (*kioskPicture, bool) { return resultAs[kioskPicture](r) }
func (r kioskResult) ToDone() (*kioskDone, bool)       { return resultAs[kioskDone](r) }
func (r kioskResult) ToRefusal() (*kioskRefusal, bool) { return resultAs[kioskRefusal](r) }

func (r kioskResult) isRefusal() bool { _, is := r.ToRefusal(); return is }

type kioskDone struct{ Done bool }

type kioskRefusal struct {
	Refusal string
	Field   *string
}

func refuse(code, field string) kioskResult { return kioskResult{&kioskRefusal{code, &field}} }

func done() kioskResult { return kioskResult{&kioskDone{true}} }

var kioskKind = newKind(shopKind{
	name:  "kiosk",
	start: startKiosk,
	ids:   map[adapter.Resource]string{adapter.Websites: "51%03d", adapter.CustomerGroups: "61%03d", adapter.Categories: "71%03d"},
	isWrite: func(r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		return bytes.Contains(body, []byte("mutation"))
	},
	noProducts:    `{"data": {"items": {"edges": []}}}`,
	failures:      kioskFailures,
	writeFailures: kioskWriteFailures,
})

// kioskFailures are failures of GraphQL backends that answer reads with status 200.
var kioskFailures = func() (all []failure) {
	// An item with another version than before is fetched again before it is applied.
	unreadable := map[string]string{
		"texts of true": `{"data": {"items": {"edges": [` + strings.Replace(kioskNode, `"texts": []`, `"texts": true`, 1) + `]}}}`,
		"deep item":     `{"data": {"items": {"edges": [` + strings.Replace(kioskNode, `"code": "x"`, `"code": `+strings.Repeat("[", 100)+strings.Repeat("]", 100), 1) + `]}}}`,
	}
	for name, body := range unreadable {
		all = append(all, failure{name: name, tries: 2, answer: answer(200, "application/json", body)})
	}
	for name, body := range map[string]string{
		"errors":               `{"errors": [{"message": "broken"}]}`,
		"errors and null":      `{"errors": [{"message": "broken"}], "data": null}`,
		"errors and an item":   `{"errors": [{"message": "broken", "path": ["items", "edges", 1]}], "data": {"items": {"edges": [` + kioskNode + `, null]}}}`,
		"errors of a rule":     `{"errors": [{"message": "broken", "extensions": {"code": "BROKEN"}}], "data": {"items": {"edges": [` + kioskNode + `]}}}`,
		"null data":            `{"data": null}`,
		"no data":              `{}`,
		"null list":            `{"data": {"items": {"edges": null}}}`,
		"null around the list": `{"data": {"items": null}}`,
		"null items":           `{"data": {"items": {"edges": [{"node": null}]}}}`,
		"an object as list":    `{"data": {"items": {"edges": ` + kioskNode + `}}}`,
		"texts as items":       `{"data": {"items": {"edges": ["item"]}}}`,
		"deep body":            `{"data": ` + strings.Repeat(`{"items": `, 100_000) + `1` + strings.Repeat("}", 100_001),
	} {
		all = append(all, failure{name: name, tries: 1, answer: answer(200, "application/json", body)})
	}
	return all
}()

// kioskNode is the item of the first product, as a response has it.
const kioskNode = `{"node": {"no": 1, "legacy": 1, "code": "x", "price": 1, "texts": [], "steps": [], "channels": [], "shelves": [], "pictures": []}}`

// kioskWriteFailures are failures of GraphQL backends that answer writes with status 200.
var kioskWriteFailures = []writeFailure{
	{"rejected", false, kioskAnswer(`{"data": {"changeItem": {"refusal": "WRONG", "field": "code"}}}`), adapter.Invalid},
	{"errors", false, kioskAnswer(`{"errors": [{"message": "broken"}], "data": null}`), adapter.Unavailable},
	{"written, errors", true, kioskAnswer(`{"errors": [{"message": "broken"}], "data": {"changeItem": {}}}`), adapter.Unavailable},
	{"written, null data", true, kioskAnswer(`{"data": null}`), adapter.Unavailable},
	{"written, HTML", true, kioskAnswer(`<html>`), adapter.Unavailable},
	{"written, cut", true, kioskAnswer(`{"data": {"changeItem`), adapter.Unavailable},
}

func kioskAnswer(body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { answer(200, "application/json", body)(w, nil) }
}

// startKiosk starts an empty kiosk. The caller must close its server.
func startKiosk() shop {
	s := &kiosk{kioskState: kioskState{Items: map[int32]*kioskItem{}, Shoppers: map[int32]*kioskShopper{}}}
	s.schema = graphql.MustParseSchema(kioskSchema, &kioskResolver{s}, graphql.UseFieldResolvers())
	s.shopServer = startServer(s.routes())
	return s
}

func (s *kiosk) routes() http.Handler { return http.HandlerFunc(s.serve) }

// serve executes a request. It answers 200 in any case, as GraphQL servers often do.
func (s *kiosk) serve(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Query     string
		Variables map[string]any
	}
	if err := decodeKioskRequest(r, &in); err != nil || r.URL.Path != "/graphql" || r.Method != http.MethodPost {
		http.Error(w, fmt.Sprint("no GraphQL request: ", err), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	isLogin := strings.Contains(in.Query, "login(")
	if token := r.Header.Get("Authorization"); !isLogin && (s.token == "" || token != "Bearer "+s.token) {
		_, _ = io.WriteString(w, `{"errors": [{"message": "no session", "extensions": {"code": "NO_SESSION"}}], "data": null}`)
		return
	}
	out := s.schema.Exec(r.Context(), in.Query, "", in.Variables)
	if isLogin {
		w.Header().Set("X-Session", s.token)
	}
	_ = json.NewEncoder(w).Encode(out)
}

// decodeKioskRequest decodes a JSON body, or a form as in the GraphQL multipart request
// convention.
func decodeKioskRequest(r *http.Request, in any) error {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		return json.NewDecoder(r.Body).Decode(in)
	}
	file, _, err := r.FormFile("0")
	if err != nil {
		return err
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	if r.FormValue("map") != `{"0":["variables.file"]}` {
		return errors.New("another map of files")
	}
	quoted, _ := json.Marshal(string(content))
	return json.Unmarshal([]byte(strings.Replace(r.FormValue("operations"), `"file":null`, `"file":`+string(quoted), 1)), in)
}

func (s *kiosk) save() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return json.Marshal(s.kioskState)
}

func (s *kiosk) restore(t testing.TB, saved []byte) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := json.Unmarshal(saved, &s.kioskState); err != nil {
		t.Fatal(err)
	}
}

// number returns an unused number.
func (s *kiosk) number() int32 { s.Next++; return s.Next }

// A kioskResolver has the resolvers of the schema.
type kioskResolver struct{ s *kiosk }

func (k *kioskResolver) Alive() bool { return true }

func (k *kioskResolver) Login(in struct{ Name, Password string }) bool {
	k.s.logins.Add(1)
	if in.Name != shopUser || in.Password != shopSecret {
		return false
	}
	k.s.token = fmt.Sprintf("token-%d", k.s.logins.Load())
	return true
}

type (
	kioskEdge     struct{ Node *kioskItem }
	kioskPageInfo struct {
		EndCursor   *string
		HasNextPage bool
	}
	kioskItems struct {
		Edges    []kioskEdge
		PageInfo kioskPageInfo
	}
	kioskShoppers struct {
		List  []*kioskShopper
		Count int32
	}
)

func (k *kioskResolver) Items(in struct {
	Numbers      *[]int32
	Legacy       *int32
	ChangedSince *graphql.Time
	First        int32
	After        *string
}) kioskItems {
	after := 0
	if in.After != nil {
		after, _ = strconv.Atoi(strings.TrimPrefix(*in.After, "after-"))
	}
	var found kioskItems
	for _, no := range slices.Sorted(maps.Keys(k.s.Items)) {
		it := k.s.Items[no]
		switch {
		case int(no) <= after:
		case in.Numbers != nil && !slices.Contains(*in.Numbers, no):
		case in.Legacy != nil && (it.Legacy == nil || *it.Legacy != *in.Legacy):
		case in.ChangedSince != nil && it.Changed.Before(in.ChangedSince.Time):
		case len(found.Edges) == int(in.First):
			found.PageInfo.HasNextPage = true
		default:
			cursor := fmt.Sprintf("after-%d", no)
			found.Edges, found.PageInfo.EndCursor = append(found.Edges, kioskEdge{it}), &cursor
		}
	}
	return found
}

func (k *kioskResolver) Shopper(in struct{ No int32 }) *kioskShopper { return k.s.Shoppers[in.No] }

func (k *kioskResolver) Shoppers(in struct {
	Legacy       *string
	ChangedSince *graphql.Time
	Skip, Take   int32
}) kioskShoppers {
	var all []*kioskShopper
	for _, no := range slices.Sorted(maps.Keys(k.s.Shoppers)) {
		it := k.s.Shoppers[no]
		if (in.Legacy == nil || it.Legacy != nil && *it.Legacy == *in.Legacy) && (in.ChangedSince == nil || !it.Changed.Before(in.ChangedSince.Time)) {
			all = append(all, it)
		}
	}
	from := min(int(in.Skip), len(all))
	return kioskShoppers{all[from:min(from+int(in.Take), len(all))], int32(len(all))}
}

// changeItem changes an item by f, which may refuse the change.
func (k *kioskResolver) changeItem(no int32, f func(*kioskItem)) kioskResult {
	it := k.s.Items[no]
	if it == nil {
		return refuse("GONE", "")
	}
	f(it)
	it.Changed = time.Now()
	return kioskResult{it}
}

// checkItem returns a refusal if an item cannot have these values.
func (k *kioskResolver) checkItem(no int32, in kioskItemInput) (kioskResult, bool) {
	if in.Code == "" {
		return refuse("WRONG", "code"), false
	}
	for other, it := range k.s.Items {
		if other != no && it.Code == in.Code {
			return refuse("TAKEN", "code"), false
		}
	}
	return kioskResult{}, true
}

func (k *kioskResolver) AddItem(in struct{ Item kioskItemInput }) kioskResult {
	if refusal, ok := k.checkItem(0, in.Item); !ok {
		return refusal
	}
	it := &kioskItem{No: k.s.number()}
	k.s.Items[it.No] = it
	return k.changeItem(it.No, func(it *kioskItem) { it.kioskItemInput = in.Item })
}

func (k *kioskResolver) ChangeItem(in struct {
	No   int32
	Item kioskItemInput
}) kioskResult {
	if refusal, ok := k.checkItem(in.No, in.Item); !ok {
		return refusal
	}
	return k.changeItem(in.No, func(it *kioskItem) {
		in.Item.Legacy, in.Item.Stock = it.Legacy, cmp.Or(in.Item.Stock, it.Stock)
		it.kioskItemInput = in.Item
	})
}

func (k *kioskResolver) RemoveItem(in struct{ No int32 }) kioskResult {
	if k.s.Items[in.No] == nil {
		return refuse("GONE", "")
	}
	delete(k.s.Items, in.No)
	return done()
}

func (k *kioskResolver) SetItem(in struct {
	No                int32
	Stock             *kioskStock
	Channels, Shelves *[]int32
}) kioskResult {
	return k.changeItem(in.No, func(it *kioskItem) {
		it.Stock = cmp.Or(in.Stock, it.Stock)
		it.Channels, it.Shelves = *cmp.Or(in.Channels, &it.Channels), *cmp.Or(in.Shelves, &it.Shelves)
	})
}

func (k *kioskResolver) AddPicture(in struct {
	Item    int32
	Picture kioskPictureInput
}) kioskResult {
	p := kioskPicture{No: k.s.number(), kioskPictureInput: in.Picture}
	if r := k.changeItem(in.Item, func(it *kioskItem) { it.Pictures = append(it.Pictures, p) }); r.isRefusal() {
		return r
	}
	return kioskResult{&p}
}

// changePictures changes the list with a picture; f gets its place.
func (k *kioskResolver) changePictures(no int32, f func(all []kioskPicture, at int) []kioskPicture) kioskResult {
	for id, it := range k.s.Items {
		if at := slices.IndexFunc(it.Pictures, func(p kioskPicture) bool { return p.No == no }); at >= 0 {
			k.changeItem(id, func(it *kioskItem) { it.Pictures = f(it.Pictures, at) })
			return done()
		}
	}
	return refuse("GONE", "")
}

func (k *kioskResolver) ChangePicture(in struct {
	No      int32
	Picture kioskPictureInput
}) kioskResult {
	return k.changePictures(in.No, func(all []kioskPicture, at int) []kioskPicture {
		in.Picture.Legacy = all[at].Legacy
		all[at].kioskPictureInput = in.Picture
		return all
	})
}

func (k *kioskResolver) RemovePicture(in struct{ No int32 }) kioskResult {
	return k.changePictures(in.No, func(all []kioskPicture, at int) []kioskPicture { return slices.Delete(all, at, at+1) })
}

func (k *kioskResolver) Upload(in struct {
	Picture int32
	File    kioskFile
}) kioskResult {
	return k.changePictures(in.Picture, func(all []kioskPicture, at int) []kioskPicture {
		all[at].Content = in.File.content
		return all
	})
}

// changeShopper changes a shopper by f.
func (k *kioskResolver) changeShopper(no int32, f func(*kioskShopper)) kioskResult {
	it := k.s.Shoppers[no]
	if it == nil {
		return refuse("GONE", "")
	}
	f(it)
	it.Changed = time.Now()
	return kioskResult{it}
}

func (k *kioskResolver) AddShopper(in struct{ Shopper kioskShopperInput }) kioskResult {
	it := &kioskShopper{No: k.s.number()}
	k.s.Shoppers[it.No] = it
	return k.changeShopper(it.No, func(it *kioskShopper) { it.kioskShopperInput = in.Shopper })
}

func (k *kioskResolver) ChangeShopper(in struct {
	No      int32
	Shopper kioskShopperInput
}) kioskResult {
	return k.changeShopper(in.No, func(it *kioskShopper) {
		in.Shopper.Legacy = it.Legacy
		it.kioskShopperInput = in.Shopper
	})
}

func (k *kioskResolver) RemoveShopper(in struct{ No int32 }) kioskResult {
	if k.s.Shoppers[in.No] == nil {
		return refuse("GONE", "")
	}
	delete(k.s.Shoppers, in.No)
	return done()
}

func (k *kioskResolver) AddAddress(in struct {
	Shopper int32
	Address kioskAddressInput
}) kioskResult {
	a := kioskAddress{k.s.number(), in.Address}
	if r := k.changeShopper(in.Shopper, func(it *kioskShopper) { it.Addresses = append(it.Addresses, a) }); r.isRefusal() {
		return r
	}
	return kioskResult{&a}
}

// changeAddresses changes the list with an address; f gets its place.
func (k *kioskResolver) changeAddresses(no int32, f func(all []kioskAddress, at int) []kioskAddress) kioskResult {
	for id, it := range k.s.Shoppers {
		if at := slices.IndexFunc(it.Addresses, func(a kioskAddress) bool { return a.No == no }); at >= 0 {
			k.changeShopper(id, func(it *kioskShopper) { it.Addresses = f(it.Addresses, at) })
			return done()
		}
	}
	return refuse("GONE", "")
}

func (k *kioskResolver) ChangeAddress(in struct {
	No      int32
	Address kioskAddressInput
}) kioskResult {
	return k.changeAddresses(in.No, func(all []kioskAddress, at int) []kioskAddress {
		in.Address.Legacy = all[at].Legacy
		all[at].kioskAddressInput = in.Address
		return all
	})
}

func (k *kioskResolver) RemoveAddress(in struct{ No int32 }) kioskResult {
	return k.changeAddresses(in.No, func(all []kioskAddress, at int) []kioskAddress { return slices.Delete(all, at, at+1) })
}

// change calls f with the item and the shopper with a legacy id, as another program would
// change them.
func (s *kiosk) change(legacy int32, f func(*kioskItem, *kioskShopper)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var item *kioskItem
	var shopper *kioskShopper
	for _, it := range s.Items {
		if it.Legacy != nil && *it.Legacy == legacy {
			item = it
		}
	}
	for _, it := range s.Shoppers {
		if it.Legacy != nil && *it.Legacy == fmt.Sprint(legacy) {
			shopper = it
		}
	}
	f(item, shopper)
}

// TestKiosk checks the values that the kiosk stores for written records, and that its
// changes are read: the local replica hides both from the conformance suite.
func TestKiosk(t *testing.T) {
	s := openShop(t, kioskKind)
	k := s.shop.(*kiosk)
	products, customers := adaptertest.StoreOf(t, s, adapter.Products), adaptertest.StoreOf(t, s, adapter.Customers)
	checkStored := func(what string, v any, want string) {
		t.Helper()
		content, err := json.Marshal(v)
		got := regexp.MustCompile(`"No":\d+,|,"Changed":"[^"]*"`).ReplaceAllString(string(content), "")
		if err != nil || got != want {
			t.Errorf("%s: %v\n%s, want\n%s", what, err, got, want)
		}
	}
	const item = `{"Legacy":2,"Code":"kettle-copper","Texts":[{"Key":"description","Value":"Copper Kettle description"},{"Key":"name","Value":"Copper Kettle"},{"Key":"short","Value":"Copper Kettle short"}],` +
		`"State":"LIVE","Mass":18000,"Price":11950,"Steps":[{"From":50000,"Group":null,"Amount":900000},{"From":100000,"Group":61002,"Amount":800000}],"Stock":{"Count":50000,"Backorders":"NO","Managed":false},` +
		`"Channels":[51001,51002],"Shelves":[71003,71005],"Pictures":[{"Legacy":3,"Label":null,"Rank":1,"Content":"t/h/three.png"}]}`
	const shopper = `{"Legacy":"2","Mail":"ben@example.com","First":"Ben","Last":"Okri","Group":61002,"Addresses":[` +
		`{"Legacy":3,"First":"Ben","Last":"Okri","Lines":["7 Long Road","Building B","Door 9"],"Town":"Austin","Zip":"73301","Land":"US","Phone":"512-555-0102"},` +
		`{"Legacy":4,"First":"Ben","Last":"Okri","Lines":["8 Short Road"],"Town":"Austin","Zip":"73301","Land":"US","Phone":"512-555-0103"}]}`
	k.change(2, func(i *kioskItem, s *kioskShopper) {
		checkStored("an item that was created", i, item)
		checkStored("a shopper that was created", s, shopper)
	})

	adaptertest.MustGet(t, products, adapter.GetParams{Key: 2})
	k.expire()
	change := attrs{"price": "119.4900", "status": 2, "description": nil, "tier_price": []attrs{}}
	if err := errors.Join(adaptertest.Update(t, products, 2, 0, change), adaptertest.Update(t, customers, 2, 0, attrs{"lastname": nil, "group_id": 1})); err != nil {
		t.Fatal(err)
	}
	k.change(2, func(i *kioskItem, s *kioskShopper) {
		checkStored("an item that was changed", i, strings.NewReplacer(`{"Key":"description","Value":"Copper Kettle description"},`, "", "LIVE", "HIDDEN", "11950", "11949",
			`[{"From":50000,"Group":null,"Amount":900000},{"From":100000,"Group":61002,"Amount":800000}]`, "[]").Replace(item))
		checkStored("a shopper that was changed", s, strings.Replace(shopper, `"Okri","Group":61002`, `null,"Group":61001`, 1))
		i.Texts, i.Price, i.Stock.Count, i.Shelves = []kioskText{{"name", "Kettle"}}, nil, 5_5000, []int32{71003}
		s.Mail, s.Addresses = "benjamin@example.com", s.Addresses[:1]
		s.Addresses[0].Zip = new("73302")
	})
	checkRecord := func(store adapter.Store, key adapter.Key, want map[string]string) {
		t.Helper()
		r := adaptertest.MustGet(t, store, adapter.GetParams{Key: key})
		for name, text := range want {
			if got := r.Get(name).Text(); got != text {
				t.Errorf("%s is %q, want %q", name, got, text)
			}
		}
	}
	checkRecord(products, 2, map[string]string{"name": "Kettle", "price": "", "short_description": "", "sku": "kettle-copper"})
	checkRecord(customers, 2, map[string]string{"email": "benjamin@example.com", "firstname": "Ben"})
	checkRecord(adaptertest.StoreOf(t, s, adapter.CustomerAddresses), 3, map[string]string{"postcode": "73302", "city": "Austin"})
	if _, err := adaptertest.StoreOf(t, s, adapter.CustomerAddresses).Get(t.Context(), &adapter.GetParams{Key: 4}); adapter.KindOf(err) != adapter.NotFound {
		t.Errorf("an address that was removed: %v", err)
	}

	taken := kioskItemInput{Code: "taken", State: "LIVE"}
	k.change(3, func(i *kioskItem, s *kioskShopper) {
		k.Items[7000] = &kioskItem{No: 7000, kioskItemInput: taken}
		delete(k.Items, i.No)
		delete(k.Shoppers, s.No)
	})
	if err := adaptertest.Update(t, products, 1, 0, attrs{"sku": "taken"}); adapter.KindOf(err) != adapter.Conflict || fieldOf(err) != "sku" {
		t.Errorf("a SKU that is taken: %v", err)
	}
	for name, store := range map[string]adapter.Store{"item": products, "shopper": customers} {
		if _, err := store.Get(t.Context(), &adapter.GetParams{Key: 3}); adapter.KindOf(err) != adapter.NotFound {
			t.Errorf("an %s that was removed: %v", name, err)
		}
	}
	found, err := customers.List(t.Context(), &adapter.ListParams{})
	if err != nil || len(found.Records) != 3 {
		t.Errorf("%d customers, %v; want 3", len(found.Records), err)
	}
	if n := k.logins.Load(); n != 2 {
		t.Errorf("%d logins, want 2", n)
	}
}
