package auth_test

import (
	"context"
	"fmt"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
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

// Callback keeps the query that the client's own callback has.
func ExampleCallback() {
	fmt.Println(auth.Callback("https://client.example/back?from=shop", "oauth_token=abc", "oauth_verifier=xyz"))
	// Output: https://client.example/back?from=shop&oauth_token=abc&oauth_verifier=xyz
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
	authenticator := auth.New(adaptertest.New(adapter.Consumer{Key: "known"}), nil, auth.Options{})
	_, err = authenticator.Authenticate(context.Background(), request)
	fmt.Println(err)
	// Output: oauth_problem=consumer_key_rejected
}
