// Package demo holds the demo store, and reads data sets of the same form.
//
// # Principles
//
//  1. The data are two embedded files: dataset.json, the store, and
//     directory.json, the countries and regions the contract's rules refer to.
//     Every data set gets the directory.
//  2. A data set is read strictly: a member that is no attribute, a value of
//     the wrong kind, a repeated id, a reference to a record that is not there
//     and a missing value are faults. All faults are reported together, each with
//     its line and its place, so that nothing is stored of a file that has one.
//
// # How it is tested
//
// Tests read the embedded files and compare counts and derived values; broken
// files are refused by name in a table test; FuzzDecode shows that no file
// makes the reader panic.
package demo

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

//go:embed dataset.json
var datasetJSON []byte

//go:embed directory.json
var directoryJSON []byte

// The demo store was set up long ago; its file leaves the dates out.
const (
	productsCreated  = "2012-01-01 00:00:00"
	customersCreated = "2012-01-02 03:04:05" // their addresses too
	lastChanged      = "2012-01-05 00:00:00"
)

// The administrator of the demo store may log in, which its file says nothing of. The
// hash is of the least cost: everybody knows the password.
const (
	AdminPassword     = "admin-password-1"
	adminPasswordHash = "$2a$04$L7ki/qJ6CQoFecNO1LGFmOoOvnD/Du0twpxdpLDB9JNNzHvDF.NSe"
)

// Load returns the demo store. Its error is a fault of the build.
func Load() (*adapter.Dataset, error) {
	data, err := Decode(bytes.NewReader(datasetJSON), adapter.NewSchemas())
	if err != nil {
		return nil, err
	}
	data.Public = true
	// Consent ends the other tokens that its user has given the program, so it needs one
	// besides the program that holds the demo's tokens.
	data.ConsentConsumer = adapter.Consumer{Name: "Consent", Key: strings.Repeat("7", 32), Secret: strings.Repeat("8", 32)}
	data.Verifier = strings.Repeat("9", 32) // OAuth, three-legged endpoints
	for _, admin := range data.Records[adapter.Admins] {
		admin.Set("password_hash", adapter.TextValue(adminPasswordHash))
	}
	for resource, created := range map[adapter.Resource]string{
		adapter.Products:          productsCreated,
		adapter.Customers:         customersCreated,
		adapter.CustomerAddresses: customersCreated,
	} {
		for _, r := range data.Records[resource] {
			r.Set("created_at", adapter.TextValue(created))
			r.Set("updated_at", adapter.TextValue(lastChanged))
		}
	}
	return data, nil
}

// PublicCredentials reports whether any credential of data is one of the demo
// store's, which everybody knows.
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

// credentialTexts lists every key, token and secret of data in lower case.
func credentialTexts(data *adapter.Dataset) []string {
	var texts []string
	for _, c := range []adapter.Consumer{data.Consumer, data.ConsentConsumer} {
		if c.Key != "" {
			texts = append(texts, strings.ToLower(c.Key), strings.ToLower(c.Secret))
		}
	}
	for _, t := range data.Tokens {
		texts = append(texts, strings.ToLower(t.Token), strings.ToLower(t.Secret))
	}
	return texts
}
