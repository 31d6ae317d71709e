package contracttests_test

import (
	"context"
	"fmt"
	"github.com/portico-commerce/portico/contracttests"
	"net/http"
	"net/http/httptest"
	"regexp"
)

// ReplayAll compares the replies of a server with recorded ones.
func ExampleReplayAll() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		fmt.Fprint(w, `[]`)
	}))
	defer server.Close()

	contentType := "application/json; charset=utf-8"
	exchange := func(path, body string) contracttests.Exchange {
		return contracttests.Exchange{File: "lists.json", Name: path, Steps: []contracttests.Step{{
			As: contracttests.Guest, Method: "GET", Path: path,
			Response: contracttests.Response{Status: 200, ContentType: &contentType, Body: body},
		}}}
	}
	results, err := contracttests.ReplayAll(context.Background(), contracttests.Target{BaseURL: server.URL, Dialect: contracttests.Documented},
		[]contracttests.Exchange{exchange("/products", `[]`), exchange("/orders", `{}`)}, nil)
	for _, r := range results {
		fmt.Println(r.Name, r.Status)
	}
	fmt.Println(err)
	// Output:
	// /products passed
	// /orders failed
	// <nil>
}

// The suite runs against any server. This server replies 404 to every request.
func ExampleSuite_Run() {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()

	suite, err := contracttests.NewSuite()
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := suite.Run(context.Background(),
		contracttests.Target{BaseURL: server.URL, Dialect: contracttests.Documented},
		contracttests.Options{Match: regexp.MustCompile(`^wire/only rest is an API here/json$`), ReadOnly: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Results {
		fmt.Println(r.ID(), r.Status)
		fmt.Println(r.Failure.Call)
	}
	// Output:
	// wire/only rest is an API here/json failed
	// guest: GET /api/restx/products
}

// Redact removes the secrets from a text before it is printed.
func ExampleParseCredentials() {
	credentials, err := contracttests.ParseCredentials([]byte(`
signature: HMAC-SHA1
consumer: {key: suite, secret: consumer-secret}
admin: {token: admin-token, secret: admin-secret}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(credentials.Has(contracttests.Admin), credentials.Has(contracttests.Customer1))
	fmt.Println(credentials.Redact("the server answered admin-secret"))
	// Output:
	// true false
	// the server answered [secret]
}
