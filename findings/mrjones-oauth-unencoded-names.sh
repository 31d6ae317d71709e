#!/usr/bin/env bash
# Package:  github.com/mrjones/oauth v0.0.0-20190623134757-126b35219450
# Guess:    Names of parameters are percent-encoded before they are sorted and joined for the base string of a
#           signature, as values are (RFC 5849 section 3.4.1.3.2).
# Behavior: Values are encoded, names are not: the name a[1] is signed as it is, although the library sends
#           a%5B1%5D. A server that follows the RFC refuses the signature. Names of letters and digits are
#           signed rightly.
# Output:   name   sent          signed as the RFC says
#           limit  limit=1       true
#           a[1]   a%5B1%5D=1    false
#           é      %C3%A9=1      false
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"

cat >go.mod <<'MOD'
module finding

go 1.24

require github.com/mrjones/oauth v0.0.0-20190623134757-126b35219450
MOD
cat >main.go <<'GO'
package main

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"sort"
	"strings"

	"github.com/mrjones/oauth"
)

// encode percent-encodes a text (RFC 5849 section 3.6).
func encode(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// isRight reports whether a request has the signature of the RFC.
func isRight(r *http.Request) bool {
	var pairs []string
	for name, values := range r.URL.Query() {
		pairs = append(pairs, encode(name)+"="+encode(values[0]))
	}
	signature := ""
	for _, m := range regexp.MustCompile(`(oauth_\w+)="([^"]*)"`).FindAllStringSubmatch(r.Header.Get("Authorization"), -1) {
		value, _ := url.QueryUnescape(m[2])
		if m[1] == "oauth_signature" {
			signature = value
			continue
		}
		pairs = append(pairs, m[1]+"="+encode(value))
	}
	sort.Strings(pairs)
	sum := hmac.New(sha1.New, []byte("secret&secret"))
	fmt.Fprint(sum, "GET&", encode("http://"+r.Host+r.URL.Path), "&", encode(strings.Join(pairs, "&")))
	return signature == base64.StdEncoding.EncodeToString(sum.Sum(nil))
}

func main() {
	fmt.Println("name   sent          signed as the RFC says")
	name := ""
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Printf("%-5s  %-12s  %t\n", name, r.URL.RawQuery, isRight(r))
	}))
	defer server.Close()
	consumer := oauth.NewConsumer("key", "secret", oauth.ServiceProvider{})
	for _, name = range []string{"limit", "a[1]", "é"} {
		response, err := consumer.Get(server.URL+"/a", map[string]string{name: "1"}, &oauth.AccessToken{Token: "token", Secret: "secret"})
		if err != nil {
			panic(err)
		}
		response.Body.Close()
	}
}
GO
export GOFLAGS=-mod=mod GOPATH=$folder/go
go mod tidy 2>/dev/null
go run . | tee seen
diff - seen <<'SEEN'
name   sent          signed as the RFC says
limit  limit=1       true
a[1]   a%5B1%5D=1    false
é      %C3%A9=1      false
SEEN
