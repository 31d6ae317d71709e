package auth_test

import (
	"context"
	"fmt"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/auth"
)

// A proxy signs the request that it sends on to another server.
func ExampleSigner_Sign() {
	signer := auth.NewSigner("consumer-key", "consumer-secret", "token", "token-secret")
	request := &auth.Request{
		Method: "GET",
		Scheme: "https",
		Host:   "shop.example.com",
		Target: "/api/rest/products?limit=5",
	}
	authorization, err := signer.Sign(request, time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	request.Authorization = authorization
	fmt.Println(auth.Signed(request.Authorization))
	// Output: true
}

func ExampleSigned() {
	fmt.Println(auth.Signed(`OAuth oauth_consumer_key="key", oauth_token="token"`))
	fmt.Println(auth.Signed("Basic dXNlcjpwYXNzd29yZA=="))
	// Output:
	// true
	// false
}

func ExampleValidCallback() {
	for _, callback := range []string{"https://client.example/back", "/back", "javascript:alert(1)"} {
		fmt.Println(callback, auth.ValidCallback(callback))
	}
	// Output:
	// https://client.example/back true
	// /back false
	// javascript:alert(1) false
}

// Callback keeps the query that the client's own callback has.
func ExampleCallback() {
	fmt.Println(auth.Callback("https://client.example/back?from=shop", "oauth_token=abc", "oauth_verifier=xyz"))
	// Output: https://client.example/back?from=shop&oauth_token=abc&oauth_verifier=xyz
}

// noCredentials knows no consumer and no token.
type noCredentials struct{}

func (noCredentials) Consumer(context.Context, string) (adapter.Consumer, error) {
	return adapter.Consumer{}, &adapter.Error{Kind: adapter.NotFound, Op: "get a consumer"}
}

func (noCredentials) Token(context.Context, string) (adapter.Token, error) {
	return adapter.Token{}, &adapter.Error{Kind: adapter.NotFound, Op: "get a token"}
}

// A caller with unknown credentials gets a *Problem, whose text is the message of the
// reply.
func ExampleAuthenticator_Authenticate() {
	request := &auth.Request{Method: "GET", Scheme: "https", Host: "shop.example.com", Target: "/api/rest/products"}
	var err error
	request.Authorization, err = auth.NewSigner("unknown", "secret", "token", "secret").Sign(request, time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	authenticator := auth.New(noCredentials{}, nil, auth.Options{})
	_, err = authenticator.Authenticate(context.Background(), request)
	fmt.Println(err)
	// Output: oauth_problem=consumer_key_rejected
}
