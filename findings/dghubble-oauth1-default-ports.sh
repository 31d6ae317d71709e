#!/usr/bin/env bash
# Package:  github.com/dghubble/oauth1 v0.7.3
# Guess:    The base string of a signature leaves a port out where it is the default port of the scheme, and
#           has it everywhere else (RFC 5849 section 3.4.1.2).
# Behavior: Ports 80 and 443 are left out with both schemes, so that https://shop.invalid:80 and
#           http://shop.invalid:443 are signed as if they had no port. A server that follows the RFC refuses
#           these signatures. Other ports are kept.
# Output:   https://shop.invalid:443/a   https://shop.invalid/a
#           https://shop.invalid:80/a    https://shop.invalid/a
#           http://shop.invalid:443/a    http://shop.invalid/a
#           https://shop.invalid:8443/a  https://shop.invalid:8443/a
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"

cat >go.mod <<'MOD'
module finding

go 1.24

require github.com/dghubble/oauth1 v0.7.3
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/dghubble/oauth1"
)

// shower prints the address in the base strings that it is to sign.
type shower struct{ asked string }

func (s shower) Name() string { return "HMAC-SHA1" }

func (s shower) Sign(_, base string) (string, error) {
	address, _ := url.QueryUnescape(strings.Split(base, "&")[1])
	fmt.Printf("%-27s  %s\n", s.asked, address)
	return "signature", nil
}

// nowhere answers no request.
type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("not sent") }

func main() {
	ctx := context.WithValue(context.Background(), oauth1.HTTPClient, &http.Client{Transport: nowhere{}})
	for _, asked := range []string{"https://shop.invalid:443/a", "https://shop.invalid:80/a", "http://shop.invalid:443/a", "https://shop.invalid:8443/a"} {
		config := &oauth1.Config{ConsumerKey: "key", ConsumerSecret: "secret", Signer: shower{asked}}
		_, _ = config.Client(ctx, oauth1.NewToken("token", "secret")).Get(asked)
	}
}
GO
export GOFLAGS=-mod=mod GOPATH=$folder/go
go mod tidy 2>/dev/null
go run . | tee seen
diff - seen <<'SEEN'
https://shop.invalid:443/a   https://shop.invalid/a
https://shop.invalid:80/a    https://shop.invalid/a
http://shop.invalid:443/a    http://shop.invalid/a
https://shop.invalid:8443/a  https://shop.invalid:8443/a
SEEN
