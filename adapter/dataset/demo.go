package dataset

import (
	"bytes"
	_ "embed"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"strings"
)

//go:embed dataset.json
var datasetJSON []byte

// The files contain no dates for these records.
const (
	productsCreatedAt  = "2012-01-01 00:00:00"
	customersCreatedAt = "2012-01-02 03:04:05" // also of their addresses
	updatedAt          = "2012-01-05 00:00:00"
)

// The administrator of the demo store can log in; dataset.json has no password. The hash
// has the lowest cost, as the password is public.
const (
	AdminPassword     = "admin-password-1"
	adminPasswordHash = "$2a$04$L7ki/qJ6CQoFecNO1LGFmOoOvnD/Du0twpxdpLDB9JNNzHvDF.NSe"
)

// Load returns the demo store. It only fails if the build is broken.
func Load() (*adapter.Dataset, error) {
	data, err := Decode(bytes.NewReader(datasetJSON), adapter.NewSchemas(), nil)
	if err != nil {
		return nil, err
	}
	data.Public = true
	// Granting access revokes the other tokens that the user has granted to the same
	// program, so consent needs a program other than the one with the demo tokens.
	data.ConsentConsumer = adapter.Consumer{Name: "Consent", Key: strings.Repeat("7", 32), Secret: strings.Repeat("8", 32)}
	data.Verifier = strings.Repeat("9", 32) // wire 13
	for _, admin := range data.Records[adapter.Admins] {
		admin.Set("password_hash", adapter.TextValue(adminPasswordHash))
	}
	for resource, created := range map[adapter.Resource]string{
		adapter.Products:          productsCreatedAt,
		adapter.Customers:         customersCreatedAt,
		adapter.CustomerAddresses: customersCreatedAt,
	} {
		for _, r := range data.Records[resource] {
			r.Set("created_at", adapter.TextValue(created))
			r.Set("updated_at", adapter.TextValue(updatedAt))
		}
	}
	addRequestPaths(data)
	return data, nil
}

// addRequestPaths gives the products their addresses at the store views of their websites, as a shop
// has them that has made them from the url_key.
func addRequestPaths(data *adapter.Dataset) {
	keys := map[int64]adapter.Value{}
	for _, p := range data.Records[adapter.Products] {
		keys[p.Get("entity_id").Int()] = p.Get("url_key")
	}
	for _, in := range data.Records[adapter.ProductWebsites] {
		for _, store := range data.Records[adapter.Stores] {
			key := keys[in.Get("product_id").Int()]
			if key.Empty() || store.Get("website_id").Int() != in.Get("website_id").Int() {
				continue
			}
			r := adapter.NewRecord(data.Records[adapter.Products][0].Schema)
			r.Set("entity_id", in.Get("product_id"))
			r.Set("request_path", adapter.TextValue(key.Text()+".html"))
			data.Levels = append(data.Levels, adapter.Level{StoreID: store.Get("store_id").Int(), Record: r})
		}
	}
}

// PublicCredentials reports whether data contains a credential of the demo store, which is
// publicly known.
func PublicCredentials(data *adapter.Dataset) (bool, error) {
	public, err := Load()
	if err != nil {
		return false, fmt.Errorf("demo data: %w", err)
	}
	known := map[string]bool{}
	for _, s := range credentialTexts(public) {
		known[s] = true
	}
	for _, s := range credentialTexts(data) {
		if known[s] {
			return true, nil
		}
	}
	return false, nil
}

// credentialTexts returns every key, token and secret of data, in lower case.
func credentialTexts(data *adapter.Dataset) []string {
	var texts []string
	for _, g := range append([]adapter.Grant{{Consumer: data.Consumer, Tokens: data.Tokens}, {Consumer: data.ConsentConsumer}}, data.Grants...) {
		if g.Consumer.Key != "" {
			texts = append(texts, strings.ToLower(g.Consumer.Key), strings.ToLower(g.Consumer.Secret))
		}
		for _, t := range g.Tokens {
			texts = append(texts, strings.ToLower(t.Token), strings.ToLower(t.Secret))
		}
	}
	return texts
}
